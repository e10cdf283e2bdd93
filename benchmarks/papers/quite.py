"""Nordio, Tarable and Leonardi (2023): QUITE."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import inference, papers
from raterzoo.inference.design.stages import BEST_PRODUCT
from raterzoo.models.simulators import comparisons

from . import quite_scaling
from .quite_study import METHODS, RECORD
from .row import Paper, Row

NAMES = {"bradley_terry": "BTL", "thurstone": "Thurstone"}
CELLS = Path(__file__).parents[1] / "quite.md"
ABOUT_STUDY = """
Simulated as in section 6. Misranked: the share of all pairs in the wrong order. Error: centred, with the best scale, over the
centred bound; ± one standard error. Joint ML has fewer data sets where an item won or lost all its votes.

- **Joint maximum likelihood**, run to its end, misranks as few pairs as QUITE. It misranks more where votes are few:
  alpha = .1 at N = 40, and of Thurstone alpha = .1 at N = 100 and .2 at N = 40, too. At N = 400 the two differ by less
  than 5 % of the share, by two standard errors, in every cell.
- **The posterior mean** misranks no more than QUITE, within its error.
- **The alternating gradient as printed** misranks more in every cell, by over three standard errors: a third more at
  N = 40, and half as many to as many again at N = 400. Of Thurstone it misranks about twice as many at N = 40, and four to eight
  times as many at N = 400.
- **Fewer data sets**: 24, for 200 take minutes of CPU time in each: {few}.
  Their intervals, two standard errors, are within {widest:.1f} % of the shares of QUITE and joint ML.
  Of the alternating gradient {steps} cells have 24.
  The others have 200.

`python -m benchmarks.papers.quite_study` adds to the record.
"""
Study = dict[tuple[str, int, float], dict[str, dict[str, float]]]


def study() -> Study:
    """Return the recorded cells by link, number of items and alpha."""
    cells = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    split = {name: name.replace("N=", "").replace("alpha=", "").split() for name in cells}
    return {(link, int(n), float(alpha)): cells[name] for name, (link, n, alpha) in split.items()}


def _coefficients(link: str) -> str:
    drawn = comparisons(items=40, raters=40, degree=20, alpha=0.5, link=link, random_seed=1)
    found = papers.bayesian_cramer_rao_bound(drawn.data, link=link).attrs
    names = (
        "quality_information",
        "reliability_information",
        "quality_prior_information",
        "reliability_prior_information",
    )
    return ", ".join(f"{found[name]:.4g}" for name in names)


def _shift() -> str:
    drawn = comparisons(items=100, raters=100, degree=20, alpha=0.5, random_seed=1)
    bound = papers.bayesian_cramer_rao_bound(drawn.data)
    return f"{100 * (1 - float(bound['centred'] / bound['quality'])):.0f} % of the bound is the shift"


def _degenerates() -> str:
    drawn = comparisons(items=40, raters=40, degree=20, alpha=0.5, random_seed=1)
    try:
        inference.quite(drawn.data, variance="printed", prior="printed")
    except ValueError as error:
        return str(error).split(":")[0].removeprefix("variance='printed' with prior='printed' ")
    return "ends"


def _cell(what: str, method: str, *of) -> str:
    own = study().get(of, {}).get(method)
    if own is None:
        return "not run"
    digits = 5 if what == "misranked" else 2
    return f"{own[what]:.{digits}f} ± {own[f'{what} se']:.{digits}f} ({own['data sets']} data sets)"


def _misranked(section: str, link: str, items: int, epsilon: float, by: str) -> pd.Series:
    """Return shares of misranked data sets with their intervals, in words, and their number, from the page of every cell."""
    text = CELLS.read_text().split(f"## {section}")[1].split("## ")[0]
    header, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"
    )
    table = pd.DataFrame(rows, columns=header)
    own = table[(table["link"] == NAMES[link]) & (table["N"] == str(items))]
    shares = own.set_index(by)[f"epsilon {epsilon:g}"]
    return shares.rename(", ".join(sorted(set(own["R"]))))


def _shares(*of) -> str:
    """Say shares of misranked data sets."""
    shares = _misranked(*of)
    return "; ".join(f"{name}: {share}" for name, share in shares.items()) + f"; {shares.name} data sets"


def _needed(epsilons: list[float], items: list[int], weighted: bool = False) -> str:
    """Return the answers to a pair at which half of the data sets are ranked by epsilon."""
    found = [quite_scaling.answers_needed(n, epsilons, 60, weighted=weighted) for n in items]
    return ", ".join(f"{value:.0f}" for value in np.ravel(found))


def about_study() -> str:
    """Say what the study shows, and how certain its cells with few data sets are."""
    fewer = {cell: own for cell, own in sorted(study().items()) if own["QUITE"]["data sets"] < 200}
    at = {(link, n): [f"{alpha:g}" for *other, alpha in fewer if other == [link, n]] for link, n, _ in fewer}
    few = "; ".join(
        f"{NAMES[link]} at N = {n}, alpha = {', '.join(alphas)}" for (link, n), alphas in at.items()
    )
    each = [
        2 * own[name]["misranked se"] / own[name]["misranked"]
        for own in fewer.values()
        for name in METHODS[:2]
    ]
    steps = sum(own["AG as printed"]["data sets"] < 200 for own in study().values())
    return ABOUT_STUDY.format(few=few, widest=100 * max(each), steps=steps)


def study_table() -> list[str]:
    """Return the study as lines of a table in Markdown."""
    lines = [
        "| link | N | alpha | method | data sets | pairs misranked, % | error over bound |",
        "|---|---|---|---|---|---|---|",
    ]
    for (link, n, alpha), methods in sorted(study().items()):
        for method in METHODS:
            if own := methods.get(method):
                pairs = f"{100 * own['misranked']:.3f} ± {100 * own['misranked se']:.3f}"
                error = f"{own['error']:.2f} ± {own['error se']:.2f}"
                cells = (NAMES[link], n, f"{alpha:g}", method, own["data sets"], pairs, error)
                lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _over(link: str, what: str, key: int, kept: tuple[int, float]) -> xr.Dataset | None:
    """Means and two standard errors over N (key 1) or alpha (key 2), the other kept."""
    cells = {c[key]: m for c, m in study().items() if c[0] == link and c[3 - key] == kept[2 - key]}
    if len(cells) < 2:
        return None
    at, values = sorted(cells), np.full((3, len(METHODS), len(cells)), np.nan)
    for k, place in enumerate(at):
        for m, method in enumerate(METHODS):
            if own := cells[place].get(method):
                mean, error = own[what], 2 * own[f"{what} se"]
                values[:, m, k] = mean, max(0, mean - error), mean + error
    name = {1: "N", 2: "alpha"}[key]
    variables = {v: (("method", name), x) for v, x in zip(("mean", "lower", "upper"), values, strict=True)}
    return xr.Dataset(variables, {"method": list(METHODS), name: at})


def _figure():
    """Draw misranked pairs and error over the bound, over N at alpha = .5 and over alpha at N = 40."""
    import matplotlib.pyplot as plt

    panels = [(w, key) for w in ("misranked", "error") for key in (1, 2)]
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 7), layout="constrained")
    for ax, (what, key) in zip(axes.flat, panels, strict=True):
        found = _over("bradley_terry", what, key, (40, 0.5))
        if found is None:
            ax.set_visible(False)
            continue
        name = {1: "N", 2: "alpha"}[key]
        for place, method in enumerate(METHODS):
            own = found.sel({"method": method})
            shown = np.isfinite(own["mean"].to_numpy())
            x = own[name].to_numpy()[shown] * (1 + 0.03 * (place - 1.5))
            y, low, high = (own[v].to_numpy()[shown] for v in ("mean", "lower", "upper"))
            ax.errorbar(x, y, [y - low, high - y], marker="os^D"[place], label=method, capsize=2)
        ax.set(xscale="log", xlabel=name, title="BTL, alpha = 0.5" if key == 1 else "BTL, N = 40")
        ax.set_ylabel({"misranked": "share of pairs misranked", "error": "centred error over bound"}[what])
        ax.set_xticks(found[name].to_numpy(), [f"{v:g}" for v in found[name].to_numpy()], minor=False)
        ax.minorticks_off()
        if what == "error":
            ax.axhline(1, color="black", linewidth=0.8)
            ax.set_ylim(bottom=0)
    axes[0, 0].legend(frameon=False)
    return figure


DEGREE = ("Degree", 200, 0.04, "D")
STAGES = ("One stage", 100, 0.02, "method")


def _designs():
    """Draw the share of misranked data sets by degree and by stages, with 95 % intervals."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
    for ax, (section, items, epsilon, by) in zip(axes, (DEGREE, STAGES), strict=True):
        for k, (link, name) in enumerate(NAMES.items()):
            shares = _misranked(section, link, items, epsilon, by)
            share, low, high = shares.str.findall(r"[\d.]+").apply(pd.Series).astype(float).to_numpy().T
            place = np.arange(len(shares)) + 0.15 * (k - 0.5)
            error = [share - low, high - share]
            if by == "D":
                ax.errorbar(place, share, error, marker="os"[k], capsize=2, label=name)
            else:
                ax.errorbar(share, place, xerr=error, marker="os"[k], capsize=2, linestyle="", label=name)
        names = shares.index.tolist()
        if by == "D":
            ax.set_xticks(range(len(names)), names)
            ax.set(xlabel="degree D, as many answers", ylabel="share of data sets misranked", ylim=(-0.03, 1))
        else:
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            ax.set(xlabel="share of data sets misranked", xlim=(-0.03, 1.03))
        ax.set_title(f"N = {items}, by more than {epsilon:g}", fontsize=10)
    axes[0].legend(frameon=False)
    return figure


PAPER = Paper(
    "Ranking by unequal raters (QUITE)",
    "Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous "
    "workers: QUITE an easy problem, "
    "[arXiv:2310.02016v1](https://arxiv.org/abs/2310.02016v1).",
    "`pairs` are votes of `models.simulators.comparisons(items=N, raters=N, degree=20, "
    "alpha=alpha, link=link)`, as in section 6. "
    "[Every cell](../../benchmarks/quite.md) has a page of its own, which `python "
    "benchmarks/quite.py` writes.",
    [
        *(
            Row(
                "eq. 11 to 17",
                f"information of an answer and of the priors, {name}",
                "-",
                f'papers.bayesian_cramer_rao_bound(pairs, link="{link}").attrs',
                lambda link=link: _coefficients(link),
            )
            for link, name in NAMES.items()
        ),
        Row(
            "6.1.1",
            "what of the bound is no error of a ranking",
            "-",
            "papers.bayesian_cramer_rao_bound(pairs)",
            _shift,
            note="the paper aligns its estimates at an item, which removes it",
        ),
        Row(
            "eq. 29, 37, 38",
            "the iteration as printed",
            "converges",
            'inference.quite(pairs, variance="printed", prior="printed")',
            _degenerates,
        ),
        Row(
            "5.2",
            "best reliability times distance",
            "2.399, for BTL",
            "papers.second_stage(estimate, answers=, degree=)",
            lambda: ", ".join(f"{NAMES[link]} {value:.3f}" for link, value in BEST_PRODUCT.items()),
        ),
        *(
            Row(
                "figures 3, 4",
                f"error over the bound, BTL, N = 40, alpha = .5, {method}",
                "3 to 5, below 10",
                call,
                lambda m=method: _cell("error", m, "bradley_terry", 40, 0.5),
                long=True,
                note="centred, like for like; the paper's form is on the page of every cell",
            )
            for method, call in (
                ("QUITE", 'papers.mean_squared_error(inference.quite(pairs), truth, scale="oracle")'),
                ("joint ML", "... papers.joint_mle(pairs)"),
                ("AG as printed", "... papers.alternating_gradient(pairs)"),
                (
                    "posterior mean",
                    "... inference.sample(models.bradley_terry(pairs, reliability_range=(1, 20)))",
                ),
            )
        ),
        *(
            Row(
                "figures 5, 6",
                f"pairs misranked, BTL, N = 40, alpha = .5, {method}",
                "picture",
                "(1 - papers.quality_concordance(estimate, truth)) / 2",
                lambda m=method: _cell("misranked", m, "bradley_terry", 40, 0.5),
                long=True,
            )
            for method in METHODS
        ),
        *(
            Row(
                where,
                f"data sets in which a pair that differs by more than {epsilon:g} is misranked, {name}, N = {items}, {what}",
                "picture",
                "papers.error_rate(papers.epsilon_quality(estimate, truth, epsilon))",
                lambda a=(section, link, items, epsilon, by): _shares(*a),
                note=note,
            )
            for where, section, items, epsilon, by, what, note in (
                ("figure 7", *DEGREE, "by degree D", "as many answers: alpha D = 10"),
                ("figures 8, 9", *STAGES, "by stages", "alpha = .5, degree 20, or 10 and 10"),
            )
            for link, name in NAMES.items()
        ),
        Row(
            "proposition 1",
            "answers to a pair for half of the data sets to be ranked by .15: N = 40, 80, 160, 320, 640",
            "N / epsilon^2 log(N / delta) votes",
            "papers.least_squares(pairs, reliability_range=(4, 4), weighted=False)",
            lambda: _needed([0.15], [40, 80, 160, 320, 640]),
            long=True,
            note="equal workers; a logarithm adds as much at each doubling",
        ),
        Row(
            "proposition 1",
            "the same, weighted by variances: N = 40, 80, 160, 320",
            "-",
            "papers.least_squares(pairs, reliability_range=(4, 4))",
            lambda: _needed([0.15], [40, 80, 160, 320], weighted=True),
            long=True,
        ),
        Row(
            "proposition 1",
            "the same, N = 160, by .1 and by .2",
            "four times",
            "papers.least_squares(pairs, reliability_range=(4, 4), weighted=False)",
            lambda: _needed([0.1, 0.2], [160]),
            long=True,
        ),
    ],
    [
        "6.1.1 multiplies all estimates by one factor, the average of the best ones: "
        '`mean_squared_error(form="paper")`. A factor of its own for each '
        "data set brings the error below a bound that holds without it.",
        "Equations 20 to 23: the alternating gradient stops by the length of its steps, far from "
        "the maximum of the likelihood, which "
        "`papers.joint_mle` finds. `converged` is about the gradient, `stopped` about the rule.",
        "Equations 29, 37 and 38: the iteration degenerates. `quite(variance=, prior=)` has "
        "readings that do not, and the printed ones.",
        "Section 5.2 prints no rule for which pairs are close: `second_stage` takes neighbours in "
        "the ranking. Raters are chosen by the printed rule, by "
        "information with equal load, or by information with any load.",
        "Proposition 1 is read as in arXiv:2002.11590, of which only the abstract was compared: votes in all, for equal workers. "
        "Where votes are nearly unanimous (reliability 10), a distance has no finite estimate, and more answers help little.",
        "An answer tells most at reliability times distance 2.399 for the logistic link alone; for "
        "the normal one it is 1.575.",
    ],
    {
        "quite_study.svg": (
            "Pairs misranked, and error over the bound, of QUITE, joint ML, the alternating gradient "
            "and the posterior mean",
            _figure,
        ),
        "quite_designs.svg": (
            "Figure 7, by the degree of the graph, and figures 8 and 9, by stages: the share of data sets with a misranked pair",
            _designs,
        ),
    },
)

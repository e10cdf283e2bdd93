"""QUITE against its bound and its paper, cell by cell: `python benchmarks/quite.py` writes quite.md beside it and docs/quite.svg.

Simulated as in section 6 of Nordio, Tarable and Leonardi (2023): random regular graphs of degree 20, as many raters as items, a
share alpha of them on each pair, q ~ U(0, 1), rho ~ U(1, 20). Fewer data sets where they are slow, as the tables say. Two
processes, one thread each.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from raterzoo import evaluation, inference, models, papers
from raterzoo.inference.comparisons.alternating_gradient import alternating_gradient
from raterzoo.inference.comparisons.joint_mle import joint_mle
from raterzoo.inference.comparisons.quite import quite
from raterzoo.inference.design.stages import second_stage
from scipy.special import expit, ndtr
from scipy.stats import beta, binomtest

BTL, THURSTONE = "bradley_terry", "thurstone"
NAMES = {BTL: "BTL", THURSTONE: "Thurstone"}
LISTED = {
    (BTL, 40, 0.1): 2.4, (BTL, 40, 0.5): 1.5, (BTL, 40, 1.0): 1.5,
    (BTL, 100, 0.1): 1.8, (BTL, 100, 0.5): 1.6, (BTL, 100, 1.0): 1.6, (BTL, 200, 0.1): 1.8, (BTL, 400, 0.1): 1.5,
    (THURSTONE, 40, 0.1): 3.7, (THURSTONE, 40, 0.5): 1.9, (THURSTONE, 40, 1.0): 1.9,
    (THURSTONE, 100, 0.1): 2.2, (THURSTONE, 100, 0.5): 1.8, (THURSTONE, 100, 1.0): 2.0,
}  # fmt: skip
"""Centred error over centred bound that the default reading has to keep."""

ROUNDING = 0.05  # of a listed figure
EPSILONS = (0.02, 0.04, 0.06)
POSTERIORS = {(40, 0.2): 50, (40, 0.5): 50, (100, 0.5): 16}
"""Data sets of which the posterior mean is computed, by numbers of items and alpha."""


class Cell(NamedTuple):
    """One design: what is asked of it, and how it is simulated."""

    kind: str
    link: str
    items: int
    alpha: float
    degree: int = 20

    def repeats(self, most: int) -> int:
        """Number of data sets: fewer for cells that take long."""
        return max(2, round(most * SHARES[self.kind][self.items]))


SHARES = {
    "bound": {40: 0.5, 100: 0.3, 200: 0.12, 400: 0.05},
    "ranking": {40: 1, 100: 1, 200: 0.2, 400: 0.04},
    "degree": {200: 0.2},
    "stages": {100: 0.3, 200: 0.1},
}
"""Data sets of a cell by kind and number of items, as a share of the most."""


def simulated(cell: Cell, seed: int):
    return models.simulators.comparisons(
        items=cell.items, raters=cell.items, degree=cell.degree, alpha=cell.alpha, link=cell.link,
        random_seed=np.random.default_rng([seed, cell.items]),
    )  # fmt: skip


def misranked(quality: np.ndarray, truth: xr.DataArray) -> np.ndarray:
    estimate = xr.DataArray(quality, {"item": truth["item"]}, ("item",))
    return papers.epsilon_quality(estimate, truth, EPSILONS).to_numpy()


def against_bound(cell: Cell, seed: int) -> dict[str, float]:
    """Error of both readings in units of the bound, with the best scale, and what the paper's error is made of."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    bound = papers.bayesian_cramer_rao_bound(drawn.data, link=cell.link)
    found: dict = {"truth": truth.to_numpy(), "bound": float(bound["quality"])}
    for name, options in (("default", {}), ("frozen", {"variance": "laplace", "prior": "frozen"})):
        began = time.process_time()
        estimate = quite(drawn.data, link=cell.link, **options)
        found[f"{name} seconds"] = time.process_time() - began
        error = papers.mean_squared_error(estimate, truth, scale="oracle")
        found[f"{name} centred"] = float(error / bound["centred"])
        found[f"{name} quality"] = estimate["quality"].to_numpy()
        found[f"{name} iterations"] = estimate.attrs["iterations"]
        found[f"{name} converged"] = estimate.attrs["converged"]
    return found


def paper_ratio(found: list[dict], name: str) -> tuple[float, float]:
    """Return the error in the paper's form over the bound, both averaged over the data sets, and its error by the jackknife."""
    bound = np.array([f["bound"] for f in found])
    estimate, truth = (
        xr.DataArray(
            np.stack([f[key] for f in found]), {"item": range(len(found[0]["truth"]))}, ("run", "item")
        )
        for key in (f"{name} quality", "truth")
    )

    def ratio(runs: np.ndarray) -> np.ndarray:
        own = xr.DataArray(runs, dims=("left out", "run"))
        error = papers.mean_squared_error(estimate[own], truth[own], form="paper", dim="run")
        return error.mean("run").to_numpy() / bound[runs].mean(axis=1)

    n, runs = len(found), np.arange(len(found))
    without = ratio(np.array([np.delete(runs, r) for r in runs]))
    return float(ratio(runs[None])[0]), float(np.sqrt((n - 1) * np.var(without)))


def ranking(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """Whether an estimate misranks a pair that differs by more than epsilon; of the posterior mean only where it is cheap."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    estimate = quite(drawn.data, link=cell.link)
    other = alternating_gradient(drawn.data, link=cell.link, random_seed=seed)
    found = {
        "QUITE": estimate["quality"],
        "first iteration": estimate["quality_trace"][0],
        "AG as printed": other["quality"],
    }
    with suppress(models.DataError):  # an item that won or lost all its votes: no maximum
        found["joint ML"] = joint_mle(drawn.data, link=cell.link)["quality"]
    if seed < POSTERIORS.get((cell.items, cell.alpha), 0):
        model = getattr(models, cell.link)(drawn.data, reliability_range=(1, 20))
        run = {"chains": 2, "cores": 1, "progressbar": False, "log_likelihood": False, "random_seed": seed}
        tree = inference.sample(model, draws=250, **run)
        found["posterior mean"] = tree["posterior"]["quality"].mean(("chain", "draw"))
    return {name: misranked(quality.to_numpy(), truth) for name, quality in found.items()}


def degrees(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """The same of QUITE, for designs with as many answers on more pairs."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    return {"QUITE": misranked(quite(drawn.data, link=cell.link)["quality"].to_numpy(), truth)}


def stages(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """The same of one stage, and of two with half of the pairs each."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    found = {"one stage": misranked(quite(drawn.data, link=cell.link)["quality"].to_numpy(), truth)}
    half = cell._replace(degree=cell.degree // 2)
    drawn = simulated(half, seed)
    own = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    first = quite(drawn.data, link=cell.link)
    asked = {"answers": round(cell.alpha * cell.items), "degree": half.degree, "exclude": drawn.data}
    plans = {
        "printed rule": second_stage(first, rule="printed", **asked),
        "information": second_stage(first, **asked),
    }
    pairs = plans["information"].sizes["pair"]
    equal = -(-pairs * asked["answers"] // cell.items)
    for name, load in (("information, double load", 2 * equal), ("information, any load", pairs)):
        plans[name] = second_stage(first, load=min(load, pairs), **asked)
    for name, plan in plans.items():
        both = joined(drawn, plan, cell.link, np.random.default_rng([seed, 2]))
        second = quite(both, link=cell.link, start=first)["quality"].sel(item=drawn.data.items)
        found[name] = misranked(second.to_numpy(), own)
    return found


def joined(drawn, plan: xr.Dataset, link: str, rng: np.random.Generator) -> models.Comparisons:
    """Ask what the plan asks for, and put the votes of both stages together."""
    data, quality, reliability = drawn.data, drawn.truth["quality"], drawn.truth["reliability"]
    rater, n = plan["rater"].to_numpy(), plan.sizes["answer"]
    left, right = (np.repeat(plan[side].to_numpy(), n) for side in ("left", "right"))
    x = reliability[rater.ravel()] * (quality[left] - quality[right])
    won = rng.random(len(x)) < (expit(x) if link == BTL else ndtr(x))
    before = np.where(data.outcome == 0, data.left, data.right)
    return models.Comparisons.from_table(
        {
            "rater": np.r_[data.annotation_rater, rater.ravel()],
            "left": np.r_[data.left, left],
            "right": np.r_[data.right, right],
            "winner": np.r_[before, np.where(won, left, right)],
        },
        items=data.items,
    )


KINDS = {"bound": against_bound, "ranking": ranking, "degree": degrees, "stages": stages}


def run(task: tuple[Cell, int]) -> dict:
    cell, seed = task
    with warnings.catch_warnings(action="ignore"):
        return KINDS[cell.kind](cell, seed)


def cells() -> list[Cell]:
    bound = [
        Cell("bound", link, n, alpha)
        for link in (BTL, THURSTONE)
        for n in (40, 100, 200, 400)
        for alpha in (0.1, 0.2, 0.5, 1.0)
    ]
    return [
        *bound,
        *(Cell("ranking", link, n, alpha) for link in (BTL, THURSTONE) for n in (40, 100) for alpha in (0.1, 0.2, 0.5)),
        *(Cell("ranking", link, n, 0.5) for link in (BTL, THURSTONE) for n in (200, 400)),
        *(Cell("degree", link, 200, 10 / d, d) for link in (BTL, THURSTONE) for d in (10, 20, 40, 100)),
        *(Cell("stages", link, n, a) for link in (BTL, THURSTONE) for n in (100, 200) for a in (0.5, 1.0)),
    ]  # fmt: skip


def measured(repeats: int, processes: int, chosen: Iterable[Cell]) -> dict[Cell, list[dict]]:
    """Run every cell so often, cell by cell."""
    results = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for cell in chosen:
            began = time.perf_counter()
            results[cell] = list(pool.map(run, [(cell, seed) for seed in range(cell.repeats(repeats))]))
            print(cell, f"{time.perf_counter() - began:.1f} s", flush=True)
    return results


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def bound_table(results: dict[Cell, list[dict]]) -> list[str]:
    lines = [
        "| link | N | alpha | R | default, centred | listed | frozen, centred | default, paper's form | frozen, paper's form "
        "| iterations | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in results.items():
        if cell.kind != "bound":
            continue
        mean = {
            name: mean_and_error([f[name] for f in found])
            for name in found[0]
            if np.ndim(found[0][name]) == 0
        }
        default, frozen = (paper_ratio(found, name) for name in ("default", "frozen"))
        own, error = mean["default centred"]
        listed = LISTED.get((cell.link, cell.items, cell.alpha))
        verdict = (
            ""
            if listed is None
            else f"{listed} " + ("kept" if own - listed - ROUNDING <= 2 * error else "**worse**")
        )
        lines.append(
            f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {len(found)} | {own:.2f} ± {error:.2f} | {verdict} | "
            f"{mean['frozen centred'][0]:.2f} ± {mean['frozen centred'][1]:.2f} | "
            f"{default[0]:.1f} ± {default[1]:.1f} | {frozen[0]:.1f} ± {frozen[1]:.1f} | "
            f"{mean['default iterations'][0]:.0f} ({mean['default converged'][0]:.0%} converged) | "
            f"{mean['default seconds'][0]:.2f} |"
        )
    return lines


def error_table(results: dict[Cell, list[dict]], kind: str) -> list[str]:
    lines = [
        f"| link | N | alpha | D | method | R | {' | '.join(f'epsilon {e:g}' for e in EPSILONS)} |",
        "|---|---|---|---|---|---|" + "---|" * len(EPSILONS),
    ]
    for cell, found in results.items():
        if cell.kind != kind:
            continue
        for method in found[0]:
            shares = [share(found, method, e) for e in range(len(EPSILONS))]
            shown = " | ".join(f"{rate:.2f} ({low:.2f} to {high:.2f})" for rate, low, high in shares)
            n = sum(method in f for f in found)
            lines.append(
                f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {cell.degree} | {method} | {n} | {shown} |"
            )
    return lines


def picture(results: dict[Cell, list[dict]], path: Path) -> None:
    """Draw the share of misranked data sets by method: over N at alpha = .5, and over alpha at N = 40."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    methods = ("QUITE", "first iteration", "AG as printed", "joint ML", "posterior mean")
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 7), layout="constrained")
    for row, link in zip(axes, (BTL, THURSTONE), strict=True):
        for ax, over, kept, epsilon in zip(
            row, ("items", "alpha"), ({"alpha": 0.5}, {"items": 40}), (0.04, 0.06), strict=True
        ):
            cells = {
                getattr(c, over): f for c, f in results.items()
                if (c.kind, c.link) == ("ranking", link) and all(getattr(c, k) == v for k, v in kept.items())
            }  # fmt: skip
            rates = np.full((3, len(methods), len(cells)), np.nan)
            for k, found in enumerate(cells[at] for at in sorted(cells)):
                for m, method in enumerate(methods):
                    if any(method in f for f in found):
                        rates[:, m, k] = share(found, method, EPSILONS.index(epsilon))
            name = {"items": "N", "alpha": "alpha"}[over]
            dims, coords = ("method", name), {"method": list(methods), name: sorted(cells)}
            rates = xr.Dataset(
                {v: (dims, x) for v, x in zip(("rate", "lower", "upper"), rates, strict=True)}, coords
            )
            evaluation.plots.ranking_error(rates, over=name, by="method", ax=ax)
            fixed = ", ".join(f"{k} = {v:g}" for k, v in kept.items()).replace("items", "N")
            ax.set_title(f"{NAMES[link]}, {fixed}, epsilon = {epsilon:g}", fontsize=9)
            if ax is not row[-1] or row is axes[1]:
                ax.get_legend().remove()
    figure.savefig(path, metadata={"Date": None})


def share(found: list[dict], method: str, epsilon: int) -> tuple[float, float, float]:
    """Return the share of data sets that a method misranks, and its 95 % interval (Clopper and Pearson)."""
    wrong = [f[method][epsilon] for f in found if method in f]
    w, n = int(sum(wrong)), len(wrong)
    low, high = beta.ppf(0.025, w, n - w + 1), beta.ppf(0.975, w + 1, n - w)
    return w / n, 0.0 if w == 0 else float(low), 1.0 if w == n else float(high)


def page(results: dict[Cell, list[dict]], repeats: int) -> str:
    parts = [
        "# QUITE, cell by cell",
        f"`python benchmarks/quite.py`: R simulated data sets in a cell, up to {repeats}, with seeds from 0.",
        "## What the paper says, and where it holds",
        "\n".join(f"- {sentence}" for sentence in claims(results)),
        "## Error against the Bayesian Cramér-Rao bound (figures 3 and 4)",
        "Centred error with the best scale over the centred bound, ± one standard error; *listed* is the figure to keep, to its "
        "rounding and two standard errors. The paper's form pins one item, multiplies all estimates by one factor, the average "
        "of the best ones, and divides by a bound that is mostly the shift. CPU s: one estimate.",
        "\n".join(bound_table(results)),
        "## Ranking error (figures 5 and 6)",
        "Share of data sets in which a pair that differs by more than epsilon is misranked, with its 95 % interval. AG, the "
        "alternating gradient, stops by its printed rule far from the maximum of the likelihood; joint ML is that maximum, "
        "which fewer than R data sets have where an item won or lost all its votes.",
        "![Share of misranked data sets by method](../docs/quite.svg)",
        "\n".join(error_table(results, "ranking")),
        "## Degree of the graph, at the same number of answers (figure 7)",
        "\n".join(error_table(results, "degree")),
        "## One stage and two, at the same number of answers (figures 8 and 9)",
        "Both stages have degree 10 and alpha, and no pair is asked about twice. The second is `papers.second_stage`, "
        "by the printed rule, by information with the same load, and with twice that load or any.",
        "\n".join(error_table(results, "stages")),
    ]
    absent = [f"{c.kind} of {in_words(c)}" for c in cells() if c not in results]
    if absent:
        parts.insert(2, f"Cells that take long are not in this run: {', '.join(absent)}.")
    return "\n\n".join(parts) + "\n"


def claims(results: dict[Cell, list[dict]]) -> list[str]:
    """Say of each claim of the paper where it holds."""
    bound = {cell: found for cell, found in results.items() if cell.kind == "bound"}
    said = []
    ratios: dict[str, Callable[[list[dict], str], tuple[float, float]]] = {
        "in the paper's form": paper_ratio,
        "like for like, centred": lambda found, name: mean_and_error([f[f"{name} centred"] for f in found]),
    }
    for name in ("default", "frozen"):
        for place, of in ratios.items():
            values, errors = np.array([of(found, name) for found in bound.values()]).T
            low, high = values - 2 * errors, values + 2 * errors
            over = [in_words(c) for c, own in zip(bound, low, strict=True) if own > 10]
            said.append(
                f"*The error is less than 10 times the bound, typically 3 to 5*, {name} reading, {place}: "
                f"{values.min():.2f} to {values.max():.2f}, median {np.median(values):.1f}. By two standard errors it is less "
                f"than 10 in {(high < 10).sum()} of {len(values)} cells, more in {len(over)}{''.join(f' ({c})' for c in over)}; "
                f"from 3 to 5 in {((values >= 3) & (values <= 5)).sum()}, below the bound in {(high < 1).sum()}."
            )
    for cell, found in results.items():
        if cell.kind == "ranking" and (cell.items, cell.alpha) == (100, 0.5):
            rate, low, high = share(found, "QUITE", EPSILONS.index(0.06))
            verdict = "holds" if high < 0.02 else "does not hold" if low > 0.02 else "undecided"
            said.append(
                f"*QUITE misranks a pair that differs by more than .06 in less than 2 % of the data sets*, {in_words(cell)}: "
                f"{rate:.1%}, interval {low:.1%} to {high:.1%}, {len(found)} data sets: {verdict}."
            )
    for kind, better, worse, claim in (
        ("ranking", "QUITE", "AG as printed", "QUITE ranks better than the alternating gradient as printed"),
        ("ranking", "QUITE", "joint ML", "QUITE ranks better than joint maximum likelihood"),
        ("ranking", "posterior mean", "QUITE", "The posterior mean ranks better than QUITE"),
        ("ranking", "QUITE", "first iteration", "Iterating ranks better than the first iteration"),
        ("stages", "printed rule", "one stage", "Two stages by the printed rule rank better than one"),
        (
            "stages",
            "information",
            "printed rule",
            "Raters by information rank better than by the printed rule",
        ),
        (
            "stages",
            "information, double load",
            "printed rule",
            "With double load they rank better than by the printed rule",
        ),
    ):
        if any(cell.kind == kind for cell in results):
            said.append(
                f"*{claim}* (two-sided p < .05 by McNemar's exact test in each cell by itself): "
                + compared(results, kind, better, worse)
            )
    for link in (BTL, THURSTONE):
        shares = {
            cell.degree: np.mean([f["QUITE"] for f in found], axis=0)
            for cell, found in results.items() if cell.kind == "degree" and cell.link == link
        }  # fmt: skip
        if shares:
            rates = ", ".join(f"{share[1]:.2f} for D = {d}" for d, share in shares.items())
            falls = (np.diff([share[1] for share in shares.values()]) <= 0).all()
            said.append(
                f"*More pairs with fewer answers each rank better*, {NAMES[link]}, epsilon .04: {rates}: "
                + ("holds." if falls else "does not hold throughout.")
            )
    return said


def in_words(cell: Cell) -> str:
    return f"{NAMES[cell.link]} N = {cell.items}, alpha = {cell.alpha:g}"


def compared(results: dict[Cell, list[dict]], kind: str, better: str, worse: str) -> str:
    """Name the cells where one method misranks less often, where more often, and where nothing can be said."""
    verdicts: dict[str, list[str]] = {"holds": [], "the reverse": [], "undecided": []}
    for cell, found in results.items():
        if cell.kind != kind:
            continue
        for e, epsilon in enumerate(EPSILONS):
            both = [f for f in found if better in f and worse in f]
            if not both:
                continue
            one, other = (np.array([f[name][e] for f in both]) for name in (better, worse))
            wins, losses = int((other & ~one).sum()), int((one & ~other).sum())
            decided = wins + losses and binomtest(wins, wins + losses).pvalue < 0.05
            verdict = "undecided" if not decided else "holds" if wins > losses else "the reverse"
            verdicts[verdict].append(
                f"{in_words(cell)}, epsilon {epsilon:g} ({one.mean():.2f} to {other.mean():.2f})"
            )
    return (
        "; ".join(
            f"{name} in {len(c)}" + (f": {', '.join(c)}" if c and name != "undecided" else "")
            for name, c in verdicts.items()
        )
        + "."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--items", type=int, default=400, help="leave out the cells with more items")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("quite.md"))
    options = parser.parse_args()
    chosen = [cell for cell in cells() if cell.items <= options.items]
    results = measured(options.repeats, options.processes, chosen)
    options.out.write_text(page(results, options.repeats))
    picture(results, Path(__file__).parents[1] / "docs" / "quite.svg")

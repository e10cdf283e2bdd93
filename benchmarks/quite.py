"""QUITE against its bound and its paper, cell by cell: `python benchmarks/quite.py` writes quite.md beside it.

Simulated as in section 6 of Nordio, Tarable and Leonardi (2023): random regular graphs of degree 20, as many raters as items, a
share alpha of them on each pair, q ~ U(0, 1), rho ~ U(1, 20). Two processes, one thread each.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from raterzoo import evaluation, models
from raterzoo.inference.comparisons.alternating_gradient import alternating_gradient
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


class Cell(NamedTuple):
    """One design: what is asked of it, and how it is simulated."""

    kind: str
    link: str
    items: int
    alpha: float
    degree: int = 20


def simulated(cell: Cell, seed: int, alpha: float | None = None):
    return models.simulators.comparisons(
        items=cell.items, raters=cell.items, degree=cell.degree, alpha=cell.alpha if alpha is None else alpha,
        link=cell.link, random_seed=np.random.default_rng([seed, cell.items]),
    )  # fmt: skip


def misranked(quality: np.ndarray, truth: xr.DataArray) -> np.ndarray:
    estimate = xr.DataArray(quality, {"item": truth["item"]}, ("item",))
    return evaluation.epsilon_quality(estimate, truth, EPSILONS).to_numpy()


def against_bound(cell: Cell, seed: int) -> dict[str, float]:
    """Error of both readings in units of the bound, with the best scale and, as the paper has it, pinned at one item."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    bound = evaluation.bayesian_cramer_rao_bound(drawn.data, link=cell.link)
    found = {}
    for name, options in (("default", {}), ("frozen", {"variance": "laplace", "prior": "frozen"})):
        began = time.process_time()
        estimate = quite(drawn.data, link=cell.link, **options)
        found[f"{name} seconds"] = time.process_time() - began
        error = evaluation.mean_squared_error(estimate, truth, scale="oracle")
        found[f"{name} centred"] = float(error / bound["centred"])
        paper = evaluation.mean_squared_error(estimate, truth, form="paper")
        found[f"{name} paper"] = float(paper / bound["quality"])
        found[f"{name} iterations"] = estimate.attrs["iterations"]
        found[f"{name} converged"] = estimate.attrs["converged"]
    return found


def ranking(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """Whether QUITE, its first iteration and the alternating gradient misrank a pair that differs by more than epsilon."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    estimate = quite(drawn.data, link=cell.link)
    other = alternating_gradient(drawn.data, link=cell.link, random_seed=seed)
    return {
        "QUITE": misranked(estimate["quality"].to_numpy(), truth),
        "first iteration": misranked(estimate["quality_trace"][0].to_numpy(), truth),
        "AG": misranked(other["quality"].to_numpy(), truth),
    }


def degrees(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """The same of QUITE, for designs with as many answers on more pairs."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    return {"QUITE": misranked(quite(drawn.data, link=cell.link)["quality"].to_numpy(), truth)}


def stages(cell: Cell, seed: int) -> dict[str, np.ndarray]:
    """The same of one stage, and of two with half of the answers each."""
    drawn = simulated(cell, seed)
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    one = quite(drawn.data, link=cell.link)
    drawn = simulated(cell, seed, cell.alpha / 2)
    first = quite(drawn.data, link=cell.link)
    each = round(cell.alpha * cell.items / 2)
    plan = second_stage(first, pairs=cell.items * cell.degree // 2, answers=each)
    both = joined(drawn, plan, cell.link, np.random.default_rng([seed, 2]))
    second = quite(both, link=cell.link, start=first)["quality"].sel(item=drawn.data.items)
    own = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    return {
        "one stage": misranked(one["quality"].to_numpy(), truth),
        "two stages": misranked(second.to_numpy(), own),
    }


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
        *(Cell("ranking", link, n, 0.5) for link in (BTL, THURSTONE) for n in (100, 200, 400)),
        *(Cell("degree", link, 200, 10 / d, d) for link in (BTL, THURSTONE) for d in (10, 20, 40, 100)),
        *(Cell("stages", link, n, a) for link in (BTL, THURSTONE) for n in (100, 200) for a in (0.5, 1.0)),
    ]  # fmt: skip


def measured(repeats: int, processes: int, chosen: Iterable[Cell]) -> dict[Cell, list[dict]]:
    """Run every cell so often, cell by cell."""
    results = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for cell in chosen:
            began = time.perf_counter()
            results[cell] = list(pool.map(run, [(cell, seed) for seed in range(repeats)]))
            print(cell, f"{time.perf_counter() - began:.1f} s", flush=True)
    return results


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def bound_table(results: dict[Cell, list[dict]]) -> list[str]:
    lines = [
        "| link | N | alpha | default, centred | listed | frozen, centred | default / frozen, paper's form "
        "| iterations | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in results.items():
        if cell.kind != "bound":
            continue
        mean = {name: mean_and_error([f[name] for f in found]) for name in found[0]}
        own, error = mean["default centred"]
        listed = LISTED.get((cell.link, cell.items, cell.alpha))
        verdict = (
            ""
            if listed is None
            else f"{listed} " + ("kept" if own - listed - ROUNDING <= 2 * error else "**worse**")
        )
        lines.append(
            f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {own:.2f} ± {error:.2f} | {verdict} | "
            f"{mean['frozen centred'][0]:.2f} ± {mean['frozen centred'][1]:.2f} | "
            f"{mean['default paper'][0]:.2f} / {mean['frozen paper'][0]:.2f} | "
            f"{mean['default iterations'][0]:.0f} ({mean['default converged'][0]:.0%} converged) | "
            f"{mean['default seconds'][0]:.2f} |"
        )
    return lines


def error_table(results: dict[Cell, list[dict]], kind: str) -> list[str]:
    lines = [
        f"| link | N | alpha | D | method | {' | '.join(f'epsilon {e:g}' for e in EPSILONS)} |",
        "|---|---|---|---|---|" + "---|" * len(EPSILONS),
    ]
    for cell, found in results.items():
        if cell.kind != kind:
            continue
        for method in found[0]:
            wrong, n = np.sum([f[method] for f in found], axis=0), len(found)
            low, high = beta.ppf(0.025, wrong, n - wrong + 1), beta.ppf(0.975, wrong + 1, n - wrong)
            shown = [
                f"{w / n:.2f} ({0 if w == 0 else lo:.2f} to {1 if w == n else hi:.2f})"
                for w, lo, hi in zip(wrong, low, high, strict=True)
            ]
            lines.append(
                f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {cell.degree} | {method} | {' | '.join(shown)} |"
            )
    return lines


def page(results: dict[Cell, list[dict]], repeats: int) -> str:
    parts = [
        "# QUITE, cell by cell",
        f"`python benchmarks/quite.py`: R = {repeats} simulated data sets in every cell, seeds 0 to {repeats - 1}.",
        "## What the paper says, and where it holds",
        "\n".join(f"- {sentence}" for sentence in claims(results)),
        "## Error against the Bayesian Cramér-Rao bound (figures 3 and 4)",
        "Centred error with the best scale over the centred bound, ± one standard error; *listed* is the figure to keep, to its "
        "rounding and two standard errors. The paper's form pins one item and divides by a bound that is mostly the shift. "
        "CPU s: one estimate.",
        "\n".join(bound_table(results)),
        "## Ranking error (figures 5 and 6)",
        "Share of data sets in which a pair that differs by more than epsilon is misranked, with its 95 % interval.",
        "\n".join(error_table(results, "ranking")),
        "## Degree of the graph, at the same number of answers (figure 7)",
        "\n".join(error_table(results, "degree")),
        "## One stage and two, at the same number of answers (figures 8 and 9)",
        "The first stage is a random regular graph with half of the answers, the second `inference.design.second_stage`.",
        "\n".join(error_table(results, "stages")),
    ]
    return "\n\n".join(parts) + "\n"


def claims(results: dict[Cell, list[dict]]) -> list[str]:
    """Say of each claim of the paper where it holds."""
    bound = {cell: found for cell, found in results.items() if cell.kind == "bound"}
    said = []
    for name in ("default", "frozen"):
        for form, place in (("paper", "in the paper's form"), ("centred", "like for like, centred")):
            ratio = {c: np.mean([f[f"{name} {form}"] for f in found]) for c, found in bound.items()}
            over = [in_words(c) for c, r in ratio.items() if r >= 10]
            values = np.array(list(ratio.values()))
            typical = int(((values >= 3) & (values <= 5)).sum())
            said.append(
                f"*The error is less than 10 times the bound, typically 3 to 5*, {name} reading, {place}: "
                f"{values.min():.2f} to {values.max():.2f}, median {np.median(values):.1f}; "
                + (f"at or over 10 at {', '.join(over)}" if over else "less than 10 in every cell")
                + f"; from 3 to 5 in {typical} of {len(values)} cells, below the bound in {(values < 1).sum()}."
            )
    for kind, better, worse, claim in (
        ("ranking", "QUITE", "AG", "QUITE ranks better than the alternating gradient"),
        ("ranking", "QUITE", "first iteration", "Iterating ranks better than the first iteration"),
        ("stages", "two stages", "one stage", "Two stages rank better than one"),
    ):
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
            one, other = (np.array([f[name][e] for f in found]) for name in (better, worse))
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
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--items", type=int, default=400, help="leave out the cells with more items")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("quite.md"))
    options = parser.parse_args()
    chosen = [cell for cell in cells() if cell.items <= options.items]
    results = measured(options.repeats, options.processes, chosen)
    options.out.write_text(page(results, options.repeats))

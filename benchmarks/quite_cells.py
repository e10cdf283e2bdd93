"""QUITE against its bound and its paper, cell by cell: `python benchmarks/quite_cells.py` writes quite_cells.md beside it.

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

import numpy as np
import xarray as xr
from quite_page import BTL, EPSILONS, THURSTONE, Cell, page
from raterzoo import evaluation, models
from raterzoo.inference.comparisons.alternating_gradient import alternating_gradient
from raterzoo.inference.comparisons.quite import quite
from raterzoo.inference.design.stages import second_stage
from scipy.special import expit, ndtr


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--items", type=int, default=400, help="leave out the cells with more items")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("quite_cells.md"))
    options = parser.parse_args()
    chosen = [cell for cell in cells() if cell.items <= options.items]
    results = measured(options.repeats, options.processes, chosen)
    options.out.write_text(page(results, options.repeats))

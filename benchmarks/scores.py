"""Cost of score models: `python benchmarks/scores.py`; limits, in CPU seconds of an idle machine, are asserted.

What takes a second is run three times and the least is told: anything else that the machine does can only add to it.
A virtual machine may pay once more for memory that no process has used before: over a second for the draws of 100,000 items. That
is its own cost, so that as much memory is touched, and given back, before.
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from raterzoo import inference, models, papers

QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False}


def timed(name: str, run: Callable[[], Any], limit: float | None = None, runs: int = 1) -> Any:
    cpu = wall = np.inf
    for _ in range(runs):
        result = None  # gives its memory back
        before = time.process_time(), time.perf_counter()
        result = run()
        cpu = min(cpu, time.process_time() - before[0])
        wall = min(wall, time.perf_counter() - before[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    bound = "" if limit is None else f"   limit {limit:g} s"
    print(f"{name:48s} cpu {cpu:7.2f} s   wall {wall:7.2f} s   peak {peak:5.1f} GB{bound}")
    assert limit is None or cpu <= limit, f"{name}: {cpu:.2f} CPU s are more than {limit:g}"
    return result


def simulated(items: int, raters: int, each: int) -> models.Scores:
    """Return scores by raters of unequal bias and scale."""
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(items), each)
    rater = (np.tile(np.arange(each), items) + np.repeat(rng.integers(0, raters, items), each)) % raters  # fmt: skip
    location, bias = rng.normal(3, 1, items), rng.normal(0, 0.5, raters)
    scale = 0.7 / np.sqrt(rng.gamma(5, 0.2, raters))
    score = location[item] + bias[rater] + scale[rater] * rng.standard_normal(len(item))
    return models.Scores.from_table({"item": item, "rater": rater, "score": score})


def normal() -> None:
    # more than one block of items: its arrays are strided
    warm = models.normal_scores(simulated(2000, 10, 10))
    for densities in (False, True):  # compiles
        inference.sample(warm, draws=10, log_likelihood=densities, **QUIET)
    papers.normal_scores_posterior(warm)
    scores = simulated(100_000, 1000, 10)
    model = timed("100,000 x 10 scores: model", lambda: models.normal_scores(scores))
    timed("    posterior in closed form", lambda: papers.normal_scores_posterior(model), 2)
    timed("    empirical prior", lambda: papers.normal_scores_prior(scores))
    few: dict[str, Any] = {"draws": 250, **QUIET}
    np.empty(2 * 10**9, np.uint8).fill(1)
    timed("    4 x 250 draws", lambda: inference.sample(model, log_likelihood=False, **few), 2, 3)
    timed("    4 x 250 draws and their densities", lambda: inference.sample(model, **few))
    timed("    4 x 1,000 draws", lambda: inference.sample(model, log_likelihood=False, **QUIET))
    timed("    4 x 1,000 draws and their densities", lambda: inference.sample(model, **QUIET))


def hierarchical(items: int, raters: int, each: int) -> None:
    model = models.hierarchical_scores(simulated(items, raters, each))
    name = f"{items * each:,} scores, {items:,} items, {raters:,} raters"
    tree = timed(name, lambda: inference.sample(model, log_likelihood=False, **QUIET), 60)
    diagnosis = inference.diagnose(tree)
    thin = int(tree["sample_stats"]["thinning"])
    print(f"    {thin} sweeps a draw; {diagnosis.attrs['verdict']}")
    assert diagnosis.attrs["converged"], "a run of the default length must converge"


if __name__ == "__main__":
    inference.sample(models.hierarchical_scores(simulated(100, 10, 5)), **QUIET)  # compiles
    hierarchical(4000, 100, 5)
    hierarchical(4000, 1000, 5)
    normal()

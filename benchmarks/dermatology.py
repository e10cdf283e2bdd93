"""Cost of the dermatology set: `python benchmarks/dermatology.py`; simulated data of its shape without RATERZOO_DATA.

Prints CPU and wall seconds of every stage beside its limit, after compilation, and the peak memory of the process.
"""

import os
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models
from raterzoo.inference.rankings.gibbs import begin_worths, continue_worths, pilot_thinning
from raterzoo.inference.rankings.recognition import (
    distinct_annotations,
    gamma_parameters,
    read_rankings,
    worth_posterior,
)
from raterzoo.inference.runs.run import ChainPlan, item_keys
from raterzoo.models.distributions.partial_ranking_kernels import rankings_log_p

QUIET = {"random_seed": 1, "progressbar": False}


def measured(what: str, run: Callable[[], Any], limit: str = "") -> Any:
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what:58s} cpu {cpu:8.3f} s   wall {wall:8.3f} s   {limit}")
    return result


def read() -> models.PartialRankings:
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        return models.simulators.differential_diagnoses(random_seed=1).data
    frame = pd.read_csv(Path(folder) / "dermatology_ddx_long.csv")
    frame["rank"] = frame["block"] + 1
    return models.PartialRankings.from_table(
        frame, item="case", rater="reader", category="condition", categories=list(range(419))
    )


def loop(rankings: models.PartialRankings, reliability: int, limit: str) -> None:
    """The compiled loop: pilot for the thinning, and 4 x (200 + 1000) draws."""
    likelihood = read_rankings(models.plackett_luce(rankings, reliability=reliability))
    shape, rate = gamma_parameters(likelihood.worth)
    annotations = distinct_annotations(
        likelihood.block, likelihood.candidate, likelihood.reliability, len(shape)
    )
    posterior, keys = worth_posterior(annotations, shape, rate), item_keys(rankings.items)
    plan = ChainPlan(chains=4, draws=1000, tune=200, seed=1)

    def draw(keys: np.ndarray, thinning: np.ndarray | int, plan: ChainPlan = plan) -> np.ndarray:
        return continue_worths(posterior, thinning, plan, begin_worths(posterior, keys, plan))

    draw(keys[:1], 1, ChainPlan(1, 1, 1, 1))  # compiles
    name = f"{len(keys)} items, reliability {reliability}"
    thinning = measured(f"{name}: pilot", lambda: pilot_thinning(posterior, keys, plan))
    measured(f"{name}: loop, one sweep a draw", lambda: draw(keys, 1), limit)
    what = f"{name}: loop, thinned by {thinning.mean():.2f} on average"
    measured(what, lambda: draw(keys, thinning))


def law(rankings: models.PartialRankings) -> None:
    """The likelihood and its gradient, inside PyMC and alone."""
    model = models.plackett_luce(rankings)
    gradient = model.logp_dlogp_function(ravel_inputs=True)
    gradient.set_extra_values({})
    point = np.zeros(len(model["worth"].eval()))
    gradient(point)
    best = min(_timed(lambda: gradient(point)) for _ in range(30))
    print(f"{'logp + gradient of all annotations in PyMC':58s} {1e3 * best:8.3f} ms   limit 4 ms")
    log_worth = np.random.default_rng(1).normal(size=(1, 25))
    block = np.append(np.zeros(20, np.int8), np.ones(5, np.int8))[None]
    out, slope = np.empty(1), np.empty((1, 25))
    best = min(_timed(lambda: rankings_log_p(log_worth, block, out, slope)) for _ in range(1000))
    print(f"{'block of 20 tied categories':58s} {1e6 * best:8.1f} us   limit 100 us")


def _timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def end_to_end() -> None:
    """File to tree with diagnostics, then certainties and metrics of four classifiers."""
    rankings = measured("read the table", read)
    model = models.plackett_luce(rankings, reliability=3)
    tree = measured(
        "sample, densities and diagnostics included",
        lambda: inference.sample(model, **QUIET),
        "limit 60 s wall",
    )
    print(inference.diagnose(tree).attrs["verdict"])
    for top in (1, 2, 3):
        measured(
            f"certainty, top {top}",
            lambda top=top: evaluation.annotation_certainty(tree, top=top, random_seed=1),
        )
    rng = np.random.default_rng(1)
    guesses = {"classifier": [], "item": [], "category": [], "rank": []}
    for classifier in "ABCD":
        for item in rankings.items.tolist():
            for rank, category in enumerate(rng.choice(rankings.categories, 3, replace=False).tolist(), 1):
                for key, value in zip(guesses, (classifier, item, category, rank), strict=True):
                    guesses[key].append(value)
    predictions = evaluation.predictions_from_table(guesses, rank="rank", classifier="classifier")
    metrics = [evaluation.top_k_accuracy(1), evaluation.top_k_accuracy(3), evaluation.set_accuracy(2)]
    for metric in [*metrics, evaluation.overlap(3), evaluation.average_overlap(3)]:
        adjusted = partial(evaluation.uncertainty_adjusted, metric, tree, predictions, random_seed=1)
        measured(f"{metric.name}, four classifiers, 4,000 draws", adjusted, "limit 2 s")


if __name__ == "__main__":
    data = read()
    law(data)
    loop(data.select(items=data.items[: len(data.items) // 10]), 3, "a tenth of the items")
    for power, bound in ((1, ""), (3, "limit 20 CPU s"), (10, "limit twice reliability 1")):
        loop(data, power, bound)
    end_to_end()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB   limit 3 GB")

"""What survey equivalence costs: `RATERZOO_DATA=... python benchmarks/equivalence.py`."""

import os
import resource
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from raterzoo.evaluation.equivalence import survey_equivalence, survey_power_curve

DATA = Path(os.environ["RATERZOO_DATA"])


def cpu_of(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the least CPU seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def binary(positive: np.ndarray, total: np.ndarray, probability: np.ndarray) -> tuple:
    coords = {"item": np.arange(len(total)), "category": ["no", "yes"]}
    dims = ("item", "category")
    counts = xr.DataArray(np.stack([total - positive, positive], axis=1), coords, dims)
    law = xr.DataArray(np.stack([1 - probability, probability], axis=1), coords, dims)
    return counts, law


def running_example() -> None:
    table = pd.read_csv(DATA / "running_example.csv")
    positive = table.filter(like="e_").sum(axis=1).to_numpy()
    counts, law = binary(positive, np.full(len(table), 10), table["soft_pos"].to_numpy())
    for combiner, scorer in (
        ("abc", "cross_entropy"),
        ("frequency", "cross_entropy"),
        ("plurality", "agreement"),
    ):
        how = {"combiner": combiner, "scorer": scorer}
        alone = cpu_of(lambda how=how: survey_equivalence(counts, law, bootstrap=0, **how))
        all_of_it = cpu_of(lambda how=how: survey_equivalence(counts, law, **how))
        print(
            f"running example, {combiner} + {scorer}: {1e3 * alone:.0f} ms, 500 resamples {1e3 * all_of_it:.0f} ms CPU"
        )
    relearned = cpu_of(lambda: survey_equivalence(counts, law, relearn=True), 2)
    print(f"the same, ABC learned from every resample: {relearned:.2f} s CPU")


def personal_attacks() -> None:
    table = pd.read_csv(DATA / "toxicity_full.csv")
    counts, law = binary(
        *(table[c].to_numpy() for c in ("n_labelled_attack", "n_labels", "predictor_prob"))
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = cpu_of(lambda: survey_equivalence(counts, law, max_raters=7), 3)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{len(table):,} items, k <= 7, 500 resamples: {seconds:.2f} s CPU, peak {after / 1024:.0f} MB in all "
        f"({(after - before) / 1024:.0f} MB of it here)"
    )


def patterns() -> None:
    """Show that the cost is linear in the unique patterns."""
    rng = np.random.default_rng(1)
    # every way to divide 10 labels among 8 categories
    bars = np.array(list(combinations(range(17), 7)))
    ends = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), 17)])
    every = rng.permutation(np.diff(ends, axis=1) - 1)
    for wanted in (10, 100, 1_000, 10_000):
        counts = every[:wanted]
        coords = {"item": np.arange(wanted), "category": list("abcdefgh")}
        array = xr.DataArray(counts, coords, ("item", "category"))
        seconds = cpu_of(lambda array=array: survey_power_curve(array, bootstrap=0), 2)
        print(f"{wanted:,} patterns of 10 labels, 8 categories, k <= 9: {seconds:.3f} s CPU")


if __name__ == "__main__":
    running_example()
    personal_attacks()
    patterns()

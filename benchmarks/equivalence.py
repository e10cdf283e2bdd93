"""Cost of survey equivalence: `RATERZOO_DATA=... python benchmarks/equivalence.py`."""

import os
import resource
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from raterzoo.evaluation.surveys.equivalence import survey_equivalence, survey_power_curve
from raterzoo.evaluation.surveys.item_states.equivalence import (
    posterior_power_curve,
    posterior_survey_equivalence,
)

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
    counts, law = binary(*(table[c].to_numpy() for c in ("n_labelled_attack", "n_labels", "predictor_prob")))
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


def posterior() -> None:
    """Draw curve and equivalence, check included, from 4,000 draws of ten item states; each within 60 s."""
    rng = np.random.default_rng(1)
    table = pd.read_csv(DATA / "toxicity_full.csv")
    attacks, law = binary(*(table[c].to_numpy() for c in ("n_labelled_attack", "n_labels", "predictor_prob")))
    levels = pd.read_csv(DATA / "credweb.csv").filter(like="c_").to_numpy()
    for name, counts in (
        ("personal attacks", attacks),
        ("credibility, 30 labels in five levels", counted(levels)),
        ("250 items of 60 labels, three categories", counted(rng.multinomial(60, [0.3, 0.3, 0.4], 250))),
        ("45 items of 7 labels, four categories", counted(rng.multinomial(7, rng.dirichlet(np.ones(4), 45)))),
    ):  # fmt: skip
        tree = states_of(counts, rng)
        if name == "personal attacks":
            seconds = cpu_of(lambda tree=tree: posterior_survey_equivalence(tree, law), 1)
        else:
            seconds = cpu_of(lambda tree=tree: posterior_power_curve(tree), 1)
        alone = cpu_of(lambda tree=tree: posterior_power_curve(tree, replicates=0), 1)
        print(f"posterior, {name}: {seconds:.1f} s CPU, the curve alone {alone:.1f} s; limit 60 s")


def counted(counts: np.ndarray) -> xr.DataArray:
    names = [str(c) for c in range(counts.shape[1])]
    return xr.DataArray(counts, {"item": np.arange(len(counts)), "category": names}, ("item", "category"))


def states_of(counts: xr.DataArray, rng: np.random.Generator) -> xr.DataTree:
    n = counts.sizes["category"]
    posterior = {
        "state_weight": (("chain", "draw", "state"), rng.dirichlet(np.full(10, 0.5), (4, 1000))),
        "state_probability": (
            ("chain", "draw", "state", "category"),
            rng.dirichlet(np.full(n, 0.5), (4, 1000, 10)),
        ),
    }
    observed = counts.to_dataset(name="observed_label")
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior), "observed_data": observed})


if __name__ == "__main__":
    running_example()
    personal_attacks()
    patterns()
    posterior()

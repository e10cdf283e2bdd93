"""A regression on the truth: estimated with the raters, on the best label, and on the truth that nobody knows.

`python -m benchmarks.truth_as_regressor [STUDIES]`: studies of 100 items with three answers of five raters, whose matrices
are drawn from the prior; a measurement of each item is normal with standard deviation 1 about -.5 or .5, by its true category.
Biases of the difference, which is 1, in standard errors of one study. The bias of the first is that against the regression
on the truth, which has none: so it is known three times as well.
"""

import sys
import time
from typing import Any, cast

import numpy as np
import nutpie
import pymc as pm
from raterzoo.models.distributions import RaterLabels, truth_probability

ITEMS, RATERS, ANSWERS, DIFFERENCE = 100, 5, 3, 1.0
CONFUSION = 5 * np.eye(2) + 1.5
ITEM = np.repeat(np.arange(ITEMS), ANSWERS)
RATER = (np.arange(ITEMS)[:, None] + np.array([0, 1, 3])).ravel() % RATERS


def regression() -> pm.Model:
    """Build the model: answers of raters, and a measurement that depends on the truth."""
    with pm.Model() as model:
        label = pm.Data("label", np.zeros(len(ITEM), np.int64))
        z = pm.Data("z", np.zeros(ITEMS))
        prior = pm.Dirichlet("prevalence", np.ones(2))
        confusion = pm.Dirichlet("confusion", CONFUSION, shape=(RATERS, 2, 2))
        y = RaterLabels("y", prior=prior, confusion=confusion, answers=(ITEM, RATER), observed=label)
        centre, difference = pm.Normal("centre", 0, 5), pm.Normal("difference", 0, 5)
        mean = centre + difference * np.array([-0.5, 0.5])
        sd = pm.HalfNormal("sd", 2)
        parts = pm.Normal.dist(mean[None, :], sd, shape=(ITEMS, 2))
        pm.Mixture("outcome", w=truth_probability(y), comp_dists=parts, observed=z)
    return model


def study(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw true categories, answers and measurements."""
    truth = (rng.random(ITEMS) < rng.uniform(0.3, 0.7)).astype(int)
    confusion = np.stack([[rng.dirichlet(row) for row in CONFUSION] for _ in range(RATERS)])
    label = (rng.random(len(ITEM)) < confusion[RATER, truth[ITEM], 1]).astype(np.int64)
    return truth, label, DIFFERENCE * (truth - 0.5) + rng.normal(size=ITEMS)


def difference_of(group: np.ndarray, z: np.ndarray) -> float:
    """Return the difference of the means of two groups: the regression on a known category."""
    return z[group == 1].mean() - z[group == 0].mean()


def main(studies: int = 300) -> None:
    """Fit the studies, and print the table after every twentieth."""
    began = time.process_time()
    compiled = nutpie.compile_pymc_model(regression())
    found = []
    for seed in range(studies):
        truth, label, z = study(np.random.default_rng(seed))
        vote = (np.bincount(ITEM, label, ITEMS) > ANSWERS / 2).astype(int)
        if min(truth.sum(), vote.sum(), (1 - truth).sum(), (1 - vote).sum()) < 5:
            continue
        options = {"draws": 500, "tune": 300, "chains": 1, "cores": 1, "seed": seed, "progress_bar": False}
        tree = nutpie.sample(cast(Any, compiled).with_data(label=label, z=z), **options)
        draws = tree.posterior["difference"].to_numpy()
        low, high = np.quantile(draws, [0.05, 0.95])
        holds = low <= DIFFERENCE <= high
        found.append((draws.mean(), draws.std(), difference_of(vote, z), difference_of(truth, z), holds))
        if len(found) % 20 == 0:
            tell(np.array(found).T)
            print(f"{len(found)} studies, {time.process_time() - began:.0f} CPU s", flush=True)


def tell(found: np.ndarray) -> None:
    """Print the table."""
    joint, se, best, known, holds = found
    print("| regression on | mean | bias, standard errors | its error | 90 % intervals hold |")
    print("|---|---|---|---|---|")
    for name, gap, held in (
        ("the truth, estimated with the raters", joint - known, f"{holds.mean():.2f}"),
        ("the best label", best - known, ""),
    ):
        ratio = gap / se.mean()
        error = ratio.std() / np.sqrt(len(se))
        print(f"| {name} | {DIFFERENCE + gap.mean():.3f} | {ratio.mean():.3f} | {error:.3f} | {held} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

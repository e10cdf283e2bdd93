"""Item states: the law sums to one and equals brute force, replicates follow it, the builder says what is wrong."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo import models
from raterzoo.models.distributions.mixed_counts import MixedCounts
from scipy.special import gammaln

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

TINY = models.Labels.from_counts({"item": list("abcdef"), "x": [2, 0, 3, 1, 2, 0], "y": [1, 4, 0, 1, 1, 0]})
FAST = "FAST_COMPILE"


def sequence_probability(labels, weight, probability, spread):
    """One sequence of labels of one item: a Pólya urn of each state, step by step."""
    total = 0.0
    for w, p, rho in zip(weight, probability, spread, strict=True):
        seen, own, t = np.zeros(len(p)), w, rho / (1 - rho)
        for label in labels:
            own *= (p[label] + t * seen[label]) / (1 + t * seen.sum())
            seen[label] += 1
        total += own
    return total


def law_of(categories, spread):
    rng = np.random.default_rng(seed_of(f"law {categories}"))
    rho = rng.uniform(0.1, 0.9, 3) if spread else np.zeros(3)
    return rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(categories), 3), rho


@pytest.mark.parametrize(
    ("categories", "spread", "mode"),
    [(c, s, FAST) for c in (2, 3) for s in (False, True)]
    + [pytest.param(3, True, "NUMBA", marks=pytest.mark.slow)],
)
def test_law_sums_to_one_and_is_that_of_sequences(categories, spread, mode):
    law = law_of(categories, spread)
    sequences = [s for n in (0, 1, 4) for s in product(range(categories), repeat=n)]
    counts = np.array([np.bincount(s, minlength=categories) for s in sequences], np.int64)
    length = counts.sum(axis=1)
    variable, value = MixedCounts.dist(*law, length), pt.lmatrix("counts")
    function = pytensor.function([value], [pm.logp(variable, counts), pm.logp(variable, value)], mode=mode)
    expected = [sequence_probability(s, *law) for s in sequences]
    for log_p in function(counts):
        np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)
        np.testing.assert_allclose(np.bincount(length, np.exp(log_p))[[0, 1, 4]], 1, rtol=1e-12)


@pytest.mark.parametrize("spread", [False, True])
def test_gradient_is_that_of_differences(spread):
    weight, probability, rho = law_of(3, spread)
    counts = np.array([[2, 0, 1], [0, 5, 0], [1, 1, 1], [2, 0, 1]])
    given = [pt.vector("w", shape=(3,)), pt.matrix("p", shape=(3, 3)), pt.vector("r", shape=(3,))]
    log_p = pm.logp(MixedCounts.dist(*given, counts.sum(axis=1)), counts).sum()
    value = pytensor.function(given, log_p, mode=FAST)
    slope = pytensor.function(given, pytensor.grad(log_p, given), mode=FAST)
    point = [weight, probability, rho]
    for place, own in enumerate(slope(*point)[: 3 if spread else 2]):
        for index in np.ndindex(own.shape):
            step = 1e-6
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in point]
                moved[place][index] += sign * step
                ends.append(value(*moved))
            np.testing.assert_allclose(own[index], (ends[0] - ends[1]) / 2 / step, rtol=1e-6, atol=1e-6)


def check_replicates(counts, law, total):
    """Frequencies of all count vectors of an item against their probabilities."""
    z = []
    for y in product(range(total + 1), repeat=counts.shape[1]):
        if sum(y) != total:
            continue
        ways = np.exp(gammaln(total + 1) - gammaln(np.array(y) + 1).sum())
        labels = np.repeat(np.arange(len(y)), y)
        p = ways * sequence_probability(labels, *law)
        found = (counts == np.array(y)).all(axis=1).sum()
        z.append((found - len(counts) * p) / np.sqrt(len(counts) * p * (1 - p)))
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("numba", [False, True])
def test_replicates_follow_the_law(spread, numba):
    law = law_of(3, spread)
    rng = np.random.default_rng(seed_of(f"replicates {spread} {numba}"))
    total = np.full(20_000, 4)
    if numba:
        drawn = pm.draw(MixedCounts.dist(*law, total), random_seed=rng)
    else:
        drawn = MixedCounts.rv_op.rng_fn(rng, *law, total)
    check_replicates(drawn, law, 4)
    weight, probability, rho = law
    assert_rejects_twin(check_replicates, drawn, (weight, probability, (rho + 0.1) * 0.9), 4)
    assert MixedCounts.rv_op.rng_fn(rng, *law, total[:5], size=(2,)).shape == (2, 5, 3)


@pytest.mark.parametrize(
    "options", [{"states": 1}, {"states": 1, "spread": True}, {"states": 3}, {"states": 2, "spread": True}]
)
def test_model_has_its_variables_replicates_and_densities(options):
    model = models.item_states(TINY, **options)
    with model:
        tree = pm.sample_prior_predictive(20, random_seed=1, compile_kwargs={"mode": FAST})
    assert tree["prior_predictive"]["observed_label"].shape == (1, 20, 6, 2)
    total = tree["prior_predictive"]["observed_label"].sum("category")
    assert (total == TINY.counts.sum(axis=1)).all()
    prior = tree["prior"]
    n = options["states"]
    assert prior["state_weight"].shape == (1, 20, n)
    assert prior["state_probability"].dims == ("chain", "draw", "state", "category")
    assert ("state_spread" in prior) == options.get("spread", False)


def test_plausibility_is_asked_for_in_a_coordinate():
    assert models.item_states(TINY).coords["drawn_of_item"] == ("plausibility",)
    assert not models.item_states(TINY, plausibility=False).coords["drawn_of_item"]


@pytest.mark.parametrize(
    "build",
    [
        lambda: models.item_states(TINY, states=0),
        lambda: models.item_states(TINY, states=2.5),
        lambda: models.item_states(TINY, weight_concentration=0),
        lambda: models.item_states(TINY, states=2, weight_concentration=[1, 2]),
        lambda: models.item_states(TINY, probability_concentration=[1, 2, 3]),
        lambda: models.item_states(np.ones((2, 2))),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(build, golden):
    with golden.raises((ValueError, TypeError)):
        build()

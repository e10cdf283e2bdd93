"""Scores that are equal but for rounding are equal; and what other folds say, without a table of all pairs of folds."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import survey_equivalence
from raterzoo.evaluation.surveys import results

from tests.support.monte_carlo import seed_of
from tests.support.survey_parts import AnonymousBayesian, Patterns, subsets_of, survey_power_curve

PAIRS = [("plurality", "agreement"), ("frequency", "cross_entropy"), ("frequency", "brier")]


def array(values, n_categories=2):
    names = [str(category) for category in range(n_categories)]
    coords = {"item": np.arange(len(values)), "category": names}
    return xr.DataArray(values, coords, ("item", "category"))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("n_items", [1, 2, 3, 7, 50, 333])
def test_on_a_flat_curve_the_same_score_is_never_passed(pair, n_items):
    """Unanimous items and a classifier that is always right: as good as any number of raters, and never passed."""
    rng = np.random.default_rng(seed_of("flat"))
    for n_labels in range(2, 12):
        right = np.eye(2)[rng.integers(0, 2, n_items)]
        counts = array(n_labels * right.astype(int))
        found = survey_equivalence(counts, array(right), *pair, bootstrap=10)
        assert str(found["words"].item()).startswith(f"more than {n_labels - 1} rater"), n_labels
        assert np.isposinf(found["equivalence_interval"]).all()
        # of as many raters or more it is neither ahead nor behind
        np.testing.assert_array_equal(found["probability_above"][1:], 0.5)


def test_two_classifiers_that_differ_by_rounding():
    rng = np.random.default_rng(1)
    counts, law = array(rng.multinomial(5, [0.3, 0.7], 30)), rng.dirichlet(np.ones(2), 30)
    near = np.stack([law[:, 0] * (1 + 3e-16), law[:, 1]], axis=1)
    laws = xr.concat([array(law), array(near)], "classifier").assign_coords(classifier=["a", "b"])
    found = survey_equivalence(counts, laws, clip=0, bootstrap=50)
    np.testing.assert_array_equal(found["probability_better"], 0.5)


def test_what_is_rounding():
    inf, nan = np.inf, np.nan
    value = np.array([1.0, 1.0, 1e6, 1e6, -inf, inf, 0.0, -inf, nan])
    other = np.array([1 + 1e-15, 1 + 1e-9, 1e6 + 1e-9, 1e6 + 1e-3, -inf, 3.0, -inf, 0.0, 1.0])
    expected = [0, -1, 0, -1, 0, 1, 1, -1, nan]
    np.testing.assert_array_equal(np.sign(results.signed_gap(value, other)), expected)
    assert (
        results.probability_above(np.array([1.0, 2.0, 0.0, nan]), np.array([1 + 1e-15, 1.0, 1.0, 1.0]))
        == 0.375
    )
    assert results.crossing(np.array([0.0, 1.0, 1 + 1e-16, 1.5]), np.array([1.0])) == 2
    assert results.crossing(np.array([0.0, 1.0, 1 + 4e-16, 1 + 8e-16]), np.array([1.0])) == np.inf


@pytest.mark.parametrize("n_folds", [2, 5, 40])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_other_folds_equal_sums_over_their_items(n_folds, k):
    """Weights over sixteen orders of magnitude: a fold that outweighs the others is not subtracted."""
    rng = np.random.default_rng(seed_of("folds"))
    counts = rng.multinomial(5, [0.2, 0.3, 0.5], 40)
    patterns = Patterns.of(counts, None, rng.permutation(40) % n_folds)
    weights = patterns.multiplicity * 10.0 ** rng.integers(-8, 9, len(patterns))
    subsets = subsets_of(patterns, k, 1)
    told = AnonymousBayesian(n_folds).predicted(subsets, weights)
    joint = (weights[subsets.pattern] * subsets.chance)[:, None] * subsets.reference
    for entry in range(len(subsets.pattern)):
        elsewhere = subsets.fold != subsets.fold[entry]
        total = joint[elsewhere & (subsets.state == subsets.state[entry])].sum(axis=0)
        expected = total / total.sum() if total.sum() else np.full(3, 1 / 3)
        found = told.probability[told.bin[entry]]
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


def test_as_many_folds_as_items():
    """One item a fold is to leave one out; the cost is that of the patterns, not of all pairs of folds."""
    rng = np.random.default_rng(2)
    counts = array(rng.multinomial(4, [0.4, 0.6], 20_000))
    each, one = (
        survey_power_curve(counts, learn=learn, bootstrap=0)["power_curve"]
        for learn in (20_000, "leave-one-out")
    )
    xr.testing.assert_allclose(each, one, rtol=1e-10)

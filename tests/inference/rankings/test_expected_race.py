"""Expected arrivals and probability of a tied block, against enumeration of its orders."""

from itertools import permutations

import numpy as np
import pytest
from raterzoo.inference.rankings.kernels import mle

from tests.support.monte_carlo import assert_rejects_twin, seed_of


def enumerated(worth, rest):
    """Sum over all orders of the block: expected arrivals, duration, log probability."""
    total, arrivals = 0.0, np.zeros(len(worth))
    for order in permutations(range(len(worth))):
        racing = rest + np.cumsum(worth[list(order)][::-1])[::-1]
        probability = np.prod(worth[list(order)] / racing)
        total += probability
        arrivals[list(order)] += probability * np.cumsum(1 / racing)
    last = 0.0
    for order in permutations(range(len(worth))):
        racing = rest + np.cumsum(worth[list(order)][::-1])[::-1]
        last += np.prod(worth[list(order)] / racing) * (1 / racing).sum()
    return arrivals / total, last / total, np.log(total)


def by_subsets(worth, rest):
    exposure = np.empty(len(worth))
    duration, log_p = mle.expect_by_subsets(worth, rest, np.empty((3, 2 ** len(worth))), exposure)
    return exposure, duration, log_p


def by_last(worth, rest):
    exposure = np.empty(len(worth))
    duration, log_p = mle.expect_by_last(worth, rest, exposure)
    return exposure, duration, log_p


def assert_same(found, expected, rtol=1e-12):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


def blocks(name, size, repeats=20):
    rng = np.random.default_rng(seed_of(name))
    for _ in range(repeats):
        yield np.exp(3 * rng.standard_normal(size)), float(np.exp(3 * rng.standard_normal()))


@pytest.mark.parametrize("way", [by_subsets, by_last])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_equals_enumeration(way, size):
    for worth, rest in blocks("enumeration", size):
        assert_same(way(worth, rest), enumerated(worth, rest))


@pytest.mark.parametrize("size", [mle.MAX_SUBSETS, 11])
def test_both_ways_agree(size):
    for worth, rest in blocks("both ways", size):
        assert_same(by_last(worth, rest), by_subsets(worth, rest))


@pytest.mark.parametrize("rest", [1e-250, 1e-12, 1e12, 1e40])
def test_extreme_rest(rest):
    worth = np.array([0.3, 1.0, 1e-8, 25.0])
    assert_same(by_last(worth, rest), by_subsets(worth, rest))


def test_a_member_without_worth_takes_all_the_time():
    worth = np.array([1.0, 1e-200, 3.0])
    assert_same(by_last(worth, 1e-201), by_subsets(worth, 1e-201), rtol=1e-11)


def test_equal_worths_have_a_closed_form():
    # The stages of n equal members before a rest of r each last 1 / (r + n - i) in expectation.
    n, rest = 40, 2.5
    racing = rest + np.arange(n, 0, -1)
    exposure, duration, log_p = by_last(np.ones(n), rest)
    np.testing.assert_allclose(duration, (1 / racing).sum(), rtol=1e-13)
    np.testing.assert_allclose(exposure, np.cumsum(1 / racing).mean(), rtol=1e-13)
    np.testing.assert_allclose(log_p, np.log(np.arange(n, 0, -1) / racing).sum(), rtol=1e-13)


def test_gradient_of_the_log_probability():
    # Fisher's identity: d log p / d w = 1 / w - exposure, and for the rest 1 / Z is never won.
    worth, rest, step = np.array([0.4, 1.7, 0.9]), 1.3, 1e-5
    exposure, duration, _ = by_subsets(worth, rest)
    for k in range(3):
        shift = step * np.eye(3)[k]
        slope = (by_subsets(worth + shift, rest)[2] - by_subsets(worth - shift, rest)[2]) / 2 / step
        np.testing.assert_allclose(slope, 1 / worth[k] - exposure[k], atol=1e-9)
    slope = (by_subsets(worth, rest + step)[2] - by_subsets(worth, rest - step)[2]) / 2 / step
    np.testing.assert_allclose(slope, -duration, atol=1e-9)


def test_independent_arrivals_are_told_apart():
    worth, rest = np.array([0.4, 1.7, 0.9]), 1.3

    def equals_enumeration(exposure):
        np.testing.assert_allclose(exposure, enumerated(worth, rest)[0], rtol=1e-3)

    equals_enumeration(by_subsets(worth, rest)[0])
    # As if a tied block were one stage, or its members raced the rest one by one.
    assert_rejects_twin(equals_enumeration, np.full(3, 1 / (worth.sum() + rest)))
    assert_rejects_twin(equals_enumeration, 1 / (worth + rest))

"""Simulated partial rankings are Plackett-Luce: counts agree with enumerated probabilities."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from raterzoo.models import simulators
from raterzoo.models.simulators import partial_rankings
from scipy.special import digamma, polygamma

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

WORTH = np.array([5.0, 2.0, 1.0, 0.4])


def probability(ranking, worth):
    """Return the probability of blocks of categories: the sum over the orders within the blocks."""
    orders = [()]
    for block in ranking:
        orders = [(*order, *inner) for order in orders for inner in permutations(block)]
    total = 0.0
    for order in orders:
        left = worth.sum() - np.concatenate([[0], np.cumsum(worth[[*order]])])[:-1]
        total += np.prod(worth[[*order]] / left)
    return total


def observed(data):
    """Count the distinct rankings."""
    counts = {}
    for a in range(len(data)):
        starts = data.block_start[data.annotation_start[a] : data.annotation_start[a + 1] + 1]
        blocks = tuple(tuple(data.category_code[i:j].tolist()) for i, j in pairwise(starts))
        counts[blocks] = counts.get(blocks, 0) + 1
    return counts


def outcomes(sizes, left):
    """Return every ranking with these block sizes."""
    if not sizes:
        return [()]
    blocks = {tuple(sorted(block)) for block in permutations(left, sizes[0])}
    return [(b, *rest) for b in blocks for rest in outcomes(sizes[1:], [*{*left} - {*b}])]


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 1), (1, 2), (2, 1), (1, 1, 1, 1), (3, 1)])
def test_probabilities_of_the_oracle_sum_to_one(sizes):
    total = sum(probability(r, WORTH) for r in outcomes(sizes, range(4)))
    assert total == pytest.approx(1, abs=1e-12)


def check_counts(counts, n, sizes):
    expected = {r: probability(r, WORTH) for r in outcomes(sizes, range(4))}
    assert counts.keys() <= expected.keys()
    p = np.array([*expected.values()])
    z = (np.array([counts.get(r, 0) for r in expected]) - n * p) / np.sqrt(n * p * (1 - p))
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2), (2, 1), (1, 1, 1)])
def test_rankings_have_the_probabilities_of_plackett_luce(sizes):
    n = 20_000

    def draw(worth):
        log_worth = np.log(np.tile(worth, (n, 1)))
        seed = seed_of(f"simulated rankings {sizes}")
        drawn = simulators.rankings(log_worth=log_worth, raters=1, block_sizes=sizes, random_seed=seed)
        return observed(drawn.data)

    check_counts(draw(WORTH), n, sizes)
    assert_rejects_twin(check_counts, draw(WORTH * [1.2, 1, 1, 1]), n, sizes)


def test_structures_are_equally_probable():
    seed = seed_of("structures")
    drawn = simulators.rankings(
        items=500, raters=10, categories=5, block_sizes=[(1,), (2, 1), (1, 1, 1, 1)],
        random_seed=seed,
    )  # fmt: skip
    counts = np.bincount(np.diff(drawn.data.annotation_start), minlength=5)
    assert counts.sum() == 5000
    z = (counts[[1, 2, 4]] - 5000 / 3) / np.sqrt(5000 * 2 / 9)
    assert np.abs(z).max() < bonferroni_threshold(3)


def check_log_gamma(draws, shape):
    n = draws.size
    mean, variance, fourth = digamma(shape), polygamma(1, shape), polygamma(3, shape)
    spread = np.sqrt((fourth + 2 * variance**2) / n)
    z = np.array([
        (draws.mean() - mean) / np.sqrt(variance / n),
        (((draws - mean) ** 2).mean() - variance) / spread,
    ])  # fmt: skip
    assert np.abs(z).max() < bonferroni_threshold(2)


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 7.5])
def test_log_gamma_has_the_moments_of_log_gamma(shape):
    rng = np.random.default_rng(seed_of(f"log gamma {shape}"))
    draws = partial_rankings.log_gamma(np.full(100_000, shape), rng)
    check_log_gamma(draws, shape)
    assert_rejects_twin(check_log_gamma, draws, 1.05 * shape)


def test_worths_over_600_orders_of_magnitude_are_ranked_exactly():
    log_worth = np.log(10) * np.array([[-300.0, 0.0, 300.0, 300.0]])
    order = partial_rankings.draw_order(np.repeat(log_worth, 1000, axis=0), np.random.default_rng(1))
    assert (order[:, 2:] == [1, 0]).all()
    first = (order[:, 0] == 2).sum()
    assert abs(first - 500) < bonferroni_threshold(1) * np.sqrt(250)


def test_truth_lies_along_the_ids_and_sums_to_one():
    drawn = simulators.rankings(items=7, categories=4, raters=3, random_seed=2)
    assert drawn.data.items.tolist() == list(range(7))
    assert drawn.data.categories.tolist() == list(range(4))
    assert len(drawn.data) == 21
    assert drawn.truth["plausibility"].shape == (7, 4)
    np.testing.assert_allclose(drawn.truth["plausibility"].sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("simulate", ["rankings", "differential_diagnoses", "three_class_toy"])
def test_seed_gives_the_same_and_the_global_generator_is_left_alone(simulate):
    simulate = getattr(simulators, simulate)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second, other = (simulate(items=30, random_seed=seed) for seed in (1, 1, 2))
    assert first.data == second.data
    assert first.data != other.data
    for name, values in first.truth.items():
        np.testing.assert_array_equal(values, second.truth[name])
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    assert simulate(items=30, random_seed=np.random.default_rng(1)).data == first.data


@pytest.mark.parametrize("sizes", [(), (0,), (1, 0), [(1,), ()], (4, 3), [(1,), (7,)], (-1, 2)])
def test_block_sizes_that_cannot_be(sizes):
    with pytest.raises(ValueError, match="block_sizes="):
        simulators.rankings(categories=6, block_sizes=sizes, random_seed=1)


def test_a_rater_sees_the_worths_at_the_power_of_his_reliability(golden):
    """Of two categories the first is best with probability w^r / (1 + w^r); all raters alike is the wrong twin."""
    log_worth = np.tile(np.log([3.0, 1.0]), (4000, 1))
    reliability = [0.25, 1.0, 3.0]
    simulated = simulators.rankings(
        log_worth=log_worth, reliability=reliability, block_sizes=(1,), random_seed=1
    )
    assert simulated.truth["reliability"].tolist() == reliability
    first = simulated.data.category_code[simulated.data.block_start[:-1]] == 0
    rater = simulated.data.raters[simulated.data.annotation_rater].astype(int)
    share = np.array([first[rater == k].mean() for k in range(3)])

    def z(powers):
        p = 1 / (1 + 3.0 ** -np.array(powers))
        return np.abs(share - p) / np.sqrt(p * (1 - p) / 4000)

    assert z(reliability).max() < 4 and z([1.0, 1.0, 1.0]).max() > 8
    for wrong in ([], [1.0, 0.0], [[1.0]], [np.inf]):
        with golden.raises(ValueError):
            simulators.rankings(reliability=wrong, random_seed=1)

"""The law against enumeration, high precision and its own two forms."""

from decimal import MAX_EMAX, MIN_EMIN, Decimal, getcontext
from math import lgamma, log

import numpy as np
import pytest
from raterzoo.models.distributions import partial_ranking_kernels

from tests.support.monte_carlo import bonferroni_threshold, seed_of
from tests.support.partial_rankings import all_partial_rankings, log_p_by_enumeration, random_block

getcontext().prec, getcontext().Emin, getcontext().Emax = 60, MIN_EMIN, MAX_EMAX


def evaluate(log_worth, block):
    log_worth = np.atleast_2d(np.asarray(log_worth, float))
    block = np.atleast_2d(np.asarray(block, np.int8))
    log_p, gradient = np.empty(len(block)), np.empty(log_worth.shape)
    partial_ranking_kernels.rankings_log_p(log_worth, block, log_p, gradient)
    return log_p, gradient


def log_p_in_60_digits(log_worth, block):
    """The subset recursion on decimals; log worths are floats or decimals."""
    worth = [Decimal(x).exp() for x in log_worth]
    rest = sum((w for w, b in zip(worth, block, strict=True) if b == block.max()), Decimal(0))
    total = Decimal(0)
    for b in range(int(block.max()) - 1, -1, -1):
        members = [w for w, c in zip(worth, block, strict=True) if c == b]
        p = [Decimal(1)] + [Decimal(0)] * (2 ** len(members) - 1)
        for subset in range(1, len(p)):
            inside = [j for j in range(len(members)) if subset >> j & 1]
            mass = rest + sum(members[j] for j in inside)
            p[subset] = sum(members[j] * p[subset ^ 1 << j] for j in inside) / mass
        total += p[-1].ln()
        rest += sum(members)
    return total


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_probabilities_of_all_rankings_with_the_same_block_sizes_sum_to_one(n):
    rng = np.random.default_rng(seed_of(f"sum to one {n}"))
    rankings = list(all_partial_rankings(n))
    log_worth = rng.normal(0, 2, n)
    log_p, _ = evaluate(np.tile(log_worth, (len(rankings), 1)), rankings)
    totals = {}
    for block, value in zip(rankings, log_p, strict=True):
        sizes = tuple(np.bincount(block))
        totals[sizes] = totals.get(sizes, 0.0) + np.exp(value)
    assert len(totals) == 2 ** (n - 1) - 1
    np.testing.assert_allclose(list(totals.values()), 1.0, rtol=0, atol=1e-12)


def test_equals_enumeration_of_tie_orders():
    rng = np.random.default_rng(seed_of("enumeration"))
    for _ in range(200):
        n = rng.integers(2, 8)
        log_worth, block = rng.normal(0, 2, n), random_block(rng, n)
        assert evaluate(log_worth, block)[0] == pytest.approx(
            log_p_by_enumeration(log_worth, block), abs=1e-12
        )


@pytest.mark.parametrize("size", range(1, 13))
def test_recursion_equals_race(size):
    rng = np.random.default_rng(seed_of(f"two forms {size}"))
    for _ in range(20):
        log_ratio = rng.normal(0, 3, size)
        slope, d_worth = np.empty(size), np.empty(size)
        raced = partial_ranking_kernels.race(log_ratio, np.empty(size), slope)
        summed, d_rest = partial_ranking_kernels.recursion(
            np.exp(log_ratio), 1.0, np.empty((3, 2**size)), d_worth
        )
        assert raced == pytest.approx(summed, abs=1e-12)
        np.testing.assert_allclose(slope, d_worth * np.exp(log_ratio), rtol=0, atol=1e-11)
        assert -slope.sum() == pytest.approx(d_rest, abs=1e-11)


@pytest.mark.parametrize("size", [20, 100, 1000])
def test_large_block_of_equals_has_its_closed_form(size):
    block = np.append(np.zeros(size, int), [1, 1])
    log_p, gradient = evaluate(np.zeros(size + 2), block)
    exact = lgamma(size + 1) + lgamma(3) - lgamma(size + 3)  # 1 / binomial(size + 2, 2)
    assert log_p[0] == pytest.approx(exact, rel=1e-11)
    assert gradient.sum() == pytest.approx(0, abs=1e-10)


def test_value_and_gradient_equal_60_digits():
    """Forward differences with a step of 1e-25 are exact to 1e-24 in 60 digits."""
    rng = np.random.default_rng(seed_of("60 digits"))
    step = Decimal("1e-25")
    for spread in [1.0] * 10 + [12 * log(10) / 4] * 10 + [200.0] * 5:
        n = int(rng.integers(2, 6))
        log_worth, block = rng.normal(0, spread, n), random_block(rng, n)
        log_p, gradient = evaluate(log_worth, block)
        exact = log_p_in_60_digits(log_worth, block)
        assert log_p[0] == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
        for k in range(n):
            shifted = [Decimal(x) + (step if j == k else 0) for j, x in enumerate(log_worth)]
            slope = (log_p_in_60_digits(shifted, block) - exact) / step
            assert gradient[0, k] == pytest.approx(float(slope), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("spread", [30, 299, 301, 700, 1400])
@pytest.mark.parametrize(
    "block", [[0, 0, 0, 0, 1, 1], [1, 0, 1, 0, 2, 0], [3, 2, 1, 0, 3, 2], [1, 0, 0, 0, 0, 0]]
)
def test_is_finite_over_600_orders_of_magnitude(spread, block):
    log_worth = np.linspace(0, -spread, 6)
    log_p, gradient = evaluate(log_worth, block)
    exact = log_p_in_60_digits(log_worth, np.array(block))
    assert log_p[0] == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
    assert np.isfinite(gradient).all()
    assert gradient.sum() == pytest.approx(0, abs=1e-9)  # the total worth does not matter


BLOCKS = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 2, 2], [1, 0, 0, 2]]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_number_in_is_no_number_out(block, place, value):
    log_worth = np.zeros(4)
    log_worth[place] = value
    log_p, gradient = evaluate(log_worth, block)
    assert np.isnan(log_p).all() and np.isnan(gradient).all()


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [-1e300, -1e25, -1e9, 1e9, 1e25, 1e300])
def test_worths_beyond_all_sense_have_an_answer(block, place, value):
    """Optimisers try them."""
    log_worth = np.zeros(4)
    log_worth[place] = value
    log_p, gradient = evaluate(log_worth, block)
    assert log_p[0] <= 0 and np.isfinite(gradient).all()
    assert gradient.sum() == pytest.approx(0, abs=1e-9)
    if abs(value) == 1e9:
        exact = float(log_p_in_60_digits(log_worth, np.array(block)))
        assert log_p[0] == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_does_not_depend_on_the_total_worth():
    block = [0, 0, 0, 1, 2, 2]
    log_worth = np.array([0.0, -3, 2, 1, -8, 0])
    np.testing.assert_allclose(
        evaluate(log_worth, block)[0], evaluate(log_worth + 5000, block)[0], atol=1e-11
    )


def test_block_with_nothing_left_is_certain():
    log_p, gradient = evaluate([[1.0, 2.0, 3.0]], [[0, 1, 1]])
    everything, _ = evaluate([[1.0, 2.0, -np.inf]], [[0, 1, 2]])
    assert everything[0] == pytest.approx(-np.log1p(np.exp(1.0)), abs=1e-14)
    assert np.isfinite(log_p).all() and np.isfinite(gradient).all()


def test_candidate_without_worth():
    assert evaluate([0.0, 0.0, -np.inf], [0, 1, 1])[0] == pytest.approx(-np.log(2))
    assert evaluate([-np.inf, 0.0], [0, 1])[0] == -np.inf


def test_padding_does_not_count():
    log_p, gradient = evaluate([0.3, -0.2, 9.0, 9.0], [0, 1, -1, -1])
    assert log_p == pytest.approx(evaluate([0.3, -0.2], [0, 1])[0])
    np.testing.assert_array_equal(gradient[0, 2:], 0)


def frequencies(log_worth, sizes, draws, name):
    rng = np.random.default_rng(seed_of(name))
    block, counts = np.empty(len(log_worth), np.int16), {}
    for _ in range(draws):
        partial_ranking_kernels.draw_ranking(rng, log_worth, sizes, block)
        counts[tuple(block.tolist())] = counts.get(tuple(block.tolist()), 0) + 1
    return counts


def largest_z(log_worth, sizes, counts, draws):
    rankings = [b for b in all_partial_rankings(len(log_worth)) if tuple(np.bincount(b)) == tuple(sizes)]
    log_p, _ = evaluate(np.tile(log_worth, (len(rankings), 1)), rankings)
    p = np.exp(log_p)
    found = np.array([counts.get(tuple(b.tolist()), 0) for b in rankings])
    return np.abs((found - draws * p) / np.sqrt(draws * p * (1 - p))).max(), len(rankings)


@pytest.mark.parametrize("sizes", [(1, 3), (2, 2), (1, 1, 2), (2, 1, 1)])
def test_replicates_follow_the_law(sizes):
    log_worth, sizes = np.array([0.0, 1.0, -1.0, 0.5]), np.array(sizes)
    counts = frequencies(log_worth, sizes, 20_000, f"replicates {sizes}")
    z, n = largest_z(log_worth, sizes, counts, 20_000)
    assert z < bonferroni_threshold(n)
    twin = frequencies(0.9 * log_worth, sizes, 20_000, f"replicates {sizes}")
    z, n = largest_z(log_worth, sizes, twin, 20_000)
    assert z > bonferroni_threshold(n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1, 30, 200, 1e4])
def test_log_p_of_draws_is_that_of_each_draw_to_the_bit(scale, dtype):
    """Blocks of all sizes, rows that share candidates, worths of any span, without worth and not finite."""
    rng = np.random.default_rng(seed_of(f"draws {scale}"))
    log_worth = rng.normal(0, scale, (20, 40)).astype(dtype)
    log_worth[rng.random(log_worth.shape) < 0.05] = -np.inf
    log_worth[3, 5], log_worth[4, 6] = np.nan, np.inf
    candidate, block = np.zeros((150, 12), np.int64), np.full((150, 12), -1, np.int8)
    for row in range(len(block)):
        if row % 3 == 0:  # the next two have the same candidates
            own = rng.choice(40, rng.integers(1, 13), replace=False)
        candidate[row, : len(own)] = own
        tied = rng.integers(0, rng.integers(1, len(own) + 1), len(own))
        block[row, : len(own)] = np.unique(tied, return_inverse=True)[1]

    def of_draws(candidate):
        found = np.empty((len(log_worth), len(block)), dtype)
        partial_ranking_kernels.draws_log_p(log_worth, candidate, block, found)
        return found

    expected = np.array([evaluate(own[candidate], block)[0] for own in log_worth]).astype(dtype)
    assert 0.5 < np.isfinite(expected).mean() < 1
    np.testing.assert_array_equal(of_draws(candidate), expected)
    exchanged = candidate.copy()
    exchanged[1::3] = candidate[::3][:, ::-1]  # a row with other candidates in between
    assert not np.array_equal(of_draws(exchanged), expected, equal_nan=True)

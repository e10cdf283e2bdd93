"""The stream and its draws: published words, and laws compared by Kolmogorov-Smirnov."""

import math

import numba as nb
import numpy as np
import pytest
from raterzoo.inference.kernels import random_streams
from raterzoo.inference.kernels.log_concave import log_concave_sampler
from scipy import stats
from scipy.special import betaln, loggamma

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.random_streams import standard_exponential, standard_gamma, stream

N = 200_000


@nb.njit
def words(rng, n):
    return [random_streams._next_word(rng) for _ in range(n)]


@nb.njit
def uniforms(rng, n):
    return np.array([random_streams.uniform(rng) for _ in range(n)])


@nb.njit
def exponentials(rng, n):
    return np.array([standard_exponential(rng) for _ in range(n)])


@nb.njit
def normals(rng, n):
    return np.array([random_streams.standard_normal(rng) for _ in range(n)])


@nb.njit
def gammas(rng, n, shape):
    return np.array([standard_gamma(rng, shape) for _ in range(n)])


@nb.njit
def log_gammas(rng, n, shape):
    return np.array([random_streams.log_standard_gamma(rng, shape) for _ in range(n)])


def own_stream(name):
    return stream(np.random.SeedSequence(seed_of(name)))


def check_law(draws, cdf):
    assert stats.kstest(draws, cdf).pvalue > 1e-4


def test_words_are_those_of_xoshiro256plusplus():
    """The first outputs of the reference implementation for the state 1, 2, 3, 4."""
    found = words(np.array([1, 2, 3, 4], np.uint64), 4)
    assert [int(w) for w in found] == [41943041, 58720359, 3588806011781223, 3591011842654386]


def test_stream_of_a_generator_moves_on():
    rng = np.random.default_rng(1)
    assert not np.array_equal(stream(rng), stream(rng))
    seeds = np.random.SeedSequence(1)
    np.testing.assert_array_equal(stream(seeds), stream(seeds))


@pytest.mark.parametrize(
    "draw, law",
    [(uniforms, stats.uniform), (exponentials, stats.expon), (normals, stats.norm)],
    ids=["uniform", "exponential", "normal"],
)
def test_draws_have_their_law(draw, law):
    draws = draw(own_stream(law.name), N)
    check_law(draws, law.cdf)
    assert_rejects_twin(check_law, 1.03 * draws, law(scale=1.0).cdf)


@pytest.mark.parametrize("shape", [1.0, 1.01, 2.5, 30.0, 1e6])
def test_gamma_has_its_law(shape):
    draws = gammas(own_stream(f"gamma {shape}"), N, shape)
    check_law(draws, stats.gamma(shape).cdf)
    assert_rejects_twin(check_law, draws, stats.gamma(shape + 0.03 * math.sqrt(shape)).cdf)


@pytest.mark.parametrize("shape", [1 / 419, 0.3, 1.0, 7.0])
def test_log_gamma_is_finite_and_has_its_law(shape):
    draws = log_gammas(own_stream(f"log gamma {shape}"), N, shape)
    assert np.isfinite(draws).all()
    assert shape > 0.1 or draws.min() < -745  # exp underflows where the log does not

    # Far below shape one, log P(G < exp(x)) = shape x - log Gamma(shape + 1), to exp(-30).
    def cdf(x):
        body = stats.gamma(shape).cdf(np.exp(np.maximum(x, -30.0)))
        return np.where(x < -30.0, np.exp(shape * x - loggamma(shape + 1.0)), body)

    check_law(draws, cdf)
    assert_rejects_twin(check_law, draws + 0.03 * draws.std(), cdf)


@nb.njit
def logistic(x, parameters):
    """Log density of the log of a beta prime variable (a, b)."""
    a, b = parameters
    small = math.exp(-abs(x))
    share = (1.0 if x > 0 else small) / (1.0 + small)
    value = a * x - (a + b) * (max(x, 0.0) + math.log1p(small))
    return value, a - (a + b) * share, -(a + b) * small / (1.0 + small) ** 2


draw_logistic = log_concave_sampler(logistic)


@nb.njit
def logistics(rng, n, a, b, start):
    return np.array([draw_logistic(rng, (a, b), start) for _ in range(n)])


@pytest.mark.parametrize("start", [0.0, -40.0, 300.0])
@pytest.mark.parametrize("a, b", [(1.0, 1.0), (0.01, 5.0), (200.0, 3.0), (0.5, 0.002)])
def test_log_concave_draws_have_their_law(a, b, start):
    draws = logistics(own_stream(f"log-concave {a} {b} {start}"), 50_000, a, b, start)

    # p = 1 / (1 + exp(-x)) is Beta(a, b), whose tails are powers of p and 1 - p.
    def cdf(x):
        body = stats.beta(a, b).cdf(1 / (1 + np.exp(-np.clip(x, -30, 30))))
        low = np.exp(a * np.minimum(x, 0) - np.log(a) - betaln(a, b))
        high = 1 - np.exp(-b * np.maximum(x, 0) - np.log(b) - betaln(a, b))
        return np.where(x < -30, low, np.where(x > 30, high, body))

    check_law(draws, cdf)
    assert_rejects_twin(check_law, draws + 0.1 * draws.std(), cdf)


@nb.njit
def plateau(x, parameters):
    """Log density that is flat, without a trace of curvature, between -1000 and 1000."""
    value, slope, curvature = x, 1.0, 0.0
    for edge in (-1000.0, 1000.0):
        small = math.exp(-abs(x - edge))
        value -= max(x - edge, 0.0) + math.log1p(small)
        slope -= (1.0 if x > edge else small) / (1.0 + small)
        curvature -= small / (1.0 + small) ** 2
    return value, slope, curvature


draw_plateau = log_concave_sampler(plateau)


@nb.njit
def plateaus(rng, n):
    return np.array([draw_plateau(rng, (0.0,), 0.0) for _ in range(n)])


def test_log_concave_draws_cross_a_plateau():
    draws = plateaus(own_stream("plateau"), 50_000)
    # but for its edges, which are 1/1000 of its width, the law is uniform
    inside = draws[np.abs(draws) < 900]
    check_law(inside, stats.uniform(-900, 1800).cdf)
    assert np.abs(draws).max() < 1020

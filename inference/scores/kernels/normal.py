"""Independent draws of the location and variance of items from normal-inverse-gamma laws.

    1 / sigma2 ~ Gamma(a, b),    mu | sigma2 ~ Normal(m, sigma2 / k)

The items of a block advance in step, each with its own stream. Two uniforms make two normal variables
(Box and Muller 1958): one for the proposal of Marsaglia and Tsang (2000), one for the location. A normal x
proposes d (1 + y)^3 with d = a - 1/3 and y = x / sqrt(9 d), accepted if a uniform u is below exp(q),

    q = x^2 / 2 + d - d (1 + y)^3 + 3 d log(1 + y) = 3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3) >= -3/2 d y^4    for y >= -1/2

The squeeze u < 1 - 3/2 d y^4 therefore accepts without a logarithm. It holds for nearly all proposals, so
that the loop is vectorised; the few others are tested one by one. The normal variable of the location is
independent of this and is kept. The compiler may neither contract nor reorder operations: the last digits of
an item's draws would depend on its place among those that are computed together.

References
----------
Marsaglia and Tsang (2000), A simple method for generating gamma variables, doi:10.1145/358407.358414. Steele,
Lea and Flood (2014), Fast splittable pseudorandom number generators, doi:10.1145/2660193.2660195
(the mixing of keys).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import log
from ...kernels.random_streams import load_stream, standard_exponential, standard_gamma, store_stream


class ScoreMoments(NamedTuple):
    """Sufficient statistics of the scores of items."""

    count: np.ndarray  # (item,), number of scores
    mean: np.ndarray  # (item,), 0 without scores
    squares: np.ndarray  # (item,), sum of squares about the mean


class NormalItems(NamedTuple):
    """Normal-inverse-gamma laws of items."""

    mean: np.ndarray  # (item,), m
    mean_weight: np.ndarray  # (item,), k
    shape: np.ndarray  # (item,), a
    rate: np.ndarray  # (item,), b


@cached_njit(error_model="numpy")
def score_moments(item: np.ndarray, score: np.ndarray, n_items: int) -> ScoreMoments:
    """Moments of every item's scores, in two passes, without cancellation; item int, score (score,)."""
    count, mean, squares = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    for a in range(len(item)):
        count[item[a]] += 1.0
        mean[item[a]] += score[a]
    for i in range(n_items):
        mean[i] /= max(count[i], 1.0)
    for a in range(len(item)):
        deviation = score[a] - mean[item[a]]
        squares[item[a]] += deviation * deviation
    return ScoreMoments(count, mean, squares)


def posterior_items(prior: NormalItems, moments: ScoreMoments) -> NormalItems:
    """Return the posterior of every item.

    Given n scores of mean y and sum of squares S about it (Murphy 2007, section 3):

        kn = k + n,    mn = (k m + n y) / kn,    an = a + n / 2,    bn = b + S / 2 + k n (y - m)^2 / (2 kn)
    """
    n, away = moments.count, moments.mean - prior.mean
    weight = prior.mean_weight + n
    shrunk = prior.mean_weight * (n / weight)
    return NormalItems(
        prior.mean + n / weight * away,  # mn
        weight,  # kn
        prior.shape + 0.5 * n,  # an
        prior.rate + 0.5 * (moments.squares + shrunk * away**2),  # bn
    )


# --- Independent draws of the location and variance of items from normal-inverse-gamma laws ---

LOG_2_PI = math.log(2 * math.pi)


class NormalDraws(NamedTuple):
    """Output arrays, (draw, item) each; no log densities are computed where log_p has no draws."""

    location: np.ndarray  # mu
    variance: np.ndarray  # sigma2
    scale: np.ndarray  # sigma
    log_p: np.ndarray  # log likelihood of the item's scores
    location_prior: np.ndarray  # log prior density
    variance_prior: np.ndarray  # log prior density


@cached_njit(nogil=True, error_model="numpy")
def draw_normal_items(
    streams: np.ndarray, posterior: NormalItems, prior: NormalItems, moments: ScoreMoments, draws: NormalDraws
) -> None:
    """Draw a block of items from `posterior`, with densities under `prior`; streams (4, item) and `draws` change in place."""
    n_items = len(posterior.mean)
    shape, centre, spread, width = np.empty(n_items), np.empty(n_items), np.empty(n_items), np.empty(n_items)
    for i in range(n_items):
        # a Gamma(a) is a Gamma(a + 1) times U ** (1 / a)
        shape[i] = posterior.shape[i] + 1.0 if posterior.shape[i] < 1.0 else posterior.shape[i]
        centre[i] = shape[i] - 1.0 / 3.0
        spread[i] = 1.0 / math.sqrt(9.0 * centre[i])
        width[i] = 1.0 / math.sqrt(posterior.mean_weight[i])
    constants = (centre, spread, width)
    logs = _log_constants(prior)
    words, at_once = np.empty((3, n_items), np.uint64), np.empty(n_items, np.bool_)
    normal, gamma, away = np.empty(n_items), np.empty(n_items), np.empty(n_items)
    for d in range(len(draws.location)):
        _advance(streams, words)
        _propose(words, constants, (normal, gamma, away), at_once)
        for i in range(n_items):
            if not (at_once[i] or _is_accepted(words[2, i], away[i], centre[i])):
                gamma[i] = _drawn_again(streams, i, shape[i])
            if posterior.shape[i] < 1.0:
                gamma[i] *= _boost(streams, i, posterior.shape[i])
        location, variance, scale = normal, gamma, away
        _to_items(posterior, constants, (location, variance, scale))
        for i in range(n_items):
            draws.location[d, i] = location[i]
            draws.variance[d, i] = variance[i]
            draws.scale[d, i] = scale[i]
        if len(draws.log_p):
            own = (draws.log_p[d], draws.location_prior[d], draws.variance_prior[d])
            _densities((location, variance), prior, moments, logs, own)


@inner_njit(inline="always")
def _rotated(word, by):
    """Rotate the bits of a word to the left."""
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@inner_njit(error_model="numpy")
def _advance(streams, words):
    """Take three words of each xoshiro256++ stream: streams (4, item), words (3, item), overwritten."""
    for i in range(streams.shape[1]):
        s0, s1, s2, s3 = streams[0, i], streams[1, i], streams[2, i], streams[3, i]
        for k in range(3):
            words[k, i] = _rotated(s0 + s3, 23) + s0
            shifted = s1 << np.uint64(17)
            s2 ^= s0
            s3 ^= s1
            s1 ^= s2
            s0 ^= s3
            s2 ^= shifted
            s3 = _rotated(s3, 45)
        streams[0, i], streams[1, i], streams[2, i], streams[3, i] = s0, s1, s2, s3


@inner_njit(inline="always")
def _uniform(word):
    """Map a word to an odd multiple of 2**-54 in (0, 1)."""
    return (np.float64(np.int64(word >> np.uint64(11))) + 0.5) * 2.0**-53


@inner_njit(error_model="numpy")
def _propose(words, constants, variables, at_once):
    """Propose a Gamma and a normal variable for every item; mask the proposals inside the squeeze."""
    centre, spread, _ = constants
    normal, gamma, away = variables
    for i in range(len(normal)):
        radius = math.sqrt(-2.0 * log(_uniform(words[0, i])))
        near, far = _on_circle(words[1, i])  # Box-Muller
        y = spread[i] * (radius * near)
        normal[i] = radius * far
        root = 1.0 + y
        gamma[i] = centre[i] * (root * root * root)  # d (1 + y)^3
        away[i] = y
        square = y * y
        # u < 1 - 3/2 d y^4
        at_once[i] = (_uniform(words[2, i]) < 1.0 - 1.5 * centre[i] * square * square) & (y > -0.5)


@inner_njit(error_model="numpy")
def _is_accepted(word, y, centre):
    """Run the full acceptance test, for proposals outside the squeeze."""
    if y <= -1.0:
        return False
    root = 1.0 + y
    # x^2 / 2 + d - d (1 + y)^3 + 3 d log(1 + y), with x^2 = 9 d y^2
    q = centre * (4.5 * y * y + 1.0 - root * root * root + 3.0 * math.log(root))
    return math.log(_uniform(word)) < q


@inner_njit(inline="always")
def _on_circle(word):
    """Return a point of the unit circle: upper bits choose the angle in a quarter, lowest two the quarter."""
    t = 0.5 * math.pi * (_uniform(word) - 0.5)
    z = t * t
    # Taylor series of sine and cosine
    p = 1.6059043836821613e-10
    p = p * z - 2.505210838544172e-08
    p = p * z + 2.7557319223985893e-06
    p = p * z - 0.0001984126984126984
    p = p * z + 0.008333333333333333
    p = p * z - 0.16666666666666666
    sine = t + t * (z * p)
    p = -1.1470745597729725e-11
    p = p * z + 2.08767569878681e-09
    p = p * z - 2.755731922398589e-07
    p = p * z + 2.48015873015873e-05
    p = p * z - 0.001388888888888889
    p = p * z + 0.041666666666666664
    p = p * z - 0.5
    cosine = 1.0 + z * p
    swapped = (word & np.uint64(1)) > 0
    sign = 1.0 if (word & np.uint64(2)) > 0 else -1.0
    return sign * (sine if swapped else cosine), sign * (cosine if swapped else sine)


@inner_njit(error_model="numpy")
def _drawn_again(streams, i, shape):
    """Draw a Gamma variable of one item from its stream, after a rejection."""
    rng = np.empty(4, np.uint64)
    load_stream(streams, i, rng)
    gamma = standard_gamma(rng, shape)
    store_stream(streams, i, rng)
    return gamma


@inner_njit(error_model="numpy")
def _boost(streams, i, shape):
    """Draw U ** (1 / shape), which turns Gamma(shape + 1) into Gamma(shape)."""
    rng = np.empty(4, np.uint64)
    load_stream(streams, i, rng)
    power = math.exp(-standard_exponential(rng) / shape)
    store_stream(streams, i, rng)
    return power


@inner_njit(error_model="numpy")
def _to_items(posterior, constants, values):
    """Turn normal and Gamma variables into locations, variances and standard deviations, in place."""
    location, variance, scale = values
    width = constants[2]
    for i in range(len(location)):
        sigma2 = posterior.rate[i] / variance[i]  # 1 / sigma2 ~ Gamma(a, b)
        sigma = math.sqrt(sigma2)
        # mu | sigma2 ~ Normal(m, sigma2 / k)
        location[i] = posterior.mean[i] + location[i] * sigma * width[i]
        variance[i] = sigma2
        scale[i] = sigma


@inner_njit(error_model="numpy")
def _log_constants(prior):
    """Return the terms of the log prior densities of location and variance that do not depend on the draw."""
    of_location, of_variance = np.empty(len(prior.mean)), np.empty(len(prior.mean))
    for i in range(len(prior.mean)):
        of_location[i] = 0.5 * (math.log(prior.mean_weight[i]) - LOG_2_PI)
        of_variance[i] = prior.shape[i] * math.log(prior.rate[i]) - math.lgamma(prior.shape[i])
    return of_location, of_variance


@inner_njit(error_model="numpy")
def _densities(values, prior, moments, constants, out):
    """Write the log likelihood of each item, and the log prior densities of its location and variance."""
    location, variance = values
    log_p, of_location, of_variance = out
    for i in range(len(location)):
        log_variance, precision = log(variance[i]), 1.0 / variance[i]
        off, away = location[i] - moments.mean[i], location[i] - prior.mean[i]
        # sum of (y - mu)^2 = S + n (mean - mu)^2
        distance = moments.squares[i] + moments.count[i] * off * off
        log_p[i] = -0.5 * (moments.count[i] * (LOG_2_PI + log_variance) + distance * precision)
        # log Normal(mu; m, sigma2 / k), and log InverseGamma(sigma2; a, b)
        weighted = prior.mean_weight[i] * away * away
        of_location[i] = constants[0][i] - 0.5 * (log_variance + weighted * precision)
        of_variance[i] = constants[1][i] - (prior.shape[i] + 1.0) * log_variance - prior.rate[i] * precision

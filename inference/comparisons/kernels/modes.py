"""Posterior modes of one factor of comparisons given the other: distances of pairs, or reliabilities of raters.

An answer depends on a product x = z y of a reliability and a distance only. Votes are grouped by the unknown
factor y, one for each group; the known factor z belongs to the other side. Grouped by pair, y is the distance
and z the reliability of each rater; grouped by rater, y is the reliability and z the distance of each pair.
Both maximise the same concave function on an interval,

    sum over the cells of the group of  a log F(z y) + b log F(-z y),   less  (w / 2) (y - m)^2

with a and b the votes of a cell for the first and for the second item. Newton steps are confined to a bracket
of the maximum: where the likelihood is nearly straight, a free step overshoots.

References
----------
Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous workers: QUITE an easy
problem, arXiv:2310.02016, eq. 29 and 31-38.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.paired_comparisons_kernels import logistic_score, normal_score
from ....models.distributions.vector_math import FAST, exp

MOST_STEPS = 200  # bisection alone takes about 64


class GroupedVotes(NamedTuple):
    """Votes, grouped by pair or by rater."""

    start: np.ndarray  # int64 (group + 1,); cells of group g: start[g]:start[g + 1]
    # int (cell,), index of the known factor: rater if grouped by pair, pair if by rater
    other: np.ndarray
    wins: np.ndarray  # float64 (cell,), votes a for the first item
    losses: np.ndarray  # float64 (cell,), votes b for the second


class Prior(NamedTuple):
    """Gaussian priors of the unknown factors."""

    mean: np.ndarray  # float64 (group,), m
    precision: np.ndarray  # float64 (group,), w; 0 is flat


class Search(NamedTuple):
    """Interval, starting points and tolerance of the maximisation."""

    start: np.ndarray  # float64 (group,); the result for a group without votes
    low: float  # the interval
    high: float  # the interval
    tolerance: float  # stop at a shorter step


@inner_njit(inline="always", error_model="numpy")
def next_point(y, slope, curvature, bracket, search):
    """Return the next safeguarded Newton point, and the bracket updated by the slope at y.

    `curvature` is minus the second derivative; `bracket` holds the closest points known to lie below and
    above the maximum, or infinities. y is returned at an end of the interval where the function rises outwards.
    """
    below, above = bracket
    if slope > 0.0:
        below = y
    else:
        above = y
    following = min(max(y + slope / curvature, search.low), search.high)
    if slope > 0.0 and following >= above:
        following = 0.5 * (y + above)
    if slope < 0.0 and following <= below:
        following = 0.5 * (y + below)
    return following, (below, above)


@cached_njit(nogil=True, **FAST)
def product_modes(thurstone, votes, factor, prior, search):
    """Maximise every group; return modes, observed and Fisher information in the votes there.

    Shapes: factor (other,), the known z; results (group,). F is the normal cdf if `thurstone`, otherwise the
    logistic function. The prior adds its precision to either information.
    """
    n_groups = len(votes.start) - 1
    mode, observed, expected = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    own = np.empty(np.diff(votes.start).max())
    for g in range(n_groups):
        first, last = votes.start[g], votes.start[g + 1]
        z = own[: last - first]
        for c in range(last - first):
            z[c] = factor[votes.other[first + c]]
        a, b = votes.wins[first:last], votes.losses[first:last]
        y, bracket = min(max(search.start[g], search.low), search.high), (-np.inf, np.inf)
        for _ in range(MOST_STEPS):
            slope, observed[g], expected[g] = _slopes(thurstone, y, z, a, b)
            slope -= prior.precision[g] * (y - prior.mean[g])  # -w (y - m)
            if slope == 0.0:
                break
            before = y
            curvature = observed[g] + prior.precision[g]
            y, bracket = next_point(before, slope, curvature, bracket, search)
            if abs(y - before) <= search.tolerance:
                break
        mode[g] = y
    return mode, observed, expected


@cached_njit(**FAST)
def _slopes(thurstone, y, z, a, b):
    """Return the derivative of the log likelihood of one group, and both kinds of information."""
    slope = observed = expected = 0.0
    if thurstone:
        for c in range(len(z)):
            residual, seen, fisher = normal_score(z[c] * y, a[c], b[c])
            slope += z[c] * residual
            observed += z[c] * z[c] * seen
            expected += z[c] * z[c] * fisher
    else:
        for c in range(len(z)):
            residual, seen, _ = logistic_score(z[c] * y, a[c], b[c])
            slope += z[c] * residual
            observed += z[c] * z[c] * seen
        expected = observed
    return slope, observed, expected


# --- Bradley-Terry when every rater judges every pair equally often: all groups share one likelihood function ---

DIGITS = 32.0  # a series is cut where its terms are e^-32, or 1e-14, of the first


class SharedCosh(NamedTuple):
    """Chebyshev series of the derivatives of h, valid for ``abs(y) <= reach``.

    With a + b = m votes in every cell the votes enter through s alone, and h is common to all groups:

        sum of a log F(z y) + b log F(-z y)  =  s y - m h(y),   s = sum of z (a - b) / 2,   h(y) = sum of log 2 cosh(z y / 2)
        h'(y) = y p(t),   h''(y) = q(t),   t = 2 (y / reach)^2 - 1

    The nearest pole, z y = i pi, determines the number of terms.
    """

    slope: np.ndarray  # float64 (term,), coefficients of p
    curvature: np.ndarray  # float64 (term,), coefficients of q
    reach: float


def shared_cosh(factor: np.ndarray, reach: float) -> SharedCosh:
    """Expand h' and h'' for known factors z (other,), unknown ones up to `reach`, to about 1e-13 of the largest value."""
    widest = np.abs(factor).max() * reach
    terms = 8
    if widest > 0:
        # terms decay by exp(-acosh(1 + 2 (pi / widest)^2))
        terms += math.ceil(DIGITS / math.acosh(1.0 + 2.0 * (math.pi / widest) ** 2))
    t = chebyshev.chebpts1(terms)
    slope, curvature = _at_nodes(factor, reach * np.sqrt(0.5 * (t + 1.0)))
    # discrete cosine transform from Chebyshev nodes to coefficients
    to_series = chebyshev.chebvander(t, terms - 1).T * 2.0 / terms
    to_series[0] *= 0.5
    return SharedCosh(to_series @ slope, to_series @ curvature, reach)


@cached_njit(nogil=True, **FAST)
def _at_nodes(factor, y):
    """Return h'(y) / y and h''(y) for positive y: sums of z / 2 tanh(z y / 2) and of its derivative."""
    slope, curvature = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        total = bend = 0.0
        for k in range(len(factor)):
            z = abs(factor[k])
            t = exp(-z * y[i])
            total += z * (1.0 - t) / (1.0 + t)  # z tanh(z y / 2), t = e^(-z y)
            bend += z * z * t / ((1.0 + t) * (1.0 + t))  # z^2 / 4 sech^2(z y / 2)
        slope[i], curvature[i] = 0.5 * total / y[i], bend
    return slope, curvature


@cached_njit(nogil=True, **FAST)
def pair_statistics(half_margin, reliability):
    """Return s (pair,), a sum over raters, from half_margin (pair, rater) = (a - b) / 2 and z = reliability (rater,)."""
    statistic = np.empty(len(half_margin))
    for e in range(len(half_margin)):
        row, total = half_margin[e], 0.0
        for k in range(len(row)):
            total += reliability[k] * row[k]
        statistic[e] = total
    return statistic


@cached_njit(nogil=True, **FAST)
def rater_statistics(half_margin, distance):
    """Return s (rater,), a sum over pairs, from half_margin (pair, rater) = (a - b) / 2 and z = distance (pair,)."""
    statistic = np.zeros(half_margin.shape[1])
    for e in range(len(half_margin)):
        row, d = half_margin[e], distance[e]
        for k in range(len(row)):
            statistic[k] += d * row[k]
    return statistic


@cached_njit(nogil=True, **FAST)
def complete_modes(linear, each, shared, prior, search):
    """Maximise s y - m h(y) plus the log prior for every group; return modes and information in the votes.

    Shapes: linear (group,), s; results (group,). `each` is m; the interval of `search` is within ``reach`` of
    0. Observed and Fisher information coincide.
    """
    mode, information = np.empty(len(linear)), np.empty(len(linear))
    for g in range(len(linear)):
        y, bracket = min(max(search.start[g], search.low), search.high), (-np.inf, np.inf)
        for _ in range(MOST_STEPS):
            p, q = _values(shared, y)
            information[g] = each * q  # m h''(y)
            # s - m h'(y) - w (y - mean)
            slope = linear[g] - each * y * p - prior.precision[g] * (y - prior.mean[g])
            if slope == 0.0:
                break
            before = y
            curvature = information[g] + prior.precision[g]
            y, bracket = next_point(before, slope, curvature, bracket, search)
            if abs(y - before) <= search.tolerance:
                break
        mode[g] = y
    return mode, information


@inner_njit(inline="always", **FAST)
def _values(shared, y):
    """Return p and q at y by Clenshaw's recursion."""
    scaled = y / shared.reach
    t = 2.0 * scaled * scaled - 1.0
    p1 = p2 = q1 = q2 = 0.0
    for k in range(len(shared.slope) - 1, 0, -1):
        p1, p2 = 2.0 * t * p1 - p2 + shared.slope[k], p1
        q1, q2 = 2.0 * t * q1 - q2 + shared.curvature[k], q1
    return t * p1 - p2 + shared.slope[0], t * q1 - q2 + shared.curvature[0]

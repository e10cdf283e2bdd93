"""Bradley-Terry when every rater judges every pair equally often: all groups share one likelihood function.

With a + b = m votes in every cell, and x = z y as in `product_mode`,

    sum of a log F(z y) + b log F(-z y)  =  s y - m h(y),   s = sum of z (a - b) / 2,   h(y) = sum of log 2 cosh(z y / 2)

Votes enter through the sufficient statistic s only (one matrix-vector product for all groups), and h is
common to all. Its derivative is odd and its second derivative even, so that

    h'(y) = y p(t),   h''(y) = q(t),   t = 2 (y / reach)^2 - 1

with Chebyshev series p and q; the nearest pole, z y = i pi, determines the number of terms.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.polynomial import chebyshev

from ...models.distributions.compiling import kept
from ...models.distributions.vector_math import FAST, exp
from .product_mode import MOST_STEPS, next_point

__all__ = ["SharedCosh", "complete_modes", "pair_statistics", "rater_statistics", "shared_cosh"]

DIGITS = 32.0  # a series is cut where its terms are e^-32, or 1e-14, of the first


class SharedCosh(NamedTuple):
    """Chebyshev series of the derivatives of h, valid for ``abs(y) <= reach``."""

    slope: np.ndarray  # float64 (term,), coefficients of p
    curvature: np.ndarray  # float64 (term,), coefficients of q
    reach: float


def shared_cosh(factor: np.ndarray, reach: float) -> SharedCosh:
    """Expand h' and h'' for one set of known factors, to about 1e-13 of the largest value.

    Shapes: factor (other,), z; `reach` is the largest absolute value of an unknown factor.
    """
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


@kept(nogil=True, **FAST)
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


@kept(nogil=True, **FAST)
def pair_statistics(half_lead, reliability):
    """Return s of every pair, a sum over raters.

    Shapes: half_lead (pair, rater), (a - b) / 2; reliability (rater,), z; result (pair,).
    """
    statistic = np.empty(len(half_lead))
    for e in range(len(half_lead)):
        row, total = half_lead[e], 0.0
        for k in range(len(row)):
            total += reliability[k] * row[k]
        statistic[e] = total
    return statistic


@kept(nogil=True, **FAST)
def rater_statistics(half_lead, distance):
    """Return s of every rater, a sum over pairs.

    Shapes: half_lead (pair, rater), (a - b) / 2; distance (pair,), z; result (rater,).
    """
    statistic = np.zeros(half_lead.shape[1])
    for e in range(len(half_lead)):
        row, d = half_lead[e], distance[e]
        for k in range(len(row)):
            statistic[k] += d * row[k]
    return statistic


@kept(nogil=True, **FAST)
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


@nb.njit(inline="always", **FAST)
def _values(shared, y):
    """Return p and q at y by Clenshaw's recursion."""
    scaled = y / shared.reach
    t = 2.0 * scaled * scaled - 1.0
    p1 = p2 = q1 = q2 = 0.0
    for k in range(len(shared.slope) - 1, 0, -1):
        p1, p2 = 2.0 * t * p1 - p2 + shared.slope[k], p1
        q1, q2 = 2.0 * t * q1 - q2 + shared.curvature[k], q1
    return t * p1 - p2 + shared.slope[0], t * q1 - q2 + shared.curvature[0]

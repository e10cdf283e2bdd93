"""Bradley-Terry where every rater judges every pair equally often: one function of the unknown factor serves all groups.

With a + b = m votes in every cell, and x = z y as in `product_mode`,

    sum of a log F(z y) + b log F(-z y)  =  s y - m h(y),   s = sum of z (a - b) / 2,   h(y) = sum of log 2 cosh(z y / 2)

The votes enter by the sufficient statistic s alone, one product of a matrix and a vector for all groups, and h is the same for
all. Its derivative is odd and its second derivative even, and so they are series in t = 2 (y / reach)^2 - 1,

    h'(y) = y p(t),   h''(y) = q(t)

p and q are Chebyshev series. The nearest pole, at z y = i pi, says how many terms they need.
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
    """The function that all groups share.

    Attributes
    ----------
    slope, curvature : ndarray of float64, shape (term,)
        Chebyshev coefficients of p and q.
    reach : float
        The series hold for ``abs(y) <= reach``.
    """

    slope: np.ndarray
    curvature: np.ndarray
    reach: float


def shared_cosh(factor: np.ndarray, reach: float) -> SharedCosh:
    """Expand the function of one set of known factors.

    Parameters
    ----------
    factor : ndarray of float64, shape (other,)
        The known factors z.
    reach : float
        The largest absolute value of an unknown factor.

    Returns
    -------
    SharedCosh
        Exact to about 1e-13 of the largest value.
    """
    widest = np.abs(factor).max() * reach
    terms = 8
    if widest > 0:
        terms += math.ceil(DIGITS / math.acosh(1.0 + 2.0 * (math.pi / widest) ** 2))
    t = chebyshev.chebpts1(terms)
    slope, curvature = _at_nodes(factor, reach * np.sqrt(0.5 * (t + 1.0)))
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
            total += z * (1.0 - t) / (1.0 + t)
            bend += z * z * t / ((1.0 + t) * (1.0 + t))
        slope[i], curvature[i] = 0.5 * total / y[i], bend
    return slope, curvature


@kept(nogil=True, **FAST)
def pair_statistics(half_lead, reliability):
    """Return s of every pair.

    Parameters
    ----------
    half_lead : ndarray of float64, shape (pair, rater)
        (a - b) / 2 of every cell.
    reliability : ndarray of float64, shape (rater,)
        z.

    Returns
    -------
    ndarray of float64, shape (pair,)
        Sums over raters.
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
    """Return s of every rater.

    Parameters
    ----------
    half_lead : ndarray of float64, shape (pair, rater)
        (a - b) / 2 of every cell.
    distance : ndarray of float64, shape (pair,)
        z.

    Returns
    -------
    ndarray of float64, shape (rater,)
        Sums over pairs.
    """
    statistic = np.zeros(half_lead.shape[1])
    for e in range(len(half_lead)):
        row, d = half_lead[e], distance[e]
        for k in range(len(row)):
            statistic[k] += d * row[k]
    return statistic


@kept(nogil=True, **FAST)
def complete_modes(linear, each, shared, prior, search):
    """Maximise every group.

    Parameters
    ----------
    linear : ndarray of float64, shape (group,)
        The sufficient statistics s.
    each : float
        Votes m of every cell.
    shared : SharedCosh
        h.
    prior : Prior
        Priors of the unknown factors.
    search : Search
        The interval, within ``reach`` of 0, and the first points.

    Returns
    -------
    mode, information : ndarray of float64, shape (group,)
        Where the maximum is, and the information in the votes there; observed and Fisher information are the same.
    """
    mode, information = np.empty(len(linear)), np.empty(len(linear))
    for g in range(len(linear)):
        y, bracket = min(max(search.start[g], search.low), search.high), (-np.inf, np.inf)
        for _ in range(MOST_STEPS):
            p, q = _values(shared, y)
            information[g] = each * q
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

"""Draws of the spread of a population of normal variables, and of the shape of a population of Gamma variables.

A spread s with prior HalfNormal(A), given noisy deviations d_k ~ Normal(0, s^2 + 1 / w_k) from the mean, and x = log s:

    log p(x) = x - exp(2 x) / (2 A^2) - sum of [log(1 + w_k exp(2 x)) + w_k d_k^2 / (1 + w_k exp(2 x))] / 2

It may have two modes, and is drawn from by a slice (Neal 2003, doi:10.1214/aos/1056562461).

A shape a with prior Gamma(c, d), given n precisions t_k ~ Gamma(a, a v_k), L the sum of log(t_k v_k) - t_k v_k, and x = log a:

    log p(x) = n (a log a - lgamma(a)) + a (L - d) + c x

It is concave in x, as a (log a - digamma(a)) falls with a, from 1 to 1/2 (Anderson and Qiu 1997), and L <= -n.
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.vector_math import FAST, log
from .log_concave import log_concave_sampler
from .random_stream import standard_exponential, uniform

__all__ = ["digamma", "draw_log_shape", "draw_log_spread", "spread_log_p", "trigamma"]

RECURRED = 12.0  # from here the asymptotic series are exact to the last digits


@nb.njit(error_model="numpy")
def digamma(x: float) -> float:
    """Return the derivative of log Gamma at a positive number."""
    below = 0.0
    while x < RECURRED:
        below -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = 1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132))))
    return below + math.log(x) - 0.5 / x - y * series


@nb.njit(error_model="numpy")
def trigamma(x: float) -> float:
    """Return the second derivative of log Gamma at a positive number."""
    below = 0.0
    while x < RECURRED:
        below += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    series = 1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * (5 / 66))))
    return below + 1.0 / x + 0.5 * y + y / x * series


@nb.njit(**FAST)
def spread_log_p(x: float, weight: np.ndarray, away: np.ndarray, narrow: float) -> float:
    """Return the log density of a log spread, up to a constant.

    Parameters
    ----------
    x : float
        Log of the spread.
    weight : ndarray, shape (member,)
        w, zero for a member of whom nothing is known.
    away : ndarray, shape (member,)
        d.
    narrow : float
        1 / A^2.

    Returns
    -------
    float
        Log density.
    """
    between = math.exp(2.0 * x)
    total = 0.0
    for k in range(len(weight)):
        grown = 1.0 + weight[k] * between
        total += log(grown) + weight[k] * away[k] * away[k] / grown
    return x - 0.5 * (narrow * between + total)


@nb.njit(error_model="numpy")
def draw_log_spread(
    rng: np.ndarray, weight: np.ndarray, away: np.ndarray, narrow: float, x: float
) -> float:
    """Draw a log spread once by a slice through the density at the present one, stepped out and shrunk.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    weight, away, narrow
        As in `spread_log_p`.
    x : float
        The present log spread.

    Returns
    -------
    float
        The next one.
    """
    level = spread_log_p(x, weight, away, narrow) - standard_exponential(rng)
    width = 3.0 / math.sqrt(len(weight))
    left = x - width * uniform(rng)
    right = left + width
    while spread_log_p(left, weight, away, narrow) > level:
        left -= width
    while spread_log_p(right, weight, away, narrow) > level:
        right += width
    while True:
        y = left + (right - left) * uniform(rng)
        if spread_log_p(y, weight, away, narrow) >= level:
            return y
        if y < x:
            left = y
        else:
            right = y


@nb.njit(error_model="numpy")
def _shape_density(x, parameters):
    """Return the log density of a log shape, with slope and curvature; parameters n, L - d, c."""
    n, slope, power = parameters
    a = math.exp(x)
    value = n * (a * x - math.lgamma(a)) + a * slope + power * x
    first = n * (x + 1.0 - digamma(a)) + slope  # with respect to a
    return value, a * first + power, a * first + a * n * (1.0 - a * trigamma(a))


draw_log_shape = log_concave_sampler(_shape_density)

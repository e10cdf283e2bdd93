"""Draws of the spread of normal variables, and of the shape and mode of a population of variances.

A spread s with prior HalfNormal(A), given noisy deviations d_k ~ Normal(0, s^2 + 1 / w_k) from the mean:

    log p(s) = -s^2 / (2 A^2) - sum of [log(1 + w_k s^2) + w_k d_k^2 / (1 + w_k s^2)] / 2

It may have two modes, and is drawn by slice sampling (Neal 2003, doi:10.1214/aos/1056562461). It is even and
flat at zero, where the density of log s would have an infinite tail: so s itself is sampled, on either side
of zero, and the sign is dropped.

A shape a with prior Gamma(c, d), given n precisions t_k ~ Gamma(a, (a + 1) v_k), L the sum of
log(t_k v_k) - t_k v_k, x = log a:

    log p(x) = n (a log(a + 1) - lgamma(a)) + a (L - d) + c x

It is concave in x, as L <= -n and a (log(a + 1) + a / (a + 1) - digamma(a)) - a falls with a, from 1 to 1/2:
with b = a + 1 it is 1 - (1 - 1/b) (1 - b (log b - digamma(b))), and b (log b - digamma(b)) falls with b
(Anderson and Qiu 1997).

A mode v with prior InverseGamma(c, d), given the shape a and n such precisions, T their sum, and x = log v:

    log p(x) = (n a - c) x - (a + 1) T exp(x) - d exp(-x)

a generalised inverse Gaussian law, and concave in x.
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.vector_math import FAST, log
from .log_concave import log_concave_sampler
from .random_stream import standard_exponential, uniform

__all__ = [
    "digamma",
    "draw_log_mode",
    "draw_log_shape",
    "draw_spread",
    "spread_log_p",
    "trigamma",
]

RECURRED = 12.0  # from here on the asymptotic series are exact to the last digits
SCORINGS = 4
DOUBLINGS, SHRINKS = 64, 300  # reached only if a density is NaN


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
def spread_log_p(spread: float, weight: np.ndarray, away: np.ndarray, narrow: float) -> float:
    """Return the log density of a spread, up to a constant; the sign of the spread does not matter.

    Shapes: weight (member,), w, zero for an unobserved member; away (member,), d. `narrow` is 1 / A^2.
    """
    between = spread * spread
    total = 0.0
    for k in range(len(weight)):
        grown = 1.0 + weight[k] * between
        total += log(grown) + weight[k] * away[k] * away[k] / grown
    return -0.5 * (narrow * between + total)


@nb.njit(**FAST)
def _slice_width(weight, away, narrow):
    """Return about three standard deviations of a spread, by Fisher scoring of its square."""
    widest = 3.0 / math.sqrt(narrow)
    square, information = 1.0 / narrow, 0.0
    for _ in range(SCORINGS):
        information, score = 0.0, 0.0
        for k in range(len(weight)):
            precision = weight[k] / (1.0 + weight[k] * square)
            information += precision * precision
            score += precision * (precision * away[k] * away[k] - 1.0)
        if not information > 0.0:  # no observed member
            return widest
        square = max(square + score / information, 0.0)
    reach = 1.5 * math.sqrt(2.0 / information)
    return min(math.sqrt(square + reach) - math.sqrt(max(square - reach, 0.0)), widest)


@nb.njit(error_model="numpy")
def draw_spread(
    rng: np.ndarray, weight: np.ndarray, away: np.ndarray, narrow: float, spread: float
) -> float:
    """Draw a spread by slice sampling from the present one, with doubling and shrinkage.

    Shapes: weight, away (member,), as in `spread_log_p`. Returns the present spread if the density is NaN.
    """
    law = (weight, away, narrow)
    level = spread_log_p(spread, *law) - standard_exponential(rng)
    width = _slice_width(*law)
    left = spread - width * uniform(rng)
    right = left + width
    low, high = spread_log_p(left, *law), spread_log_p(right, *law)
    # doubling (Neal 2003, figure 4)
    for _ in range(DOUBLINGS):
        if not (low > level or high > level):
            break
        if uniform(rng) < 0.5:
            left -= right - left
            low = spread_log_p(left, *law)
        else:
            right += right - left
            high = spread_log_p(right, *law)
    whole = (left, right)
    # shrinkage (figure 5)
    for _ in range(SHRINKS):
        y = left + (right - left) * uniform(rng)
        if spread_log_p(y, *law) >= level and _leads_back(y, spread, whole, (level, width), law):
            return abs(y)
        if y < spread:
            left = y
        else:
            right = y
    return spread


@nb.njit(error_model="numpy")
def _leads_back(y, spread, whole, slice_, law):
    """Run the acceptance test of doubling: could y have led to the same interval? (Neal 2003, figure 6)."""
    left, right = whole
    level, width = slice_
    apart = False
    for _ in range(DOUBLINGS):
        if not right - left > 1.1 * width:
            break
        middle = 0.5 * (left + right)
        apart = apart or ((spread < middle) != (y < middle))
        if y < middle:
            right = middle
        else:
            left = middle
        if apart and level >= spread_log_p(left, *law) and level >= spread_log_p(right, *law):
            return False
    return True


@nb.njit(error_model="numpy")
def _shape_density(x, parameters):
    """Return the log density of a log shape, with slope and curvature; parameters n, L - d, c."""
    n, slope, power = parameters
    a = math.exp(x)
    part = a / (a + 1.0)
    value = n * (a * math.log1p(a) - math.lgamma(a)) + a * slope + power * x  # log p(x)
    first = n * (math.log1p(a) + part - digamma(a)) + slope  # with respect to a
    second = n * (part * (1.0 + 1.0 / (a + 1.0)) - a * trigamma(a))  # times a
    return value, a * first + power, a * (first + second)


draw_log_shape = log_concave_sampler(_shape_density)


@nb.njit(error_model="numpy")
def _mode_density(x, parameters):
    """Return the log density of a log mode, with slope and curvature; parameters n a - c, (a + 1) T, d."""
    power, above, below = parameters
    up, down = above * math.exp(x), below * math.exp(-x)
    return power * x - up - down, power - up + down, -up - down


draw_log_mode = log_concave_sampler(_mode_density)

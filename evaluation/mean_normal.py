"""Mean normal cdf of many raters below a threshold: a direct sum, or an interpolation table for many items.

Within one draw, P(y <= t) = mean_k Phi((t - mu - b_k) / s_k) is one smooth function of the location mu, the
same for all items. It is tabulated with its derivative on an even grid and interpolated by cubic Hermite
polynomials. With step h the error is at most

    h^4 / 384  max |Phi''''|  mean_k s_k^-4,   max |Phi''''| = sqrt(18 - 6 sqrt 6) phi(sqrt(3 - sqrt 6)) = .5506,

which determines the step. If there were not many fewer nodes than items, the sum itself is computed.
"""

import numpy as np
from scipy.special import ndtr

__all__ = ["mean_normal_below"]

ERROR = 1e-6  # largest error of a probability from the table
STEEPEST = 0.5506  # max |Phi''''|
ITEMS_A_NODE = 3  # cost of a node in items: it needs the derivative, too
MANY_TERMS = 10_000  # item-rater terms of a draw below which a table does not pay


def mean_normal_below(
    threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Probability that a rater picked at random scores an item at most the threshold, correct to 1e-6.

    Shapes: location (sample, item), finite; bias and scale (sample, rater), finite and scale positive; result
    (sample, item).
    """
    step = _steps(scale)
    as_sum = np.ptp(location, axis=1) * ITEMS_A_NODE >= step * location.shape[1]
    if location.shape[1] * bias.shape[1] < MANY_TERMS:
        as_sum[:] = True
    below = np.empty_like(location)
    below[as_sum] = _sums(threshold, location[as_sum], bias[as_sum], scale[as_sum])
    for s in np.flatnonzero(~as_sum):
        below[s] = _from_table(threshold - location[s], bias[s], scale[s], step[s])
    return below


def _steps(scale: np.ndarray) -> np.ndarray:
    """Step h of each draw's table (sample,), from the error bound."""
    smallest = scale.min(axis=1)
    mean = ((smallest[:, None] / scale) ** 4).mean(axis=1)
    return (384 * ERROR / STEEPEST / mean) ** 0.25 * smallest


def _sums(
    threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Mean over the raters by direct summation; location and result (sample, item)."""
    total, one = np.zeros_like(location), np.empty_like(location)
    for k in range(bias.shape[1]):
        np.subtract((threshold - bias[:, k])[:, None], location, out=one)
        one /= scale[:, k, None]
        total += ndtr(one, out=one)
    total /= bias.shape[1]
    return total


def _from_table(x: np.ndarray, bias: np.ndarray, scale: np.ndarray, step: float) -> np.ndarray:
    """Mean over the raters by the table, at distances x (item,) of the threshold in one draw."""
    first = x.min()
    node = first + step * np.arange(int((x.max() - first) / step) + 2)
    z = (node[:, None] - bias) / scale
    value = ndtr(z).mean(axis=1)
    with np.errstate(over="ignore"):  # z**2 overflows far from a rater of small scale: density zero
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    slope = step * (density / scale).mean(axis=1)
    rise = np.diff(value)
    place = (x - first) / step
    left = place.astype(np.intp)
    place -= left
    found = (slope[:-1] + slope[1:] - 2 * rise)[left]
    # cubic Hermite polynomial by Horner's scheme
    for coefficient in (3 * rise - 2 * slope[:-1] - slope[1:], slope, value):
        found *= place
        found += coefficient[left]
    return np.clip(found, 0, 1, out=found)  # the cubics may exceed [0, 1] by their error

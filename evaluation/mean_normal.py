"""The mean of the normal laws of many raters, below a threshold: a sum, or where there are many items a table of it.

Within one draw, P(y <= t) = mean_k Phi((t - mu - b_k) / s_k) is one smooth function of the location mu, whatever the item. It is
computed with its derivative on an even grid, and between two nodes taken for the cubic that agrees with both at either: with
step h that is wrong by at most

    h^4 / 384  max |Phi''''|  mean_k s_k^-4,        max |Phi''''| = sqrt(18 - 6 sqrt 6) phi(sqrt(3 - sqrt 6)) = .5506

from which the step follows. Where nodes would not be much fewer than items, the sum itself is taken.
"""

import numpy as np
from scipy.special import ndtr

__all__ = ["mean_normal_below"]

ERROR = 1e-6  # largest of a probability from the table
STEEPEST = 0.5506
ITEMS_A_NODE = 3  # a node costs more than an item: it has a derivative, too
MANY_TERMS = 10_000  # of the sums of a draw; below that a table is not worth its overhead


def mean_normal_below(
    threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Return the probability that a rater picked at random gives an item at most the threshold.

    Parameters
    ----------
    threshold : float
        Where to cut.
    location : ndarray, shape (sample, item)
        Draws of the locations, finite.
    bias, scale : ndarray, shape (sample, rater)
        Draws of what raters add, and of their standard deviations: finite, and positive.

    Returns
    -------
    ndarray, shape (sample, item)
        Probabilities, right to 1e-6.
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
    """Return the step of each draw's table, at least a small share of the smallest scale."""
    smallest = scale.min(axis=1)
    mean = ((smallest[:, None] / scale) ** 4).mean(axis=1)
    return (384 * ERROR / STEEPEST / mean) ** 0.25 * smallest


def _sums(
    threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Return the mean over the raters, one after the other."""
    total, one = np.zeros_like(location), np.empty_like(location)
    for k in range(bias.shape[1]):
        np.subtract((threshold - bias[:, k])[:, None], location, out=one)
        one /= scale[:, k, None]
        total += ndtr(one, out=one)
    total /= bias.shape[1]
    return total


def _from_table(x: np.ndarray, bias: np.ndarray, scale: np.ndarray, step: float) -> np.ndarray:
    """Return the mean over the raters at distances x of the threshold from the items of one draw."""
    first = x.min()
    node = first + step * np.arange(int((x.max() - first) / step) + 2)
    z = (node[:, None] - bias) / scale
    value = ndtr(z).mean(axis=1)
    with np.errstate(over="ignore"):  # far beyond a narrow rater the density is zero
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    slope = step * (density / scale).mean(axis=1)
    rise = np.diff(value)
    place = (x - first) / step
    left = place.astype(np.intp)
    place -= left
    found = (slope[:-1] + slope[1:] - 2 * rise)[left]
    for coefficient in (3 * rise - 2 * slope[:-1] - slope[1:], slope, value):  # Horner
        found *= place
        found += coefficient[left]
    return np.clip(found, 0, 1, out=found)  # the cubics may pass the ends by their error

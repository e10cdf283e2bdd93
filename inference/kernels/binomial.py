"""Binomial draws from a stream, for any number of trials.

The number of n uniforms below p is found by their order statistics: the a-th of them is Beta(a, n + 1 - a), and whichever side of
p it falls to, only the uniforms on the other side are still open. The trials halve, and the last few are counted one by one.

References
----------
Devroye (1986), Non-uniform random variate generation, section X.4.3 (recursive binomial generators).
"""

import numba as nb
import numpy as np

from .gamma import standard_gamma
from .random_stream import uniform

__all__ = ["draw_binomial", "split_count"]

COUNTED = 12  # trials that are counted one by one


@nb.njit(error_model="numpy")
def draw_binomial(rng: np.ndarray, trials: int, p: float) -> int:
    """Draw a Binomial(trials, p) variable.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    trials : int
        Number of trials, from 0.
    p : float
        Probability of success, from 0 to 1.

    Returns
    -------
    int
        Successes.
    """
    below = 0
    while trials > COUNTED and 0.0 < p < 1.0:
        a = 1 + trials // 2
        low = standard_gamma(rng, float(a))
        high = standard_gamma(rng, float(trials + 1 - a))
        middle = low / (low + high)
        if middle <= p:
            below += a
            trials -= a
            p = (p - middle) / (1.0 - middle)
        else:
            trials = a - 1
            p /= middle
    if p >= 1.0:
        below += trials
    elif p > 0.0:
        for _ in range(trials):
            if uniform(rng) < p:
                below += 1
    return below


@nb.njit(error_model="numpy")
def split_count(rng: np.ndarray, count: int, share: np.ndarray, parts: np.ndarray) -> None:
    """Draw how many of `count` things fall to each part: a multinomial variable.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    count : int
        How many there are.
    share : ndarray, shape (part,)
        Probabilities, summing to one.
    parts : ndarray of int64, shape (part,)
        Overwritten.
    """
    left = 1.0
    last = len(share) - 1
    for j in range(last):
        parts[j] = 0
        if count > 0 and share[j] > 0.0:
            parts[j] = draw_binomial(rng, count, min(1.0, share[j] / left))
        count -= parts[j]
        left -= share[j]
        if left <= 0.0:
            left = 0.0 if count == 0 else share[j + 1 :].sum()
    parts[last] = count

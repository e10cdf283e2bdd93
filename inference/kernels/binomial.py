"""Binomial and multinomial draws from a stream, for any number of trials.

Of n uniforms, count those below p by order statistics: the a-th is Beta(a, n + 1 - a), and whichever side of
p it falls on, only the uniforms on the other side remain undecided. The trials halve at each step; the last
few are drawn one by one.

References
----------
Devroye (1986), Non-uniform random variate generation, section X.4.3 (recursive binomial generators).
"""

import numba as nb
import numpy as np

from .gamma import standard_gamma
from .random_stream import uniform

__all__ = ["draw_binomial", "split_count"]

COUNTED = 12  # this many trials or fewer are drawn one by one


@nb.njit(error_model="numpy")
def draw_binomial(rng: np.ndarray, trials: int, p: float) -> int:
    """Draw a Binomial(trials, p) variable, for trials from 0 and p from 0 to 1."""
    below = 0
    while trials > COUNTED and 0.0 < p < 1.0:
        a = 1 + trials // 2
        # middle ~ Beta(a, n + 1 - a), the a-th smallest of n uniforms
        low = standard_gamma(rng, float(a))
        high = standard_gamma(rng, float(trials + 1 - a))
        middle = low / (low + high)
        if middle <= p:
            # a uniforms are below p, n - a are uniform above middle
            below += a
            trials -= a
            p = (p - middle) / (1.0 - middle)
        else:
            # a - 1 uniforms are below middle, the others above p
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
    """Draw the multinomial allocation of `count` things to parts, by successive binomials.

    Shapes: share (part,), probabilities that sum to one; parts int64 (part,), overwritten.
    """
    left = 1.0
    last = len(share) - 1
    for j in range(last):
        parts[j] = 0
        if count > 0 and share[j] > 0.0:
            # n_j | n_1, ..., n_(j-1) ~ Binomial(count left, p_j / probability left)
            parts[j] = draw_binomial(rng, count, min(1.0, share[j] / left))
        count -= parts[j]
        left -= share[j]
        if left <= 0.0:
            left = 0.0 if count == 0 else share[j + 1 :].sum()
    parts[last] = count

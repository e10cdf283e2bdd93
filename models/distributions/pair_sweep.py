"""One pass over all comparisons: the likelihood of every annotation, and what it says of the distance and of ties.

    x_a = rho_k (q_left - q_right) + b_k             rater k of annotation a

The laws of one comparison are those of `pair_links`; here they meet the codes of items and raters. The gradient is two passes:
the first leaves the slopes of every annotation in x and in the tie parameter, the second adds them up by item and rater.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

import numba as nb
import numpy as np

from .compiling import kept
from .logistic_links import davidson_counts, logistic_counts
from .normal_links import normal_counts, threshold_counts
from .pair_links import BRADLEY_TERRY, DAVIDSON, THURSTONE, law_code

__all__ = ["LINKS", "Codes", "Link", "PairSweeps", "Strengths", "pair_sweeps"]

Link = Literal["bradley_terry", "thurstone"]
LINKS = ("bradley_terry", "thurstone")


class Strengths(NamedTuple):
    """The parameters of the law, as compiled code reads them.

    Attributes
    ----------
    quality : ndarray, shape (item,)
        Qualities.
    reliability, left_bias, tie : ndarray, shape (rater,)
        Slope, advantage of the left side and tie parameter of every rater; without ties the last has no meaning.
    """

    quality: np.ndarray
    reliability: np.ndarray
    left_bias: np.ndarray
    tie: np.ndarray


class Codes(NamedTuple):
    """Who compared what with what: codes of each annotation.

    Attributes
    ----------
    left, right : ndarray of int, shape (annotation,)
        Items.
    rater : ndarray of int, shape (annotation,)
        Raters.
    """

    left: np.ndarray
    right: np.ndarray
    rater: np.ndarray


class PairSweeps(NamedTuple):
    """The compiled passes of one law.

    Attributes
    ----------
    log_p : callable
        ``log_p(strengths, codes, counts, found)`` overwrites the three arrays (annotation,) of ``found``: the log likelihood of
        the counts (annotation, outcome) without the multinomial coefficient, and its slopes in x and in the tie parameter.
    pull : callable
        ``pull(strengths, codes, slopes, sums)`` overwrites the four arrays of ``sums``, a `Strengths`, with the gradient, where
        ``slopes`` are the two of ``found``, each annotation weighed.
    draw : callable
        ``draw(rng, strengths, codes, total, counts)`` overwrites the counts (annotation, outcome) with ``total`` answers of each.
    """

    log_p: Callable
    pull: Callable
    draw: Callable


@nb.njit(error_model="numpy", inline="always")
def _counted(law, x, a, b, c, tie):
    """Return the log likelihood of a answers "left", b answers "right" and c ties, and its slopes in x and tie."""
    if law == BRADLEY_TERRY:
        return logistic_counts(x, a, b, c, tie)
    if law == THURSTONE:
        return normal_counts(x, a, b, c, tie)
    if law == DAVIDSON:
        return davidson_counts(x, a, b, c, tie)
    return threshold_counts(x, a, b, c, tie)


@cache
def pair_sweeps(link: str, n_outcomes: int) -> PairSweeps:
    """Compile the passes of a law.

    Parameters
    ----------
    link : {"bradley_terry", "thurstone"}
        Logistic or normal.
    n_outcomes : {2, 3}
        Whether there are ties.

    Returns
    -------
    PairSweeps
        The passes.
    """
    ties = n_outcomes == 3
    law = law_code(link, ties)

    @kept(nogil=True, error_model="numpy", fastmath=False)
    def log_p(strengths, codes, counts, found):
        quality, reliability, left_bias, tie = strengths
        left, right, rater = codes
        log_p, slope, tie_slope = found
        for a in range(len(left)):
            k = rater[a]
            x = reliability[k] * (quality[left[a]] - quality[right[a]]) + left_bias[k]
            tied = float(counts[a, 2]) if ties else 0.0
            log_p[a], slope[a], tie_slope[a] = _counted(
                law, x, float(counts[a, 0]), float(counts[a, 1]), tied, tie[k]
            )

    @kept(nogil=True, error_model="numpy", fastmath=False)
    def pull(strengths, codes, slopes, sums):
        quality, reliability = strengths.quality, strengths.reliability
        left, right, rater = codes
        slope, tie_slope, weight = slopes
        for total in sums:
            total[:] = 0.0
        of_quality, of_reliability, of_bias, of_tie = sums
        for a in range(len(left)):
            i, j, k = left[a], right[a], rater[a]
            s = weight[a] * slope[a]
            of_quality[i] += s * reliability[k]
            of_quality[j] -= s * reliability[k]
            of_reliability[k] += s * (quality[i] - quality[j])
            of_bias[k] += s
            of_tie[k] += weight[a] * tie_slope[a]

    @kept(nogil=True, error_model="numpy", fastmath=False)
    def draw(rng, strengths, codes, total, counts):
        quality, reliability, left_bias, tie = strengths
        left, right, rater = codes
        for a in range(len(left)):
            k = rater[a]
            x = reliability[k] * (quality[left[a]] - quality[right[a]]) + left_bias[k]
            remaining, mass = total[a], 1.0
            for o in range(n_outcomes - 1):
                one, other = (1.0, 0.0) if o == 0 else (0.0, 1.0)
                p = math.exp(_counted(law, x, one, other, 0.0, tie[k])[0])
                counts[a, o] = rng.binomial(remaining, min(1.0, p / mass)) if p > 0.0 else 0
                remaining -= counts[a, o]
                mass -= p
            counts[a, n_outcomes - 1] = remaining

    return PairSweeps(log_p, pull, draw)

"""One pass over all comparisons: log likelihood of every annotation and its slopes.

    x_a = rho_k (q_left - q_right) + b_k             rater k of annotation a

The laws of one comparison are in `pair_links`. The gradient takes two passes: `log_p` leaves the slopes of
every annotation in x and in the tie parameter, `pull` sums them by item and rater.
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
    """Parameters of the likelihood, as compiled code reads them."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,): factor of the difference of qualities
    left_bias: np.ndarray  # (rater,): advantage of the left side
    tie: np.ndarray  # (rater,): tie parameter, unused without ties


class Codes(NamedTuple):
    """Items and rater of each annotation, as codes."""

    left: np.ndarray  # int (annotation,): item
    right: np.ndarray  # int (annotation,): item
    rater: np.ndarray  # int (annotation,)


class PairSweeps(NamedTuple):
    """Compiled passes of one law.

    Attributes
    ----------
    log_p : callable
        ``log_p(strengths, codes, counts, found)`` overwrites the three arrays (annotation,) of ``found``: log
        likelihood of the counts (annotation, outcome) without the multinomial coefficient, slope in x, slope
        in tie.
    pull : callable
        ``pull(strengths, codes, slopes, sums)`` overwrites the four arrays of ``sums``, a `Strengths`, with
        the gradient; ``slopes`` are slope in x, slope in tie and weight, each (annotation,).
    draw : callable
        ``draw(rng, strengths, codes, total, counts)`` overwrites the counts (annotation, outcome) with
        replicates of ``total`` answers each.
    """

    log_p: Callable
    pull: Callable
    draw: Callable


@nb.njit(error_model="numpy", inline="always")
def _counted(law, x, a, b, c, tie):
    """Return the log likelihood of a answers left, b right and c ties, and its slopes in x and tie."""
    if law == BRADLEY_TERRY:
        return logistic_counts(x, a, b, c, tie)
    if law == THURSTONE:
        return normal_counts(x, a, b, c, tie)
    if law == DAVIDSON:
        return davidson_counts(x, a, b, c, tie)
    return threshold_counts(x, a, b, c, tie)


@cache
def pair_sweeps(link: str, n_outcomes: int) -> PairSweeps:
    """Compile the passes of a link with two outcomes, or three with ties."""
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
            # dx/dq_i = rho_k, dx/dq_j = -rho_k, dx/drho_k = q_i - q_j, dx/db_k = 1
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
            # multinomial by binomials
            remaining, mass = total[a], 1.0
            for o in range(n_outcomes - 1):
                one, other = (1.0, 0.0) if o == 0 else (0.0, 1.0)
                p = math.exp(_counted(law, x, one, other, 0.0, tie[k])[0])
                counts[a, o] = rng.binomial(remaining, min(1.0, p / mass)) if p > 0.0 else 0
                remaining -= counts[a, o]
                mass -= p
            counts[a, n_outcomes - 1] = remaining

    return PairSweeps(log_p, pull, draw)

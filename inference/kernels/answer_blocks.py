"""Log likelihood and slopes of a block of answers, in a loop that computes several at a time.

There is a loop for each law; `answers_of_block` picks it, so that the compiled code around it is one for all laws.
"""

from collections.abc import Callable
from typing import Any

import numba as nb

from ...models.distributions.logistic_links import davidson_counts, logistic_counts
from ...models.distributions.normal_links import normal_counts, threshold_counts
from ...models.distributions.pair_links import BRADLEY_TERRY, DAVIDSON, THURSTONE
from ...models.distributions.vector_math import FAST

__all__ = ["answers_of_block"]


def _loop_over(counts: Callable) -> Any:
    """Compile the loop of one law."""

    @nb.njit(**FAST)
    def loop(x, tie, answers, low, slope):
        a, b, c = answers
        total, of_bias, of_tie = 0.0, 0.0, 0.0
        for m in range(len(x)):
            own = (float(a[low + m]), float(b[low + m]), float(c[low + m]))
            log_p, of_x, of_t = counts(x[m], *own, tie)
            total += log_p
            slope[m] = of_x
            of_bias += of_x
            of_tie += of_t
        return total, of_bias, of_tie

    return loop


_logistic, _davidson = _loop_over(logistic_counts), _loop_over(davidson_counts)
_normal, _threshold = _loop_over(normal_counts), _loop_over(threshold_counts)


@nb.njit(**FAST)
def answers_of_block(law, x, tie, answers, low, slope):
    """Return log p and its slopes in a shift of all x and in the tie parameter; overwrite `slope` with those in each x.

    Parameters
    ----------
    law : int
        One of the constants of `pair_links`.
    x : ndarray, shape (cell of the block,)
        Distances as the raters see them.
    tie : float
        Tie parameter.
    answers : tuple of three ndarray of float32, shape (cell,)
        Wins, losses and ties.
    low : int
        First cell of the block.
    slope : ndarray, shape (cell of the block,)
        Overwritten.
    """
    if law == BRADLEY_TERRY:
        return _logistic(x, tie, answers, low, slope)
    if law == THURSTONE:
        return _normal(x, tie, answers, low, slope)
    if law == DAVIDSON:
        return _davidson(x, tie, answers, low, slope)
    return _threshold(x, tie, answers, low, slope)

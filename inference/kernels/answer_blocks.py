"""Log likelihood and slopes of a block of answers, in vectorised loops.

Each law has its own loop; `answers_of_block` dispatches, so that its callers are compiled once for all laws.
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
    """Compile the loop over answers of one law, given its function of counts."""

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
    """Return log p and its slopes in a shift of all x and in the tie parameter; overwrite the slopes in each x.

    Shapes: x, slope (cell of the block,); answers: wins, losses, ties, float32 (cell,). `law` is a constant
    of `pair_links`; x = rho (q_first - q_second) + bias; `low` is the first cell of the block.
    """
    if law == BRADLEY_TERRY:
        return _logistic(x, tie, answers, low, slope)
    if law == THURSTONE:
        return _normal(x, tie, answers, low, slope)
    if law == DAVIDSON:
        return _davidson(x, tie, answers, low, slope)
    return _threshold(x, tie, answers, low, slope)

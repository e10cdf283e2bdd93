"""Rounding of stored draws: bits that Monte-Carlo error drowns are cleared, so that a file of draws compresses.

A draw x of a quantity whose n draws have the standard deviation s is rounded to the nearest multiple of a power of two q,

    q <= (2 / 100) s / sqrt(n),

so that it moves by at most a hundredth of the Monte-Carlo standard error of the mean, and the mean by much less. Small
numbers keep eight bits of their own, a relative error of 1/512, so that no probability becomes zero. Quantities that never
move, and numbers that are not finite, stay as they are. What a draw becomes depends on the draws alone: the same draws are
rounded to the same bits.
"""

import math
from typing import Any

import numpy as np

SHARE = 0.02  # of the Monte-Carlo standard error that q is at most; a draw moves by half of it
LEAST_BITS = 8  # of the fraction that every number keeps
AT_ONCE = 2**20  # numbers rounded at a time, to bound the memory
LAYOUT: dict[Any, tuple[Any, int, int]] = {
    np.dtype(np.float32): (np.int32, 23, 127),
    np.dtype(np.float64): (np.int64, 52, 1023),
}


def rounded_draws(draws: np.ndarray) -> np.ndarray:
    """Return draws (chain, draw, ...) in single or double precision without the bits that Monte-Carlo error drowns."""
    if draws.dtype not in LAYOUT or draws.size == 0:
        return draws
    n = draws.shape[0] * draws.shape[1]
    flat = draws.reshape(n, -1)
    result = np.empty_like(flat)
    step = max(1, AT_ONCE // n)
    for first in range(0, flat.shape[1], step):
        block = flat[:, first : first + step]
        with np.errstate(invalid="ignore", over="ignore"):
            spread = block.std(axis=0, dtype=float, ddof=1) if n > 1 else np.zeros(block.shape[1])
        result[:, first : first + step] = _rounded(np.ascontiguousarray(block), spread * SHARE / math.sqrt(n))
    return result.reshape(draws.shape)


def _rounded(draws: np.ndarray, quantum: np.ndarray) -> np.ndarray:
    """Round draws (sample, quantity) to multiples of the power of two below `quantum` (quantity,), to nearest, ties to even."""
    integer, fraction, bias = LAYOUT[draws.dtype]
    moves = np.isfinite(quantum) & (quantum > 0)
    finest = np.frexp(np.where(moves, quantum, 1.0))[1] - 1  # exponent of q
    bits = draws.view(integer)
    exponent = ((bits >> fraction) & (2 * bias + 1)) - bias
    kept = np.clip(exponent - finest.astype(integer), LEAST_BITS, fraction)
    dropped = np.where(moves & np.isfinite(draws), fraction - kept, 0).astype(integer)
    one = np.ones((), integer)
    below = (one << dropped) - 1  # the bits that are dropped
    odd = (bits >> dropped) & 1
    # adding half and cutting; a carry into the exponent is the next power of two. Nothing is added where nothing is dropped
    half = np.where(dropped > 0, (below >> 1) + odd, 0).astype(integer)
    return ((bits + half) & ~below).view(draws.dtype)

"""Order statistics of a quantity: one sort for its ranks, median and quantiles.

Where the result depends on rounding, it is that of NumPy in the precision of the draws: `single`
marks float32 draws, although these functions compute in float64.
"""

from statistics import NormalDist

import numpy as np

from ...models.distributions.compiling import kept

__all__ = ["ascending_order", "folded", "normal_scores", "quantile", "rounded", "score_ranks"]

DIGIT_BITS = 11
N_DIGITS = 6


def normal_scores(n_chains: int, n_draws: int, dtype: np.dtype) -> np.ndarray:
    """Return the normal score of every rank and half rank among the draws of the halved chains.

    Shapes: result float64 (2 S + 1,), the score of rank r at place 2 r, none at places 0 and 1. `n_chains`
    and `n_draws` are those before halving; `dtype` is the precision of the draws, in which ArviZ computes
    scores too.
    """
    size = 2 * n_chains * (n_draws // 2)
    rank = np.arange(2, 2 * size + 1, dtype=dtype) / 2
    probability = (rank - 3 / 8) / (size + 1 / 4)
    scores = np.array([np.nan, np.nan, *map(NormalDist().inv_cdf, probability.tolist())])
    return scores.astype(dtype).astype(float)


@kept(nogil=True)
def ascending_order(x):
    """Argsort by stable radix sort, least significant digit first, skipping digits that all numbers share.

    Shapes: x float64 (S,), without NaN; result int64 (S,).
    """
    sign = np.uint64(1) << np.uint64(63)
    mask = np.uint64((1 << DIGIT_BITS) - 1)
    key = (x + 0.0).view(np.uint64)  # + 0.0: the two zeros are one number
    count = np.zeros((N_DIGITS, 1 << DIGIT_BITS), np.int64)
    for i in range(len(key)):
        # bits whose unsigned order is that of the numbers
        key[i] = ~key[i] if key[i] & sign else key[i] | sign
        for digit in range(N_DIGITS):
            count[digit, (key[i] >> np.uint64(digit * DIGIT_BITS)) & mask] += 1
    order = np.arange(len(key))
    next_key, next_order = np.empty_like(key), np.empty_like(order)
    for digit in range(N_DIGITS):
        shift = np.uint64(digit * DIGIT_BITS)
        if count[digit, (key[0] >> shift) & mask] == len(key):
            continue
        end = 0
        for bucket in range(1 << DIGIT_BITS):
            end, count[digit, bucket] = end + count[digit, bucket], end
        for i in range(len(key)):
            bucket = (key[i] >> shift) & mask
            to = count[digit, bucket]
            count[digit, bucket] = to + 1
            next_key[to], next_order[to] = key[i], order[i]
        key, next_key = next_key, key
        order, next_order = next_order, order
    return order


@kept(nogil=True)
def score_ranks(value, place, scores, out):
    """Write the normal score of each value's rank to its place; ties share their average rank.

    Shapes: value, ascending, and place (S,); scores (2 S + 1,), from `normal_scores`; out (S,), overwritten.
    """
    first = 0
    while first < len(value):
        last = first
        while last + 1 < len(value) and value[last + 1] == value[first]:
            last += 1
        for i in range(first, last + 1):
            out[place[i]] = scores[first + last + 2]  # average rank (first + last) / 2 + 1
        first = last + 1


@kept(nogil=True)
def folded(value, place, median, single):
    """Merge the two halves of a sorted sample by the distance from its median.

    Shapes: value, ascending, and place (S,), S even; result: distance, ascending, and place (S,). Distances
    are rounded to float32 if `single`.
    """
    distance, origin = np.empty_like(value), np.empty_like(place)
    left, right = len(value) // 2 - 1, len(value) // 2
    for i in range(len(value)):
        below = median - value[left] if left >= 0 else np.inf
        above = value[right] - median if right < len(value) else np.inf
        if right == len(value) or (left >= 0 and below <= above):
            distance[i], origin[i] = rounded(below, single), place[left]
            left -= 1
        else:
            distance[i], origin[i] = rounded(above, single), place[right]
            right += 1
    return distance, origin


@kept(nogil=True)
def quantile(ascending, probability, single):
    """Interpolate linearly between order statistics (type 7), from the nearer end.

    Shapes: ascending (S,). `probability` is between 0 and 1, both excluded; arithmetic is rounded to float32
    if `single`.
    """
    position = (len(ascending) - 1) * probability
    before = int(np.floor(position))
    weight = position - before
    low, high = ascending[before], ascending[before + 1]
    gap = rounded(high - low, single)
    if weight >= 0.5:
        return rounded(high - rounded(gap * rounded(1 - weight, single), single), single)
    return rounded(low + rounded(gap * rounded(weight, single), single), single)


@kept(nogil=True)
def rounded(x, single):
    """Return `x`, in float32 precision if `single`."""
    return np.float64(np.float32(x)) if single else x

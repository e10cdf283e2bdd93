"""Convergence diagnostics of many quantities: R-hat, bulk and tail ESS, Monte-Carlo error.

For one quantity with draws theta (chain, draw), halved into M chains of N draws, S = M N in all:

    z        = Phi^-1((r - 3/8) / (S + 1/4)),    r = average rank of theta among the S draws
    R-hat    = max over z, and the z of |theta - median|, of  sqrt((B / W + N - 1) / N)
    rho_t    = 1 - (W - mean over chains of acov_t) / var+,    var+ = W (N - 1) / N + B / N
    tau      = -1 + 2 sum of rho_t, over the initial positive sequence made monotone
    ESS      = S / max(tau, 1 / log10 S)

with B / N and W the variances between and within the chains. Bulk ESS is the ESS of z; tail ESS the
smaller ESS of the indicators theta <= q of two tail quantiles q; the ESS of theta itself gives the MCSE.

Results equal those of ArviZ up to rounding, hence its conventions: quantiles are those of the unhalved
draws; medians, quantiles and normal scores have the precision of the draws; ties share their
average rank; R-hat of constant draws is NaN and their ESS is S. The tails begin at 0.89 and 0.11
(its ``rcParams["stats.ci_prob"]``), not at the 0.95 and 0.05 of the reference. Where two successive
rho cancel exactly, as they can for a handful of draws, rounding decides where ArviZ truncates.

One radix sort of a quantity serves all its ranks, its median and its quantiles: the folded ranks
are a merge of the two halves of the sorted draws. Autocovariances are summed only up to the lag
that ends the positive sequence; those of the indicators of the tails are numbers of bits.

To compile all this takes two seconds. Few quantities, such as those of a first small table, are diagnosed in NumPy
(`measure_few`), which is slower for many.

References
----------
Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), Rank-normalization, folding, and
localization: an improved R-hat, Bayesian Analysis 16(2), sections 3 and 4,
doi:10.1214/20-BA1221. Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7(4),
section 3.3, doi:10.1214/ss/1177011137.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from scipy.special import ndtri

from ...models.distributions.compiling import cached_njit, inner_njit
from ...models.distributions.vector_math import as_bits

DIGIT_BITS = 10  # of the radix sort
LEADING_DIGITS, PLACE_BITS = 3, 34  # of a word that holds a number's leading digits and its place
# pairs of numbers with the same digits, for each number, from which on one more digit is sorted by
SHARED_EACH = 1 / 8
MOVES_EACH = 2  # moves of a number by the repair, on average, from which on all digits are sorted by


@lru_cache(maxsize=8)  # the same for every variable of a posterior
def normal_scores_of_ranks(n_chains: int, n_draws: int, dtype: np.dtype) -> np.ndarray:
    """Return the normal score of every rank and half rank among the draws of the halved chains.

    Shapes: result float64 (2 S + 1,), the score of rank r at place 2 r, none at places 0 and 1. `n_chains`
    and `n_draws` are those before halving; `dtype` is the precision of the draws and, as in ArviZ, the scores.
    """
    size = 2 * n_chains * (n_draws // 2)
    rank = np.arange(2, 2 * size + 1, dtype=dtype) / 2
    probability = (rank - 3 / 8) / (size + 1 / 4)
    scores = np.concatenate([[np.nan, np.nan], ndtri(probability.astype(float))])
    return scores.astype(dtype).astype(float)


@inner_njit(error_model="numpy")
def sort_draws(x, ascending, order, work):
    """Sort x (S,) without NaN stably, by a radix sort of the leading bits in which its numbers differ, and a repair.

    Two digits of these bits suffice unless many numbers share them; where the repair would be long, all bits are sorted by.
    Shapes: overwritten: ascending and its places in x, order (S,); work: two arrays of words (S,), and counts (digit, value of
    a digit).
    """
    key, sorted_bits = work[0], np.uint64(DIGIT_BITS * LEADING_DIGITS)
    lowest, highest = ~np.uint64(0), np.uint64(0)
    for i in range(len(x)):
        key[i] = _sortable_word(x[i])
        lowest = key[i] if key[i] < lowest else lowest
        highest = key[i] if key[i] > highest else highest
    shift = np.uint64(0)
    while (highest - lowest) >> shift >> sorted_bits:
        shift += np.uint64(1)
    for i in range(len(x)):
        key[i] = ((key[i] - lowest) >> shift) << np.uint64(PLACE_BITS) | np.uint64(i)
    _sort_keys(order, work, SHARED_EACH)
    for i in range(len(x)):
        ascending[i] = x[order[i]]
    if _repaired(ascending, order):
        return
    for i in range(len(x)):
        order[i] = i
    shift = np.uint64(0)
    while shift < WORD_BITS:
        for i in range(len(x)):
            bits = (_sortable_word(x[order[i]]) - lowest) >> shift
            key[i] = bits << np.uint64(PLACE_BITS) | np.uint64(order[i])
        _sort_keys(order, work, 0.0)
        shift += sorted_bits
    for i in range(len(x)):
        ascending[i] = x[order[i]]


@inner_njit(error_model="numpy", inline="always")
def _sortable_word(number):
    """Return a word; the unsigned order of words is that of the numbers."""
    bits = as_bits(number + 0.0)  # + 0.0: the two zeros are one number
    # all bits of a negative number are turned over, the sign of others
    return np.uint64(bits) ^ (np.uint64(bits >> 63) | np.uint64(1) << np.uint64(63))


@inner_njit(error_model="numpy")
def _sort_keys(order, work, most):
    """Sort keys stably by their leading digits, and overwrite order (S,) with the places that they hold.

    By the lowest of these digits only if leaving it out would leave too many pairs of keys unsorted: `most` for each key.
    """
    key, next_key, count = work
    for digit in range(LEADING_DIGITS - 1, 0, -1):
        _count_digits(key, digit, count)
    shared = 0.0  # number of pairs that would share all digits but the last, if the others are spread evenly over it
    for bucket in range(1 << DIGIT_BITS):
        shared += float(count[LEADING_DIGITS - 1, bucket]) ** 2 / (1 << DIGIT_BITS + 1)
    first = 1
    if shared > most * len(key):
        first = 0
        _count_digits(key, first, count)
    for digit in range(first, LEADING_DIGITS):
        _move_by_digit(key, digit, count, next_key)
        key, next_key = next_key, key
    places = (np.uint64(1) << np.uint64(PLACE_BITS)) - np.uint64(1)
    for i in range(len(key)):
        order[i] = key[i] & places


@inner_njit(error_model="numpy")
def _count_digits(key, digit, count):
    """Count the values of a digit of key (S,) in count (digit, value)."""
    at, mask = np.uint64(PLACE_BITS + digit * DIGIT_BITS), np.uint64((1 << DIGIT_BITS) - 1)
    own = count[digit]
    for bucket in range(1 << DIGIT_BITS):
        own[bucket] = 0
    for i in range(len(key)):
        own[(key[i] >> at) & mask] += 1


@inner_njit(error_model="numpy")
def _move_by_digit(key, digit, count, moved):
    """Sort key (S,) stably into moved (S,) by one digit, given its counts (digit, value)."""
    at, mask = np.uint64(PLACE_BITS + digit * DIGIT_BITS), np.uint64((1 << DIGIT_BITS) - 1)
    own, end = count[digit], 0
    for bucket in range(1 << DIGIT_BITS):
        end, own[bucket] = end + own[bucket], end
    for i in range(len(key)):
        bucket = (key[i] >> at) & mask
        to = own[bucket]
        own[bucket] = to + 1
        moved[np.uint64(to)] = key[i]


@inner_njit(error_model="numpy")
def _repaired(ascending, order):
    """Sort nearly sorted numbers and their order (S,) by insertion; return False if that takes too many moves."""
    left = len(order) * MOVES_EACH
    for i in range(1, len(order)):
        value = ascending[i]
        if value < ascending[i - 1]:
            place, j = order[i], i
            while j > 0 and ascending[j - 1] > value:
                ascending[j], order[j] = ascending[j - 1], order[j - 1]
                j -= 1
            ascending[j], order[j] = value, place
            left -= i - j
            if left < 0:
                return False
    return True


@inner_njit(error_model="numpy")
def score_ranks(value, place, scores, chains):
    """Write scores of the ranks of value (S,), ascending, to their places (S,) in chains (chain * draw,); ties share a rank."""
    first, last = 0, 0
    for i in range(len(value)):
        if i == 0 or value[i] != value[i - 1]:
            first, last = i, i
            while last + 1 < len(value) and value[last + 1] == value[first]:
                last += 1
        # average rank (first + last) / 2 + 1
        chains[place[i]] = scores[first + last + 2]


@inner_njit(error_model="numpy", inline="always")
def fold_about_median(value, place, median, single, distance, origin):
    """Merge the two halves of a sorted sample by the distance from its median.

    Shapes: value, ascending, and place (S,), S even; overwritten: distance, ascending, and its place, origin
    (S,). Distances are rounded to float32 if `single`.
    """
    half, last = len(value) // 2, len(value) - 1
    left, right = half - 1, half  # nearest to the median
    first, end = 0, last  # farthest
    # from both ends to the middle at once, without branches: each step waits for the one before
    for i in range(half):
        below, above = median - value[left], value[right] - median
        lower = below <= above
        distance[i] = rounded(below if lower else above, single)
        origin[i] = place[left if lower else right]
        left -= lower
        right += 1 - lower
        below, above = median - value[first], value[end] - median
        lower = below > above
        distance[last - i] = rounded(below if lower else above, single)
        origin[last - i] = place[first if lower else end]
        first += lower
        end -= 1 - lower


@inner_njit(error_model="numpy", inline="always")
def quantile(ascending, probability, single):
    """Interpolate linearly between order statistics (type 7), from the nearer end.

    Shapes: ascending (S,). `probability` is inside (0, 1); arithmetic is rounded to float32 if `single`.
    """
    position = (len(ascending) - 1) * probability
    before = int(position)
    weight = position - before
    low, high = ascending[before], ascending[before + 1]
    gap = rounded(high - low, single)
    if weight >= 0.5:
        return rounded(high - rounded(gap * rounded(1 - weight, single), single), single)
    return rounded(low + rounded(gap * rounded(weight, single), single), single)


@inner_njit(error_model="numpy")
def rounded(x, single):
    """Return `x`, in float32 precision if `single`."""
    return np.float64(np.float32(x)) if single else x


# --- Diagnostics of one quantity after the other ---

TAIL = 0.89
MIN_DRAWS = 4


NO_QUANTILES = np.zeros(0)
TOGETHER = 128  # quantities that are copied and diagnosed together
GAP = 8  # least number of zeros after a halved chain: at lags up to it, products with the next chain are zero
WORD_BITS = 64


def measure_mixing(
    draws: np.ndarray,
    scores: np.ndarray,
    first: int,
    last: int,
    tail: float = TAIL,
    *,
    quantiles: np.ndarray | None = None,
    sizes_only: bool = False,
) -> np.ndarray:
    """Diagnose the quantities from `first` to before `last`.

    Shapes: draws float32 or float64 (chain, draw, quantity); scores, `normal_scores_of_ranks` of the numbers of chains
    and draws; result (4, last - first): R-hat (NaN for a single chain), bulk ESS, tail ESS (of the quantiles
    `tail` and 1 - `tail`), standard error of the mean; all NaN where a draw is NaN, and for chains of fewer
    than four draws. With `quantiles`, probabilities (q,), also mean, standard deviation and these quantiles: (6 + q,
    last - first). With `sizes_only`, bulk and tail ESS alone: (2, last - first).
    """
    n_chains, n_draws, _ = draws.shape
    result = np.full((_rows(quantiles, sizes_only), last - first), np.nan)
    if n_draws < MIN_DRAWS:
        return result
    values = np.empty((min(TOGETHER, last - first), n_chains * n_draws))
    options = (n_chains, _row_length(n_draws // 2), draws.itemsize == 4, tail)
    tables = (scores, NO_QUANTILES if quantiles is None else quantiles, _places(n_chains, n_draws))
    flat = draws.reshape(n_chains * n_draws, -1)
    for begin in range(first, last, TOGETHER):
        end = min(begin + TOGETHER, last)
        own = values[: end - begin]
        _copy_quantities(flat, begin, own)
        _diagnose(own, options, tables, result[:, begin - first : end - first])
    return result


@cached_njit(nogil=True, error_model="numpy")
def _copy_quantities(draws, first, values):
    """Copy some quantities from `first` of draws (draw, quantity) to values (quantity, draw)."""
    for i in range(len(draws)):
        for quantity in range(len(values)):
            values[quantity, i] = draws[i, first + quantity]


def _places(n_chains: int, n_draws: int) -> np.ndarray:
    """Return the place of each draw, int64 (chain * draw,), in the rows of halved chains; -1: middle of odd chains."""
    half = n_draws // 2
    places = np.full((n_chains, n_draws), -1)
    rows = _row_length(half) * np.arange(2 * n_chains).reshape(n_chains, 2, 1) + np.arange(half)
    places[:, :half], places[:, n_draws - half :] = rows[:, 0], rows[:, 1]
    return places.ravel().astype(np.int32)


def _row_length(n_draws: int) -> int:
    """Return the length of the row of a halved chain, whole words of bits: its draws, and zeros."""
    return (n_draws + GAP + WORD_BITS - 1) // WORD_BITS * WORD_BITS


@cached_njit(nogil=True, error_model="numpy")
def _diagnose(values, options, tables, result):
    """Overwrite `result` (2, 4 or 6 + q, quantity) of the quantities without NaN.

    Shapes: values (quantity, chain * draw). Options: number of chains, length of a row, single precision, tail. Tables: normal
    scores of the ranks, probabilities of the quantiles (q,), and the places of the draws in rows of chains (chain * draw,).
    """
    n_chains, length, single, tail = options
    scores, wanted, places = tables
    n_draws = values.shape[1] // n_chains // 2
    size = 2 * n_chains * n_draws
    ascending, order = np.empty(values.shape[1]), np.empty(values.shape[1], np.int32)
    key, next_key = np.empty(values.shape[1], np.uint64), np.empty(values.shape[1], np.uint64)
    sorting = (key, next_key, np.empty((LEADING_DIGITS, 1 << DIGIT_BITS), np.int32))
    value, distance = np.empty(size), np.empty(size)
    place, origin = np.empty(size, np.int32), np.empty(size, np.int32)
    flat = np.zeros(2 * n_chains * length)
    rows = flat.reshape(2 * n_chains, length)
    bits = np.empty((2 * n_chains, length // WORD_BITS + 1), np.uint64)
    means, rho, shape = np.empty(2 * n_chains), np.empty(n_draws), (2 * n_chains, n_draws)
    work = (bits, np.empty((3, 2 * n_chains)), means, rho)
    for quantity in range(len(values)):
        x = values[quantity]
        if _has_nan(x):
            continue
        sort_draws(x, ascending, order, sorting)
        if size == len(x):
            value = ascending
            for i in range(size):
                place[i] = places[order[i]]
        else:
            n = 0
            for i in range(len(x)):
                if places[order[i]] >= 0:
                    value[n], place[n] = ascending[i], places[order[i]]
                    n += 1

        score_ranks(value, place, scores, flat)
        spread = flat[place[size - 1]] - flat[place[0]]
        squares = _centre(rows, n_draws, means)
        between = _moments(means)[1] / (len(means) - 1)  # B / N
        r_hat = _scale_reduction(squares, between, shape) if n_chains > 1 else np.nan
        bulk = _size_of_draws(rows, shape, between, rho) if spread >= NO_SPREAD else float(size)
        low = _tail_size(value, place, quantile(ascending, 1 - tail, single), shape, work)
        high = _tail_size(value, place, quantile(ascending, tail, single), shape, work)
        if len(result) == 2:
            result[0, quantity], result[1, quantity] = bulk, min(low, high)
            continue

        median = rounded(rounded(value[size // 2 - 1] + value[size // 2], single) / 2, single)
        if n_chains > 1 and math.isfinite(median):
            fold_about_median(value, place, median, single, distance, origin)
            score_ranks(distance, origin, scores, flat)
            squares = _centre(rows, n_draws, means)
            fold = _scale_reduction(squares, _moments(means)[1] / (len(means) - 1), shape)
            if fold > r_hat:  # false for a NaN on either side
                r_hat = fold

        ess_mean = float(size)
        if not value[size - 1] - value[0] < NO_SPREAD:
            _copy_halves(x, rows, n_draws)
            _centre(rows, n_draws, means)
            ess_mean = _size_of_draws(rows, shape, _moments(means)[1] / (len(means) - 1), rho)
        mean, squares = _moments(x)
        variance = squares / (len(x) - 1)
        result[0, quantity], result[1, quantity], result[2, quantity] = r_hat, bulk, min(low, high)
        result[3, quantity] = math.sqrt(variance) / math.sqrt(ess_mean)
        if len(result) > 4:
            result[4, quantity], result[5, quantity] = mean, math.sqrt(variance)
            for k in range(len(wanted)):
                result[6 + k, quantity] = quantile(ascending, wanted[k], single)


@inner_njit(error_model="numpy")
def _has_nan(x):
    """Whether a number of x (S,) is NaN."""
    found = 0
    for i in range(len(x)):
        found |= x[i] != x[i]
    return found != 0


@inner_njit(error_model="numpy")
def _copy_halves(x, rows, n_draws):
    """Copy draws x (chain * draw,) to rows of halved chains, (chain, draw and zeros); the middle of odd chains is left out."""
    whole = 2 * len(x) // len(rows)
    for chain in range(len(rows)):
        first = chain // 2 * whole + (chain % 2) * (whole - n_draws)
        own, row = x[first : first + n_draws], rows[chain]
        for i in range(n_draws):
            row[i] = own[i]


@inner_njit(error_model="numpy", fastmath={"reassoc", "contract"})
def _centre(rows, n_draws, means):
    """Centre every chain of rows (chain, draw and zeros) in place, write means (chain,), and return the sum of squares."""
    squares = 0.0
    for chain in range(len(rows)):
        row = rows[chain, :n_draws]
        total, origin = 0.0, row[0]
        for i in range(n_draws):
            total += row[i] - origin
        mean = origin + total / n_draws
        for i in range(n_draws):
            row[i] -= mean
            squares += row[i] * row[i]
        means[chain] = mean
    return squares


@inner_njit(error_model="numpy")
def _scale_reduction(squares, between, shape):
    """Return R-hat by the sum of squares within chains and B / N; shape: numbers of halved chains and of their draws."""
    n_chains, n_draws = shape
    within = squares / (n_draws - 1) / n_chains
    return math.sqrt((n_draws * between / within + n_draws - 1) / n_draws)


NO_SPREAD = 1e-15  # below this range, numbers are equal


def effective_size_by(autocovariances: Callable) -> Callable:
    """Compile the effective sample size of sequences whose autocovariances a compiled function returns.

    ``autocovariances(sequences, shape, lag)`` returns the two at `lag` and `lag` + 1, means over chains of sums divided by
    the full length; it is called for lags 0, 2, ... The result is ``size(sequences, shape, between, rho)``: `shape`, numbers
    of chains and draws; `between`, B / N; rho (draw,), overwritten.
    """

    @inner_njit(error_model="numpy")
    def effective_size(sequences, shape, between, rho):
        """Return the ESS."""
        n_chains, n_draws = shape
        lag = np.int64(0)  # functions are compiled for each literal of Python
        at_lag, next_one = autocovariances(sequences, shape, lag)
        within = at_lag * n_draws / (n_draws - 1)
        total = within * (n_draws - 1) / n_draws + between  # var+
        even, odd = 1.0, 1 - (within - next_one) / total
        rho[0], rho[1] = even, odd
        lag += 2
        # initial positive sequence (Geyer 1992)
        while lag < n_draws - 2 and even + odd > 0:
            at_lag, next_one = autocovariances(sequences, shape, lag)
            even, odd = 1 - (within - at_lag) / total, 1 - (within - next_one) / total
            positive = even + odd >= 0
            rho[lag], rho[lag + 1] = even if positive else 0.0, odd if positive else 0.0
            lag += 2
        last = lag - 3
        if even > 0:
            rho[last + 1] = even
        # initial monotone sequence
        for t in range(1, last - 1, 2):
            if rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]:
                rho[t + 1] = rho[t + 2] = (rho[t - 1] + rho[t]) / 2
        below = 0.0
        for t in range(last + 1):
            below += rho[t]
        tau = -1 + 2 * below + rho[last + 1]
        if math.isnan(odd):
            return np.nan
        return n_chains * n_draws / max(tau, 1 / math.log10(n_chains * n_draws))

    return effective_size


@inner_njit(error_model="numpy", fastmath={"reassoc", "contract"})
def _autocovariances_of_draws(rows, shape, lag):
    """Return two autocovariances of centred chains, rows (chain, draw and zeros)."""
    n_chains, n_draws = shape
    even, odd = 0.0, 0.0
    if n_draws + lag < rows.shape[1]:  # a product with a later chain is one with a zero
        flat = rows.reshape(rows.size)
        n = rows.size - lag - 1
        one, other = flat[lag:], flat[lag + 1 :]
        for i in range(n):
            even += flat[i] * one[i]
            odd += flat[i] * other[i]
    else:
        for chain in range(n_chains):
            row = rows[chain]
            one, other = row[lag:], row[lag + 1 :]
            for i in range(n_draws - lag - 1):
                even += row[i] * one[i]
                odd += row[i] * other[i]
            even += row[n_draws - lag - 1] * one[n_draws - lag - 1]
    return even / (n_chains * n_draws), odd / (n_chains * n_draws)


_size_of_draws = effective_size_by(_autocovariances_of_draws)


# --- Indicators of a tail, as bits ---


def _population_count(typing_context: Any, word: Any) -> tuple[Any, Any]:
    """Return the number of bits of a word that are one."""
    return types.uint64(types.uint64), lambda context, builder, signature, words: builder.ctpop(words[0])


population_count: Any = intrinsic(_population_count)


@inner_njit(error_model="numpy")
def _autocovariances_of_bits(sequences, shape, lag):
    """Return two autocovariances of indicators: bits (chain, word, the last one zero); counts (3, chain) as in `_tail_size`."""
    bits, counts = sequences
    n_chains, n_draws = shape
    even, odd = 0.0, 0.0
    for t in range(lag, lag + 2):
        skip, shift = t // WORD_BITS, np.uint64(t % WORD_BITS)
        total = 0.0
        for chain in range(n_chains):
            row = bits[chain]
            later, both = row[skip:], np.uint64(0)
            for w in range(len(later) - 1):
                high = later[w + 1] << np.uint64(1) << (np.uint64(WORD_BITS - 1) - shift)
                both += population_count(row[w] & (later[w] >> shift | high))
            # sum over i of (I_i - p) (I_(i + t) - p), of which `ends` counts I_i and I_(i + t)
            share = counts[0, chain] / n_draws
            ends = 2 * counts[0, chain] - counts[1, chain] - counts[2, chain]
            total += float(both) - share * ends + (n_draws - t) * share * share
            counts[1, chain] += float(_bit(row, t))
            counts[2, chain] += float(_bit(row, n_draws - 1 - t))
        even, odd = odd, total / (n_chains * n_draws)
    return even, odd


@inner_njit(error_model="numpy")
def _bit(row, i):
    """Return bit i of a row of words."""
    return row[i // WORD_BITS] >> np.uint64(i % WORD_BITS) & np.uint64(1)


_size_of_bits = effective_size_by(_autocovariances_of_bits)


@inner_njit(error_model="numpy")
def _tail_size(value, place, bound, shape, work):
    """Return the ESS of the indicator value <= bound.

    Shapes: value, ascending, and place (S,), in rows of chains. Overwritten: bits (chain, word); counts (3, chain) of ones, of
    ones among as many first and among as many last draws as the lag; means (chain,) and rho (draw,).
    """
    bits, counts, means, rho = work
    first, last = 0, len(value)
    while first < last:
        middle = (first + last) // 2
        if value[middle] <= bound:
            first = middle + 1
        else:
            last = middle
    if first == 0 or first == len(value):
        return float(len(value))
    # the draws on the other side have the same ESS: those that are fewer
    first, last = (0, first) if 2 * first <= len(value) else (first, len(value))
    for chain in range(len(bits)):
        for word in range(bits.shape[1]):
            bits[chain, word] = 0
        counts[0, chain] = counts[1, chain] = counts[2, chain] = 0.0
    length = (bits.shape[1] - 1) * WORD_BITS
    for i in range(first, last):
        chain, at = divmod(place[i], length)
        bits[chain, at // WORD_BITS] |= np.uint64(1) << np.uint64(at % WORD_BITS)
        counts[0, chain] += 1.0
    for chain in range(len(bits)):
        means[chain] = counts[0, chain] / shape[1]
    between = _moments(means)[1] / (len(means) - 1)
    return _size_of_bits((bits, counts), shape, between, rho)


@inner_njit(error_model="numpy", fastmath={"reassoc"})
def _mean(x):
    """Return the mean, relative to the first number so that it is exact if all are equal."""
    total, origin = 0.0, x[0]
    for i in range(len(x)):
        total += x[i] - origin
    return origin + total / len(x)


@inner_njit(error_model="numpy", fastmath={"reassoc"})
def _moments(x):
    """Return the mean, as `_mean`, and the sum of squared deviations."""
    mean, squares = _mean(x), 0.0
    for i in range(len(x)):
        squares += (x[i] - mean) * (x[i] - mean)
    return mean, squares


# --- Few quantities: the same in NumPy ---

FEW_DRAWS = 2**20  # of all quantities


def measure_few(draws: np.ndarray, scores: np.ndarray, tail: float = TAIL) -> np.ndarray:
    """Diagnose all quantities at once, like `measure_mixing`, by fast Fourier transforms and without compiled code.

    Shapes: draws float32 or float64 (chain, draw, quantity); result (4, quantity).
    """
    n_chains, n_draws, n_quantities = draws.shape
    result = np.full((4, n_quantities), np.nan)
    known = ~np.isnan(draws).any(axis=(0, 1))
    if n_draws < MIN_DRAWS or not known.any():
        return result
    x = np.moveaxis(draws[:, :, known], 2, 0)
    half, every = n_draws // 2, x.reshape(len(x), -1)
    halves = np.concatenate([x[:, :, :half], x[:, :, n_draws - half :]], axis=1)
    value = halves.reshape(len(x), -1)

    def scored(value: np.ndarray) -> np.ndarray:
        return scores[np.array([_doubled_ranks(row) for row in value])].reshape(halves.shape)

    z, r_hat = scored(value), np.full(len(x), np.nan)
    with np.errstate(all="ignore"):  # constant and infinite draws
        if n_chains > 1:
            median = np.median(value, axis=1, keepdims=True)
            distance = np.where(np.isfinite(median), np.abs(value - median), 0.0)
            fold = _scale_reductions(scored(distance))
            r_hat = _scale_reductions(z)
            r_hat = np.where(fold > r_hat, fold, r_hat)
        bounds = (np.quantile(every, p, axis=1)[:, None, None] for p in (1 - tail, tail))
        low, high = (_effective_sizes(np.where(halves <= bound, 1.0, 0.0)) for bound in bounds)
        deviations = every.astype(float) - every[:, :1]  # exactly zero if all are equal
        error = deviations.std(axis=1, ddof=1) / np.sqrt(_effective_sizes(halves.astype(float)))
        bulk = _effective_sizes(z)
    result[:, known] = r_hat, bulk, np.fmin(low, high), error
    return result


def _doubled_ranks(draws: np.ndarray) -> np.ndarray:
    """Return twice the rank of each draw (draw,), the average one where draws are equal."""
    order = np.argsort(draws)
    in_order = draws[order]
    # of equal draws
    first = np.concatenate([[0], 1 + np.flatnonzero(in_order[1:] != in_order[:-1]), [len(draws)]])
    ranks = np.empty(len(draws), np.int64)
    ranks[order] = np.repeat(first[:-1] + first[1:] + 1, np.diff(first))
    return ranks


def _scale_reductions(chains: np.ndarray) -> np.ndarray:
    """Return R-hat (quantity,) of chains (quantity, chain, draw)."""
    n_draws = chains.shape[2]
    deviations = chains - chains[:, :, :1]  # exactly zero if all are equal
    within = deviations.var(axis=2, ddof=1).mean(axis=1)
    between = (chains[:, :, 0] + deviations.mean(axis=2)).var(axis=1, ddof=1)  # B / N
    return np.sqrt((n_draws * between / within + n_draws - 1) / n_draws)


def _effective_sizes(chains: np.ndarray) -> np.ndarray:
    """Return the ESS (quantity,) of chains (quantity, chain, draw)."""
    _, n_chains, n_draws = chains.shape
    means = chains.mean(axis=2, keepdims=True)
    length = 1 << (2 * n_draws - 1).bit_length()  # with zeros, so that the ends do not meet
    power = np.abs(np.fft.rfft(chains - means, length, axis=2)) ** 2
    autocovariance = np.fft.irfft(power.mean(axis=1), length, axis=1)[:, :n_draws] / n_draws
    within = autocovariance[:, :1] * n_draws / (n_draws - 1)
    total = autocovariance[:, :1] + means[:, :, 0].var(axis=1, ddof=1)[:, None]  # var+
    rho = 1 - (within - autocovariance) / total
    rho[:, 0] = 1.0
    n_pairs = max((n_draws - 1) // 2, 1)  # as many as are looked at
    even = rho[:, : 2 * n_pairs : 2]
    pairs = even + rho[:, 1 : 2 * n_pairs : 2]
    # initial positive sequence (Geyer 1992): the first pair that is not positive ends it
    ends = pairs <= 0
    ends[:, -1] = True
    last = ends.argmax(axis=1)
    monotone = np.minimum.accumulate(pairs, axis=1)
    before = np.arange(n_pairs) < last[:, None]
    at_last = np.take_along_axis(even, last[:, None], axis=1)[:, 0]
    ended = np.take_along_axis(pairs, last[:, None], axis=1)[:, 0] < 0
    tau = (
        -1
        + 2 * np.where(before, monotone, 0.0).sum(axis=1)
        + np.where(ended, np.maximum(at_last, 0.0), at_last)
    )
    size = n_chains * n_draws
    ess = size / np.maximum(tau, 1 / math.log10(size))
    return np.where(np.ptp(chains, axis=(1, 2)) < 1e-15, float(size), ess)


# --- Diagnostics on several threads ---

QUANTITIES_PER_TASK = 256


def mixing_of(
    draws: np.ndarray,
    threads: int | None,
    quantiles: np.ndarray | None = None,
    *,
    few: bool | None = None,
    sizes_only: bool = False,
) -> np.ndarray:
    """R-hat, bulk ESS, tail ESS and MCSE of the mean of every quantity, multi-threaded.

    Shapes: draws (chain, draw, quantity); returns (4, quantity). With `quantiles`, probabilities (q,), also mean, standard
    deviation and these quantiles: (6 + q, quantity). With `sizes_only`, bulk and tail ESS alone: (2, quantity). `few`: whether
    to do without compiled code; None: by their number.
    """
    n_chains, n_draws, n_quantities = draws.shape
    scores = normal_scores_of_ranks(n_chains, n_draws, draws.dtype)
    if n_draws < MIN_DRAWS or (draws.size <= FEW_DRAWS if few is None else few):
        mixing = measure_few(draws, scores)
        if sizes_only:
            return mixing[1:3]
        return mixing if quantiles is None else np.concatenate([mixing, _moments_of(draws, quantiles)])

    def part(first: int) -> np.ndarray:
        last = min(first + QUANTITIES_PER_TASK, n_quantities)
        return measure_mixing(draws, scores, first, last, quantiles=quantiles, sizes_only=sizes_only)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        parts = list(pool.map(part, range(0, n_quantities, QUANTITIES_PER_TASK)))
    return np.concatenate([np.empty((_rows(quantiles, sizes_only), 0)), *parts], axis=1)


def _rows(quantiles: np.ndarray | None, sizes_only: bool) -> int:
    """Return the number of rows of a result of `measure_mixing`."""
    return 2 if sizes_only else 4 if quantiles is None else 6 + len(quantiles)


def _moments_of(draws: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Mean, standard deviation and quantiles (2 + q, quantity) of draws (chain, draw, quantity)."""
    every = draws.reshape(-1, draws.shape[2])
    spread = every.std(axis=0, dtype=float, ddof=1) if len(every) > 1 else np.full(every.shape[1], np.nan)
    order_statistics = np.quantile(every, quantiles, axis=0)
    return np.concatenate([[every.mean(axis=0, dtype=float), spread], order_statistics])

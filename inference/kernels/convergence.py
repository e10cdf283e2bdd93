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
that ends the positive sequence.

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
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from ...models.distributions.compiling import cached_njit, inner_njit
from ...models.distributions.vector_math import as_bits

DIGIT_BITS, N_DIGITS = 11, 6  # of the radix sort
SINGLE_DIGIT_BITS, N_SINGLE_DIGITS, PLACE_BITS = 9, 4, 29  # of that of numbers of single precision


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
def ascending_order_of_singles(x):
    """Stable radix argsort, int64 (S,), of x float64 (S,) without NaN, which are numbers of single precision.

    The last 29 bits of such a double are zero, and have room for its place.
    """
    sign, places = np.uint64(1) << np.uint64(63), (np.uint64(1) << np.uint64(PLACE_BITS)) - np.uint64(1)
    mask = np.uint64((1 << SINGLE_DIGIT_BITS) - 1)
    size = len(x)
    count = np.zeros((N_SINGLE_DIGITS, 1 << SINGLE_DIGIT_BITS), np.int64)
    key, next_key, order = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.int64)
    for i in range(size):
        word = np.uint64(as_bits(x[i] + 0.0))  # + 0.0: the two zeros are one number
        # bits whose unsigned order is that of the numbers
        word = ~word if word & sign else word | sign
        key[i] = (word & ~places) | np.uint64(i)
        for digit in range(N_SINGLE_DIGITS):
            count[digit, (word >> np.uint64(PLACE_BITS + digit * SINGLE_DIGIT_BITS)) & mask] += 1
    for digit in range(N_SINGLE_DIGITS):
        shift = np.uint64(PLACE_BITS + digit * SINGLE_DIGIT_BITS)
        if count[digit, (key[0] >> shift) & mask] == size:
            continue
        end = 0
        for bucket in range(1 << SINGLE_DIGIT_BITS):
            end, count[digit, bucket] = end + count[digit, bucket], end
        for i in range(size):
            bucket = (key[i] >> shift) & mask
            to = count[digit, bucket]
            count[digit, bucket] = to + 1
            next_key[to] = key[i]
        key, next_key = next_key, key
    for i in range(size):
        order[i] = key[i] & places
    return order


@inner_njit(error_model="numpy")
def ascending_order(x):
    """Stable radix argsort, int64 (S,), of x float64 (S,) without NaN; digits that all numbers share are skipped."""
    sign = np.uint64(1) << np.uint64(63)
    mask = np.uint64((1 << DIGIT_BITS) - 1)
    size = len(x)
    count = np.zeros((N_DIGITS, 1 << DIGIT_BITS), np.int64)
    key, order = np.empty(size, np.uint64), np.empty(size, np.int64)
    next_key, next_order = np.empty(size, np.uint64), np.empty(size, np.int64)
    for i in range(size):
        word = np.uint64(as_bits(x[i] + 0.0))  # + 0.0: the two zeros are one number
        # bits whose unsigned order is that of the numbers
        word = ~word if word & sign else word | sign
        key[i], order[i] = word, i
        for digit in range(N_DIGITS):
            count[digit, (word >> np.uint64(digit * DIGIT_BITS)) & mask] += 1
    for digit in range(N_DIGITS):
        shift = np.uint64(digit * DIGIT_BITS)
        if count[digit, (key[0] >> shift) & mask] == size:
            continue
        end = 0
        for bucket in range(1 << DIGIT_BITS):
            end, count[digit, bucket] = end + count[digit, bucket], end
        for i in range(size):
            bucket = (key[i] >> shift) & mask
            to = count[digit, bucket]
            count[digit, bucket] = to + 1
            next_key[to], next_order[to] = key[i], order[i]
        key, next_key = next_key, key
        order, next_order = next_order, order
    return order


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


def measure_mixing(
    draws: np.ndarray,
    scores: np.ndarray,
    first: int,
    last: int,
    tail: float = TAIL,
    *,
    quantiles: np.ndarray | None = None,
) -> np.ndarray:
    """Diagnose the quantities from `first` to before `last`.

    Shapes: draws float32 or float64 (chain, draw, quantity); scores, `normal_scores_of_ranks` of the numbers of chains
    and draws; result (4, last - first): R-hat (NaN for a single chain), bulk ESS, tail ESS (of the quantiles
    `tail` and 1 - `tail`), standard error of the mean; all NaN where a draw is NaN, and for chains of fewer
    than four draws. With `quantiles`, probabilities (q,), also mean, standard deviation and these quantiles: (6 + q,
    last - first).
    """
    n_chains, n_draws, _ = draws.shape
    result = np.full((4 if quantiles is None else 6 + len(quantiles), last - first), np.nan)
    if n_draws < MIN_DRAWS:
        return result
    values = np.empty((last - first, n_chains * n_draws))
    values.reshape(-1, n_chains, n_draws)[:] = np.moveaxis(draws[:, :, first:last], 2, 0)
    known = ~np.isnan(values).any(axis=1)
    options = (n_chains, draws.itemsize == 4, tail)
    wanted = NO_QUANTILES if quantiles is None else quantiles
    _diagnose(values, known, _places(n_chains, n_draws), options, (scores, wanted), result)
    return result


def _places(n_chains: int, n_draws: int) -> np.ndarray:
    """Return the place of each draw, int64 (chain * draw,), in the halved chains; -1: middle of odd chains."""
    half = n_draws // 2
    places = np.full((n_chains, n_draws), -1)
    halves = np.arange(2 * n_chains * half).reshape(n_chains, 2, half)
    places[:, :half], places[:, n_draws - half :] = halves[:, 0], halves[:, 1]
    return places.ravel()


@cached_njit(nogil=True, error_model="numpy")
def _diagnose(values, known, places, options, tables, result):
    """Overwrite `result` (4 or 6 + q, quantity) of the quantities that are `known` (quantity,).

    Shapes: values (quantity, chain * draw); places (chain * draw,). Options: number of chains, single precision, tail.
    Tables: normal scores of the ranks, and probabilities of the quantiles (q,).
    """
    n_chains, single, tail = options
    scores, wanted = tables
    n_draws = values.shape[1] // n_chains // 2
    size = 2 * n_chains * n_draws
    ascending = np.empty(values.shape[1])
    value, distance = np.empty(size), np.empty(size)
    place, origin = np.empty(size, np.int64), np.empty(size, np.int64)
    chains = np.empty((2 * n_chains, n_draws))
    flat = chains.reshape(size)
    work = (np.empty(2 * n_chains), np.empty(n_draws))
    for quantity in range(len(values)):
        if not known[quantity]:
            continue
        x = values[quantity]
        order = ascending_order_of_singles(x) if single and len(x) < 1 << PLACE_BITS else ascending_order(x)
        n = 0
        for i in range(len(order)):
            ascending[i] = x[order[i]]
            if places[order[i]] >= 0:
                value[n], place[n] = ascending[i], places[order[i]]
                n += 1

        score_ranks(value, place, scores, flat)
        r_hat = _scale_reduction(chains, work[0]) if n_chains > 1 else np.nan
        result[1, quantity] = _effective_size(chains, work)
        median = rounded(rounded(value[size // 2 - 1] + value[size // 2], single) / 2, single)
        if n_chains > 1 and math.isfinite(median):
            fold_about_median(value, place, median, single, distance, origin)
            score_ranks(distance, origin, scores, flat)
            fold = _scale_reduction(chains, work[0])
            if fold > r_hat:  # false for a NaN on either side
                r_hat = fold
        result[0, quantity] = r_hat

        ess_tail, ess_mean = np.inf, np.nan
        for turn in range(3):  # two tails, the values themselves
            bound = quantile(ascending, tail if turn else 1 - tail, single)
            for i in range(size):
                indicator = 1.0 if value[i] <= bound else 0.0
                flat[place[i]] = indicator if turn < 2 else value[i]
            ess_mean = _effective_size(chains, work)
            if turn < 2:
                ess_tail = min(ess_tail, ess_mean)
        result[2, quantity] = ess_tail
        mean, squares = _moments(x)
        variance = squares / (len(x) - 1)
        result[3, quantity] = math.sqrt(variance) / math.sqrt(ess_mean)
        if len(result) > 4:
            result[4, quantity], result[5, quantity] = mean, math.sqrt(variance)
            for k in range(len(wanted)):
                result[6 + k, quantity] = quantile(ascending, wanted[k], single)


@inner_njit(error_model="numpy")
def _scale_reduction(chains, means):
    """Return R-hat of chains (chain, draw); means (chain,) are overwritten."""
    n_chains, n_draws = chains.shape
    within = 0.0
    for chain in range(n_chains):
        means[chain], squares = _moments(chains[chain])
        within += squares / (n_draws - 1) / n_chains
    between = _moments(means)[1] / (n_chains - 1)  # B / N
    return math.sqrt((n_draws * between / within + n_draws - 1) / n_draws)


@inner_njit(error_model="numpy")
def _effective_size(chains, work):
    """Return the ESS of chains (chain, draw), which are centred in place; work (chain,) and (draw,) is overwritten."""
    means, rho = work
    n_chains, n_draws = chains.shape
    if _spread(chains) < 1e-15:
        return float(n_chains * n_draws)
    for chain in range(n_chains):
        means[chain] = _mean(chains[chain])
        for i in range(n_draws):
            chains[chain, i] -= means[chain]
    variance = _moments(means)[1] / (n_chains - 1)
    lag = np.int64(0)  # functions are compiled for each literal of Python
    within = _autocovariance(chains, lag) * n_draws / (n_draws - 1)
    total = within * (n_draws - 1) / n_draws + variance  # var+

    for t in range(n_draws):
        rho[t] = 0.0
    even, odd = 1.0, np.nan
    # initial positive sequence (Geyer 1992)
    while lag == 0 or (lag < n_draws - 2 and even + odd > 0):
        if lag > 0:
            even = 1 - (within - _autocovariance(chains, lag)) / total
        odd = 1 - (within - _autocovariance(chains, lag + 1)) / total
        if lag == 0 or even + odd >= 0:
            rho[lag], rho[lag + 1] = even, odd
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


@inner_njit(error_model="numpy", fastmath={"reassoc", "contract"})
def _autocovariance(centred, lag):
    """Return the mean over chains of the autocovariance at `lag`, divided by the full length."""
    n_chains, n_draws = centred.shape
    total = 0.0
    for chain in range(n_chains):
        for i in range(n_draws - lag):
            total += centred[chain, i] * centred[chain, i + lag]
    return total / (n_chains * n_draws)


@inner_njit(error_model="numpy", fastmath={"reassoc", "nnan", "nsz"})
def _spread(chains):
    """Return the difference of the largest and the smallest number of chains (chain, draw)."""
    lowest, highest = np.inf, -np.inf
    for chain in range(chains.shape[0]):
        for i in range(chains.shape[1]):
            x = chains[chain, i]
            lowest = x if x < lowest else lowest
            highest = x if x > highest else highest
    return highest - lowest


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
    first = np.concatenate(
        [[0], 1 + np.flatnonzero(in_order[1:] != in_order[:-1]), [len(draws)]]
    )  # of equal draws
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
    draws: np.ndarray, threads: int | None, quantiles: np.ndarray | None = None, *, few: bool | None = None
) -> np.ndarray:
    """R-hat, bulk ESS, tail ESS and MCSE of the mean of every quantity, multi-threaded.

    Shapes: draws (chain, draw, quantity); returns (4, quantity). With `quantiles`, probabilities (q,), also mean, standard
    deviation and these quantiles: (6 + q, quantity). `few`: whether to do without compiled code; None: by their number.
    """
    n_chains, n_draws, n_quantities = draws.shape
    scores = normal_scores_of_ranks(n_chains, n_draws, draws.dtype)
    if n_draws < MIN_DRAWS or (draws.size <= FEW_DRAWS if few is None else few):
        mixing = measure_few(draws, scores)
        return mixing if quantiles is None else np.concatenate([mixing, _moments_of(draws, quantiles)])

    def part(first: int) -> np.ndarray:
        last = min(first + QUANTITIES_PER_TASK, n_quantities)
        return measure_mixing(draws, scores, first, last, quantiles=quantiles)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        parts = list(pool.map(part, range(0, n_quantities, QUANTITIES_PER_TASK)))
    rows = 4 if quantiles is None else 6 + len(quantiles)
    return np.concatenate([np.empty((rows, 0)), *parts], axis=1)


def _moments_of(draws: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Mean, standard deviation and quantiles (2 + q, quantity) of draws (chain, draw, quantity)."""
    every = draws.reshape(-1, draws.shape[2])
    spread = every.std(axis=0, dtype=float, ddof=1) if len(every) > 1 else np.full(every.shape[1], np.nan)
    order_statistics = np.quantile(every, quantiles, axis=0)
    return np.concatenate([[every.mean(axis=0, dtype=float), spread], order_statistics])

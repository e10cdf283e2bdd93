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

References
----------
Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), Rank-normalization, folding, and
localization: an improved R-hat, Bayesian Analysis 16(2), sections 3 and 4,
doi:10.1214/20-BA1221. Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7(4),
section 3.3, doi:10.1214/ss/1177011137.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import numpy as np

from ...models.distributions.compiling import cached_njit

DIGIT_BITS, N_DIGITS = 11, 6  # of the radix sort


def normal_scores(n_chains: int, n_draws: int, dtype: np.dtype) -> np.ndarray:
    """Return the normal score of every rank and half rank among the draws of the halved chains.

    Shapes: result float64 (2 S + 1,), the score of rank r at place 2 r, none at places 0 and 1. `n_chains`
    and `n_draws` are those before halving; `dtype` is the precision of the draws and, as in ArviZ, the scores.
    """
    size = 2 * n_chains * (n_draws // 2)
    rank = np.arange(2, 2 * size + 1, dtype=dtype) / 2
    probability = (rank - 3 / 8) / (size + 1 / 4)
    scores = np.array([np.nan, np.nan, *map(NormalDist().inv_cdf, probability.tolist())])
    return scores.astype(dtype).astype(float)


@cached_njit(nogil=True)
def ascending_order(x):
    """Stable radix argsort, int64 (S,), of x float64 (S,) without NaN; digits that all numbers share are skipped."""
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


@cached_njit(nogil=True)
def score_ranks(value, place, scores, out):
    """Write scores of the ranks of value (S,), ascending, to their place (S,) of out; ties share their average rank."""
    first = 0
    while first < len(value):
        last = first
        while last + 1 < len(value) and value[last + 1] == value[first]:
            last += 1
        for i in range(first, last + 1):
            out[place[i]] = scores[first + last + 2]  # average rank (first + last) / 2 + 1
        first = last + 1


@cached_njit(nogil=True)
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


@cached_njit(nogil=True)
def quantile(ascending, probability, single):
    """Interpolate linearly between order statistics (type 7), from the nearer end.

    Shapes: ascending (S,). `probability` is inside (0, 1); arithmetic is rounded to float32 if `single`.
    """
    position = (len(ascending) - 1) * probability
    before = int(np.floor(position))
    weight = position - before
    low, high = ascending[before], ascending[before + 1]
    gap = rounded(high - low, single)
    if weight >= 0.5:
        return rounded(high - rounded(gap * rounded(1 - weight, single), single), single)
    return rounded(low + rounded(gap * rounded(weight, single), single), single)


@cached_njit(nogil=True)
def rounded(x, single):
    """Return `x`, in float32 precision if `single`."""
    return np.float64(np.float32(x)) if single else x


# --- Diagnostics of one quantity after the other ---

TAIL = 0.89
MIN_DRAWS = 4
CHUNK = 16  # quantities read together: one cache line of float32


@cached_njit(nogil=True)
def measure_mixing(draws, scores, first, last, tail=TAIL):
    """Diagnose the quantities from `first` to before `last`.

    Shapes: draws float32 or float64 (chain, draw, quantity); scores, `normal_scores` of the numbers of chains
    and draws; result (4, last - first): R-hat (NaN for a single chain), bulk ESS, tail ESS (of the quantiles
    `tail` and 1 - `tail`), standard error of the mean; all NaN where a draw is NaN, and for chains of fewer
    than four draws.
    """
    n_chains, n_draws, _ = draws.shape
    result = np.full((4, last - first), np.nan)
    if n_draws < MIN_DRAWS:
        return result
    single = draws.itemsize == 4
    places = _places(n_chains, n_draws)
    gathered = np.empty((CHUNK, n_chains * n_draws))
    for start in range(first, last, CHUNK):
        width = min(CHUNK, last - start)
        for chain in range(n_chains):
            for draw in range(n_draws):
                for q in range(width):
                    gathered[q, chain * n_draws + draw] = draws[chain, draw, start + q]
        for q in range(width):
            result[:, start + q - first] = _diagnose(gathered[q], places, n_chains, single, scores, tail)
    return result


@cached_njit(nogil=True)
def _places(n_chains, n_draws):
    """Return the place of each draw, (chain * draw,), in the halved chains; -1: middle of odd chains."""
    half = n_draws // 2
    places = np.empty((n_chains, n_draws), np.int64)
    for chain in range(n_chains):
        places[chain] = -1
        for i in range(half):
            places[chain, i] = 2 * chain * half + i
            places[chain, n_draws - half + i] = (2 * chain + 1) * half + i
    return places.reshape(-1)


@cached_njit(nogil=True, error_model="numpy")
def _diagnose(x, places, n_chains, single, scores, tail):
    """Return R-hat, bulk ESS, tail ESS and MCSE of one quantity; x: (chain * draw,)."""
    if np.isnan(x).any():
        return np.nan, np.nan, np.nan, np.nan
    order = ascending_order(x)
    ascending = x[order]
    place = places[order]
    halved = place >= 0
    value, place = ascending[halved], place[halved]
    chains = np.empty((2 * n_chains, len(value) // (2 * n_chains)))
    flat = chains.reshape(-1)

    score_ranks(value, place, scores, flat)
    r_hat = _scale_reduction(chains) if n_chains > 1 else np.nan
    ess_bulk = _effective_size(chains)
    middle = len(value) // 2
    median = rounded(rounded(value[middle - 1] + value[middle], single) / 2, single)
    if n_chains > 1 and np.isfinite(median):
        distance, origin = folded(value, place, median, single)
        score_ranks(distance, origin, scores, flat)
        fold = _scale_reduction(chains)
        if fold > r_hat:  # false for a NaN on either side
            r_hat = fold

    ess_tail = np.inf
    for probability in (1 - tail, tail):
        flat[place] = value <= quantile(ascending, probability, single)
        ess_tail = min(ess_tail, _effective_size(chains))
    flat[place] = value
    return r_hat, ess_bulk, ess_tail, _standard_deviation(x) / np.sqrt(_effective_size(chains))


@cached_njit(nogil=True, error_model="numpy")
def _scale_reduction(chains):
    """Return R-hat of chains (chain, draw)."""
    n_draws = chains.shape[1]
    means = np.empty(len(chains))
    within = 0.0
    for chain in range(len(chains)):
        means[chain] = _mean(chains[chain])
        within += _squared_deviations(chains[chain], means[chain]) / (n_draws - 1) / len(chains)
    between = _squared_deviations(means, _mean(means)) / (len(chains) - 1)  # B / N
    return np.sqrt((n_draws * between / within + n_draws - 1) / n_draws)


@cached_njit(nogil=True, error_model="numpy")
def _effective_size(chains):
    """Return the ESS of chains (chain, draw), which are centred in place."""
    n_chains, n_draws = chains.shape
    if chains.max() - chains.min() < 1e-15:
        return float(chains.size)
    means = np.empty(n_chains)
    for chain in range(n_chains):
        means[chain] = _mean(chains[chain])
        chains[chain] -= means[chain]
    variance = _squared_deviations(means, _mean(means)) / (n_chains - 1)
    within = _autocovariance(chains, 0) * n_draws / (n_draws - 1)
    total = within * (n_draws - 1) / n_draws + variance  # var+

    rho = np.zeros(n_draws)
    even, odd = 1.0, 1 - (within - _autocovariance(chains, 1)) / total
    rho[0], rho[1] = even, odd
    lag = 1
    # initial positive sequence (Geyer 1992)
    while lag < n_draws - 3 and even + odd > 0:
        even = 1 - (within - _autocovariance(chains, lag + 1)) / total
        odd = 1 - (within - _autocovariance(chains, lag + 2)) / total
        if even + odd >= 0:
            rho[lag + 1], rho[lag + 2] = even, odd
        lag += 2
    last = lag - 2
    if even > 0:
        rho[last + 1] = even
    # initial monotone sequence
    for t in range(1, last - 1, 2):
        if rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]:
            rho[t + 1] = rho[t + 2] = (rho[t - 1] + rho[t]) / 2
    tau = -1 + 2 * rho[: last + 1].sum() + rho[last + 1]
    if np.isnan(odd):
        return np.nan
    return chains.size / max(tau, 1 / np.log10(chains.size))


@cached_njit(nogil=True, fastmath={"reassoc", "contract"})
def _autocovariance(centred, lag):
    """Return the mean over chains of the autocovariance at `lag`, divided by the full length."""
    n_chains, n_draws = centred.shape
    total = 0.0
    for chain in range(n_chains):
        for i in range(n_draws - lag):
            total += centred[chain, i] * centred[chain, i + lag]
    return total / (n_chains * n_draws)


@cached_njit(nogil=True)
def _mean(x):
    """Return the mean, relative to the first number, so that the mean of equal numbers is exact."""
    return x[0] + (x - x[0]).sum() / len(x)


@cached_njit(nogil=True)
def _squared_deviations(x, mean):
    """Return the sum of squared deviations from `mean`."""
    return ((x - mean) ** 2).sum()


@cached_njit(nogil=True)
def _standard_deviation(x):
    """Return the sample standard deviation."""
    return np.sqrt(_squared_deviations(x, _mean(x)) / (len(x) - 1))


# --- Diagnostics on several threads ---

QUANTITIES_PER_TASK = 256


def mixing_of(draws: np.ndarray, threads: int | None) -> np.ndarray:
    """R-hat, bulk ESS, tail ESS and MCSE of the mean of every quantity, multi-threaded.

    Shapes: draws (chain, draw, quantity); returns (4, quantity).
    """
    n_chains, n_draws, n_quantities = draws.shape
    scores = normal_scores(n_chains, n_draws, draws.dtype)

    def part(first: int) -> np.ndarray:
        return measure_mixing(draws, scores, first, min(first + QUANTITIES_PER_TASK, n_quantities))

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        parts = list(pool.map(part, range(0, n_quantities, QUANTITIES_PER_TASK)))
    return np.concatenate([np.empty((4, 0)), *parts], axis=1)

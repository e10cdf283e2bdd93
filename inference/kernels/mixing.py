"""Convergence diagnostics of many quantities: R-hat, bulk and tail ESS, Monte-Carlo error.

For one quantity with draws theta (chain, draw), halved into M chains of N draws, S = M N in all:

    z        = Phi^-1((r - 3/8) / (S + 1/4)),    r = average rank of theta among the S draws
    R-hat    = max over z, and the z of |theta - median|, of  sqrt((B / W + N - 1) / N)
    rho_t    = 1 - (W - mean over chains of acov_t) / var+,    var+ = W (N - 1) / N + B / N
    tau      = -1 + 2 sum of rho_t, over the initial positive sequence made monotone
    ESS      = S / max(tau, 1 / log10 S)

with B / N and W the variances between and within the chains. Bulk ESS is the ESS of z; tail ESS the
smaller ESS of the indicators theta <= q of two tail quantiles q; the ESS of theta itself gives the
Monte-Carlo error of the mean.

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

import numpy as np

from ...models.distributions.compiling import kept
from .order import ascending_order, folded, quantile, rounded, score_ranks

__all__ = ["TAIL", "measure_mixing"]

TAIL = 0.89
MIN_DRAWS = 4
GATHERED = 16  # quantities read together: one cache line of float32


@kept(nogil=True)
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
    gathered = np.empty((GATHERED, n_chains * n_draws))
    for start in range(first, last, GATHERED):
        width = min(GATHERED, last - start)
        for chain in range(n_chains):
            for draw in range(n_draws):
                for q in range(width):
                    gathered[q, chain * n_draws + draw] = draws[chain, draw, start + q]
        for q in range(width):
            result[:, start + q - first] = _diagnose(
                gathered[q], places, n_chains, single, scores, tail
            )
    return result


@kept(nogil=True)
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


@kept(nogil=True, error_model="numpy")
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
    r_hat = np.nan
    if n_chains > 1:
        r_hat = _scale_reduction(chains)
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
    return r_hat, ess_bulk, ess_tail, _deviation(x) / np.sqrt(_effective_size(chains))


@kept(nogil=True, error_model="numpy")
def _scale_reduction(chains):
    """Return R-hat of chains (chain, draw)."""
    n_draws = chains.shape[1]
    means = np.empty(len(chains))
    within = 0.0
    for chain in range(len(chains)):
        means[chain] = _mean(chains[chain])
        within += _squares(chains[chain], means[chain]) / (n_draws - 1) / len(chains)
    between = _squares(means, _mean(means)) / (len(chains) - 1)  # B / N
    return np.sqrt((n_draws * between / within + n_draws - 1) / n_draws)


@kept(nogil=True, error_model="numpy")
def _effective_size(chains):
    """Return the ESS of chains (chain, draw), which are centred in place."""
    n_chains, n_draws = chains.shape
    if chains.max() - chains.min() < 1e-15:
        return float(chains.size)
    means = np.empty(n_chains)
    for chain in range(n_chains):
        means[chain] = _mean(chains[chain])
        chains[chain] -= means[chain]
    variance = _squares(means, _mean(means)) / (n_chains - 1)
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


@kept(nogil=True, fastmath={"reassoc", "contract"})
def _autocovariance(centred, lag):
    """Return the mean over chains of the autocovariance at `lag`, divided by the full length."""
    n_chains, n_draws = centred.shape
    total = 0.0
    for chain in range(n_chains):
        for i in range(n_draws - lag):
            total += centred[chain, i] * centred[chain, i + lag]
    return total / (n_chains * n_draws)


@kept(nogil=True)
def _mean(x):
    """Return the mean, relative to the first number, so that the mean of equal numbers is exact."""
    return x[0] + (x - x[0]).sum() / len(x)


@kept(nogil=True)
def _squares(x, mean):
    """Return the sum of squared deviations from `mean`."""
    return ((x - mean) ** 2).sum()


@kept(nogil=True)
def _deviation(x):
    """Return the sample standard deviation."""
    return np.sqrt(_squares(x, _mean(x)) / (len(x) - 1))

"""Statistical tests with tolerances from theory: Monte-Carlo z, Geweke, SBC, the wrong twin.

A test of draws computes a statistic whose law under a correct sampler is known, and compares it
with a quantile of that law. Every such test is also run on a deliberately wrong twin, which it
must reject.

References
----------
Geweke (2004), Getting it right, JASA 99, doi:10.1198/016214504000001132. Talts et al. (2018),
Validating Bayesian inference algorithms with simulation-based calibration, arXiv:1804.06788.
Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity, Statistics and
Computing 32, doi:10.1007/s11222-022-10090-6.
"""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b

import numpy as np
from arviz_stats.base import array_stats
from scipy.stats import binom, norm, poisson

__all__ = [
    "assert_rejects_twin",
    "bonferroni_threshold",
    "check_means",
    "ecdf_band",
    "geweke_z",
    "mc_z",
    "rejects",
    "sbc_ranks",
    "seed_of",
    "within_sbc_band",
]


def seed_of(name: str) -> int:
    """Return the 32-bit seed that belongs to the name of a test."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big")


def bonferroni_threshold(n_tests: int, false_alarm: float = 1e-4) -> float:
    """Return the bound that `n_tests` standard normals all keep, but for `false_alarm`."""
    return float(norm.isf(false_alarm / (2 * n_tests)))


def mc_z(draws: np.ndarray, exact: np.ndarray | float) -> np.ndarray:
    """Return the Monte-Carlo standard errors between the mean of the draws and the exact value.

    Parameters
    ----------
    draws : ndarray, shape (chain, draw, ...)
        Draws of chains, autocorrelated or not.
    exact : ndarray, shape (...)
        Exact expectations.

    Returns
    -------
    ndarray, shape (...)
        z, standard normal under a correct sampler; 0 or infinite where all draws are equal.
    """
    draws = np.asarray(draws, float)
    difference = draws.mean(axis=(0, 1)) - exact
    return _ratio(difference, _mcse(draws))


def check_means(draws, exact):
    """Assert that draws have these means, at one false alarm: arrays as of `mc_z`, or mappings of them by name.

    Means of 0 or 1 by name are of what has no choice, such as gold items, and are left out.
    """
    if isinstance(exact, Mapping):
        z = np.concatenate([np.ravel(mc_z(draws[name], mean)) for name, mean in exact.items()])
        means = np.concatenate([np.ravel(mean) for mean in exact.values()])
        z = z[(np.abs(means) > 1e-9) & (np.abs(means - 1) > 1e-9)]
    else:
        z = mc_z(draws, exact)
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def geweke_z(marginal: np.ndarray, successive: np.ndarray) -> np.ndarray:
    """Compare two simulators of a joint law: first and second moments, logs of what is positive.

    Parameters
    ----------
    marginal : ndarray, shape (draw, quantity)
        Independent draws: parameters from the prior, then data from the law.
    successive : ndarray, shape (chain, draw, quantity)
        Draws of chains that alternate the sampler under test with data from the law.

    Returns
    -------
    ndarray, shape (moment,)
        z of every moment, standard normal under a correct sampler.
    """
    positive = (marginal > 0).all(axis=0) & (successive > 0).all(axis=(0, 1))
    independent, chained = _moments(marginal, positive), _moments(successive, positive)
    difference = chained.mean(axis=(0, 1)) - independent.mean(axis=0)
    error = np.hypot(_mcse(chained), independent.std(axis=0, ddof=1) / np.sqrt(len(independent)))
    return _ratio(difference, error)


def sbc_ranks(truth: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank each simulated truth among nearly independent draws from its posterior.

    Parameters
    ----------
    truth : ndarray, shape (simulation, ...)
        What the data were simulated from.
    draws : ndarray, shape (simulation, draw, ...)
        Draws from the posterior of each simulation.
    rng : numpy.random.Generator
        Breaks ties at random.

    Returns
    -------
    ndarray of int, shape (simulation, ...)
        Ranks, uniform on 0 ... draw under a correct sampler.
    """
    below = (draws < truth[:, None]).sum(axis=1)
    equal = (draws == truth[:, None]).sum(axis=1)
    return below + rng.integers(0, equal, endpoint=True)


@cache
def ecdf_band(n_ranks: int, n_draws: int, level: float = 0.99) -> tuple[np.ndarray, np.ndarray]:
    """Return the band that holds the whole ECDF of uniform ranks with probability `level`.

    Parameters
    ----------
    n_ranks : int
        Number of simulations.
    n_draws : int
        Draws each truth was ranked among; ranks are 0 ... n_draws.
    level : float
        Simultaneous coverage, exact but for the discreteness of counts (never less).

    Returns
    -------
    lower, upper : ndarray, shape (n_draws,)
        Bounds of the number of ranks <= 0, <= 1, ..., <= n_draws - 1: pointwise binomial intervals
        of one level, the narrowest that cover together.
    """
    probability = np.arange(1, n_draws + 1) / (n_draws + 1)

    def band(tail: float) -> tuple[np.ndarray, np.ndarray]:
        return (
            binom.ppf(tail, n_ranks, probability).astype(int),
            binom.isf(tail, n_ranks, probability).astype(int),
        )

    narrow, wide = np.log((1 - level) / 2), np.log((1 - level) / 2 / n_draws)
    while narrow - wide > 1e-3:
        middle = (narrow + wide) / 2
        if _coverage(*band(np.exp(middle)), n_ranks) >= level:
            wide = middle
        else:
            narrow = middle
    return band(np.exp(wide))


def within_sbc_band(ranks: np.ndarray, n_draws: int, level: float = 0.99) -> np.ndarray:
    """Tell whether the ECDF of the ranks stays inside the simultaneous band.

    Parameters
    ----------
    ranks : ndarray of int, shape (simulation, ...)
        Ranks 0 ... n_draws.
    n_draws : int
        Draws each truth was ranked among.
    level : float
        Simultaneous coverage of one quantity; for q quantities together take ``1 - (1 - level) /
        q``.

    Returns
    -------
    ndarray of bool, shape (...)
        Whether each quantity passes.
    """
    lower, upper = ecdf_band(len(ranks), n_draws, level)
    at_most = (ranks[..., None] <= np.arange(n_draws)).sum(axis=0)
    return ((lower <= at_most) & (at_most <= upper)).all(axis=-1)


def rejects(check: Callable[..., object], *args: object) -> bool:
    """Tell whether the asserting function `check` fails on these arguments."""
    try:
        check(*args)
    except AssertionError:
        return True
    return False


def assert_rejects_twin(check: Callable[..., object], *twin: object) -> None:
    """Assert that the check has the power to reject a deliberately wrong twin."""
    assert rejects(check, *twin), f"{check.__name__} accepts a wrong twin"


def _mcse(draws: np.ndarray) -> np.ndarray:
    return np.asarray(array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean"))


def _ratio(difference: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Divide, where an error of zero makes any difference infinite."""
    no_error = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), no_error)


def _moments(draws: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return x, every product x_i x_j, and log x where positive, along the last axis."""
    first, second = np.triu_indices(draws.shape[-1])
    products = draws[..., first] * draws[..., second]
    return np.concatenate([draws, products, np.log(draws[..., positive])], axis=-1)


def _coverage(lower: np.ndarray, upper: np.ndarray, n_ranks: int) -> float:
    """Return the probability that cumulative counts of equal bins stay inside the bounds.

    Multinomial counts are independent Poisson counts given their sum, so the law of the cumulative
    count is carried from bin to bin by one convolution.
    """
    rate = n_ranks / (len(lower) + 1)
    jump = poisson.pmf(np.arange(n_ranks + 1), rate)
    start, reached = 0, np.ones(1)
    for low, high in zip([*lower, n_ranks], [*upper, n_ranks], strict=True):
        # reached[i] = p(all bounds kept so far, count = start + i)
        wide = np.convolve(reached, jump[: high - start + 1])
        reached, start = wide[low - start : high - start + 1], low
    return float(reached[0] / poisson.pmf(n_ranks, n_ranks))

"""Pointwise densities of drawn worths: each annotation's log likelihood, each worth's log prior."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.special import gammaln

from ..models.distributions.ranking_kernel import rankings_log_p

__all__ = ["ranking_log_likelihood", "worth_log_prior"]


def ranking_log_likelihood(
    log_worth: np.ndarray, place: np.ndarray, block: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Compute the log probability of every annotation, at power one, for every draw.

    Parameters
    ----------
    log_worth : ndarray, shape (chain, draw, candidate)
        Draws.
    place, block : ndarray of int, shape (annotation, place)
        Candidate and block number of each place.
    threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    ndarray, shape (chain, draw, annotation)
        Log probabilities, in the dtype of `log_worth`.
    """

    def fill(worths: np.ndarray, log_p: np.ndarray) -> None:
        row, gradient = np.empty(len(block)), np.empty(block.shape)
        for draw, log_w in enumerate(worths):
            rankings_log_p(log_w[place].astype(np.float64), block, row, gradient)
            log_p[draw] = row

    return _by_draw(fill, log_worth, len(block), threads)


def worth_log_prior(
    log_worth: np.ndarray, shape: np.ndarray, rate: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Compute the log density of every worth under its Gamma prior.

    Parameters
    ----------
    log_worth : ndarray, shape (chain, draw, candidate)
        Draws.
    shape, rate : ndarray, shape (candidate,)
        Prior.
    threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    ndarray, shape (chain, draw, candidate)
        Log densities, in the dtype of `log_worth`.
    """
    constant = shape * np.log(rate) - gammaln(shape)

    def fill(worths: np.ndarray, log_p: np.ndarray) -> None:
        for draw, log_w in enumerate(worths.astype(np.float64)):
            log_p[draw] = (shape - 1) * log_w - rate * np.exp(log_w) + constant

    return _by_draw(fill, log_worth, len(shape), threads)


def _by_draw(
    fill: Callable[[np.ndarray, np.ndarray], None],
    log_worth: np.ndarray,
    width: int,
    threads: int | None,
) -> np.ndarray:
    """Fill a density for every draw, in threads over runs of draws."""
    worths = log_worth.reshape(-1, log_worth.shape[-1])
    log_p = np.empty((len(worths), width), log_worth.dtype)
    parts = np.array_split(np.arange(len(worths)), min(64, len(worths)))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda p: fill(worths[p[0] : p[-1] + 1], log_p[p[0] : p[-1] + 1]), parts))
    return log_p.reshape(*log_worth.shape[:-1], width)

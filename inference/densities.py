"""Pointwise log densities of drawn worths: log likelihood by annotation, log prior by worth."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.special import gammaln

from ..models.distributions.ranking_kernel import rankings_log_p

__all__ = ["ranking_log_likelihood", "worth_log_prior"]


def ranking_log_likelihood(
    log_worth: np.ndarray, place: np.ndarray, block: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Log probability of every ranking, at power one, for every draw.

    Shapes: log_worth (chain, draw, candidate); place, candidate at each rank, and block, its block number
    (annotation, place); returns (chain, draw, annotation), in the dtype of `log_worth`.
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
    """Log density of every worth under its Gamma(shape, rate) prior, for every draw.

    Shapes: log_worth (chain, draw, candidate); shape, rate (candidate,); returns as log_worth, in its dtype.
    """
    constant = shape * np.log(rate) - gammaln(shape)

    def fill(worths: np.ndarray, log_p: np.ndarray) -> None:
        for draw, log_w in enumerate(worths.astype(np.float64)):
            # log Gamma(w | a, b) = (a - 1) log w - b w + a log b - log Gamma(a)
            log_p[draw] = (shape - 1) * log_w - rate * np.exp(log_w) + constant

    return _by_draw(fill, log_worth, len(shape), threads)


def _by_draw(
    fill: Callable[[np.ndarray, np.ndarray], None],
    log_worth: np.ndarray,
    width: int,
    threads: int | None,
) -> np.ndarray:
    """Fill a log density of each draw, multi-threaded over blocks of draws.

    Shapes: log_worth (chain, draw, candidate); returns (chain, draw, width).
    """
    worths = log_worth.reshape(-1, log_worth.shape[-1])
    log_p = np.empty((len(worths), width), log_worth.dtype)
    parts = np.array_split(np.arange(len(worths)), min(64, len(worths)))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda p: fill(worths[p[0] : p[-1] + 1], log_p[p[0] : p[-1] + 1]), parts))
    return log_p.reshape(*log_worth.shape[:-1], width)

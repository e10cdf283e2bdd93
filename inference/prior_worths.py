"""Independent draws of worths from their prior, in threads: the same for any number of threads."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np

from .kernels.gamma_items import draw_log_gammas
from .kernels.normal_draws import item_streams
from .kernels.random_stream import stream
from .worth_chains import ChainPlan

__all__ = ["draw_prior_log_worths", "streams_of_items"]

BLOCK = 256  # items in one unit of work


def draw_prior_log_worths(
    law: tuple[np.ndarray, np.ndarray], start: np.ndarray, streams: np.ndarray, plan: ChainPlan
) -> np.ndarray:
    """Draw independent log worths of all items from their Gamma priors.

    Parameters
    ----------
    law : tuple of ndarray, shape (candidate,)
        Shapes and rates.
    start : ndarray of int, shape (item + 1,)
        Candidates of each item.
    streams : ndarray of uint64, shape (chain, 4, item)
        Stream of every item, advanced in place.
    plan : ChainPlan
        Chains, draws, threads and storage.

    Returns
    -------
    ndarray, shape (chain, draw, candidate)
        Log worths; a Gamma(a) is a Gamma(a + 1) times U ** (1 / a), which in logs does not underflow.
    """
    out = np.empty((plan.chains, plan.draws, start[-1]), plan.dtype)
    shape, log_rate = law[0], np.log(law[1])

    def run(chain: int, first: int) -> None:
        items = slice(first, first + BLOCK)
        bounds = start[first : first + BLOCK + 1]
        own = slice(bounds[0], bounds[-1])
        draws = out[chain, :, own]
        draw_log_gammas(streams[chain, :, items], bounds, shape[own], log_rate[own], draws)

    with ThreadPoolExecutor(plan.threads or os.cpu_count()) as pool:
        work = product(range(plan.chains), range(0, len(start) - 1, BLOCK))
        list(pool.map(lambda unit: run(*unit), work))
    return out


def streams_of_items(keys: np.ndarray, chains: int, seed: int) -> np.ndarray:
    """Return a stream of every item of every chain.

    Parameters
    ----------
    keys : ndarray of uint64, shape (item,)
        Key of every item, as of `item_keys`.
    chains, seed : int
        Number of chains, and what their streams are derived from.

    Returns
    -------
    ndarray of uint64, shape (chain, 4, item)
        They depend on the item's key, not on its place.
    """
    words = (stream(np.random.SeedSequence(seed, spawn_key=(c,))) for c in range(chains))
    return np.stack([item_streams(keys, own) for own in words])

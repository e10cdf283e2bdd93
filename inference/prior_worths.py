"""Independent multi-threaded draws of worths from their prior; they do not depend on the number of threads."""

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

    A Gamma(a) variable is a Gamma(a + 1) variable times U ** (1 / a), which does not underflow on the log
    scale.
    Shapes: law, shapes and rates (candidate,); start, candidates of item i are start[i]:start[i + 1] (item +
    1,); streams (chain, 4, item), advanced in place; returns (chain, draw, candidate).
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
    """Random stream of every item of every chain; it depends on the key of the item, not on its position.

    Shapes: keys, from `item_keys` (item,); returns uint64 (chain, 4, item).
    """
    words = (stream(np.random.SeedSequence(seed, spawn_key=(c,))) for c in range(chains))
    return np.stack([item_streams(keys, own) for own in words])

"""The compiled loop: chains of worths, item by item, in threads.

Items are independent given the data, so the unit of work is one chain of one item, with a random stream of its own that is
derived from the seed, the chain and the item's id. The draws of an item are therefore the same for any number of threads, in any
order of work, and whatever other items are sampled with it.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from .kernels.posterior import WorthPosterior
from .kernels.random_stream import stream
from .kernels.worth import Schedule, begin_item, continue_item
from .thinning import PILOT_CHAINS, PILOT_DRAWS, sweeps_for_each_draw

__all__ = [
    "ChainPlan",
    "begin_worths",
    "continue_worths",
    "draw_log_worths",
    "item_keys",
    "pilot_thinning",
    "plausibilities",
]

RUN = 16  # items in one unit of work


@dataclass(frozen=True)
class ChainPlan:
    """How long to run: chains, kept draws, sweeps before the first, seed, threads, storage."""

    chains: int
    draws: int
    tune: int
    seed: int
    threads: int | None = None
    dtype: str = "float32"


def item_keys(items: np.ndarray) -> np.ndarray:
    """Derive a 64-bit key from the id of every item, the same in every process and on every machine.

    Parameters
    ----------
    items : ndarray of text or int, shape (item,)
        Ids.

    Returns
    -------
    ndarray of uint64, shape (item,)
        Keys.
    """
    digests = (blake2b(repr(item).encode(), digest_size=8).digest() for item in items.tolist())
    return np.frombuffer(b"".join(digests), "<u8")


def draw_log_worths(
    posterior: WorthPosterior,
    keys: np.ndarray,
    thinning: np.ndarray | int,
    plan: ChainPlan,
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Draw log worths of all items.

    Parameters
    ----------
    posterior : WorthPosterior
        Annotations and priors.
    keys : ndarray of uint64, shape (item,)
        Key of every item, as of `item_keys`.
    thinning : ndarray of int, shape () or (item,)
        Sweeps for each kept draw.
    plan : ChainPlan
        How long to run.
    progress : callable
        Told how many more items have been finished, over all chains.

    Returns
    -------
    ndarray, shape (chain, draw, candidate)
        Log worths.
    """
    return continue_worths(posterior, thinning, plan, begin_worths(posterior, keys, plan), progress)


def begin_worths(
    posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan
) -> dict[str, np.ndarray]:
    """Start every chain of every item from a draw of its prior.

    Parameters
    ----------
    posterior : WorthPosterior
        Annotations and priors.
    keys : ndarray of uint64, shape (item,)
        Key of every item.
    plan : ChainPlan
        Chains and seed.

    Returns
    -------
    dict of str to ndarray
        Where the chains stand: ``stream`` (chain, item, word) and ``log_worth`` (chain, candidate).
    """
    start = posterior.candidate_start
    streams = np.empty((plan.chains, len(keys), 4), np.uint64)
    log_worth = np.empty((plan.chains, start[-1]))
    for chain, item in np.ndindex(streams.shape[:2]):
        streams[chain, item] = stream(_seed(plan.seed, chain, int(keys[item])))
        own = log_worth[chain, start[item] : start[item + 1]]
        begin_item(streams[chain, item], item, posterior, own)
    return {"stream": streams, "log_worth": log_worth}


def continue_worths(
    posterior: WorthPosterior,
    thinning: np.ndarray | int,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Run all chains on from where they stand.

    Parameters
    ----------
    posterior : WorthPosterior
        Annotations and priors.
    thinning : ndarray of int, shape () or (item,)
        Sweeps for each kept draw.
    plan : ChainPlan
        Draws, sweeps before the first, threads and storage.
    state : dict of str to ndarray
        As of `begin_worths`, changed in place.
    progress : callable
        Told how many more items have been finished, over all chains.

    Returns
    -------
    ndarray, shape (chain, draw, candidate)
        Log worths.
    """
    start, streams, log_worth = posterior.candidate_start, state["stream"], state["log_worth"]
    n_items = streams.shape[1]
    thinning = np.broadcast_to(thinning, n_items)
    out = np.empty((plan.chains, plan.draws, start[-1]), plan.dtype)

    def run(chain: int, first: int) -> int:
        end = min(first + RUN, n_items)
        for item in range(first, end):
            own = slice(start[item], start[item + 1])
            draws = np.empty((plan.draws, own.stop - own.start))
            schedule = Schedule(plan.tune, int(thinning[item]))
            place = (log_worth[chain, own], draws)
            continue_item(streams[chain, item], item, posterior, schedule, place)
            out[chain, :, own] = draws
        return end - first

    with ThreadPoolExecutor(plan.threads or os.cpu_count()) as pool:
        work = [
            pool.submit(run, chain, first)
            for first in range(0, n_items, RUN)
            for chain in range(plan.chains)
        ]
        for done in as_completed(work):
            progress(done.result())
    return out


def _seed(seed: int, chain: int, key: int) -> np.random.SeedSequence:
    """Return the seed of one chain of one item."""
    return np.random.SeedSequence(seed, spawn_key=(chain, key))


def pilot_thinning(posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan) -> np.ndarray:
    """Ask a pilot run how many sweeps a kept draw of each item needs.

    It has 4 chains of 300 draws, after the warm-up of the plan; the least effective plausibility of an item decides, by the rule
    of `sweeps_for_each_draw`.

    Parameters
    ----------
    posterior : WorthPosterior
        Annotations and priors.
    keys : ndarray of uint64, shape (item,)
        Key of every item.
    plan : ChainPlan
        The run that the pilot is for.

    Returns
    -------
    ndarray of int64, shape (item,)
        Sweeps for each kept draw.
    """
    length = (PILOT_CHAINS, PILOT_DRAWS)
    pilot = ChainPlan(*length, plan.tune, plan.seed + 1, plan.threads, "float64")
    start = posterior.candidate_start
    draws = plausibilities(draw_log_worths(posterior, keys, 1, pilot), start)
    return sweeps_for_each_draw(draws, plan.chains * plan.draws, plan.threads, start[:-1])


def plausibilities(log_worth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Normalise worths within each item.

    Parameters
    ----------
    log_worth : ndarray, shape (..., candidate)
        Log worths.
    start : ndarray of int, shape (item + 1,)
        Candidates of each item.

    Returns
    -------
    ndarray, shape (..., candidate)
        Plausibilities, in the dtype of `log_worth`.
    """
    item = np.repeat(np.arange(len(start) - 1), np.diff(start))
    out = np.empty_like(log_worth)
    for index in np.ndindex(log_worth.shape[:-2]):
        for first in range(0, log_worth.shape[-2], 128):  # bounded memory, in double precision
            rows = log_worth[index][first : first + 128].astype(np.float64)
            rows -= np.maximum.reduceat(rows, start[:-1], axis=-1)[:, item]
            np.exp(rows, out=rows)
            rows /= np.add.reduceat(rows, start[:-1], axis=-1)[:, item]
            out[index][first : first + 128] = rows
    return out

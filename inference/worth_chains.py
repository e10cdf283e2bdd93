"""Multi-threaded Gibbs chains of worths, item by item.

Items are independent given the data, so the unit of work is one chain of one item, with its own random stream
derived from the seed, the chain and the item's id. Therefore the draws of an item do not depend on the number
of threads, the order of work, or the other items.
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
    """Length, seed, threads and storage of the Gibbs chains of worths."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # sweeps before the first draw
    seed: int
    threads: int | None = None
    dtype: str = "float32"  # storage; the arithmetic is in double precision


def item_keys(items: np.ndarray) -> np.ndarray:
    """64-bit key of every item, derived from its id; the same in every process and on every machine.

    Shapes: items, text or integers (item,); returns uint64 (item,).
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
    """Run all chains of all items from their start.

    Shapes: keys uint64, from `item_keys` (item,); thinning, sweeps per kept draw () or (item,); returns
    (chain, draw, candidate).
    `progress` is called with the number of newly finished items, counted over all chains.
    """
    return continue_worths(posterior, thinning, plan, begin_worths(posterior, keys, plan), progress)


def begin_worths(
    posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan
) -> dict[str, np.ndarray]:
    """Initialise every chain of every item at a draw from its prior.

    Shapes: keys (item,). State returned: stream (chain, item, word); log_worth (chain, candidate).
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
    """Run all chains on from their state, which is overwritten in place.

    Shapes: thinning, sweeps per kept draw () or (item,); returns log worths (chain, draw, candidate).
    `progress` is called with the number of newly finished items, counted over all chains.
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
    """Seed sequence of one chain of one item."""
    return np.random.SeedSequence(seed, spawn_key=(chain, key))


def pilot_thinning(posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan) -> np.ndarray:
    """Return the number of sweeps per kept draw of each item, by a pilot run.

    4 chains of 300 draws after the warm-up of the plan; the smallest ESS among the plausibilities of an item
    decides, by the rule of `sweeps_for_each_draw`. Shapes: keys (item,); returns int64 (item,).
    """
    length = (PILOT_CHAINS, PILOT_DRAWS)
    pilot = ChainPlan(*length, plan.tune, plan.seed + 1, plan.threads, "float64")
    start = posterior.candidate_start
    draws = plausibilities(draw_log_worths(posterior, keys, 1, pilot), start)
    return sweeps_for_each_draw(draws, plan.chains * plan.draws, plan.threads, start[:-1])


def plausibilities(log_worth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Plausibilities: worths normalised within each item.

    Shapes: log_worth (..., draw, candidate); start, candidates of item i are start[i]:start[i + 1] (item +
    1,); returns as log_worth, in its dtype.
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

"""Resumable sampler: chains that can stop after any draw and continue from their state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
import xarray as xr

from ..kernels.convergence import mixing_of
from ..kernels.random_streams import item_streams, stream

__all__ = [
    "PILOT_CHAINS",
    "PILOT_DRAWS",
    "Draws",
    "Found",
    "NotHeld",
    "Run",
    "item_keys",
    "streams_of_items",
    "sweeps_for_each_draw",
]


@dataclass(frozen=True)
class Draws:
    """Options of `sample`: length, seed, threads and storage of a run."""

    draws: int  # kept draws of each chain
    tune: int | None  # draws before the first kept one; None: default of the sampler
    chains: int
    cores: int | None  # None: all cores
    seed: int
    progressbar: bool
    thin: int | Literal["pilot"]  # draws or sweeps per kept draw; "pilot": chosen by the sampler
    dtype: Literal["float32", "float64"]  # storage; the arithmetic is in double precision
    densities: bool  # whether to store log likelihood and log prior


# --- Independent multi-threaded draws of worths from their prior; they do not depend on the number of threads ---


def streams_of_items(keys: np.ndarray, chains: int, seed: int) -> np.ndarray:
    """Random stream of every item of every chain; it depends on the key of the item, not on its position.

    Shapes: keys, from `item_keys` (item,); returns uint64 (chain, 4, item).
    """
    words = (stream(np.random.SeedSequence(seed, spawn_key=(c,))) for c in range(chains))
    return np.stack([item_streams(keys, own) for own in words])


# --- Resumable sampler: chains that can stop after any draw and continue from their state ---

Found = Mapping[str, np.ndarray]

"""Tuning of a sampler before its first draw, such as the thinning, by name; stored, and not repeated at resume."""


class NotHeld(ValueError):
    """Draws beyond the range of single precision: the run must begin again in double precision."""


@dataclass
class Run:
    """Sampler between two draws.

    The state is complete: nothing of it is recomputed from the rest, which might be rounded differently.
    """

    found: Found  # tuning before the first draw
    state: dict[str, np.ndarray]  # carried from draw to draw, overwritten in place
    draw: Callable[[int, int], dict[str, xr.Dataset]]  # (drawn, n) -> groups of n draws
    drawn: int = 0  # draws so far of each chain

    def advance(self, n: int) -> dict[str, xr.Dataset]:
        """Make `n` further draws of each chain; return their groups.

        The draws do not depend on how many are made at a time. ``sample_stats`` are of the whole run so far.
        """
        groups = self.draw(self.drawn, n)
        self.drawn += n
        return groups

    def restore(self, state: Mapping[str, np.ndarray], drawn: int) -> None:
        """Set the chains to their state after `drawn` draws.

        Raises `ValueError` unless names, shapes and dtypes match.
        """
        ours = {name: (own.shape, own.dtype) for name, own in self.state.items()}
        theirs = {name: (array.shape, array.dtype) for name, array in state.items()}
        if ours != theirs:
            raise ValueError(f"a state of {theirs} is not one of this model, {ours}")
        for name, own in self.state.items():
            own[...] = state[name]
        self.drawn = drawn


# --- Thinning of runs, by a fixed rule applied to a pilot run ---

PILOT_CHAINS, PILOT_DRAWS = 4, 300

WANTED_ESS = 1600  # margin over the threshold of 400, for the worst of thousands of quantities

LARGEST_THINNING = 64


def sweeps_for_each_draw(
    pilot: np.ndarray,
    kept: int,
    threads: int | None,
    first: np.ndarray | tuple[int, ...] = (0,),
    most: int = LARGEST_THINNING,
) -> np.ndarray:
    """Return the number of sweeps per kept draw that each group of quantities needs, by the ESS of a pilot run.

    With n the smallest bulk or tail ESS of a group in the pilot run, the thinning is the least whole number
    that raises the effective size of the planned run to 1,600, or to four fifths of its draws if that is
    less; at most `most`. `diagnose` shows whether it sufficed.
    Shapes: pilot, not thinned (chain, draw, quantity); first, first quantity of each group, by default one
    group (group,); returns int64 (group,), 1 where nothing moves. `kept` counts the kept draws of all chains
    of the planned run.
    """
    _, bulk, tail, _ = mixing_of(pilot, threads)
    least = np.fmin.reduceat(np.fmin(bulk, tail), first)
    per_draw = np.where(np.isnan(least), 1.0, least / (pilot.shape[0] * pilot.shape[1]))
    wanted = min(WANTED_ESS, 0.8 * kept) / kept
    return np.clip(np.ceil(wanted / per_draw), 1, most).astype(np.int64)


# --- Multi-threaded Gibbs chains of worths, item by item ---


def item_keys(items: np.ndarray) -> np.ndarray:
    """64-bit key of every item, derived from its id; the same in every process and on every machine.

    Shapes: items, text or integers (item,); returns uint64 (item,).
    """
    digests = (blake2b(repr(item).encode(), digest_size=8).digest() for item in items.tolist())
    return np.frombuffer(b"".join(digests), "<u8")

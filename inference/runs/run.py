"""Sampler of a law, and its run: chains that can stop after any draw and continue from their state."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import xarray as xr

from ..kernels.convergence import mixing_of
from ..kernels.random_streams import item_streams

if TYPE_CHECKING:
    import pymc as pm  # seconds, which estimates by EM do not need


@dataclass(frozen=True)
class ChainPlan:
    """Length, seed, threads and storage of the chains of a sampler."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # sweeps or transitions before the first draw
    seed: int
    threads: int | None = None
    dtype: str = "float32"  # storage; the arithmetic is in double precision
    thin: int = 1  # sweeps or transitions per kept draw

    def part(self, drawn: int, n: int) -> Self:
        """Plan of the next `n` draws after the first `drawn`; only the first part has a warm-up."""
        return replace(self, draws=n, tune=0 if drawn else self.tune)


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

    def chain(self, tune: int) -> ChainPlan:
        """Plan of the chains, not thinned; `tune` is the default of the sampler."""
        tune = tune if self.tune is None else self.tune
        return ChainPlan(self.chains, self.draws, tune, self.seed, self.cores, self.dtype)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise a `ValueError` that names the argument unless `value` is a whole number from `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number from {least}")


def check_options(dtype: str, **numbers: int | str | None) -> None:
    """Raise unless every number is whole and large enough, or None for the default, and `dtype` is a storage type."""
    for name, number in numbers.items():
        if number is not None:
            check_whole(name, number, least=0 if name in ("tune", "random_seed") else 1)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not one of 'float32', 'float64'")


def in_threads(run: Callable[..., None], work: Iterable[Iterable[Any]], threads: int | None) -> None:
    """Call `run` with the arguments of each unit of work, multi-threaded; None: one thread per core."""
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        list(pool.map(lambda unit: run(*unit), work))


def run_chains[Arrays: tuple[np.ndarray, ...]](
    draws: Arrays, plan: ChainPlan, size: int, sample: Callable[[int, Arrays, tuple[int, int]], object]
) -> Arrays:
    """Fill the draws of all chains, multi-threaded, `size` draws at a time; `draws` is a NamedTuple of arrays (chain, draw, ...).

    `sample` is called with the chain, places in double precision, which are then rounded to the storage, and the sweeps before
    the first of these draws and for each.
    """

    def run(chain: int) -> None:
        for first in range(0, plan.draws, size):
            places = [array[chain, first : first + size] for array in draws]
            buffer: Any = type(draws)(*(np.empty(place.shape) for place in places))
            sample(chain, buffer, (0 if first else plan.tune, plan.thin))
            for place, array in zip(places, buffer, strict=True):
                place[...] = array

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws


# --- Random streams of chains and items ---


def stream(seed: np.random.SeedSequence | np.random.Generator) -> np.ndarray:
    """Return the stream, uint64 (4,), of a seed sequence, or of the next four words of a generator."""
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(4, np.uint64)
    return seed.integers(0, 2**64, size=4, dtype=np.uint64)


def item_keys(items: np.ndarray) -> np.ndarray:
    """64-bit key, uint64 (item,), of every id, text or integer; the same in every process and on every machine."""
    digests = (blake2b(repr(item).encode(), digest_size=8).digest() for item in items.tolist())
    return np.frombuffer(b"".join(digests), "<u8")


def streams_of_items(keys: np.ndarray, chains: int, seed: int) -> np.ndarray:
    """Random streams, uint64 (chain, 4, item), by the keys of the items, uint64 (item,), not by their positions."""
    words = (stream(np.random.SeedSequence(seed, spawn_key=(c,))) for c in range(chains))
    return np.stack([item_streams(keys, own) for own in words])


# --- Chains that can stop after any draw and continue from their state ---


def begun(
    plan: ChainPlan, begin: Callable[[np.random.Generator], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the state of all chains at their start, with a leading dim chain: `begin` of a generator, and its stream."""
    states = []
    for chain in range(plan.chains):
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(chain,)))
        own = begin(rng)
        states.append({"stream": stream(rng)} | own)
    return {name: np.stack([own[name] for own in states]) for name in states[0]}


# choices of a sampler before its first draw, such as the thinning, by name; stored, and not repeated at resume
Tuning = Mapping[str, np.ndarray]


class SinglePrecisionError(ValueError):
    """Draws beyond the range of single precision: the run must begin again in double precision."""


PARTS = 20  # of a run, between which its progress is shown


def parts_of(plan: ChainPlan, advance: Callable[[int], None]) -> Iterator[tuple[int, ChainPlan]]:
    """Yield the first draw and the plan of each part of a run; `advance` is told of its draws when it is finished."""
    step = -(-plan.draws // PARTS)
    for first in range(0, plan.draws, step):
        part = plan.part(first, min(step, plan.draws - first))
        yield first, part
        advance(part.draws)


@dataclass(frozen=True)
class ItemBlocks:
    """Draws of a whole run, of which the items come block by block, so that never all of them are in memory."""

    shared: dict[str, xr.Dataset]  # groups of what items share, all draws
    starts: dict[str, np.ndarray]  # dim -> (item + 1,): first candidate, annotation or item of each item
    # consecutive items, each once, and the draws whose log densities are wanted -> group -> name -> draws of these items, all
    # of the posterior; dims chain, draw, one of `starts`, and others
    of: Callable[[slice, slice], dict[str, dict[str, xr.Variable]]]


@dataclass
class Run:
    """Sampler between two draws; its state is complete, as anything recomputed might be rounded differently."""

    tuning: Tuning
    state: dict[str, np.ndarray]  # carried from draw to draw, overwritten in place
    draw: Callable[[int, int], dict[str, xr.Dataset]]  # (drawn, n) -> groups of n draws
    drawn: int = 0  # draws so far of each chain
    shows_progress: bool = False  # by items, while it draws
    # number of draws, and what is told of each that is made -> the whole run by blocks of items; None: only in one piece
    by_items: Callable[[int, Callable[[int], None]], ItemBlocks] | None = None

    def advance(self, n: int) -> dict[str, xr.Dataset]:
        """Make `n` further draws of each chain, in whatever portions; return groups, ``sample_stats`` of the whole run."""
        groups = self.draw(self.drawn, n)
        self.drawn += n
        return groups

    def restore(self, state: Mapping[str, np.ndarray], drawn: int) -> None:
        """Set the chains to their state after `drawn` draws; `ValueError` unless names, shapes and dtypes match."""
        ours = {name: (own.shape, own.dtype) for name, own in self.state.items()}
        theirs = {name: (array.shape, array.dtype) for name, array in state.items()}
        if ours != theirs:
            raise ValueError(f"a state of {theirs} is not one of this model, {ours}")
        for name, own in self.state.items():
            own[...] = state[name]
        self.drawn = drawn


# --- Sampler of a law: which models it draws, how it reads them and how a run begins ---

Groups = dict[str, xr.Dataset]


def observes(model: "pm.Model", law: type) -> bool:
    """Whether an observed variable of the model has this random variable as its law."""
    return any(isinstance(rv.owner.op, law) for rv in model.observed_RVs)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Own sampler of the models of a law; `SAMPLER` at the end of its file."""

    law: type | None  # random variable that the model observes, if it must
    variables: Collection[str] = ()  # names of variables that the model must have
    free: Collection[str] = ()  # of these, free random variables
    where: "Callable[[pm.Model], bool] | None" = None  # further condition
    read: "Callable[[pm.Model], Any]"  # numbers of the law, or raises NotConjugate with the reason for NUTS
    begin: Callable[..., Run]  # of what was read, the model, `Draws` and the tuning that was found
    reason: str  # why it draws exactly
    method: str = "gibbs"
    # name of a model that no builder of the catalog made, given what was read, or None if it was refused
    name: "str | Callable[[pm.Model, Any], str | None]"
    names_refused: bool = False  # whether models that `read` refuses bear the name, too
    items_share: str = ""  # what all items share, in a model whose items are independent otherwise
    # numbers of the prior and reliabilities by item: name -> dim of the first axis, array
    numbers_by_item: "Callable[[pm.Model], dict[str, tuple[str, np.ndarray]]] | None" = None
    storage: Callable[..., Any] | None = None  # of model, draws and dtype, where it must hold more digits
    finish: "Callable[[pm.Model, Groups], Groups] | None" = None  # of draws by PyMC, as the sampler has them

    def draws(self, model: "pm.Model") -> bool:
        """Whether the model is of this law."""
        if self.law is not None and not observes(model, self.law):
            return False
        if not {*self.variables} <= {*model.named_vars} or not {*self.free} <= {
            rv.name for rv in model.free_RVs
        }:
            return False
        return self.where is None or self.where(model)

    def name_of(self, model: "pm.Model", law: Any) -> str | None:
        """Return the name of a model of this law, given what was read; None if it has no name."""
        if callable(self.name):
            return self.name(model, law)
        return self.name if law is not None or self.names_refused else None


# --- Thinning of runs, by a fixed rule applied to a pilot run ---

PILOT_CHAINS, PILOT_DRAWS = 4, 300
WANTED_ESS = 1600  # margin over the threshold of 400, for the worst of thousands of quantities
LARGEST_THINNING = 64


def pilot(
    draw: Callable[[ChainPlan], np.ndarray],
    plan: ChainPlan,
    draws: int = PILOT_DRAWS,
    first: np.ndarray | tuple[int, ...] = (0,),
    most: int = LARGEST_THINNING,
    wanted: int = WANTED_ESS,
    few: bool | None = None,
) -> np.ndarray:
    """Return sweeps per kept draw by group, by `sweeps_for_each_draw` of a pilot run of 4 chains in double precision."""
    chains = replace(plan, chains=PILOT_CHAINS, draws=draws, seed=plan.seed + 1, dtype="float64", thin=1)
    kept = plan.chains * plan.draws
    return sweeps_for_each_draw(draw(chains), kept, plan.threads, first, most, wanted, few)


def thinned(
    found: Tuning | None,
    plan: Draws,
    chains: ChainPlan,
    draw: Callable[[ChainPlan], np.ndarray],
    **options: Any,
) -> tuple[Tuning, ChainPlan, dict[str, xr.Dataset]]:
    """Return the thinning as it is stored, the plan of the chains with it, and the group that tells it.

    It is `found` if that is known, else the one that the plan asks for or that a `pilot` with these options finds.
    """
    if found is None:
        thin = pilot(draw, chains, **options)[0] if plan.thin == "pilot" else plan.thin
        found = {"thinning": np.array(int(thin))}
    thin = int(found["thinning"])
    return found, replace(chains, thin=thin), {"sample_stats": xr.Dataset({"thinning": np.int64(thin)})}


def sweeps_for_each_draw(
    drawn: np.ndarray,
    kept: int,
    threads: int | None,
    first: np.ndarray | tuple[int, ...] = (0,),
    most: int = LARGEST_THINNING,
    wanted: int = WANTED_ESS,
    few: bool | None = None,
) -> np.ndarray:
    """Return the number of sweeps per kept draw that each group of quantities needs, by the ESS of a pilot run.

    With n the smallest bulk or tail ESS of a group in the pilot run, the thinning is the least whole number
    that raises the effective size of the planned run to the one `wanted`, or to four fifths of its draws if that is
    less; at most `most`. `diagnose` shows whether it sufficed.
    Shapes: drawn, not thinned (chain, draw, quantity); first, first quantity of each group, by default one
    group (group,); returns int64 (group,), 1 where nothing moves. `kept`: kept draws of all planned chains; `few` as in
    `mixing_of`.
    """
    bulk, tail = mixing_of(drawn, threads, few=few, sizes_only=True)
    least = np.fmin.reduceat(np.fmin(bulk, tail), first)
    per_draw = np.where(np.isnan(least), 1.0, least / (drawn.shape[0] * drawn.shape[1]))
    share = min(wanted, 0.8 * kept) / kept
    return np.clip(np.ceil(share / per_draw), 1, most).astype(np.int64)

"""Chains of PyMC's NUTS, which stop after any draw and go on from their state: position, adaptation, random stream."""

import multiprocessing
import pickle
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import fields, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.base import MultiTrace
from pymc.backends.ndarray import NDArray
from pymc.sampling.mcmc import get_default_tune_steps, init_nuts
from pymc.step_methods.state import DataClassState
from pymc.util import RandomGeneratorState
from threadpoolctl import threadpool_limits

from ..runs.compiled_models import compilation_of_densities
from ..runs.run import Draws
from ..runs.starts import likely_right
from ..storage.interruptions import exit_with_driver
from . import blocks as block_length
from .blocks import Block, Groups, Progress, storable
from .drawing import thinned

MOST_PROCESSES = 4  # by default, as pm.sample
NOT_WRITTEN = {"var_names", "_tuned_stats"}  # of the state; the latter is for a warning alone, and grows


class State(NamedTuple):
    """State of a chain after some iterations."""

    done: int  # iterations, with those of the warm-up
    point: dict[str, np.ndarray]
    step: DataClassState  # adaptation and random streams
    divergences: int  # after the warm-up


class PymcChains:
    """The draws of ``pm.sample(nuts_sampler="pymc")``; `every` iterations of a chain make one kept draw."""

    def __init__(self, model: pm.Model, plan: Draws, every: int, options: Mapping[str, Any]) -> None:
        streams = np.random.default_rng(plan.seed).spawn(plan.chains)
        seeds = [int(own.integers(2**30)) for own in streams]
        asked: dict[str, Any] = {"chains": plan.chains, "tune": plan.tune, "random_seed": seeds}
        asked |= {"compile_kwargs": compilation_of_densities(), "initvals": likely_right(model)}
        points, self._step = init_nuts(model=model, progressbar=False, quiet=True, **asked, **options)
        self._model, self._plan, self._every = model, plan, every
        self._tune = get_default_tune_steps(self._step, plan.tune)
        self._trace = NDArray(model=model, test_point=points[0])
        fresh = self._step.sampling_state
        self._starts: list[State] = []
        for own, point in zip(streams, points, strict=True):
            self._step.sampling_state = fresh
            self._step.setup_chain(own, self._tune, plan.draws * every)
            self._starts.append(State(0, point, self._step.sampling_state, 0))

    @property
    def steps(self) -> int:
        """Iterations of all chains together."""
        return self._plan.chains * self._last

    @property
    def _last(self) -> int:
        """Iterations of a chain."""
        return self._tune + self._plan.draws * self._every

    def example(self) -> Groups:
        """Return `RAW` groups of one draw of one chain."""
        return self._groups(0, [(self._starts[0].point, [{}])] * self._every)

    def blocks(self, progress: Mapping[int, Progress], stop: Callable[[], bool]) -> Iterator[Block]:
        """Yield blocks of all unfinished chains, in turn if one process is allowed."""
        states = {c: state_from(*progress[c], self._starts[c]) if c in progress else own
                  for c, own in enumerate(self._starts)}  # fmt: skip
        left = {c: own for c, own in states.items() if own.done < self._last}
        cores = min(self._plan.cores or MOST_PROCESSES, len(left))
        made = self._in_turn(left, stop) if cores < 2 else self._at_once(left, stop, cores)
        return (block._replace(progress=written_state(state)) for block, state in made)

    def _in_turn(self, left: dict[int, State], stop: Callable[[], bool]) -> Iterator[tuple[Block, State]]:
        """Yield blocks made in this process."""
        queue = deque(left.items())
        while queue and not stop():
            chain, state = queue.popleft()
            block, state = self.advance(chain, state)
            yield block, state
            if state.done < self._last:
                queue.append((chain, state))

    def _at_once(
        self, left: dict[int, State], stop: Callable[[], bool], cores: int
    ) -> Iterator[tuple[Block, State]]:
        """Yield blocks made in other processes."""
        pool = _pool(cores, self)
        try:
            with warnings.catch_warnings():  # what is compiled is inherited, as in pm.sample
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                running = {pool.submit(_advance, chain, state): chain for chain, state in left.items()}
            while running:
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    chain = running.pop(future)
                    block, state = future.result()
                    if state.done < self._last and not stop():
                        running[pool.submit(_advance, chain, state)] = chain
                    yield block, state
        finally:
            pool.shutdown(cancel_futures=True)

    def advance(self, chain: int, state: State) -> tuple[Block, State]:
        """Make iterations for a block length, up to a kept draw if the warm-up is over."""
        with threadpool_limits(
            limits=1
        ):  # rounded alike on any number of cores, and chains do not compete for them
            return self._advance(chain, state)

    def _advance(self, chain: int, state: State) -> tuple[Block, State]:
        step, point, done = self._step, state.point, state.done
        step.sampling_state, step.divergences = state.step, state.divergences
        until, recorded = perf_counter() + block_length.SECONDS, []
        first = max(done - self._tune, 0) // self._every
        while done < self._last:
            if done == self._tune:
                step.stop_tuning()
            point, stats = step.step(point)
            done += 1
            if done > self._tune:
                recorded.append((point, stats))
            if perf_counter() >= until and len(recorded) % self._every == 0:
                break
        groups = self._groups(chain, recorded) if recorded else {}
        after = State(done, point, step.sampling_state, step.divergences)
        return Block(chain, first, groups, done - state.done, ({}, {})), after

    def _groups(self, chain: int, recorded: list[tuple[Any, Any]]) -> Groups:
        """Return iterations of a chain, thinned, in the groups of `pm.sample`."""
        like = self._trace
        trace = NDArray(
            model=self._model,
            vars=like.vars,
            fn=like.fn,
            var_shapes=like.var_shapes,
            var_dtypes=like.var_dtypes,
        )
        trace.setup(len(recorded), chain, self._step.stats_dtypes)
        for point, stats in recorded:
            trace.record(point, stats, in_warmup=False)
        traces = MultiTrace([trace])
        report: Any = traces.report
        report._n_tune, report._n_draws = 0, len(recorded)
        tree = pm.to_inference_data(traces, model=self._model, save_warmup=False)
        groups = storable({name: node.to_dataset() for name, node in tree.children.items()})
        kept = thinned(xr.DataTree.from_dict(groups), self._every)
        return {name: node.to_dataset() for name, node in kept.children.items()}


# --- Other processes, which are forked where possible, and inherit what is compiled ---

_chains: PymcChains | None = None  # of a process


def _pool(cores: int, chains: PymcChains) -> ProcessPoolExecutor:
    """Return processes that advance chains."""
    if sys.platform == "linux":
        return ProcessPoolExecutor(cores, multiprocessing.get_context("fork"), _receive, (chains,))
    import cloudpickle  # as PyMC, which depends on it

    return ProcessPoolExecutor(cores, None, _receive, (cloudpickle.dumps(chains),))


def _receive(chains: PymcChains | bytes) -> None:
    """Initialise a process: the driver handles Ctrl-C, and its end is that of the process."""
    global _chains
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    exit_with_driver()
    _chains = pickle.loads(chains) if isinstance(chains, bytes) else chains


def _advance(chain: int, state: State) -> tuple[Block, State]:
    """Advance a chain in a process."""
    assert _chains is not None
    return _chains.advance(chain, state)


# --- States as JSON and arrays; restored over the state of a fresh chain, which has all that does not change ---


def written_state(state: State) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Serialise the state of a chain without pickle: note and arrays."""
    arrays: dict[str, np.ndarray] = {}
    note = {"done": state.done, "divergences": state.divergences, "step": _write(state.step, arrays)}
    return note | {"point": {name: _write(value, arrays) for name, value in state.point.items()}}, arrays


def state_from(note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], fresh: State) -> State:
    """Restore the state of a chain; ValueError unless its arrays are like those of a `fresh` one."""
    point = note["point"]
    if not isinstance(point, dict) or point.keys() != fresh.point.keys():
        raise ValueError("the state is of other variables")
    restored = {name: _read(value, arrays, fresh.point[name]) for name, value in point.items()}
    step = _read(note["step"], arrays, fresh.step)
    return State(_count(note["done"]), restored, step, _count(note["divergences"]))


def _count(value: Any) -> int:
    """Return a number of iterations; ValueError if it is none."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no number of iterations")
    return value


def _changing(state: DataClassState) -> list[str]:
    """Names of the fields of a state that differ from draw to draw."""
    return [f.name for f in fields(state) if not f.metadata.get("frozen") and f.name not in NOT_WRITTEN]


def _write(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Serialise a part of a state as JSON; its arrays are added to `arrays`."""
    if isinstance(value, DataClassState):
        return {name: _write(getattr(value, name), arrays) for name in _changing(value)}
    if isinstance(value, RandomGeneratorState):
        return [value.bit_generator_state, value.seed_seq_state]
    if isinstance(value, np.ndarray):
        name = f"state_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    return value.item() if isinstance(value, np.generic) else value


def _read(written: Any, arrays: Mapping[str, np.ndarray], fresh: Any) -> Any:
    """Restore a part of a state; ValueError unless it has the structure of that of a fresh chain."""
    if isinstance(fresh, DataClassState):
        names = _changing(fresh)
        if not isinstance(written, dict) or written.keys() != {*names}:
            raise ValueError(f"{sorted(names)} are expected")
        return replace(fresh, **{name: _read(written[name], arrays, getattr(fresh, name)) for name in names})
    if isinstance(fresh, RandomGeneratorState):
        return _stream(written)
    if isinstance(fresh, np.ndarray):
        array = arrays[written["array"]] if isinstance(written, dict) and "array" in written else None
        if array is None or (array.shape, array.dtype) != (fresh.shape, fresh.dtype):
            raise ValueError(f"an array of {fresh.shape} is expected")
        return array
    if isinstance(fresh, list):
        if written:
            raise ValueError("an empty list is expected")
        return []
    if type(written) not in (int, float, bool):
        raise ValueError(f"a number is expected, not {type(written).__name__}")
    return written


def _stream(written: Any) -> RandomGeneratorState:
    """Restore the state of a random stream."""
    stream = np.random.default_rng(0)
    try:
        state, seeds = written
        stream.bit_generator.state = state  # refuses one of another generator
        seeds = {**seeds, "spawn_key": tuple(seeds["spawn_key"])}
        np.random.SeedSequence(**seeds)
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as problem:
        raise ValueError("a random stream is expected") from problem
    return RandomGeneratorState(stream.bit_generator.state, seeds)

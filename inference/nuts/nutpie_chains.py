"""Chains of nutpie: each is a sampler of its own, and goes on by drawing the same draws again from its start.

The state of a chain of nutpie cannot be read or set. Its draws are a function of its seed, so that a chain that
is run again makes, bit for bit, those it had made before: finished chains are kept, and the others repeated.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from ..runs.compiled_models import compilation_of_nutpie
from ..runs.run import Draws
from . import blocks as block_length
from .blocks import Block, Groups, Progress, storable
from .drawing import thinned

POLL = 0.02  # seconds between two looks at the samplers


class NutpieChains:
    """Compiled model; `every` iterations of a chain make one kept draw."""

    def __init__(self, model: pm.Model, plan: Draws, every: int, options: Mapping[str, Any]) -> None:
        import nutpie

        self._compiled = nutpie.compile_pymc_model(model, **compilation_of_nutpie(model))
        self._plan, self._every = plan, every
        self._options = {"maxdepth" if k == "max_treedepth" else k: v for k, v in options.items()}
        tune = self._plan.tune
        self._length = {} if tune is None else {"tune": max(tune, 1)}  # nutpie cannot do without
        self._counts: dict[int, int] = {}

    @property
    def steps(self) -> int:
        """Iterations of all chains together."""
        warm_up = 1000 if self._plan.tune is None else self._plan.tune
        return self._plan.chains * (warm_up + self._plan.draws * self._every)

    def example(self) -> Groups:
        """Return `RAW` groups of one draw of one chain."""
        return self._draws_from(self._sampler(0, draws=self._every, tune=1), 0, ended=True)

    def blocks(self, progress: Mapping[int, Progress], stop: Callable[[], bool]) -> Iterator[Block]:
        """Yield blocks of all unfinished chains, each from its first draw; at most `cores` chains run at a time, or all."""
        plan = self._plan
        waiting = [c for c in range(plan.chains) if c not in progress or progress[c][0]["drawn"] < plan.draws]
        samplers: dict[int, Any] = {}
        self._counts.clear()
        taken, counted = dict.fromkeys(waiting, 0), dict.fromkeys(waiting, 0)
        try:
            while waiting or samplers:
                while waiting and len(samplers) < (plan.cores or plan.chains):
                    chain = waiting.pop(0)
                    samplers[chain] = self._sampler(chain, draws=plan.draws * self._every, **self._length)
                ended = _wait(samplers, stop)
                for chain, sampler in list(samplers.items()):
                    steps = self._counts.get(chain, 0) - counted[chain]
                    groups = self._draws_from(sampler, taken[chain], chain in ended)
                    block = Block(chain, taken[chain], groups, steps, ({}, {}))
                    counted[chain] += steps
                    taken[chain] = block.drawn
                    if chain in ended:
                        del samplers[chain]
                    yield block._replace(progress=({"drawn": block.drawn}, {}))
                if stop():
                    return
        finally:
            for sampler in samplers.values():
                sampler.cancel()

    def _draws_from(self, sampler: Any, first: int, ended: bool) -> Groups:
        """Return the kept draws of a chain from `first` on; none while the sampler is in its warm-up, or too busy to answer."""
        try:
            tree = sampler.wait() if ended else sampler.inspect()
        except TimeoutError:
            return {}
        if "posterior" not in tree.children:
            return {}
        ready = int(np.isfinite(tree["sample_stats"]["logp"].to_numpy()).sum()) // self._every
        if ready <= first:
            return {}
        new = slice(first * self._every, ready * self._every)
        groups = storable({name: node.to_dataset() for name, node in tree.children.items()})
        tree = xr.DataTree.from_dict({name: group.isel(draw=new) for name, group in groups.items()})
        return {name: node.to_dataset() for name, node in thinned(tree, self._every).children.items()}

    def _sampler(self, chain: int, **length: int) -> Any:
        """Start a chain in the background."""
        import nutpie

        seed = np.random.SeedSequence(self._plan.seed, spawn_key=(chain,)).generate_state(1)[0]
        return nutpie.sample(
            self._compiled,
            chains=1,
            cores=1,
            seed=int(seed),
            save_warmup=False,
            progress_bar=False,
            progress_callback=lambda chains: self._counts.update({chain: chains[0].finished_draws}),
            blocking=False,
            **length,
            **self._options,
        )


def _wait(samplers: Mapping[int, Any], stop: Callable[[], bool]) -> set[int]:
    """Wait for a block length, until all chains have ended, or for `stop`; return the chains that have ended."""
    until, ended = perf_counter() + block_length.SECONDS, set()
    while perf_counter() < until and not stop() and len(ended) < len(samplers):
        time.sleep(POLL)
        for chain in samplers.keys() - ended:
            with suppress(TimeoutError):  # too busy to answer
                if samplers[chain].is_finished:
                    ended.add(chain)
    return ended

"""Runs of NUTS that are written to a store: draws can be read as they are made, and a resumed run keeps the complete chains.

Until all draws are there, the store holds draws and statistics of the sampler, block by block; then the tree that `sample`
returns without a store takes its place. The state of a chain is not kept: a chain that was stopped is drawn anew.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from time import perf_counter
from traceback import clear_frames
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.base import MultiTrace

from ..._messages import compiled_step, handed_over
from ..labels.item_states import with_items_drawn
from ..runs.compiled_models import compilation_of_nutpie
from ..runs.run import Draws
from ..runs.trees import Completion
from ..storage.interruptions import NOTHING_KEPT, Advice, Interruptions
from ..storage.model_identity import note_of_run
from ..storage.store import FEWEST_BLOCKS, DrawStore, StorePath, allocated, resume_command
from .drawing import finished_groups, nuts_draws, nuts_options, nuts_thinning, thinned

NUTS_STARTS = "Compiling the model for NUTS; its own progress follows"
SECONDS = 2.0  # between two blocks of a chain
POLL = 0.02  # seconds between two looks at nutpie
RAW = ("posterior", "sample_stats")
LEFT_OUT = {"perf_counter_start", "perf_counter_diff", "process_time_diff", "warning"}  # clocks, and objects
OPTIONS = ("target_accept", "max_treedepth")

Groups = dict[str, xr.Dataset]


def draw_nuts_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Run NUTS into a new store; ValueError for options besides ``nuts_sampler`` and `OPTIONS`."""
    asked = {**options}
    sampler = asked.pop("nuts_sampler", None) or ("pymc" if find_spec("nutpie") is None else "nutpie")
    if sampler not in SAMPLERS:
        raise ValueError(f"nuts_sampler={sampler!r}: with store=, NUTS is run by 'nutpie' or 'pymc'")
    if further := sorted(asked.keys() - {*OPTIONS}):
        raise ValueError(
            f"{', '.join(further)}: with store=, NUTS takes {', '.join(OPTIONS)} and nuts_sampler alone; leave it out, or leave "
            "store= out"
        )
    note, arrays = note_of_run(model, plan, attrs)
    note |= {"options": nuts_options(model, asked), "sampler": sampler}
    with DrawStore.begin(Path(path), {"run": (note, arrays)}) as store:
        _draw(store, model, plan, note, [], perf_counter())


def resume_nuts(store: DrawStore, model: pm.Model, plan: Draws, note: Mapping[str, Any]) -> None:
    """Draw anew the chains of an opened store that are not complete, and finish it."""
    kept = [chain for chain, n in enumerate(store.drawn(plan.chains)) if n == plan.draws]
    seconds = store.read_journal()[0]["seconds"] if store.is_marked else 0.0
    _draw(store, model, plan, note, kept, perf_counter() - seconds)


def _draw(
    store: DrawStore, model: pm.Model, plan: Draws, note: Mapping[str, Any], kept: list[int], begun: float
) -> None:
    """Draw all chains but the complete ones, `kept`, and finish the store; stop at SIGINT or SIGTERM."""
    groups: Groups | None = {name: store.chains(name, kept) for name in RAW} if kept else None
    if missing := [chain for chain in range(plan.chains) if chain not in kept]:
        seed = int(np.random.SeedSequence([plan.seed, *kept]).generate_state(1)[0]) if kept else plan.seed
        own, drawn = replace(plan, chains=len(missing), seed=seed), None
        writer = _Writer(store, model, plan, note, kept, begun)
        with Interruptions(writer.advice) as writer.interruptions:
            try:
                with handed_over(NUTS_STARTS, shown=plan.progressbar):
                    drawn = SAMPLERS[note["sampler"]](model, own, note["options"], writer)
            except _Stopped:
                pass
            except (EOFError, ConnectionError) as problem:  # of a process of PyMC that has ended
                clear_frames(problem.__traceback__)  # they hold the buffer of what could not be sent
                if writer.interruptions.asked is None:
                    raise ChainLostError(writer.advice()) from problem
        writer.interruptions.raise_unless(drawn is not None)
        assert drawn is not None
        groups = drawn if groups is None else _joined(groups, drawn, np.argsort([*kept, *missing]))
    with compiled_step("Completing the posterior", shown=plan.progressbar):
        done = finished_groups(model, xr.DataTree.from_dict(groups), plan)
        done["posterior"] = with_items_drawn(model, done["posterior"], plan)
        tree = Completion(model)(done, computed=True)
        for node in tree.children.values():
            node.attrs.pop("created_at", None)  # the same tree whenever it is made
        tree.attrs = {**note["attributes"], "seconds": perf_counter() - begun}
        store.replace(tree)


def _joined(kept: Groups, drawn: Groups, order: np.ndarray) -> Groups:
    """Join the groups of two sets of chains, which are then put in an order."""
    joined = {}
    for name, group in drawn.items():
        arrays = {
            v: (x.dims, np.concatenate([kept[name][v], x])[order], x.attrs) if "chain" in x.dims else x
            for v, x in group.data_vars.items()
        }
        coords = group.drop_vars([*group.data_vars, "chain"])
        joined[name] = coords.assign(arrays).assign_coords(chain=np.arange(len(order)))
    return joined


class ChainLostError(ChildProcessError):
    """A process that drew chains died; `with_option` is in the words of the command line."""

    def __init__(self, advice: Advice) -> None:
        lost = "a process that drew chains was killed, as happens when memory runs out"
        super().__init__(f"{lost}: {advice.kept}; {advice.in_python}, with cores=1 in the least memory")
        self.with_option: str = f"{lost}: {advice.kept}; {advice.on_command_line}"


class _Stopped(BaseException):
    """Stop between two draws; PyMC would swallow a KeyboardInterrupt, and return the draws so far."""


class _Writer:
    """Writer of blocks of the chains that are not `kept`; the store is made with the first block."""

    def __init__(
        self,
        store: DrawStore,
        model: pm.Model,
        plan: Draws,
        note: Mapping[str, Any],
        kept: list[int],
        begun: float,
    ) -> None:
        self._store, self._completion, self._plan, self._note = store, Completion(model), plan, note
        self._drawn = [plan.draws if chain in kept else 0 for chain in range(plan.chains)]
        self._places = [chain for chain in range(plan.chains) if chain not in kept]
        self._begun, self._due = begun, [0.0] * len(self._places)
        self.interruptions: Any = None

    def stop_if_asked(self) -> None:
        """Raise `_Stopped` if a signal came."""
        if self.interruptions.asked is not None:
            raise _Stopped

    def write(self, chain: int, ready: int, draws: Callable[[slice], Groups]) -> None:
        """Write the draws of a chain, of which so many are ready, if they are all, or the last block is old enough."""
        place, now = self._places[chain], perf_counter()
        new = slice(self._drawn[place], ready)
        if ready <= new.start or (ready < self._plan.draws and now < self._due[chain]):
            return
        groups = draws(new)
        if not self._store.path.exists():
            labelled = self._completion(groups, computed=True).children
            sizes = {"draw": self._plan.draws, "chain": self._plan.chains}
            full = allocated({name: node.to_dataset() for name, node in labelled.items()}, sizes)
            chunks = {"chain": 1, "draw": ceil(self._plan.draws / FEWEST_BLOCKS)}
            self._store.allocate(full, self._note["attributes"], chunks)
        self._store.write({"chain": slice(place, place + 1), "draw": new}, groups)
        self._drawn[place], self._due[chain] = ready, now + SECONDS
        self._store.mark({"drawn": min(self._drawn), "seconds": now - self._begun}, {}, self._drawn)

    def advice(self) -> Advice:
        """Advice how to go on with the run after it was stopped."""
        path, done = self._store.path, self._drawn.count(self._plan.draws)
        if not path.exists():
            return NOTHING_KEPT
        arguments = f"{str(path)!r}, model" if self._note["recipe"] is None else repr(str(path))
        return Advice(
            f"{path} keeps {done} of {self._plan.chains} chains whole, and draws of the others that can be read",
            f"inference.resume({arguments}) draws the others anew",
            f"go on by: {resume_command(path)}",
        )


def _by_pymc(model: pm.Model, plan: Draws, options: Mapping[str, Any], writer: _Writer) -> Groups:
    """Draw by `pymc.sample`, which calls the writer after each draw."""
    every, begins = nuts_thinning(model, plan), {}

    def record(trace: Any, draw: Any) -> None:
        writer.stop_if_asked()
        if not draw.tuning:
            first = begins.setdefault(draw.chain, len(trace) - 1)  # draws of the warm-up before it
            writer.write(
                draw.chain,
                (len(trace) - first) // every,
                lambda new: _of_trace(
                    trace[first + new.start * every : first + new.stop * every], model, every
                ),
            )

    return _storable(nuts_draws(model, plan, {**options, "nuts_sampler": "pymc", "callback": record}))


def _of_trace(trace: Any, model: pm.Model, every: int) -> Groups:
    """Return some draws of a chain of PyMC, thinned."""
    traces = MultiTrace([trace])
    report: Any = traces.report
    report._n_tune, report._n_draws = 0, len(trace)
    return _storable(thinned(pm.to_inference_data(traces, model=model, save_warmup=False), every))


def _by_nutpie(model: pm.Model, plan: Draws, options: Mapping[str, Any], writer: _Writer) -> Groups:
    """Draw by nutpie in the background, as `pymc.sample` does by default, and write what is there every few seconds."""
    if find_spec("nutpie") is None:
        raise ValueError(
            "the run is one of nutpie, which is not installed; install it, or sample by nuts_sampler='pymc'"
        )
    import nutpie

    every = nuts_thinning(model, plan)
    seed = np.random.default_rng(plan.seed).spawn(plan.chains)[0].integers(2**30)  # that of pymc.sample
    sampler = nutpie.sample(
        nutpie.compile_pymc_model(model, **compilation_of_nutpie(model)),
        draws=plan.draws * every,
        chains=plan.chains,
        cores=plan.cores,
        seed=int(seed),
        save_warmup=False,
        progress_bar=plan.progressbar,
        blocking=False,
        **({} if plan.tune is None else {"tune": max(plan.tune, 1)}),  # nutpie cannot do without
        **{"maxdepth" if name == "max_treedepth" else name: value for name, value in options.items()},
    )

    def write(tree: xr.DataTree) -> None:
        finite = np.isfinite(tree["sample_stats"]["logp"]) if "posterior" in tree.children else ()
        for chain, made in enumerate(finite):

            def draws(new: slice, chain: int = chain) -> Groups:
                at = {"chain": [chain], "draw": slice(new.start * every, new.stop * every)}
                part = xr.DataTree.from_dict(
                    {name: group.isel(at) for name, group in _storable(tree).items()}
                )
                return _storable(thinned(part, every))

            writer.write(chain, int(made.sum()) // every, draws)

    try:
        due = perf_counter() + SECONDS
        while not _is_finished(sampler):
            writer.stop_if_asked()
            time.sleep(POLL)
            if perf_counter() > due:
                with suppress(TimeoutError):  # too busy to answer
                    write(sampler.inspect())
                due = perf_counter() + SECONDS
        tree = sampler.wait()
    except BaseException:
        sampler.cancel()
        raise
    write(tree)
    return _storable(thinned(tree, every))


def _is_finished(sampler: Any) -> bool:
    """Whether a sampler of nutpie has finished; False if it is too busy to answer."""
    with suppress(TimeoutError):
        return sampler.is_finished
    return False


SAMPLERS = {"nutpie": _by_nutpie, "pymc": _by_pymc}


def _storable(tree: xr.DataTree) -> Groups:
    """Return the draws and statistics of a sampler without messages, clocks, and attributes of the moment."""
    found = {}
    for name in RAW:
        group = tree[name].to_dataset()
        kept = [v for v, array in group.data_vars.items() if array.dtype.kind in "biuf" and v not in LEFT_OUT]
        attrs = {
            k: v for k, v in group.attrs.items() if k.startswith("inference_library") and "settings" not in k
        }
        found[name] = group[kept].drop_attrs(deep=False).assign_attrs(attrs)
    return found

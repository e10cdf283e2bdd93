"""Runs of NUTS that are written to a store, and resumed to the draws of an uninterrupted run.

The journal has one file for each chain, with its number of kept draws and, of PyMC's NUTS, its state. When all
draws are there, log densities are computed and the posterior is completed; draws that change in this (states that
are sorted) are in the journal before they are replaced.
"""

import warnings
from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from ..._messages import OUR_FILES, compiled_step, step
from ..labels.item_states import with_items_drawn
from ..runs.run import Draws
from ..runs.trees import Completion
from ..storage.interruptions import Advice, Interruptions
from ..storage.journal import state_errors
from ..storage.model_identity import note_of_run
from ..storage.resumable_calls import ResumeWarning
from ..storage.store import (
    CONSTANT,
    FEWEST_BLOCKS,
    DrawStore,
    StorePath,
    allocated,
    how_to_resume,
    read_draws,
    refuse_existing,
)
from .blocks import RAW, Block, Chains, Groups
from .drawing import finished_groups, nuts_options, nuts_thinning

OPTIONS = ("target_accept", "max_treedepth")
SAMPLERS = ("nutpie", "pymc")
FINISHED = "finished"  # journal file of draws that are replaced at the end

Note = dict[str, Any]


def draw_nuts_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Run NUTS into a new store; ValueError for options besides ``nuts_sampler`` and `OPTIONS`."""
    refuse_existing(Path(path))
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
    note |= {"every": nuts_thinning(model, plan), "options": nuts_options(model, asked), "sampler": sampler}
    begun = perf_counter()
    with compiled_step("Compiling the model for NUTS", shown=plan.progressbar):
        chains = _chains(model, plan, note)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # densities of an example
            tree = _finished(model, plan, chains.example())
    sizes = {"draw": plan.draws, "chain": plan.chains}
    full = allocated({n: node.to_dataset() for n, node in tree.children.items()}, sizes)
    state = ({"drawn": 0, "seconds": 0.0}, {})
    chunks = {"draw": ceil(plan.draws / FEWEST_BLOCKS)}
    journal = {"run": (note, arrays), "state": state}
    with DrawStore.create(path, full, note["attributes"], chunks, journal) as store:
        _draw_rest(store, model, plan, (chains, note, begun))


def resume_nuts(store: DrawStore, model: pm.Model, plan: Draws, note: Note) -> None:
    """Draw the missing draws of an opened store, and finish it."""
    marked, _ = store.read_journal()
    begun, chains = perf_counter() - marked["seconds"], None
    if marked["drawn"] < plan.draws:
        with compiled_step("Compiling the model for NUTS", shown=plan.progressbar):
            chains = _chains(model, plan, note)
    _draw_rest(store, model, plan, (chains, note, begun))


def _chains(model: pm.Model, plan: Draws, note: Note) -> Chains:
    """Compile the model for the sampler of a run."""
    if note["sampler"] == "pymc":
        from .pymc_chains import PymcChains as Sampler
    else:
        require_installed("nutpie")
        from .nutpie_chains import NutpieChains as Sampler
    return Sampler(model, plan, note["every"], note["options"])


def require_installed(sampler: str) -> None:
    """Raise a ValueError if the package of a sampler is missing."""
    if find_spec(sampler) is None:
        raise ValueError(
            f"the run is one of {sampler}, which is not installed; install it, or sample by nuts_sampler='pymc'"
        )


def _draw_rest(
    store: DrawStore, model: pm.Model, plan: Draws, run: tuple[Chains | None, Note, float]
) -> None:
    """Write the missing draws, if there are any, and finish the store; stop after a block at SIGINT or SIGTERM."""
    chains, note, begun = run
    if chains is not None:
        progress = {
            c: store.read_journal(_file(c)) for c in range(plan.chains) if store.has_journal(_file(c))
        }
        drawn = [int(progress[c][0]["drawn"]) if c in progress else 0 for c in range(plan.chains)]
        writer = _Writer(store, drawn, begun)
        bar = step("Drawing by NUTS", chains.steps, shown=plan.progressbar)

        def advice() -> Advice:
            return how_to_resume(store.path, min(drawn), plan.draws, note["recipe"] is None)

        with Interruptions(advice) as interruptions, bar as shown:
            with state_errors(store.path):
                blocks = chains.blocks(progress, lambda: interruptions.asked is not None)
            try:
                for block in blocks:
                    writer.write(block)
                    shown.advance(block.steps)
            except BrokenProcessPool as problem:
                if interruptions.asked is None:  # or else the same signal ended the processes
                    raise ChainLostError(advice()) from problem
        interruptions.raise_unless(min(drawn) == plan.draws)
    with compiled_step("Completing the posterior", shown=plan.progressbar):
        _finish(store, model, plan, note["attributes"] | {"seconds": perf_counter() - begun})


class ChainLostError(ChildProcessError):
    """A process that drew chains died; `with_option` is in the words of the command line."""

    def __init__(self, advice: Advice) -> None:
        lost = "a process that drew chains was killed, as happens when memory runs out"
        super().__init__(f"{lost}: {advice.kept}; {advice.in_python}, with cores=1 in the least memory")
        self.with_option: str = f"{lost}: {advice.kept}; {advice.on_command_line}"


def _file(chain: int) -> str:
    """Name of the journal file of a chain."""
    return f"chain-{chain}"


class _Writer:
    """Writer of blocks; `drawn`, the kept draws of each chain, is updated."""

    def __init__(self, store: DrawStore, drawn: list[int], begun: float) -> None:
        self._store, self._drawn, self._begun = store, drawn, begun

    def write(self, block: Block) -> None:
        """Write a block, without the draws that are in the store, and mark its chain's progress."""
        chain, kept = block.chain, self._drawn[block.chain]
        if block.groups and block.first < kept and not self._repeats(block, kept):
            path, kept = self._store.path, 0
            warnings.warn(
                f"{path}: chain {chain} made other draws than before, as happens with another version or machine; they replace "
                "the ones in the store",
                ResumeWarning,
                skip_file_prefixes=OUR_FILES,
            )
        if kept < block.drawn:
            new = slice(max(kept - block.first, 0), None)
            at = {"chain": slice(chain, chain + 1), "draw": slice(max(kept, block.first), block.drawn)}
            self._store.write(at, {name: group.isel(draw=new) for name, group in block.groups.items()})
            self._drawn[chain] = block.drawn
        elif not block.progress[1]:  # a repeated chain without new draws
            return
        note, arrays = block.progress
        self._store.write_journal(_file(chain), {**note, "drawn": self._drawn[chain]}, arrays)
        drawn = min(self._drawn)
        self._store.mark({"drawn": drawn, "seconds": perf_counter() - self._begun}, {}, drawn)

    def _repeats(self, block: Block, kept: int) -> bool:
        """Whether the store has the draws of a block, as far as it has any."""
        both = slice(block.first, min(kept, block.drawn))
        there = self._store.draws("posterior", block.chain, both)
        new = block.groups["posterior"].isel(draw=slice(0, both.stop - both.start), chain=0)
        return all(np.array_equal(there[n], new[n], equal_nan=True) for n in new.data_vars)


def _finished(model: pm.Model, plan: Draws, groups: Groups) -> xr.DataTree:
    """Complete draws of NUTS to the tree that `sample` returns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found chain dimension to be longer", UserWarning)
        done = finished_groups(model, xr.DataTree.from_dict(groups), plan)
    done["posterior"] = with_items_drawn(model, done["posterior"], plan)
    tree = Completion(model)(done, computed=True)
    for node in tree.children.values():
        node.attrs.pop("created_at", None)  # the same tree whenever it is made
    return tree


def _replaced(stored: Mapping[Any, xr.DataArray], name: Any, draws: np.ndarray) -> xr.Variable:
    """Return draws of the journal as a variable; ValueError unless the store has one of this name, shape and dtype."""
    there = stored[name] if isinstance(name, str) and name in stored else None
    if there is None or (there.shape, there.dtype) != (draws.shape, draws.dtype):
        raise ValueError(f"{name!r} is no variable of the store, or has another shape")
    return xr.Variable(there.dims, draws)


def _finish(store: DrawStore, model: pm.Model, plan: Draws, attrs: Mapping[str, Any]) -> None:
    """Write the groups computed from all draws (densities, deterministics), and finish the store."""
    everything = {"draw": slice(0, plan.draws)}
    if not store.has_journal(FINISHED):
        raw = read_draws(store.path)
        groups = {name: raw[name].to_dataset().load() for name in RAW}
        whole = _finished(model, plan, groups)
        done = {n: node.to_dataset() for n, node in whole.children.items() if n not in CONSTANT}
        new = {
            n: group.drop_vars([v for v in groups.get(n, ()) if v in group.data_vars])
            for n, group in done.items()
        }
        store.write(everything, new)
        changed = {v: x.to_numpy() for v, x in done["posterior"].data_vars.items()
                   if v in groups["posterior"] and not x.equals(groups["posterior"][v])}  # fmt: skip
        note = {"names": [str(v) for v in changed]}
        store.write_journal(FINISHED, note, {f"draws_{k}": x for k, x in enumerate(changed.values())})
    note, arrays = store.read_journal(FINISHED)
    stored = read_draws(store.path)["posterior"].data_vars
    with state_errors(store.path):
        names = note["names"] if isinstance(note["names"], list) else [None]
        replaced = {v: _replaced(stored, v, arrays[f"draws_{k}"]) for k, v in enumerate(names)}
    store.write(everything, {"posterior": xr.Dataset(replaced)})
    store.finish(attrs)

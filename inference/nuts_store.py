"""NUTS runs whose draws are written to a store while they are made, by nutpie.

nutpie draws in the background; every few seconds the draws that all chains have are written. The adaptation
of NUTS is not saved: a resumed run draws the rest by fresh chains with a new seed, recorded in the attribute
``restarted_at``.
"""

import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .completion import Completion
from .draw_store import DrawStore, at_full_size, refuse_existing
from .interruptions import Interruptions
from .nuts_routes import finished_groups, nuts_options, nuts_thinning, thinned
from .plan import Draws
from .recipes import note_of_run
from .resume_warning import ResumeWarning
from .state_plausibility import with_items_drawn
from .store_reading import read_draws

__all__ = ["draw_nuts_into", "resume_nuts"]

SECONDS = 5.0  # between two polls of the sampler
PIECES = 20  # chunks of every variable
RAW = ("posterior", "sample_stats")
CONSTANT = ("constant_data", "observed_data")


def draw_nuts_into(
    path: str | os.PathLike[str],
    model: pm.Model,
    plan: Draws,
    attrs: Mapping[str, Any],
    options: dict[str, Any],
) -> None:
    """Run NUTS from its start to its end, with the draws written to a new store.

    `attrs` are the attributes of the final tree without the duration. Raises `ValueError` if nutpie is not
    installed, or `options` of `pymc.sample` has others than ``target_accept``.
    """
    refuse_existing(Path(path))
    _refuse_others(options)
    note, arrays = note_of_run(model, plan, attrs)
    note |= {"every": nuts_thinning(model, plan), "options": nuts_options(model, options)}
    begun, drawn = time.perf_counter(), 0
    with Interruptions() as interruptions, ExitStack() as held:
        store = None
        for piece in _pieces(model, plan, note, (drawn, 0), interruptions):
            if store is None:
                store = held.enter_context(_created(path, model, plan, (note, arrays), piece))
            drawn = _append(store, piece, drawn, ([], begun))
        if store is not None and drawn == plan.draws:
            _finish(store, model, plan, (note["attributes"], begun))
    if drawn < plan.draws:
        raise KeyboardInterrupt(f"stopped after {drawn} draws of each chain")


def _refuse_others(options: dict[str, Any]) -> None:
    """Raise a `ValueError` unless nutpie is installed and takes all options."""
    if find_spec("nutpie") is None:
        raise ValueError(
            "store=: draws of NUTS are written as they are made by nutpie alone; install nutpie, or leave store= out and write "
            "the tree when it is there"
        )
    if further := sorted(options.keys() - {"target_accept"}):
        raise ValueError(
            f"{', '.join(further)}: with store=, NUTS takes target_accept alone; leave it out, or leave store= out"
        )


def _created(
    path: str | os.PathLike[str],
    model: pm.Model,
    plan: Draws,
    run: tuple[dict[str, Any], dict[str, np.ndarray]],
    first: xr.DataTree,
) -> DrawStore:
    """Create the store of a run of NUTS at its full size, with the first draws as template."""
    tree = _finished(model, plan, first)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    full = at_full_size(groups, {"draw": plan.draws})
    kept = {"run": run, "state": ({"drawn": 0, "restarts": [], "seconds": 0.0}, {})}
    chunks = {"draw": ceil(plan.draws / PIECES)}
    return DrawStore.create(path, full, run[0]["attributes"], chunks, kept)


def resume_nuts(store: DrawStore, model: pm.Model, plan: Draws, note: dict[str, Any]) -> None:
    """Keep the draws of an opened store, draw the rest by fresh chains, and finish the store."""
    marked, _ = store.kept()
    begun = time.perf_counter() - marked.get("seconds", 0.0)
    drawn, restarts = int(marked["drawn"]), list(marked["restarts"])
    if drawn < plan.draws:
        restarts.append(drawn)
        warnings.warn(
            f"{store.path}: {drawn:,} draws of each chain are kept; those after them, and the adaptation of NUTS, are lost. "
            f"The other {plan.draws - drawn:,} are drawn by fresh chains",
            ResumeWarning,
            stacklevel=3,
        )
        with Interruptions() as interruptions:
            for piece in _pieces(model, plan, note, (drawn, len(restarts)), interruptions):
                drawn = _append(store, piece, drawn, (restarts, begun))
        if drawn < plan.draws:
            raise KeyboardInterrupt(f"stopped after {drawn} draws of each chain")
    said = note["attributes"] | {"restarted_at": json.dumps(restarts)}
    _finish(store, model, plan, (said, begun))


def _pieces(
    model: pm.Model,
    plan: Draws,
    note: dict[str, Any],
    start: tuple[int, int],
    interruptions: Interruptions,
) -> Iterator[xr.DataTree]:
    """Yield blocks of the missing draws: those that all chains have made since the previous block."""
    import nutpie

    (drawn, restarts), every, taken = start, int(note["every"]), 0
    seed = np.random.SeedSequence(plan.seed, spawn_key=(restarts,)).generate_state(1)[0]
    sampler = nutpie.sample(
        nutpie.compile_pymc_model(model),
        draws=(plan.draws - drawn) * every,
        tune=plan.tune,
        chains=plan.chains,
        cores=plan.cores,
        seed=int(seed),
        save_warmup=False,
        progress_bar=plan.progressbar,
        blocking=False,
        **note["options"],
    )
    ended = stopped = False
    while not ended:
        ended, stopped = _waited(sampler, interruptions)
        try:
            tree = sampler.wait() if ended else sampler.abort() if stopped else sampler.inspect()
        except TimeoutError:  # busy: try again at the next poll
            continue
        ready = _common_draws(tree) // every
        if ready > taken:
            new = slice(taken * every, ready * every)
            groups = {name: _numbers(tree[name].to_dataset()).isel(draw=new) for name in RAW}
            yield thinned(xr.DataTree.from_dict(groups), every)
            taken = ready
        ended = ended or stopped


def _numbers(group: xr.Dataset) -> xr.Dataset:
    """Drop variables of object dtype, such as messages, because a store holds no pickles."""
    return group[[name for name, array in group.data_vars.items() if array.dtype.kind in "biuf"]]


def _is_finished(sampler: Any) -> bool:
    """Whether all chains have ended; False while the sampler is too busy to answer."""
    try:
        return sampler.is_finished
    except TimeoutError:
        return False


def _waited(sampler: Any, interruptions: Interruptions) -> tuple[bool, bool]:
    """Wait for the next poll of the sampler; return whether all chains have ended, and whether to stop."""
    until = time.perf_counter() + SECONDS
    while not (ended := _is_finished(sampler)) and time.perf_counter() < until:
        if interruptions.asked is not None:
            break
        time.sleep(0.02)
    return ended, interruptions.asked is not None


def _common_draws(tree: xr.DataTree) -> int:
    """Return the number of draws that all chains have made."""
    if "posterior" not in tree.children:
        return 0
    there = ~np.isnan(tree["sample_stats"]["logp"].to_numpy())
    return int(there.sum(axis=1).min())


def _finished(model: pm.Model, plan: Draws, tree: xr.DataTree) -> xr.DataTree:
    """Complete draws of NUTS to the tree that `sample` returns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found chain dimension to be longer", UserWarning)
        groups = finished_groups(model, tree, plan)
    groups["posterior"] = with_items_drawn(model, groups["posterior"], plan)
    return Completion(model)(groups, computed=True)


def _append(store: DrawStore, piece: xr.DataTree, drawn: int, run: tuple[list[int], float]) -> int:
    """Write a block of draws after the first `drawn`, and mark it; return the new number of draws."""
    restarts, begun = run
    end = drawn + piece["posterior"].sizes["draw"]
    groups = {name: piece[name].to_dataset() for name in RAW}
    store.write({"draw": slice(drawn, end)}, groups)
    seconds = time.perf_counter() - begun
    store.mark({"drawn": end, "restarts": restarts, "seconds": seconds}, {}, end)
    return end


def _finish(
    store: DrawStore, model: pm.Model, plan: Draws, run: tuple[dict[str, Any], float]
) -> None:
    """Write the groups computed from all draws (densities, deterministics), and finish the store."""
    attrs, begun = run
    raw = read_draws(store.path)
    tree = xr.DataTree.from_dict({name: raw[name].to_dataset().load() for name in RAW})
    whole = _finished(model, plan, tree)
    groups = {n: node.to_dataset() for n, node in whole.children.items() if n not in CONSTANT}
    store.write({"draw": slice(0, plan.draws)}, groups)
    store.finish(attrs | {"seconds": time.perf_counter() - begun})

"""Runs of NUTS that leave their draws when they are interrupted.

nutpie draws in the background; now and then what all chains have is written. NUTS cannot go on where it stood: its adaptation is
lost. What is missing is drawn by fresh chains, with a seed of their own, and the tree says so: attribute ``restarted_at``.
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

SECONDS = 5.0  # between two looks at what has been drawn
PIECES = 20  # files of every variable
RAW = ("posterior", "sample_stats")
CONSTANT = ("constant_data", "observed_data")


def draw_nuts_into(
    path: str | os.PathLike[str],
    model: pm.Model,
    plan: Draws,
    attrs: Mapping[str, Any],
    options: dict[str, Any],
) -> None:
    """Begin a run of NUTS in a new store, and draw all of it.

    Parameters
    ----------
    path : path
        Must not exist.
    model : pymc.Model
        Any model.
    plan : Draws
        What was asked for.
    attrs : mapping
        Attributes of the tree, but for the duration.
    options : dict
        Of `pymc.sample`: ``target_accept`` alone.

    Raises
    ------
    ValueError
        If nutpie is not installed, or another option is given.
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
    """Raise unless nutpie is there, and takes the options."""
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
    """Make a store for all that there will be, of which the first draws tell the shape."""
    tree = _finished(model, plan, first)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    full = at_full_size(groups, {"draw": plan.draws})
    kept = {"run": run, "state": ({"drawn": 0, "restarts": [], "seconds": 0.0}, {})}
    chunks = {"draw": ceil(plan.draws / PIECES)}
    return DrawStore.create(path, full, run[0]["attributes"], chunks, kept)


def resume_nuts(store: DrawStore, model: pm.Model, plan: Draws, note: dict[str, Any]) -> None:
    """Keep what has been drawn, and draw the rest by fresh chains.

    Parameters
    ----------
    store : DrawStore
        Opened.
    model : pymc.Model
        The model of the run.
    plan : Draws
        What was asked for.
    note : dict
        Of the journal.
    """
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
    """Draw what is missing, and give now and then the draws that all chains have made since the last time."""
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
        except TimeoutError:  # it is busy, and tells another time
            continue
        ready = _common_draws(tree) // every
        if ready > taken:
            new = slice(taken * every, ready * every)
            groups = {name: _numbers(tree[name].to_dataset()).isel(draw=new) for name in RAW}
            yield thinned(xr.DataTree.from_dict(groups), every)
            taken = ready
        ended = ended or stopped


def _numbers(group: xr.Dataset) -> xr.Dataset:
    """Leave out variables of objects, such as messages: nothing of a store is pickled."""
    return group[[name for name, array in group.data_vars.items() if array.dtype.kind in "biuf"]]


def _is_finished(sampler: Any) -> bool:
    """Tell whether all chains have ended; one that is too busy to say so has not."""
    try:
        return sampler.is_finished
    except TimeoutError:
        return False


def _waited(sampler: Any, interruptions: Interruptions) -> tuple[bool, bool]:
    """Wait for the next look; return whether all chains have ended, and whether they are to stop."""
    until = time.perf_counter() + SECONDS
    while not (ended := _is_finished(sampler)) and time.perf_counter() < until:
        if interruptions.asked is not None:
            break
        time.sleep(0.02)
    return ended, interruptions.asked is not None


def _common_draws(tree: xr.DataTree) -> int:
    """Return how many draws all chains have."""
    if "posterior" not in tree.children:
        return 0
    there = ~np.isnan(tree["sample_stats"]["logp"].to_numpy())
    return int(there.sum(axis=1).min())


def _finished(model: pm.Model, plan: Draws, tree: xr.DataTree) -> xr.DataTree:
    """Return what `sample` makes of draws of NUTS."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found chain dimension to be longer", UserWarning)
        groups = finished_groups(model, tree, plan)
    groups["posterior"] = with_items_drawn(model, groups["posterior"], plan)
    return Completion(model)(groups, computed=True)


def _append(store: DrawStore, piece: xr.DataTree, drawn: int, run: tuple[list[int], float]) -> int:
    """Write the draws of a piece, of a run with its restarts that began then; return how many there are now."""
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
    """Add to the draws what follows from them, and finish the store of a run with its attributes that began then."""
    attrs, begun = run
    raw = read_draws(store.path)
    tree = xr.DataTree.from_dict({name: raw[name].to_dataset().load() for name in RAW})
    whole = _finished(model, plan, tree)
    groups = {n: node.to_dataset() for n, node in whole.children.items() if n not in CONSTANT}
    store.write({"draw": slice(0, plan.draws)}, groups)
    store.finish(attrs | {"seconds": time.perf_counter() - begun})

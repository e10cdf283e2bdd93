"""Runs that survive: draws go to a store piece by piece, and whatever ends the process, `resume` goes on.

A run that goes on draws, to the last bit, what it would have drawn: its state after the last piece is in the journal of the
store, and the samplers do not depend on how many draws are made at a time.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from rich.progress import Progress

from .completion import Completion
from .diagnostics import diagnose, warn_unless_converged
from .draw_store import DrawStore, at_full_size, refuse_existing
from .fingerprints import SCHEME, fingerprint
from .interruptions import Interruptions
from .journal import Kept
from .journal_notes import of_recipe, of_state
from .nuts_store import resume_nuts
from .plan import Draws
from .recipes import build_again, note_of_run
from .routes import begin_run
from .runs import NotHeld, Run
from .shards.stores import refuse_asked
from .store_reading import WRITTEN, read_draws, store_attrs
from .versions import other_versions, tell_versions

__all__ = ["draw_into", "resume"]

MOST_BYTES = 2**26  # of a piece
FEWEST_PIECES = 20
FOUND = "found_"
CONSTANT = ("constant_data", "observed_data")


def resume(
    path: str | os.PathLike[str],
    model: pm.Model | None = None,
    *,
    cores: int | None = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Go on with a run that `sample` began with ``store=``, to the very draws it would have made.

    Parameters
    ----------
    path : path
        The store. Of a finished one, nothing more is drawn.
    model : pymc.Model, optional
        The model of the run. Those that a function of `raterzoo.models` built, and nobody changed, are built again from what the
        journal of the store holds; others are needed.
    cores : int, optional
        Threads; all cores by default. The draws do not depend on it.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    DataTree
        As of `sample`; its arrays are read from the store when they are used.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such store, it is none, of another schema, or was begun by a call that goes on when it is made again; its
        journal is missing or damaged; the model is needed, or is another one.
    BlockingIOError
        If another process is writing to the store.

    Warns
    -----
    ResumeWarning
        If the run was begun with another version of a package, so that the last digits may differ.
    ConvergenceWarning
        If an item misses the gates of `diagnose`.
    """
    attrs = store_attrs(Path(path))
    if WRITTEN in attrs:
        refuse_asked(Path(path), attrs)
        with DrawStore.open(path) as store:
            note, arrays = store.kept("run")
            model = _same_model(store.path, model, note, arrays)
            tell_versions(store.path, note["attributes"], stacklevel=3)
            plan = Draws(**note["plan"] | {"cores": cores, "progressbar": progressbar})
            if note["attributes"]["method"] == "nuts":
                resume_nuts(store, model, plan, note)
            else:
                _resume_own(store, model, plan, (note, arrays))
    tree = read_draws(path)
    if tree.attrs.get("method") != "exact":
        warn_unless_converged(diagnose(tree, threads=cores))
    return tree


def draw_into(
    path: str | os.PathLike[str], model: pm.Model, plan: Draws, attrs: Mapping[str, Any]
) -> None:
    """Begin a run in a new store, and draw all of it.

    Parameters
    ----------
    path : path
        Must not exist.
    model : pymc.Model
        A model with a sampler of its own.
    plan : Draws
        What was asked for.
    attrs : mapping
        Attributes of the tree, but for the duration.
    """
    try:
        _draw_into(path, model, plan, attrs)
    except NotHeld:
        _draw_into(path, model, replace(plan, dtype="float64"), attrs)


def _draw_into(
    path: str | os.PathLike[str], model: pm.Model, plan: Draws, attrs: Mapping[str, Any]
) -> None:
    """Begin a run in a new store, and draw all of it; where single precision does not hold the draws, no store is left."""
    refuse_existing(Path(path))
    quiet = replace(plan, progressbar=False)
    begun, completion, run = perf_counter(), Completion(model), begin_run(model, quiet)
    first = completion(run.advance(1))  # tells what there will be
    note, arrays = note_of_run(model, plan, attrs)
    note["piece"] = _length_of_piece(first, plan.draws)
    found = {FOUND + name: array for name, array in run.found.items()}
    kept = {"run": (note, arrays | found), "state": ({"drawn": 0, "seconds": 0.0}, {})}
    groups = {name: node.to_dataset() for name, node in first.children.items()}
    full = at_full_size(groups, {"draw": plan.draws})
    with DrawStore.create(path, full, attrs, {"draw": note["piece"]}, kept) as store:
        try:
            _append(store, run, first, perf_counter() - begun)
            _go_on(store, run, completion, (plan, note, perf_counter() - begun))
        except NotHeld:
            store.discard()
            raise


def _resume_own(
    store: DrawStore,
    model: pm.Model,
    plan: Draws,
    kept: tuple[dict[str, Any], dict[str, np.ndarray]],
) -> None:
    """Put the model's own sampler where it stood, and go on."""
    note, arrays = kept
    found = {k.removeprefix(FOUND): v for k, v in arrays.items() if k.startswith(FOUND)}
    found = Kept(store.journal / "run.npz", found)
    run = begin_run(model, replace(plan, progressbar=False), found)
    marked, state = store.kept()
    if marked["drawn"]:
        with of_state(store.path):
            run.restore(state, marked["drawn"])
    try:
        _go_on(store, run, Completion(model), (plan, note, marked["seconds"]))
    except NotHeld:
        store.discard()
        draw_into(store.path, model, replace(plan, dtype="float64"), note["attributes"])


def _go_on(
    store: DrawStore,
    run: Run,
    completion: Completion,
    settings: tuple[Draws, dict[str, Any], float],
) -> None:
    """Draw what is missing, piece by piece, and finish the store."""
    plan, note, before = settings
    begun, piece = perf_counter() - before, int(note["piece"])
    with (
        Interruptions() as interruptions,
        Progress(disable=not plan.progressbar, transient=True) as bar,
    ):
        task = bar.add_task("Draws of each chain", total=plan.draws, completed=run.drawn)
        while run.drawn < plan.draws and interruptions.asked is None:
            wanted = min(piece - run.drawn % piece, plan.draws - run.drawn)
            tree = completion(run.advance(wanted))
            _append(store, run, tree, perf_counter() - begun)
            bar.update(task, completed=run.drawn)
    if run.drawn < plan.draws:  # whoever handles signals here lets the process go on
        raise KeyboardInterrupt(f"stopped after {run.drawn} draws of each chain")
    store.finish(note["attributes"] | {"seconds": perf_counter() - begun})


def _append(store: DrawStore, run: Run, tree: xr.DataTree, seconds: float) -> None:
    """Write the last draws of a run, and where it stands."""
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in CONSTANT}
    new = groups["posterior"].sizes["draw"]
    store.write({"draw": slice(run.drawn - new, run.drawn)}, groups)
    store.mark({"drawn": run.drawn, "seconds": seconds}, run.state, run.drawn)


def _length_of_piece(first: xr.DataTree, draws: int) -> int:
    """Return how many draws are written at a time: a twentieth of all, or less if that is much."""
    groups = (node.to_dataset() for node in first.children.values())
    size = sum(group.nbytes for group in groups if "draw" in group.dims)
    return max(1, min(MOST_BYTES // size, ceil(draws / FEWEST_PIECES)))


def _same_model(
    path: Path, model: pm.Model | None, note: dict[str, Any], arrays: dict[str, np.ndarray]
) -> pm.Model:
    """Return the model of a run, or raise if it is not known, or another one."""
    if model is None and note["recipe"] is None:
        raise ValueError(
            f"{path} does not say how its model was built: no function of raterzoo.models made it as it was. Build it again, and "
            "pass it: inference.resume(path, model)"
        )
    if model is None:
        model = _built_again(path, note, arrays)
    if fingerprint(model) != _expected(path, note, arrays):
        differ = other_versions(note["attributes"])
        upgrade = f", or go on with {differ}, where it may be another graph" if differ else ""
        raise ValueError(
            f"{path} was begun with another model: its variables, how they are computed, numbers, data or ids differ. Build it "
            f"from the same data and priors{upgrade}, or begin another store"
        )
    return model


def _expected(path: Path, note: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Return the fingerprint of the model of a run; that of an older scheme says too little, and the recipe tells."""
    if note["fingerprint"].startswith(SCHEME):
        return note["fingerprint"]
    if note["recipe"] is None:
        raise ValueError(
            f"{path} was begun by a raterzoo whose fingerprints of models are of another scheme, so that nothing tells whether "
            "this is its model: go on with the version that began it, or begin another store"
        )
    return fingerprint(_built_again(path, note, arrays))


def _built_again(path: Path, note: dict[str, Any], arrays: dict[str, np.ndarray]) -> pm.Model:
    """Return the model that the recipe of a run builds."""
    with of_recipe(path):
        return build_again(note["recipe"], arrays)

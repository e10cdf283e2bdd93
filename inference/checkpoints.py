"""Checkpointing: sampling runs that write their draws to a store and can be resumed after any interruption.

A resumed run of a sampler of this package makes, bit for bit, the draws of an uninterrupted one: the sampler state after the last
block of draws is in the journal of the store, and the samplers do not depend on how many draws are made at a time.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .._messages import compiled_step
from ..posterior.schema import other_versions
from .diagnostics import diagnose, warn_unless_converged
from .kept_draws import Costs
from .methods import Route, begin_run, route_of
from .nuts.stored_runs import resume_nuts
from .runs.run import Draws, Run, SinglePrecisionError
from .runs.trees import Completion, constant_groups
from .storage.interruptions import Advice, Interruptions
from .storage.journal import JournalEntries, recipe_errors, state_errors
from .storage.model_identity import SCHEME, build_again, fingerprint, note_of_run
from .storage.resumable_calls import refuse_resume_of_sharded_run, tell_versions
from .storage.store import (
    CONSTANT,
    DrawStore,
    StorePath,
    allocated,
    draws_per_block,
    how_to_resume,
    read_draws,
    refuse_existing,
    restore_replaced,
    store_attrs,
    verify_store,
)
from .storage.untrusted_files import WRITTEN

FOUND = "found_"  # prefix of the arrays of the tuning in the journal


def resume(
    path: StorePath, model: pm.Model | None = None, *, cores: int | None = None, progressbar: bool = True
) -> xr.DataTree:
    """Resume an interrupted run that `sample` began with ``store=``.

    Gibbs, HMC and exact draws go on from their state after the last block of draws in the store, to the draws of an
    uninterrupted run. NUTS cannot: its complete chains are kept, and the others drawn anew, by another seed if any is kept.

    Parameters
    ----------
    path : path
        Store of the run. Nothing more is drawn if the run is finished.
    model : pymc.Model, optional
        Model of the run. Needed unless a function of `raterzoo.models` built it and it was not changed since:
        such models are rebuilt from the journal of the store.
    cores : int, optional
        Number of threads; all cores by default. The draws do not depend on it.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    DataTree
        As returned by `sample`; its arrays are read from the store lazily.

    Raises
    ------
    FileNotFoundError
        If there is no such store.
    ValueError
        If the path is not a store, has another schema, or belongs to a call that resumes when repeated
        (`scatter`, `dawid_skene_gibbs`); if a file of the store is not as it was written (the message names it); if
        the journal is missing or damaged; if the model is needed or differs.
    BlockingIOError
        If another process is writing to the store.

    Warns
    -----
    ResumeWarning
        If the run was begun with other versions of packages, so that last digits may differ.
    ConvergenceWarning
        If a quantity misses the thresholds of `diagnose`.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from raterzoo import inference, models
    >>> counts = pd.DataFrame({"item": ["a", "b"], "yes": [3, 1], "no": [0, 2]})
    >>> model = models.dirichlet(models.Labels.from_counts(counts))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = f"{folder}/run.zarr"
    ...     drawn = inference.sample(model, draws=200, random_seed=1, progressbar=False, store=store)
    ...     resumed = inference.resume(store, progressbar=False)  # finished already
    ...     print(resumed["posterior"].equals(drawn["posterior"]))
    True
    """
    restore_replaced(Path(path))
    attrs = store_attrs(Path(path))
    verify_store(Path(path))
    if WRITTEN in attrs:
        refuse_resume_of_sharded_run(Path(path), attrs)
        with DrawStore.open(path) as store:
            note, arrays = store.read_journal("run")
            model = _same_model(store.path, model, note, arrays)
            tell_versions(store.path, note["attributes"])
            plan = Draws(**note["plan"] | {"cores": cores, "progressbar": progressbar})
            if note["attributes"]["method"] == "nuts":
                resume_nuts(store, model, plan, note)
            else:
                _resume_compiled(store, model, plan, (note, arrays))
    tree = read_draws(path)
    if WRITTEN not in attrs and model is not None:
        _refuse_other(Path(path), model, tree)
    if tree.attrs.get("method") != "exact":
        warn_unless_converged(diagnose(tree, threads=cores))
    return tree


def _refuse_other(path: Path, model: pm.Model, tree: xr.DataTree) -> None:
    """Raise if a model is not that of a finished run: another law, other data, ids or constants."""
    same = tree.attrs.get("model") in (None, route_of(model).name)
    for name, group in constant_groups(model).items():
        stored = tree[name].to_dataset() if name in tree.children else {}
        for own, values in group.variables.items():
            same &= own not in stored or np.array_equal(stored[own].to_numpy(), values.to_numpy())
    if not same:
        raise ValueError(
            f"{path} is finished, and was drawn from another model than the given one: read it without a model, or name another "
            "store for this one"
        )


def draw_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], route: Route | None = None
) -> None:
    """Run a model's own sampler (`route`) into a new store, in double precision if needed; `attrs` lack the duration."""
    costs = Costs(model, plan, in_store=True)
    try:
        _draw_into(path, model, costs, attrs, route)
    except SinglePrecisionError:
        _draw_into(path, model, costs.in_double_precision(), attrs, route)


def _draw_into(
    path: StorePath, model: pm.Model, costs: Costs, attrs: Mapping[str, Any], route: Route | None
) -> None:
    """Run the sampler into a new store; the store is removed if the draws exceed single precision (`SinglePrecisionError`)."""
    refuse_existing(Path(path))
    plan, begun, completion = costs.plan, perf_counter(), Completion(model)
    with compiled_step("Setting up the sampler", shown=plan.progressbar):
        route = route or route_of(model)
        costs.check_run(route.method)
        run = begin_run(model, replace(plan, progressbar=False), route=route)
        first = completion(run.advance(1))  # the template of all variables, dims and dtypes
    note, arrays = note_of_run(model, plan, attrs)
    note["piece"] = _draws_per_block(first, plan.draws)
    found = {FOUND + name: array for name, array in run.tuning.items()}
    journal = {"run": (note, arrays | found), "state": ({"drawn": 0, "seconds": 0.0}, {})}
    full = allocated({n: node.to_dataset() for n, node in first.children.items()}, {"draw": plan.draws})
    with DrawStore.create(path, full, attrs, {"draw": note["piece"]}, journal) as store:
        try:
            _append(store, run, first, perf_counter() - begun)
            _draw_rest(store, run, completion, (plan, note, perf_counter() - begun))
        except SinglePrecisionError:
            store.discard()
            raise


def _resume_compiled(
    store: DrawStore, model: pm.Model, plan: Draws, journal: tuple[dict[str, Any], dict[str, np.ndarray]]
) -> None:
    """Restore the state of the model's own sampler from the journal, and run it to its end."""
    note, arrays = journal
    found = {k.removeprefix(FOUND): v for k, v in arrays.items() if k.startswith(FOUND)}
    entries = JournalEntries(store.journal / "run.npz", found)
    with compiled_step("Setting up the sampler", shown=plan.progressbar):
        run = begin_run(model, replace(plan, progressbar=False), entries)
    marked, state = store.read_journal()
    if marked["drawn"]:
        with state_errors(store.path):
            run.restore(state, marked["drawn"])
    try:
        _draw_rest(store, run, Completion(model), (plan, note, marked["seconds"]))
    except SinglePrecisionError:
        store.discard()
        draw_into(store.path, model, replace(plan, dtype="float64"), note["attributes"])


def _draw_rest(
    store: DrawStore, run: Run, completion: Completion, settings: tuple[Draws, dict[str, Any], float]
) -> None:
    """Write the remaining blocks of draws and finish the store; stop after a block at SIGINT or SIGTERM."""
    plan, note, before = settings
    begun, length = perf_counter() - before, int(note["piece"])

    def advice() -> Advice:
        return how_to_resume(store.path, run.drawn, plan.draws, note["recipe"] is None)

    bar = compiled_step("Drawing from the posterior", plan.draws, completed=run.drawn, shown=plan.progressbar)
    with Interruptions(advice) as interruptions, bar as shown:
        while run.drawn < plan.draws and interruptions.asked is None:
            wanted = min(length - run.drawn % length, plan.draws - run.drawn)
            _append(store, run, completion(run.advance(wanted)), perf_counter() - begun)
            shown.advance(wanted)
    interruptions.raise_unless(run.drawn == plan.draws)
    store.finish(note["attributes"] | {"seconds": perf_counter() - begun})


def _append(store: DrawStore, run: Run, tree: xr.DataTree, seconds: float) -> None:
    """Write the newest block of draws to the store, and the state of the sampler to the journal."""
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in CONSTANT}
    new = groups["posterior"].sizes["draw"]
    store.write({"draw": slice(run.drawn - new, run.drawn)}, groups)
    store.mark({"drawn": run.drawn, "seconds": seconds}, run.state, run.drawn)


def _draws_per_block(first: xr.DataTree, draws: int) -> int:
    """Return the number of draws per block of a run, given its first."""
    size = sum(node.to_dataset().nbytes for node in first.children.values() if "draw" in node.dims)
    return draws_per_block(size, draws)


def _same_model(
    path: Path, model: pm.Model | None, note: dict[str, Any], arrays: dict[str, np.ndarray]
) -> pm.Model:
    """Return the given or rebuilt model of a run; raise if it cannot be rebuilt, or its fingerprint differs."""
    if model is None and note["recipe"] is None:
        raise ValueError(
            f"{path} does not say how its model was built: no function of raterzoo.models made it as it was. Build it again, and "
            "pass it: inference.resume(path, model)"
        )
    if model is None:
        model = _built_again(path, note, arrays)
    if fingerprint(model) != _expected_fingerprint(path, note, arrays):
        differ = other_versions(note["attributes"])
        upgrade = f", or go on with {differ}, where it may be another graph" if differ else ""
        raise ValueError(
            f"{path} was begun with another model: its variables, how they are computed, numbers, data or ids differ. Build it "
            f"from the same data and priors{upgrade}, or begin another store"
        )
    return model


def _expected_fingerprint(path: Path, note: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Fingerprint that the model must have; recomputed from the recipe if the stored one has an old scheme."""
    if note["fingerprint"].startswith(SCHEME):
        return note["fingerprint"]
    if note["recipe"] is None:
        raise ValueError(
            f"{path} was begun by a raterzoo whose fingerprints of models are of another scheme, so that nothing tells whether "
            "this is its model: go on with the version that began it, or begin another store"
        )
    return fingerprint(_built_again(path, note, arrays))


def _built_again(path: Path, note: dict[str, Any], arrays: dict[str, np.ndarray]) -> pm.Model:
    """Rebuild the model of a run from the recipe in the journal."""
    with recipe_errors(path):
        return build_again(note["recipe"], arrays)

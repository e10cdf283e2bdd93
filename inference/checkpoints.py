"""Checkpointing: sampling runs that write their draws to a store and can be resumed after any interruption.

A resumed run makes, bit for bit, the draws of an uninterrupted one: the sampler state after the last block of
draws is in the journal of the store, and the samplers do not depend on how many draws are made at a time.
"""

import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .._progress import compiled_step, handed_over
from .diagnostics import diagnose, warn_unless_converged
from .labels.item_states import with_items_drawn
from .methods import Route, begin_run, finished_groups, nuts_options, nuts_thinning, thinned
from .runs.compiled_models import compilation_of_nutpie
from .runs.run import Draws, Run, SinglePrecisionError
from .runs.trees import Completion
from .runs.versions import ResumeWarning, other_versions, tell_versions
from .storage.interruptions import Interruptions
from .storage.journal import JournalEntries, recipe_errors, state_errors
from .storage.model_identity import SCHEME, build_again, fingerprint, note_of_run
from .storage.resumable_calls import refuse_resume_of_sharded_run
from .storage.store import DrawStore, allocated, read_draws, refuse_existing, store_attrs
from .storage.untrusted_files import WRITTEN

SECONDS = 5.0  # between two polls of the sampler
FEWEST_BLOCKS = 20  # of draws of a run, and chunks of every variable
MOST_BYTES = 2**26  # of a block of draws
FOUND = "found_"  # prefix of the arrays of the tuning in the journal
RAW = ("posterior", "sample_stats")
CONSTANT = ("constant_data", "observed_data")

StorePath = str | os.PathLike[str]

NUTS_STARTS = "Compiling the model for NUTS; its own progress follows"


def draw_nuts_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], options: dict[str, Any]
) -> None:
    """Run NUTS into a new store; ValueError without nutpie, or for `options` besides ``target_accept``."""
    refuse_existing(Path(path))
    if find_spec("nutpie") is None:
        raise ValueError(
            "store=: draws of NUTS are written as they are made by nutpie alone; install nutpie, or leave store= out and write "
            "the tree when it is there"
        )
    if further := sorted(options.keys() - {"target_accept"}):
        remedy = "leave it out, or leave store= out"
        raise ValueError(f"{', '.join(further)}: with store=, NUTS takes target_accept alone; {remedy}")
    note, arrays = note_of_run(model, plan, attrs)
    note |= {"every": nuts_thinning(model, plan), "options": nuts_options(model, options)}
    begun, drawn = perf_counter(), 0
    with Interruptions() as interruptions, ExitStack() as held:
        store = None
        for block in _blocks(model, plan, note, (drawn, 0), interruptions):
            if store is None:
                tree = _finished(model, plan, block)  # the template of all variables, at their full size
                full = allocated(
                    {n: node.to_dataset() for n, node in tree.children.items()}, {"draw": plan.draws}
                )
                state = ({"drawn": 0, "restarts": [], "seconds": 0.0}, {})
                chunks = {"draw": ceil(plan.draws / FEWEST_BLOCKS)}
                journal = {"run": (note, arrays), "state": state}
                store = held.enter_context(DrawStore.create(path, full, note["attributes"], chunks, journal))
            drawn = _append_block(store, block, drawn, ([], begun))
        if store is not None and drawn == plan.draws:
            _finish(store, model, plan, (note["attributes"], begun))
    if drawn < plan.draws:
        raise KeyboardInterrupt(f"stopped after {drawn} draws of each chain")


def resume_nuts(store: DrawStore, model: pm.Model, plan: Draws, note: dict[str, Any]) -> None:
    """Keep the draws of an opened store, draw the rest by fresh chains, and finish the store."""
    marked, _ = store.read_journal()
    begun = perf_counter() - marked.get("seconds", 0.0)
    drawn, restarts = int(marked["drawn"]), list(marked["restarts"])
    if drawn < plan.draws:
        restarts.append(drawn)
        kept = (
            f"{drawn:,} draws of each chain are kept; those after them, and the adaptation of NUTS, are lost"
        )
        others = f"The other {plan.draws - drawn:,} are drawn by fresh chains"
        warnings.warn(f"{store.path}: {kept}. {others}", ResumeWarning, stacklevel=3)
        with Interruptions() as interruptions, handed_over(NUTS_STARTS, shown=plan.progressbar):
            for block in _blocks(model, plan, note, (drawn, len(restarts)), interruptions):
                drawn = _append_block(store, block, drawn, (restarts, begun))
        if drawn < plan.draws:
            raise KeyboardInterrupt(f"stopped after {drawn} draws of each chain")
    attrs = note["attributes"] | {"restarted_at": json.dumps(restarts)}
    _finish(store, model, plan, (attrs, begun))


def _blocks(
    model: pm.Model, plan: Draws, note: dict[str, Any], start: tuple[int, int], interruptions: Interruptions
) -> Iterator[xr.DataTree]:
    """Yield blocks of the missing draws: those that all chains have made since the previous block."""
    import nutpie

    (drawn, restarts), every, taken = start, int(note["every"]), 0
    seed = np.random.SeedSequence(plan.seed, spawn_key=(restarts,)).generate_state(1)[0]
    sampler = nutpie.sample(
        nutpie.compile_pymc_model(model, **compilation_of_nutpie()),
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
        ended, stopped = _poll(sampler, interruptions)
        try:
            tree = sampler.wait() if ended else sampler.abort() if stopped else sampler.inspect()
        except TimeoutError:  # busy: try again at the next poll
            continue
        if "posterior" not in tree.children:
            ready = 0
        else:  # draws that all chains have made
            ready = int((~np.isnan(tree["sample_stats"]["logp"].to_numpy())).sum(axis=1).min()) // every
        if ready > taken:
            new = slice(taken * every, ready * every)
            groups = {name: tree[name].to_dataset() for name in RAW}
            for name, group in groups.items():  # messages are objects, and a store holds no pickles
                numeric = [v for v, array in group.data_vars.items() if array.dtype.kind in "biuf"]
                groups[name] = group[numeric].isel(draw=new)
            yield thinned(xr.DataTree.from_dict(groups), every)
            taken = ready
        ended = ended or stopped


def _poll(sampler: Any, interruptions: Interruptions) -> tuple[bool, bool]:
    """Wait for the next poll of the sampler; return whether all chains have ended, and whether to stop."""
    until = perf_counter() + SECONDS
    while True:
        with suppress(TimeoutError):  # the sampler is too busy to answer
            if sampler.is_finished:
                return True, interruptions.asked is not None
        if interruptions.asked is not None or perf_counter() >= until:
            return False, interruptions.asked is not None
        time.sleep(0.02)


def _finished(model: pm.Model, plan: Draws, tree: xr.DataTree) -> xr.DataTree:
    """Complete draws of NUTS to the tree that `sample` returns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found chain dimension to be longer", UserWarning)
        groups = finished_groups(model, tree, plan)
    groups["posterior"] = with_items_drawn(model, groups["posterior"], plan)
    return Completion(model)(groups, computed=True)


def _append_block(store: DrawStore, block: xr.DataTree, drawn: int, run: tuple[list[int], float]) -> int:
    """Write a block of draws after the first `drawn`, and mark it; return the new number of draws."""
    restarts, begun = run
    end = drawn + block["posterior"].sizes["draw"]
    store.write({"draw": slice(drawn, end)}, {name: block[name].to_dataset() for name in RAW})
    store.mark({"drawn": end, "restarts": restarts, "seconds": perf_counter() - begun}, {}, end)
    return end


def _finish(store: DrawStore, model: pm.Model, plan: Draws, run: tuple[dict[str, Any], float]) -> None:
    """Write the groups computed from all draws (densities, deterministics), and finish the store."""
    attrs, begun = run
    raw = read_draws(store.path)
    tree = xr.DataTree.from_dict({name: raw[name].to_dataset().load() for name in RAW})
    whole = _finished(model, plan, tree)
    groups = {n: node.to_dataset() for n, node in whole.children.items() if n not in CONSTANT}
    store.write({"draw": slice(0, plan.draws)}, groups)
    store.finish(attrs | {"seconds": perf_counter() - begun})


# --- Resume of a stored run, by the model's own sampler or NUTS ---


def resume(
    path: StorePath, model: pm.Model | None = None, *, cores: int | None = None, progressbar: bool = True
) -> xr.DataTree:
    """Resume an interrupted run that `sample` began with ``store=``; the draws equal those of an uninterrupted run.

    NUTS is the exception: the draws in the store are kept, and fresh chains make the rest (`ResumeWarning`).

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
        (`scatter`, `dawid_skene_gibbs`); if the journal is missing or damaged; if the model is needed or differs.
    BlockingIOError
        If another process is writing to the store.

    Warns
    -----
    ResumeWarning
        If the run was begun with other versions of packages, so that last digits may differ, or is of NUTS.
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
    attrs = store_attrs(Path(path))
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
    if tree.attrs.get("method") != "exact":
        warn_unless_converged(diagnose(tree, threads=cores))
    return tree


def draw_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], route: Route | None = None
) -> None:
    """Run a model's own sampler (`route`) into a new store, in double precision if needed; `attrs` lack the duration."""
    try:
        _draw_into(path, model, plan, attrs, route)
    except SinglePrecisionError:
        _draw_into(path, model, replace(plan, dtype="float64"), attrs, route)


def _draw_into(
    path: StorePath, model: pm.Model, plan: Draws, attrs: Mapping[str, Any], route: Route | None
) -> None:
    """Run the sampler into a new store; the store is removed if the draws exceed single precision (`SinglePrecisionError`)."""
    refuse_existing(Path(path))
    begun, completion = perf_counter(), Completion(model)
    with compiled_step("Setting up the sampler", shown=plan.progressbar):
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
    bar = compiled_step("Drawing from the posterior", plan.draws, completed=run.drawn, shown=plan.progressbar)
    with Interruptions() as interruptions, bar as shown:
        while run.drawn < plan.draws and interruptions.asked is None:
            wanted = min(length - run.drawn % length, plan.draws - run.drawn)
            _append(store, run, completion(run.advance(wanted)), perf_counter() - begun)
            shown.advance(wanted)
    if run.drawn < plan.draws:  # the process has a signal handler that does not end it
        raise KeyboardInterrupt(f"stopped after {run.drawn} draws of each chain")
    store.finish(note["attributes"] | {"seconds": perf_counter() - begun})


def _append(store: DrawStore, run: Run, tree: xr.DataTree, seconds: float) -> None:
    """Write the newest block of draws to the store, and the state of the sampler to the journal."""
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in CONSTANT}
    new = groups["posterior"].sizes["draw"]
    store.write({"draw": slice(run.drawn - new, run.drawn)}, groups)
    store.mark({"drawn": run.drawn, "seconds": seconds}, run.state, run.drawn)


def _draws_per_block(first: xr.DataTree, draws: int) -> int:
    """Return the number of draws per block: a twentieth of the run, or fewer where these exceed `MOST_BYTES`."""
    size = sum(node.to_dataset().nbytes for node in first.children.values() if "draw" in node.dims)
    return max(1, min(MOST_BYTES // size, ceil(draws / FEWEST_BLOCKS)))


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

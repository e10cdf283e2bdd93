"""Runs of NUTS in a store: whatever stops them, they go on to the same bits."""

import errno
import os
import signal
import time
import warnings
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pymc as pm
import pytest
from pymc.backends.ndarray import NDArray
from raterzoo import inference
from raterzoo.inference.nuts import blocks, pymc_chains, stored_runs
from raterzoo.inference.nuts.nutpie_chains import NutpieChains
from raterzoo.inference.nuts.pymc_chains import state_from
from raterzoo.inference.storage.interruptions import Interrupted
from raterzoo.inference.storage.journal import read_journal, write_journal
from raterzoo.inference.storage.store import DiskFullError, DrawStore, journal_of, read_draws
from threadpoolctl import threadpool_info, threadpool_limits

from tests.support.resumable_runs import assert_same_bits

SETTINGS = {"draws": 20, "tune": 10, "chains": 2, "cores": 1, "thin": 2, "random_seed": 1}
WITHOUT_DENSITIES = SETTINGS | {"log_likelihood": False, "progressbar": False}
SAMPLERS = ("pymc", "nutpie")
pytestmark = [
    pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:arviz_base.*"),
]


class Killed(BaseException):
    """Stands for whatever ends a process."""


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"item": list("abc")}) as model:
        location = pm.Normal("location", 0.0, 1.0, dims="item")
        pm.Normal("observed", location, 1.0, observed=np.array([0.5, -1.0, 2.0]), dims="item")
    return model


@pytest.fixture(scope="module")
def compiled(model):
    """The chains of each sampler, compiled once for all tests."""
    return {}


@pytest.fixture
def run(model, compiled, monkeypatch):
    """Begin a run, or go on with it; PyMC in blocks of eight iterations."""
    compile_chains = stored_runs._chains

    def once(model, plan, note):
        if note["sampler"] not in compiled:
            compiled[note["sampler"]] = compile_chains(model, plan, note)
        return compiled[note["sampler"]]

    monkeypatch.setattr(stored_runs, "_chains", once)
    monkeypatch.setattr(blocks, "SECONDS", 8.0)
    monkeypatch.setattr(pymc_chains, "perf_counter", count().__next__)  # a second for each iteration

    def begin_or_resume(store, sampler="pymc", **other):
        if store.exists():
            return inference.resume(store, model, cores=1, progressbar=False)
        return inference.sample(
            model, method="nuts", store=store, nuts_sampler=sampler, **WITHOUT_DENSITIES | other
        )

    return begin_or_resume


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Tree of the run of each sampler that nothing stops."""
    folder, trees = tmp_path_factory.mktemp("whole"), {}

    def tree_of(sampler, run):
        if sampler not in trees:
            trees[sampler] = run(folder / f"{sampler}.zarr", sampler)
        return trees[sampler]

    return tree_of


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_killed_run_goes_on_to_the_same_bits(sampler, run, uninterrupted, tmp_path, monkeypatch):
    """Killed before any draw is kept, twice while it draws, and while it finishes."""
    whole, store, kept = uninterrupted(sampler, run), tmp_path / "run.zarr", [0]
    for lasts in (1, 2, 3) if sampler == "pymc" else (1,):
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(DrawStore, "mark", dies_after(lasts, DrawStore.mark))
            run(store, sampler)
        part = read_draws(store)["posterior"]["location"]
        kept.append(part.sizes["draw"])
        assert part.equals(whole["posterior"]["location"].isel(draw=slice(kept[-1])))
        assert kept == sorted(kept)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(DrawStore, "finish", dies_after(0, DrawStore.finish))
        run(store, sampler)
    tree = run(store, sampler)
    assert_same_bits(dict(whole.children), dict(tree.children))
    assert {**tree.attrs, "seconds": 0} == {**whole.attrs, "seconds": 0}
    assert not journal_of(store).exists()


@pytest.mark.slow
def test_a_run_that_gets_sigkill_at_any_moment_goes_on_to_the_same_bits(run, uninterrupted, tmp_path):
    """The process itself, three times, between its first block and a quarter of a second later."""
    whole, store, rng = uninterrupted("pymc", run), tmp_path / "run.zarr", np.random.default_rng(1)
    mark = DrawStore.mark

    def slow(*arguments):
        mark(*arguments)
        time.sleep(0.1)  # so that the run is not over before

    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the process does not use
            process = os.fork()
        if not process:
            try:
                DrawStore.mark = slow
                run(store)
            finally:
                os._exit(0)
        until = time.monotonic() + 60
        while not (journal_of(store) / "chain-0.npz").exists() and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.25))
        os.kill(process, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
        assert read_draws(store)["posterior"].sizes["draw"] < SETTINGS["draws"]
    assert_same_bits(dict(whole.children), dict(run(store).children))


def dies_after(times, function):
    """Return a function that can be called so many times."""
    left = [times]

    def dying(*arguments, **options):
        if not left[0]:
            raise Killed
        left[0] -= 1
        return function(*arguments, **options)

    return dying


def test_draws_that_change_at_the_end_are_changed_once(model, run, tmp_path, monkeypatch):
    """Killed between two variables that are replaced, as sorted states are."""
    finished, write = stored_runs._finished, DrawStore.write

    def negated(*arguments):
        tree = finished(*arguments)
        tree["posterior"] = tree["posterior"].to_dataset().map(lambda v: -v, keep_attrs=True)
        return tree

    def half(own, region, groups):
        if groups.keys() == {"posterior"} and groups["posterior"]:
            write(own, region, {"posterior": groups["posterior"].isel(chain=slice(1))})
            raise Killed
        write(own, region, groups)

    monkeypatch.setattr(stored_runs, "_finished", negated)
    whole = run(tmp_path / "whole.zarr")
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(DrawStore, "write", half)
        run(tmp_path / "run.zarr")
    journal = journal_of(tmp_path / "run.zarr") / "finished.npz"
    note, arrays = read_journal(journal)
    for names in (["elsewhere"], [7], 7):
        write_journal(journal, {"names": names}, arrays)
        with pytest.raises(ValueError, match="damaged"):
            run(tmp_path / "run.zarr")
    write_journal(journal, note, arrays)
    assert_same_bits(dict(whole.children), dict(run(tmp_path / "run.zarr").children))


@pytest.mark.slow
def test_chains_of_pymc_compute_on_one_thread(model, run, tmp_path, monkeypatch):
    """As linear algebra on several is rounded otherwise on other machines, and forked chains would compete for the cores."""
    setup, threads = NDArray.setup, []

    def counting(own, draws, *arguments):
        threads.append(
            (draws, {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"})
        )
        setup(own, draws, *arguments)

    run(tmp_path / "compiled.zarr")
    monkeypatch.setattr(NDArray, "setup", counting)  # of each block, and of an example of one kept draw
    with threadpool_limits(2, "blas"):
        run(tmp_path / "run.zarr")
    (_, outside), *blocks_drawn = threads
    assert outside == {2} and blocks_drawn and all(inside == {1} for _, inside in blocks_drawn)


def test_the_draws_of_pymc_are_those_without_a_store(model, run, tmp_path):
    options = {"nuts_sampler": "pymc", "quiet": True, "compute_convergence_checks": False}
    tree = inference.sample(model, method="nuts", progressbar=False, **SETTINGS, **options)
    stored = run(tmp_path / "run.zarr", log_likelihood=True)
    for group in ("posterior", "log_likelihood", "log_prior", "sample_stats"):
        for name, array in stored[group].data_vars.items():
            assert np.array_equal(array, tree[group][name], equal_nan=True), (group, name)


def test_after_a_full_disk_there_is_room_and_the_run_goes_on(run, uninterrupted, tmp_path, monkeypatch):
    """The journal of a chain is what does not fit."""
    store, replace = tmp_path / "run.zarr", os.replace

    def full(source, target):
        if str(target).endswith("chain-1.npz") and read_draws(store)["posterior"].sizes["draw"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patched, pytest.raises(DiskFullError, match="no space is left") as stopped:
        patched.setattr(os, "replace", full)
        run(store)
    assert f"raterzoo fit --resume {store}" in stopped.value.with_option
    assert_same_bits(dict(uninterrupted("pymc", run).children), dict(run(store).children))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_process_of_pymc_that_is_killed_leaves_a_store_to_go_on_with(stopped, run, tmp_path, monkeypatch):
    """By itself, or by a signal that the driver gets too."""
    store, advance, mark = tmp_path / "run.zarr", pymc_chains.PymcChains.advance, DrawStore.mark
    signals, driver = [signal.SIGINT] if stopped else [], os.getpid()

    def dying(own, chain, state):
        if state.done and os.getpid() != driver:
            os.kill(os.getpid(), signal.SIGKILL)
        return advance(own, chain, state)

    def marking(*arguments):
        mark(*arguments)
        if signals:
            signal.raise_signal(signals.pop())

    def at_once(own, left, stop):  # whatever number of processes the shared chains are compiled for
        return own._at_once(left, stop, 2)

    with monkeypatch.context() as patched:
        patched.setattr(pymc_chains.PymcChains, "advance", dying)
        patched.setattr(pymc_chains.PymcChains, "_in_turn", at_once)
        patched.setattr(DrawStore, "mark", marking)
        with pytest.raises(Interrupted if stopped else ChildProcessError) as ended:
            run(store, "pymc")
    said: Any = ended.value
    assert f"of 20 draws of each chain; go on by: raterzoo fit --resume {store}" in said.with_option
    assert stopped or f"memory runs out: {store} keeps" in str(said)
    assert f"inference.resume('{store}', model) draws the rest" in str(said)


@pytest.fixture
def killed(run, tmp_path, monkeypatch):
    """Store of a run of PyMC that was killed in the warm-up."""
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(DrawStore, "mark", dies_after(2, DrawStore.mark))
        run(tmp_path / "run.zarr")
    assert read_draws(tmp_path / "run.zarr")["posterior"].sizes["draw"] == 0
    return tmp_path / "run.zarr"


def test_a_state_that_forgets_something_is_found_out(killed, run, uninterrupted, monkeypatch):
    """The average of the step size, which only the draws after the warm-up use."""

    def forgetful(note, arrays, fresh):
        note["step"]["step_adapt"]["_log_bar"] *= 1 + 1e-9
        return state_from(note, arrays, fresh)

    monkeypatch.setattr(pymc_chains, "state_from", forgetful)
    with pytest.raises(AssertionError):
        assert_same_bits(dict(uninterrupted("pymc", run).children), dict(run(killed).children))


def test_a_damaged_state_is_refused(killed, run):
    file = journal_of(killed) / "chain-0.npz"
    note, arrays = read_journal(file)
    stream = note["step"]["rng"]
    wrong = [
        (note | {"point": {"elsewhere": 1.0}}, arrays),
        (note, {name: array[:1] for name, array in arrays.items()}),
        (
            note | {"step": note["step"] | {"rng": [{**stream[0], "bit_generator": "Philox"}, stream[1]]}},
            arrays,
        ),
        (note | {"step": note["step"] | {"tune": "text"}}, arrays),
        (note | {"done": -1}, arrays),
        ({name: value for name, value in note.items() if name != "divergences"}, arrays),
    ]
    for damaged in wrong:
        write_journal(file, *damaged)
        with pytest.raises(ValueError, match="damaged"):
            run(killed)


def test_each_chain_of_nutpie_is_a_run_of_its_own(monkeypatch):
    nutpie = pytest.importorskip("nutpie")
    chains = object.__new__(NutpieChains)
    chains._plan, chains._compiled = SimpleNamespace(seed=1), "compiled"
    chains._options, chains._counts = {"target_accept": 0.9}, {}
    monkeypatch.setattr(nutpie, "sample", lambda compiled, **options: (compiled, options))
    (compiled, first), (_, second) = (chains._sampler(chain, draws=7) for chain in (0, 1))
    assert compiled == "compiled" and first["seed"] != second["seed"]
    expected = {
        "chains": 1,
        "cores": 1,
        "save_warmup": False,
        "blocking": False,
        "draws": 7,
        "target_accept": 0.9,
    }
    assert expected.items() <= first.items()
    second["progress_callback"]([SimpleNamespace(finished_draws=5)])
    assert chains._counts == {1: 5}


def test_a_chain_of_nutpie_that_draws_otherwise_is_replaced(run, uninterrupted, tmp_path, monkeypatch):
    """As with another version: what the store has is compared, and a warning says so."""
    whole, store = uninterrupted("nutpie", run), tmp_path / "run.zarr"
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(DrawStore, "mark", dies_after(1, DrawStore.mark))
        run(store, "nutpie")
    drawn = read_journal(journal_of(store) / "chain-0.npz")[0]["drawn"]
    assert drawn
    with DrawStore.open(store) as opened:
        block = opened.draws("posterior", 0, slice(1)).expand_dims("chain")
        opened.write({"chain": slice(1), "draw": slice(1)}, {"posterior": block + 1})
    journal = journal_of(store) / "chain-0.npz"
    write_journal(journal, {"drawn": min(drawn, 19)}, {})  # not finished
    with pytest.warns(inference.ResumeWarning, match="chain 0 made other draws"):
        tree = run(store)
    assert_same_bits(dict(whole.children), dict(tree.children))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_say_what_is_kept(number, run, tmp_path, monkeypatch, capsys):
    """SIGTERM would end the process without a word; here its handler is one that lets the run go on."""
    store, mark, sent = tmp_path / "run.zarr", DrawStore.mark, []

    def interrupting(own, note, arrays, written):
        mark(own, note, arrays, written)
        if written and not sent:
            sent.append(written)
            signal.raise_signal(number)

    before = signal.signal(number, lambda *_: None)
    try:
        monkeypatch.setattr(DrawStore, "mark", interrupting)
        with pytest.raises(KeyboardInterrupt) as stopped:
            run(store)
    finally:
        signal.signal(number, before)
    kept = read_draws(store)["posterior"].sizes["draw"]
    resumes = f"inference.resume('{store}', model) draws the rest"
    assert str(stopped.value) == f"stopped: {store} keeps {kept} of 20 draws of each chain; {resumes}"
    assert isinstance(stopped.value, Interrupted) and stopped.value.exit_code == 128 + number


def test_what_nuts_cannot_do_with_a_store_is_refused(model, run, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="'nutpie' or 'pymc'"):
        run(tmp_path / "run.zarr", "numpyro")
    with pytest.raises(ValueError, match="Emax: with store="):
        run(tmp_path / "run.zarr", Emax=10)
    monkeypatch.setattr(stored_runs, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="nutpie, which is not installed"):
        stored_runs.require_installed("nutpie")

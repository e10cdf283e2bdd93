"""Runs of NUTS in a store: whatever stops them, the draws so far can be read, and no complete chain is lost."""

import errno
import multiprocessing
import os
import signal
import time
import warnings
from itertools import count
from traceback import walk_tb
from typing import Any

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference
from raterzoo.inference.nuts import stored_runs
from raterzoo.inference.storage.interruptions import Interrupted
from raterzoo.inference.storage.posterior_files import unfinished
from raterzoo.inference.storage.store import DiskFullError

from tests.support.stores import DrawStore, journal_of, read_draws, read_posterior

SETTINGS = {
    "draws": 20,
    "tune": 10,
    "chains": 2,
    "cores": 1,
    "thin": 2,
    "random_seed": 1,
    "progressbar": False,
}
SAMPLERS = ("pymc", "nutpie")
GROUPS = ("posterior", "sample_stats", "log_likelihood", "log_prior")
pytestmark = [
    pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:arviz_base.*"),
]


class Killed(BaseException):
    """Stands for whatever ends a process."""


def three_locations():
    with pm.Model(coords={"item": list("abc")}) as model:
        location = pm.Normal("location", 0.0, 1.0, dims="item")
        pm.Normal("observed", location, 1.0, observed=np.array([0.5, -1.0, 2.0]), dims="item")
    return model


@pytest.fixture(scope="module")
def model():
    return three_locations()


def go(store, sampler):
    """Begin a long run in a process that is there to be killed, with ten blocks a second."""
    warnings.simplefilter("ignore")
    stored_runs.SECONDS = 0.1
    options = {"draws": 200_000, "tune": 50, "chains": 2, "cores": 2, "random_seed": 5, "progressbar": False}
    inference.sample(three_locations(), method="nuts", nuts_sampler=sampler, store=store, **options)


@pytest.fixture
def run(model, monkeypatch):
    """Begin a run, or go on with it; a second passes at each look at the clock, so that blocks have a few draws."""
    monkeypatch.setattr(stored_runs, "perf_counter", count().__next__)

    def begin_or_resume(store, sampler="pymc", **other):
        if store.exists():
            return inference.resume(store, model, cores=1, progressbar=False)
        return inference.sample(model, method="nuts", store=store, nuts_sampler=sampler, **SETTINGS | other)

    return begin_or_resume


@pytest.fixture(scope="module")
def without_store(model):
    """Trees of both samplers without a store."""
    return {
        sampler: inference.sample(model, method="nuts", nuts_sampler=sampler, **SETTINGS)
        for sampler in SAMPLERS
    }


def dies_after(times, function):
    """Return a function that can be called so many times."""
    left = [times]

    def dying(*arguments, **options):
        if not left[0]:
            raise Killed
        left[0] -= 1
        return function(*arguments, **options)

    return dying


def assert_draws_of(tree, stored):
    """Assert that a stored tree has the draws of one without a store."""
    for group in GROUPS:
        assert stored[group].data_vars
        for name, array in stored[group].data_vars.items():
            assert np.array_equal(array, tree[group][name], equal_nan=True), (group, name)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_uninterrupted_run_draws_what_it_draws_without_a_store(sampler, run, without_store, tmp_path):
    stored = run(tmp_path / "run.zarr", sampler)
    assert_draws_of(without_store[sampler], stored)
    assert stored.attrs["method"] == "nuts" and not journal_of(tmp_path / "run.zarr").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_complete_chains_are_kept_and_the_others_drawn_anew(kept, run, without_store, tmp_path, monkeypatch):
    """Killed in the first chain, or in the second."""
    store, whole = tmp_path / "run.zarr", without_store["pymc"]["posterior"]["location"].to_numpy()
    mark = DrawStore.mark

    def dying(own, note, arrays, written):
        mark(own, note, arrays, written)
        if written[kept] > 2:
            raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(DrawStore, "mark", dying)
        run(store)
    part = read_posterior(store)
    chains, draws = part["posterior"].sizes["chain"], part["posterior"].sizes["draw"]
    assert np.array_equal(part["posterior"]["location"], whole[:chains, :draws])
    assert (chains, draws) == (1, 20) if kept else draws < 20
    said = unfinished(store, part)
    assert said is not None and f"{chains} chains of {draws} draws" in said
    tree = run(store)
    assert {*GROUPS} <= {*tree.children} and dict(tree["posterior"].sizes) == {
        "chain": 2,
        "draw": 20,
        "item": 3,
    }
    drawn = tree["posterior"]["location"].to_numpy()
    assert np.array_equal(drawn[0], whole[0])
    assert np.array_equal(drawn[1], whole[1]) != bool(kept)  # by another seed, if a chain is kept
    assert np.isfinite(tree["log_likelihood"]["observed"]).all() and not journal_of(store).exists()


@pytest.mark.slow
@pytest.mark.parametrize("moment", [pytest.param("completing", marks=pytest.mark.slow), "replacing"])
def test_a_run_that_is_killed_at_its_end_is_finished(
    moment, model, run, without_store, tmp_path, monkeypatch
):
    """While the posterior is completed, or between the two moves that replace the store."""
    store, replace = tmp_path / "run.zarr", os.replace

    def dying(source, target):
        if str(source).endswith("finished"):
            raise Killed
        replace(source, target)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        if moment == "completing":
            patched.setattr(DrawStore, "replace", dies_after(0, DrawStore.replace))
        else:
            patched.setattr(os, "replace", dying)
        run(store)
    tree = inference.resume(store, model, progressbar=False)
    assert_draws_of(without_store["pymc"], tree)


@pytest.mark.parametrize("sampler", ["nutpie", pytest.param("pymc", marks=pytest.mark.slow)])
def test_draws_so_far_are_read_after_sigkill(sampler, tmp_path):
    """The process itself, after its first block."""
    store = tmp_path / "run.zarr"
    process: Any = multiprocessing.get_context("forkserver").Process(target=go, args=(store, sampler))
    process.start()
    until = time.monotonic() + 240
    while (
        not (store.exists() and read_draws(store)["posterior"].sizes["draw"] > 9) and time.monotonic() < until
    ):
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    read = read_posterior(store)["posterior"]
    assert 0 < read.sizes["draw"] <= 200_000
    assert np.isfinite(read["location"]).all() and np.unique(read["location"][..., 0]).size > 1


@pytest.mark.slow
def test_after_a_full_disk_there_is_room_and_the_run_goes_on(run, tmp_path, monkeypatch):
    store, replace = tmp_path / "run.zarr", os.replace

    def full(source, target):
        if (
            str(target).endswith("state.npz")
            and store.exists()
            and read_draws(store)["posterior"].sizes["draw"]
        ):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patched, pytest.raises(DiskFullError) as stopped:
        patched.setattr(os, "replace", full)
        run(store)
    assert f"raterzoo fit --resume {store}" in stopped.value.with_option
    assert run(store)["posterior"].sizes["draw"] == 20


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_say_what_is_kept(sampler, number, run, tmp_path, monkeypatch):
    """SIGTERM would end the process without a word; here its handler is one that lets the run go on."""
    store, mark, sent = tmp_path / "run.zarr", DrawStore.mark, []
    long = {"draws": 100_000, "log_likelihood": False} if sampler == "nutpie" else {}

    def interrupting(own, note, arrays, written):
        mark(own, note, arrays, written)
        if not sent:
            sent.append(written)
            signal.raise_signal(number)

    before = signal.signal(number, lambda *_: None)
    try:
        monkeypatch.setattr(DrawStore, "mark", interrupting)
        with pytest.raises(KeyboardInterrupt) as stopped:
            run(store, sampler, **long)
    finally:
        signal.signal(number, before)
    assert isinstance(stopped.value, Interrupted) and stopped.value.exit_code == 128 + number
    assert f"inference.resume('{store}', model)" in str(stopped.value)
    assert read_draws(store)["posterior"].sizes["draw"]


def test_a_stop_before_the_first_block_leaves_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_runs._Writer, "write", dies_after(0, None))
    with pytest.raises(Killed):
        run(tmp_path / "run.zarr")
    assert not list(tmp_path.iterdir())


def test_a_process_of_pymc_that_is_killed_leaves_a_store_to_go_on_with(run, tmp_path, monkeypatch):
    store, mark = tmp_path / "run.zarr", DrawStore.mark

    def killing(own, note, arrays, written):
        mark(own, note, arrays, written)
        time.sleep(0.5)  # they have sent their next draws, and cannot be asked for another
        for process in multiprocessing.active_children():
            process.kill()
            process.join()

    with monkeypatch.context() as patched, pytest.raises(ChildProcessError) as ended:
        patched.setattr(DrawStore, "mark", killing)
        run(store, cores=2, draws=2000)
    said: Any = ended.value
    assert f"raterzoo fit --resume {store}" in said.with_option
    assert read_draws(store)["posterior"].sizes["draw"] < 2000
    frames = (frame for frame, _ in walk_tb(said.__cause__.__traceback__))
    held = [own for frame in frames for own in frame.f_locals.values() if isinstance(own, memoryview)]
    assert not held  # which would be closed, with an error, in whatever test the garbage is collected


def test_what_nuts_cannot_do_with_a_store_is_refused(run, tmp_path, monkeypatch, golden):
    with pytest.raises(ValueError, match="'nutpie' or 'pymc'"):
        run(tmp_path / "run.zarr", "numpyro")
    with pytest.raises(ValueError, match="Emax: with store="):
        run(tmp_path / "run.zarr", Emax=10)
    monkeypatch.setattr(stored_runs, "find_spec", lambda name: None)
    with golden.raises(ValueError):
        run(tmp_path / "run.zarr", "nutpie")

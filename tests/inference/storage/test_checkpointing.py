"""Runs that survive: the same bits for any pieces, threads and interruptions; what is left is always a valid store."""

import contextlib
import errno
import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
import xarray as xr
import zarr
from raterzoo import inference, models
from raterzoo.inference import checkpoints as checkpointing
from raterzoo.inference.storage import model_identity
from raterzoo.inference.storage import model_identity as recipes
from raterzoo.posterior import schema

from tests.support.resumable_runs import BUILD, KILLABLE, assert_same_bits, drawn, plan_of
from tests.support.runs import Run, begin_run
from tests.support.stores import DrawStore, journal_of, read_draws, read_journal

KILLS = 2
QUICK = ("plackett_luce", "mace", "item_states")
SETTINGS = {"draws": 24, "chains": 2, "tune": 3, "thin": 2, "random_seed": 5, "progressbar": False}
UNJUDGED = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
pytestmark = UNJUDGED


class Killed(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(checkpointing, "_draws_per_block", lambda first, draws: 4)


def interrupted(monkeypatch, model, store, after, **settings):
    """Begin a run that ends after so many draws, in the middle of the next piece."""
    advance = Run.advance

    def until(run, n):
        if run.drawn >= after:
            advance(run, n)
            raise Killed
        return advance(run, n)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", until)
        with pytest.raises(Killed):
            inference.sample(model, store=store, **SETTINGS | settings)


@pytest.mark.parametrize("name", BUILD)
def test_pieces_threads_and_new_beginnings_change_no_bit(name):
    """A run that stops after 1 and 5 draws and begins anew from its state, on two threads, against one that does not."""
    model = BUILD[name]()
    whole = drawn(model, plan_of(12), [12])
    assert_same_bits(whole, drawn(model, plan_of(12, cores=2), [1, 4, 7]))


def test_seconds_of_the_first_draw_are_those_it_took(tmp_path, monkeypatch, small_pieces):
    begun = time.perf_counter()
    interrupted(monkeypatch, BUILD["dirichlet"](), tmp_path / "run.zarr", after=1)
    seconds = read_journal(journal_of(tmp_path / "run.zarr") / "state.npz")[0]["seconds"]
    assert 0 < seconds < time.perf_counter() - begun
    tree = inference.resume(tmp_path / "run.zarr", progressbar=False)
    assert seconds <= tree.attrs["seconds"] < time.perf_counter() - begun


def test_another_seed_has_other_bits():
    model = BUILD["dirichlet"]()
    with pytest.raises(AssertionError):
        assert_same_bits(*(drawn(model, plan_of(12, seed=seed), [12]) for seed in (7, 8)))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in QUICK)) for name in BUILD]
)
def test_a_run_goes_on_as_if_it_had_not_been_interrupted(name, tmp_path, monkeypatch, small_pieces):
    model, store = BUILD[name](), tmp_path / "run.zarr"
    whole = inference.sample(model, **SETTINGS)
    interrupted(monkeypatch, model, store, 9)
    part = read_draws(store)
    assert_same_bits(first_draws(whole, 12), first_draws(part, 12))
    resumed = inference.resume(store, progressbar=False)
    assert_same_bits(dict(whole.children), dict(resumed.children))
    said, expected = dict(resumed.attrs), dict(whole.attrs)
    assert said.pop("seconds") > 0 < expected.pop("seconds")
    assert said == expected
    assert not journal_of(store).exists()


@pytest.mark.parametrize("name", ["mace", "dirichlet"])
def test_a_run_of_the_scheme_before_goes_on(name, tmp_path, monkeypatch, small_pieces, golden):
    """The fingerprint of 0.1 cannot be compared, but the recipe tells the model."""
    model, store = BUILD[name](), tmp_path / "run.zarr"
    whole = inference.sample(model, **SETTINGS)
    with monkeypatch.context() as patched:
        patched.setattr(recipes, "fingerprint", lambda model: f"graph-2:{32 * '0'}")
        interrupted(monkeypatch, model, store, 9)
    with golden.raises(ValueError):
        inference.resume(store, BUILD["prirn"](), progressbar=False)
    resumed = inference.resume(store, model if name == "mace" else None, progressbar=False)
    assert_same_bits(dict(whole.children), dict(resumed.children))


def first_draws(tree, n):
    """Return what draws have, of the first `n`."""
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    return {k: g.isel(draw=slice(n)) for k, g in groups.items() if "draw" in g.dims}


@pytest.mark.parametrize("name", ["mace", "two_centres"])
def test_a_state_that_forgets_something_is_found_out(name, tmp_path, monkeypatch, small_pieces):
    """The table of spam, and the whitened coordinates, are carried, though a chain could go on without."""
    model, store = BUILD[name](), tmp_path / "run.zarr"
    whole = inference.sample(model, **SETTINGS)
    interrupted(monkeypatch, model, store, 9)
    restore = Run.restore

    def forget(run, state, drawn):
        restore(run, state, drawn)
        if name == "mace":
            run.state["table"][...] = 0.5
        else:
            run.state["z"] *= 1 + 1e-15

    monkeypatch.setattr(Run, "restore", forget)
    resumed = inference.resume(store, progressbar=False)
    with pytest.raises(AssertionError):
        assert_same_bits(dict(whole.children), dict(resumed.children))


def test_a_finished_store_is_what_writing_the_tree_gives(tmp_path):
    model = BUILD["plackett_luce"]()
    tree = inference.sample(model, **SETTINGS)
    inference.sample(model, store=tmp_path / "stored.zarr", **SETTINGS)
    tree.to_zarr(tmp_path / "written.zarr", consolidated=False)
    stored, written = (
        xr.open_datatree(tmp_path / f"{name}.zarr", engine="zarr", consolidated=False)
        for name in ("stored", "written")
    )
    assert_same_bits(dict(written.children), dict(stored.children))
    assert stored.attrs.keys() == written.attrs.keys()
    resumed = inference.resume(tmp_path / "stored.zarr")
    assert_same_bits(dict(written.children), dict(resumed.children))


def test_scores_beyond_single_precision_are_the_same_with_a_store(tmp_path, small_pieces):
    """Locations about 1e9, whose draws single precision does not tell apart."""
    table = {"item": list("aabb"), "rater": list("rsrs"), "score": [1e9, 1e9 + 1, 1e9 + 2, 1e9 + 4]}
    model = models.hierarchical_scores(models.Scores.from_table(table))
    tree = inference.sample(model, **SETTINGS)
    assert tree["posterior"]["location"].dtype == np.float64
    stored = inference.sample(model, store=tmp_path / "run.zarr", **SETTINGS)
    assert_same_bits(dict(tree.children), dict(stored.children))


def test_draws_that_single_precision_turns_out_not_to_hold_begin_anew(tmp_path, monkeypatch, small_pieces):
    """The pilot says single precision is enough, and a later draw is too small for it."""
    from raterzoo.inference.scores import hierarchical, precision

    monkeypatch.setattr(hierarchical, "score_pilot", lambda *_: (1, True))
    monkeypatch.setitem(precision.LARGEST, "float32", 4.0)
    model = BUILD["hierarchical_scores"]()
    tree = inference.sample(model, **SETTINGS)
    assert tree["posterior"]["location"].dtype == np.float64
    stored = inference.sample(model, store=tmp_path / "run.zarr", **SETTINGS)
    assert_same_bits(dict(tree.children), dict(stored.children))


def started(store):
    """Start a run in a process that has loaded everything before."""
    from tests.support import killable_runs  # compiles, which collecting tests should not

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.killable_runs"])
    process = context.Process(target=killable_runs.go, args=(store,))
    process.start()
    return process


def end(process, store, ends, wait=0.0):
    """Send a signal some time after the process has begun to write; return how it ended."""
    state = journal_of(store) / "state.npz"
    before = state.stat().st_mtime_ns if state.exists() else 0
    while process.is_alive() and (not state.exists() or state.stat().st_mtime_ns == before):
        time.sleep(0.001)
    time.sleep(wait)
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.kill(process.pid, ends)
    process.join()
    return process.exitcode


@pytest.mark.slow
def test_killed_at_random_times(tmp_path):
    """The store opens after every kill, has what it had, and the run ends as if nothing had happened."""
    whole = inference.sample(BUILD["plackett_luce"](), **KILLABLE)
    rng, kills, kept, left = np.random.default_rng(11), 0, 0, []
    store = tmp_path / "run0.zarr"
    while kills < KILLS or kept:
        ends = signal.SIGKILL if kills < KILLS else 0
        code = end(started(store), store, ends, rng.exponential(0.1))
        assert code in (0, -signal.SIGKILL)
        kills += code == -signal.SIGKILL
        if not store.exists():  # killed while it was being made
            continue
        part = read_draws(store)
        before, kept = kept, part["posterior"].sizes["draw"]
        left.append(kept)
        assert kept >= before
        assert_same_bits(first_draws(whole, kept), first_draws(part, kept))
        if code == 0:
            assert_same_bits(dict(whole.children), dict(part.children))
            store, kept = tmp_path / f"run{len(left)}.zarr", 0


def test_sigterm_leaves_what_was_drawn_and_ends_the_process(tmp_path):
    store = tmp_path / "run.zarr"
    assert end(started(store), store, signal.SIGTERM) == -signal.SIGTERM
    assert read_draws(store)["posterior"].sizes["draw"] <= KILLABLE["draws"]
    assert not list(journal_of(store).glob("*.partial"))


def test_an_interrupt_is_raised_when_the_piece_is_written(tmp_path, monkeypatch, small_pieces):
    store, write = tmp_path / "run.zarr", DrawStore.write
    before = signal.getsignal(signal.SIGINT)

    def interrupting(own, region, groups):
        if region["draw"].start == 4:
            signal.raise_signal(signal.SIGINT)
        write(own, region, groups)

    with monkeypatch.context() as patched:
        patched.setattr(DrawStore, "write", interrupting)
        with pytest.raises(KeyboardInterrupt):
            inference.sample(BUILD["dirichlet"](), store=store, **SETTINGS)
    assert read_draws(store)["posterior"].sizes["draw"] == 8
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("failing", [1, 2, 6])
def test_a_full_disk_leaves_a_store_to_go_on_with(failing, tmp_path, monkeypatch, small_pieces, golden):
    """Writing fails as on a full disk at some write of the run, which may be of a piece or of the journal."""
    model, store = BUILD["dawid_skene"](), tmp_path / "run.zarr"
    whole, replace, count = inference.sample(model, **SETTINGS), os.replace, []

    def full(source, target):
        if str(target).endswith("state.npz"):
            count.append(target)
            if len(count) == failing:
                raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with golden.raises(OSError) as raised:
            inference.sample(model, store=store, **SETTINGS)
    assert raised.value.errno == errno.ENOSPC
    if failing == 1:  # not even the journal had room
        assert not store.exists() and not journal_of(store).exists()
        return
    assert str(store) in str(raised.value)
    assert_same_bits(dict(whole.children), dict(inference.resume(store, progressbar=False).children))


def test_wrong_uses_say_what_to_do(tmp_path, monkeypatch, small_pieces, golden):
    model, store = BUILD["dirichlet"](), tmp_path / "run.zarr"
    with golden.raises(FileNotFoundError):
        inference.resume(store)
    with golden.raises(ValueError):
        inference.resume(tmp_path)
    interrupted(monkeypatch, model, store, 9)
    with pytest.raises(FileExistsError, match=r"inference\.resume"):
        inference.sample(model, store=store, **SETTINGS)
    with DrawStore.open(store), pytest.raises(BlockingIOError, match=f"process {os.getpid()}"):
        inference.resume(store)
    other = models.dirichlet(models.Labels.from_counts({"item": ["a"], "x": [1], "y": [2]}))
    with pytest.raises(ValueError, match="another model"):
        inference.resume(store, other)
    journal_of(store).rename(tmp_path / "elsewhere")
    with golden.raises(ValueError):
        inference.resume(store)
    (tmp_path / "elsewhere").rename(journal_of(store))
    state = journal_of(store) / "state.npz"
    whole = state.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"not an archive"):
        state.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            inference.resume(store)
    state.write_bytes(whole)
    zarr.open_group(store).attrs["schema_version"] = 99
    with golden.raises(ValueError):
        inference.resume(store)


def test_objects_in_a_journal_are_refused(tmp_path, monkeypatch, small_pieces):
    """A pickle is never read."""
    store, proof = tmp_path / "run.zarr", tmp_path / "executed"

    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(proof),)

    interrupted(monkeypatch, BUILD["dirichlet"](), store, 9)
    payload = np.empty(1, object)
    payload[0] = Payload()
    note = np.array(json.dumps({"drawn": 4, "seconds": 0.0}))
    with (journal_of(store) / "state.npz").open("wb") as file:
        np.savez(file, note=note, stream=payload)
    with pytest.raises(ValueError, match="damaged"):
        inference.resume(store)
    assert not proof.exists()


def test_a_model_that_was_changed_is_asked_for(tmp_path, monkeypatch, small_pieces, golden):
    """Nothing says how it was built; the same changes made again, it goes on."""
    import pymc as pm

    def changed():
        model = BUILD["normal_scores"]()
        with model:
            pm.Deterministic("doubled", 2 * model["location"], dims="item")
        return model

    store = tmp_path / "run.zarr"
    whole = inference.sample(changed(), **SETTINGS)
    interrupted(monkeypatch, changed(), store, 9)
    with golden.raises(ValueError):
        inference.resume(store)
    resumed = inference.resume(store, changed(), progressbar=False)
    assert_same_bits(dict(whole.children), dict(resumed.children))


def test_other_versions_are_told(tmp_path, monkeypatch, small_pieces, golden):
    store = tmp_path / "run.zarr"
    interrupted(monkeypatch, BUILD["dirichlet"](), store, 9)
    newer = schema.versions_of_now() | {"numba": "99"}
    monkeypatch.setattr(schema, "versions_of_now", lambda: newer)
    with golden.warns(inference.ResumeWarning):
        inference.resume(store, progressbar=False)


def test_draws_of_an_item_do_not_depend_on_the_others():
    """Exact draws are by streams of the items."""
    counts = {"item": list("abc"), "x": [3, 0, 2], "y": [1, 1, 5]}
    few = {"item": ["c", "a"], "x": [2, 3], "y": [5, 1]}
    one, other = (
        begin_run(models.dirichlet(models.Labels.from_counts(table)), plan_of(8)).advance(8)
        for table in (counts, few)
    )
    both = one["posterior"]["plausibility"].sel(item=["c", "a"])
    assert np.array_equal(both, other["posterior"]["plausibility"])


def test_every_builder_records_how_it_was_called():
    for name in models.catalog:
        assert hasattr(getattr(models, name), "__wrapped__"), name
    model = models.prirn(models.published_ddx_cases(), reliability=4)
    note, arrays = model_identity.note_of_run(model, plan_of(8), {})
    assert json.loads(json.dumps(note)) == note
    assert model_identity.fingerprint(
        model_identity.build_again(note["recipe"], arrays)
    ) == model_identity.fingerprint(model)
    other = models.prirn(models.published_ddx_cases(), reliability=5)
    assert model_identity.fingerprint(other) != model_identity.fingerprint(model)
    model.add_coord("further", [1, 2])
    assert model_identity.note_of_run(model, plan_of(8), {})[0]["recipe"] is None


def test_a_finished_store_is_of_its_model(tmp_path):
    """Another law or other data are refused where nothing is left to draw, too; the same model, or none, reads it."""
    own, other = (models.simulators.labels(items=8 + k, raters=3, random_seed=k).data for k in range(2))
    path, quiet = tmp_path / "run.zarr", {"progressbar": False}
    model = models.dirichlet(own)
    drawn = inference.sample(model, draws=20, chains=2, random_seed=1, store=path, **quiet)
    for given in (None, models.dirichlet(own)):
        assert inference.resume(path, given, **quiet)["posterior"].equals(drawn["posterior"])
    for given in (models.dirichlet(other), models.multinomial(own)):
        with pytest.raises(ValueError, match="another model"):
            inference.resume(path, given, **quiet)

"""Stores that are believed no more than they hold: unfinished ones of any size, links, and journals that another hand wrote."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from raterzoo import inference
from raterzoo.inference import checkpoints as checkpointing
from raterzoo.inference.storage import posterior_files, untrusted_files
from raterzoo.inference.storage.store import draws_per_block
from raterzoo.models import DataError

from tests.support.resumable_runs import BUILD
from tests.support.runs import Run
from tests.support.stores import (
    DrawStore,
    allocated,
    check_run,
    journal_of,
    read_draws,
    read_journal,
    read_posterior,
    store_attrs,
    write_journal,
)

DRAWS, ITEMS, PIECE = 600_000, 1000, 100  # 4.8 GB
pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
SETTINGS = {"draws": 24, "chains": 2, "tune": 3, "thin": 2, "random_seed": 5, "progressbar": False}


def piece(draws):
    coords = {"chain": [0, 1], "draw": np.arange(draws), "item": np.arange(ITEMS)}
    array = xr.DataArray(np.ones((2, draws, ITEMS), np.float32), coords, ("chain", "draw", "item"))
    return {"posterior": array.to_dataset(name="plausibility")}


@pytest.fixture
def large(tmp_path):
    """Return a store of 4.8 GB in which nothing is written."""
    path = tmp_path / "large.zarr"
    with DrawStore.create(path, allocated(piece(1), {"draw": DRAWS}), {}, {"draw": PIECE}):
        pass
    assert sum(file.stat().st_size for file in path.rglob("*")) < 2**22
    return path


def test_a_large_store_that_was_killed_before_its_first_piece_is_gone_on_with(large):
    assert store_attrs(large)["draws_written"] == 0
    assert read_draws(large)["posterior"].sizes["draw"] == 0
    with DrawStore.open(large) as store:
        store.write({"draw": slice(0, PIECE)}, piece(PIECE))
        store.mark({"drawn": PIECE}, {}, PIECE)
        assert store.read_journal()[0] == {"drawn": PIECE}
    assert read_draws(large)["posterior"]["plausibility"].sum() == 2 * PIECE * ITEMS
    assert read_posterior(large)["posterior"].sizes["draw"] == PIECE


@pytest.mark.parametrize("written", [DRAWS, 10**15, -1, True, "0"])
def test_what_an_unfinished_store_says_is_there_has_to_be(large, written, golden):
    zarr.open_group(large).attrs["draws_written"] = written
    with golden.raises(DataError):
        untrusted_files.check_zarr(large)


@pytest.mark.parametrize(
    "changed",
    [
        {"dimension_names": ["chain", "draws", "item"]},
        {"dimension_names": ["chain", "plausibility", "item"]},
        {"dimension_names": ["draw", "plausibility", "item"]},
        {"dimension_names": ["draw"]},
        {"dimension_names": None},
    ],
)
def test_what_is_not_of_draws_counts_as_a_whole(large, changed):
    """Ids of a dim are read when a store is opened, however many draws are written."""
    file = large / "posterior" / "plausibility" / "zarr.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    with pytest.raises(DataError, match="its arrays declare"):
        untrusted_files.check_zarr(large)


def test_chunks_of_an_unfinished_store_are_bounded(large, golden):
    file = large / "posterior" / "plausibility" / "zarr.json"
    node = json.loads(file.read_text())
    node["chunk_grid"]["configuration"]["chunk_shape"] = [2, DRAWS, ITEMS]
    file.write_text(json.dumps(node))
    with golden.raises(DataError):
        untrusted_files.check_zarr(large)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.zarr"
    xr.DataTree.from_dict(piece(2)).to_zarr(path, consolidated=False)
    untrusted_files.check_zarr(path)
    return path


def hidden(store):
    """Put an array of 40 GB among the chunks of another."""
    target = store / "posterior" / "plausibility" / "c" / "hidden"
    target.mkdir()
    node = json.loads((store / "posterior" / "plausibility" / "zarr.json").read_text())
    node |= {"shape": [2, 5 * 10**9, 1000]}
    (target / "zarr.json").write_text(json.dumps(node))
    return target


def test_links_in_a_store_are_refused(small, tmp_path, golden):
    target = hidden(small)
    link = small / "posterior" / "evil"
    link.symlink_to("plausibility/c/hidden")
    with golden.raises(ValueError):
        read_posterior(small)
    link.unlink()
    with golden.raises(DataError):
        untrusted_files.check_zarr(small)
    shutil.rmtree(target)
    untrusted_files.check_zarr(small)
    (tmp_path / "elsewhere").symlink_to(small)  # of the whole store: whose it is, is known
    untrusted_files.check_zarr(tmp_path / "elsewhere")


@pytest.mark.parametrize("where", ["zarr.json", "posterior/zarr.json", "posterior/plausibility/c/0"])
def test_parts_of_a_store_that_are_links_are_refused(small, tmp_path, where, golden):
    (small / where).rename(tmp_path / "moved")
    (small / where).symlink_to(tmp_path / "moved")
    with golden.raises(DataError):
        untrusted_files.check_zarr(small)


def test_a_pipe_is_not_waited_for(small, golden):
    os.mkfifo(small / "posterior" / "plausibility" / "c" / "9")
    with golden.raises(DataError):
        untrusted_files.check_zarr(small)


@pytest.mark.parametrize("name", [".zarray", ".zgroup", ".zattrs", ".zmetadata"])
def test_declarations_of_format_2_below_an_array_are_refused(small, name, golden):
    (small / "posterior" / "plausibility" / "c" / "0" / name).write_text("{}")
    with golden.raises(DataError):
        untrusted_files.check_zarr(small)


class Killed(Exception):
    """Stands for whatever ends a process."""


def test_a_store_that_is_discarded_is_whole_or_gone(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    full = allocated(piece(1), {"draw": 8})
    store = DrawStore.create(path, full, {}, {"draw": 4})

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed), store:
        patched.setattr(shutil, "rmtree", kill)
        store.discard()
    assert not path.exists()
    with DrawStore.create(path, full, {}, {"draw": 4}) as again:
        again.discard()
    assert not path.exists() and not journal_of(path).exists()


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """Return a store of a run that ended after 12 of 24 draws, and its journal."""
    advance, store = Run.advance, tmp_path_factory.mktemp("runs") / "run.zarr"

    def until(run, n):
        if run.drawn >= 9:
            raise Killed
        return advance(run, n)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpointing, "_draws_per_block", lambda first, draws: 4)
        patched.setattr(Run, "advance", until)
        with pytest.raises(Killed):
            inference.sample(BUILD["plackett_luce"](), store=store, **SETTINGS)
    return store


@pytest.fixture
def run(whole_run, tmp_path):
    """Return a copy of that store."""
    for folder in (whole_run, journal_of(whole_run)):
        shutil.copytree(folder, tmp_path / folder.name)
    return tmp_path / "run.zarr"


def rewritten(run, name, change):
    """Change note and arrays of a file of a journal in place."""
    file = journal_of(run) / f"{name}.npz"
    note, arrays = ({**held} for held in read_journal(file))
    change(note, arrays)
    write_journal(file, note, arrays)


def arguments(note):
    return note["recipe"]["arguments"]


def container(note):
    return next(v for v in arguments(note).values() if isinstance(v, dict) and "container" in v)


RECIPES = {
    "an array is missing": lambda note, arrays: arrays.pop("recipe_0"),
    "a field is missing": lambda note, _: container(note)["fields"].pop("items"),
    "a field too many": lambda note, _: container(note)["fields"].update(more=1),
    "no fields": lambda note, _: container(note).pop("fields"),
    "an empty mapping": lambda note, _: arguments(note).update(reliability={}),
    "no arguments": lambda note, _: note["recipe"].pop("arguments"),
    "arguments of text": lambda note, _: note["recipe"].update(arguments="x"),
    "an argument too many": lambda note, _: arguments(note).update(more=1),
    "no builder": lambda note, _: note["recipe"].update(builder="system"),
    "a list as builder": lambda note, _: note["recipe"].update(builder=["prirn"]),
}


@pytest.mark.parametrize("what", RECIPES)
def test_recipes_that_build_no_model(run, what):
    rewritten(run, "run", RECIPES[what])
    with pytest.raises(ValueError) as raised:
        inference.resume(run, progressbar=False)
    message = str(raised.value)
    assert str(run) in message
    assert "pass it: inference.resume(path, model)" in message or "start anew" in message


NO_RUN = {
    "no plan": ("run", lambda note, _: note.pop("plan")),
    "a key too many": ("run", lambda note, _: note["plan"].update(more=1)),
    "no pieces": ("run", lambda note, _: note.update(piece=0)),
    "other draws": ("run", lambda note, _: note["plan"].update(draws=400_000)),
    "nothing found": ("run", lambda _, arrays: arrays.pop("found_thinning")),
    "more draws than there are": ("state", lambda note, _: note.update(drawn=400_000)),
    "no draws": ("state", lambda note, _: note.pop("drawn")),
    "no seconds": ("state", lambda note, _: note.pop("seconds")),
    "no state": ("state", lambda _, arrays: arrays.clear()),
    "another state": ("state", lambda _, arrays: arrays.update(x=np.ones(3))),
}


@pytest.mark.parametrize("what", NO_RUN)
def test_journals_that_are_not_of_the_run(run, what, golden):
    rewritten(run, *NO_RUN[what])
    with golden.raises(ValueError) as raised:
        inference.resume(run, BUILD["plackett_luce"](), progressbar=False)
    assert str(run) in str(raised.value)
    assert read_draws(run)["posterior"].sizes["draw"] == 12  # which can still be read


def test_packages_that_are_not_known_now_are_told_of(run):
    def change(note, _):
        versions = json.loads(note["attributes"]["versions"]) | {"other": "1.0"}
        note["attributes"]["versions"] = json.dumps(versions)

    rewritten(run, "run", change)
    with pytest.warns(inference.ResumeWarning, match=r"other 1\.0"):
        inference.resume(run, progressbar=False)


def test_a_journal_of_a_newer_version_is_left_alone(run, golden):
    rewritten(run, "state", lambda note, _: note.update(journal_version=2))
    with golden.raises(ValueError):
        inference.resume(run, progressbar=False)
    assert Path(journal_of(run) / "state.npz").exists()


def test_width_of_an_element_is_that_in_memory():
    widths = {
        name: width
        for name, width in untrusted_files.BYTES.items()
        if name[-1].isdigit() and "utf" not in name
    }
    assert len(widths) == 11
    for name, width in (widths | {"bool": untrusted_files.BYTES["bool"]}).items():
        assert width == np.dtype(name).itemsize


def test_a_block_of_draws_keeps_to_64_mebibytes():
    assert draws_per_block(2**20, 10**6) == 64
    assert draws_per_block(1, 1000) == 50 and draws_per_block(2**40, 1000) == 1


@pytest.mark.parametrize(
    ("options", "allowed"),
    [({"target_accept": 0.9}, True), ({"target_accept": 1}, False), ({"target_accept": 0.0}, False),
     ({"max_treedepth": 8}, True), ({"max_treedepth": 0}, False)],
)  # fmt: skip
def test_options_of_nuts_in_a_journal_are_checked(options, allowed):
    plan = {
        "draws": 5,
        "tune": 5,
        "chains": 2,
        "cores": 1,
        "seed": 1,
        "progressbar": False,
        "thin": 1,
        "dtype": "float32",
    }
    note = {
        "plan": plan | {"densities": True},
        "recipe": None,
        "fingerprint": "x",
        "attributes": {"method": "nuts", "versions": "{}"},
        "every": 1,
        "options": options,
        "sampler": "pymc",
    }
    raised = contextlib.nullcontext() if allowed else pytest.raises(ValueError, match=next(iter(options)))
    with raised:
        check_run(Path("run.npz"), note, {"draw": 5, "chain": 2})


def test_a_chunk_of_netcdf_that_needs_too_much_memory_is_refused(tmp_path, golden):
    """The chunk is declared, not written."""
    path = tmp_path / "large.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2**29,), "f8", chunks=(2**28 + 1,))
    with golden.raises(ValueError):
        untrusted_files.check_netcdf(path)


def test_a_store_that_exists_is_not_written_over(tmp_path, golden):
    path = tmp_path / "new" / "run.zarr"
    assert posterior_files.stored(None) == {} and posterior_files.stored(path) == {"store": path}
    path.mkdir()
    with golden.raises(ValueError):
        posterior_files.stored(path)

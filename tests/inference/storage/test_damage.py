"""Stored posteriors that are damaged in any way are never evaluated or resumed: the message names the file and the remedy."""

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from raterzoo import inference
from raterzoo.inference.storage import checksums
from raterzoo.inference.storage.checksums import CHECKSUMS, Checksums, DamageError
from raterzoo.inference.storage.posterior_files import read_posterior, write_posterior
from raterzoo.inference.storage.store import DrawStore, allocated, read_draws

from tests.support.command_line import run, said, write
from tests.support.fuzz_posteriors import posterior

DRAWS, PIECE = 50, 10
PLAUSIBILITY = "posterior/plausibility"
ATTRS = {"model": "dirichlet", "method": "exact", "seed": 1, "versions": "{}"}


def block(first, end):
    """Groups of some draws."""
    groups = {name: node.to_dataset() for name, node in posterior().children.items()}
    return {n: g.isel(draw=slice(first, end)) for n, g in groups.items() if "draw" in g.dims}


def draw_store(path, draws, finished):
    """Write a store block by block, as samplers do."""
    groups = {name: node.to_dataset() for name, node in posterior().children.items()}
    groups["posterior"]["plausibility"].attrs["truth"] = "category"
    with DrawStore.create(path, allocated(groups, {"draw": DRAWS}), ATTRS, {"draw": PIECE}) as store:
        for first in range(0, draws, PIECE):
            store.write({"draw": slice(first, first + PIECE)}, block(first, first + PIECE))
            store.mark({"drawn": first + PIECE}, {}, first + PIECE)
        if finished:
            store.finish(ATTRS)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a finished and an unfinished store, one that was written at once, and a netCDF file."""
    folder = tmp_path_factory.mktemp("whole")
    draw_store(folder / "finished.zarr", DRAWS, finished=True)
    draw_store(folder / "unfinished.zarr", 30, finished=False)
    for suffix in (".zarr", ".nc"):
        write_posterior(posterior(), folder / f"written{suffix}")
    return folder


@pytest.fixture
def stored(whole, tmp_path):
    """Return a copy of that folder."""
    return shutil.copytree(whole, tmp_path / "stored")


def flip(file, rng):
    """Flip one bit."""
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def exchange(one, other):
    """Exchange two files."""
    first = one.read_bytes()
    assert first != other.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)


def declare(store, key, **changed):
    """Change the declaration of a group or array."""
    file = store / key / "zarr.json"
    node = json.loads(file.read_text())
    assert all(node[name] != value for name, value in changed.items())
    file.write_text(json.dumps(node | changed, indent=2))


def attribute(store, key, **changed):
    """Change attributes of a group or array."""
    old = json.loads((store / key / "zarr.json").read_text())["attributes"]
    declare(store, key, attributes=old | changed)


def rewrite(file, change):
    """Change the bytes of a file."""
    file.write_bytes(change(file.read_bytes()))


def manifest(store):
    (found,) = store.glob(f"*/*/{CHECKSUMS}")
    return found


def chunk(number, array=PLAUSIBILITY):
    return f"{array}/c/0/{number}/0" + ("/0" if array == PLAUSIBILITY else "")


SCORES = "log_likelihood/observed_label"
FIRST, SECOND = chunk(0), chunk(1)
DAMAGE = {  # what -> (how, the file that the message names)
    "chunks exchanged": (lambda s: exchange(s / FIRST, s / SECOND), PLAUSIBILITY),
    "chunks of other groups exchanged": (lambda s: exchange(s / chunk(0, SCORES), s / chunk(1, SCORES)), SCORES),
    "a chunk is a copy of another": (lambda s: shutil.copy(s / FIRST, s / SECOND), SECOND),
    "a chunk is cut": (lambda s: rewrite(s / SECOND, lambda b: b[:-1]), SECOND),
    "a chunk is longer": (lambda s: rewrite(s / SECOND, lambda b: b + b"\0"), SECOND),
    "a chunk is empty": (lambda s: rewrite(s / SECOND, lambda b: b""), SECOND),
    "a chunk is all zero": (lambda s: rewrite(s / SECOND, lambda b: b"\0" * len(b)), SECOND),
    "a chunk is missing": (lambda s: (s / SECOND).unlink(), SECOND),
    "all chunks are missing": (lambda s: shutil.rmtree(s / PLAUSIBILITY / "c"), PLAUSIBILITY),
    "a chunk too many": (lambda s: shutil.copy(s / FIRST, s / PLAUSIBILITY / "c/7"), "c/7"),
    "an item is missing": (lambda s: (s / "posterior/item/c/0").unlink(), "posterior/item/c/0"),
    "ids of items": (lambda s: flip(s / "posterior/item/c/0", random.Random(1)), "posterior/item/c/0"),
    "an array is missing": (lambda s: shutil.rmtree(s / "log_likelihood/observed_label"), SCORES),
    "a group is missing": (lambda s: shutil.rmtree(s / "log_likelihood"), "log_likelihood"),
    "a group too many": (lambda s: shutil.copytree(s / "log_likelihood", s / "prior"), "prior"),
    "an array too many": (lambda s: shutil.copytree(s / SCORES, s / "posterior/more"), "posterior/more"),
    "another model": (lambda s: attribute(s, ".", model="dawid_skene"), "zarr.json"),
    "an attribute less": (lambda s: declare(s, ".", attributes={}), "zarr.json"),
    "another truth": (lambda s: attribute(s, PLAUSIBILITY, truth="plausibility"), PLAUSIBILITY),
    "another type": (lambda s: declare(s, PLAUSIBILITY, data_type="int32", fill_value=0), PLAUSIBILITY),
    "another shape": (lambda s: declare(s, PLAUSIBILITY, shape=[2, 60, 4, 3]), PLAUSIBILITY),
    "fewer draws": (lambda s: declare(s, PLAUSIBILITY, shape=[2, 40, 4, 3]), PLAUSIBILITY),
    "another fill value": (lambda s: declare(s, PLAUSIBILITY, fill_value=0.5), PLAUSIBILITY),
    "other dims": (lambda s: declare(s, PLAUSIBILITY, dimension_names=["draw", "chain", "item", "category"]), PLAUSIBILITY),
    "unfinished again": (lambda s: attribute(s, ".", draws_written=20), "zarr.json"),
    "no checksums": (lambda s: manifest(s).unlink(), CHECKSUMS),
    "no lines of checksums": (lambda s: rewrite(manifest(s), lambda b: b""), CHECKSUMS),
    "a line of checksums less": (lambda s: rewrite(manifest(s), lambda b: b.replace(b.splitlines(True)[5], b"")), CHECKSUMS),
    "checksums without their end": (lambda s: rewrite(manifest(s), lambda b: b[: b.rindex(b"end")]), CHECKSUMS),
    "checksums half": (lambda s: rewrite(manifest(s), lambda b: b[: len(b) // 2]), CHECKSUMS),
    "two files of checksums": (lambda s: shutil.copy(manifest(s), s / "posterior/item"), CHECKSUMS),
    "checksums of another store": (lambda s: shutil.copy(manifest(s.with_name("written.zarr")), manifest(s)), "zarr.json"),
}  # fmt: skip


def refused(path, named=""):
    """Return the message for a damaged posterior, which no reader returns and no command believes."""
    with pytest.raises(ValueError) as caught:
        read_posterior(path)
    message = str(caught.value)
    assert str(path) in message and named in message and "remedy: " in message
    assert "fit again" in message or "raterzoo fit" in message
    return message


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_store_is_refused(stored, what):
    spoil, named = DAMAGE[what]
    path = stored / "finished.zarr"
    spoil(path)
    refused(path, named)
    with pytest.raises(ValueError):
        inference.resume(path, progressbar=False)


@pytest.mark.parametrize("name", ["finished.zarr", "unfinished.zarr", "written.zarr", "written.nc"])
def test_a_flipped_bit_is_found_wherever_it_is(stored, name):
    """Every file of a store, and many places of a netCDF file."""
    rng, path = random.Random(name), stored / name
    files = [path] * 25 if path.is_file() else [f for f in sorted(path.rglob("*")) if f.is_file()]
    for file in files:
        before = file.read_bytes()
        flip(file, rng)
        try:
            refused(path)
        except pytest.fail.Exception:
            last = file.name == CHECKSUMS and name.startswith("un")  # a line that a kill may have cut
            assert last and file.read_bytes()[-1:] != b"\n"
        file.write_bytes(before)
    assert read_posterior(path)["posterior"].sizes["draw"] in (30, 50)


@pytest.mark.parametrize(
    "what", ["chunks exchanged", "a chunk is missing", "a chunk is empty", "another model", "no checksums"]
)
def test_a_damaged_unfinished_store_is_not_resumed(stored, what):
    spoil, named = DAMAGE[what]
    path = stored / "unfinished.zarr"
    spoil(path)
    refused(path, named)
    with pytest.raises(DamageError, match=named):
        inference.resume(path, progressbar=False)


def in_hdf5(change):
    """Return a function that changes a file by h5py, which leaves a valid one."""

    def spoil(path):
        with h5py.File(path, "r+") as file:
            change(file)

    return spoil


def exchanged(file):
    array = file[PLAUSIBILITY]
    array[:, :25], array[:, 25:] = array[:, 25:], array[:, :25]


NETCDF = {
    "cut": lambda p: rewrite(p, lambda b: b[:-100]),
    "cut in its checksum": lambda p: rewrite(p, lambda b: b[:-10]),
    "longer": lambda p: rewrite(p, lambda b: b + b"\0"),
    "empty": lambda p: rewrite(p, lambda b: b""),
    "another checksum": lambda p: rewrite(p, lambda b: b[:-9] + b"00000000\n"),
    "another model": in_hdf5(lambda file: file.attrs.modify("model", "mace     ")),
    "draws exchanged": in_hdf5(exchanged),
}


def test_numbers_with_a_unit_of_time_stay_numbers(tmp_path):
    path = tmp_path / "days.nc"
    days = xr.DataArray(np.ones((2, 3)), dims=("chain", "draw"), attrs={"units": "days since 2000-01-01"})
    draws = posterior()["posterior"].to_dataset()[["plausibility"]].isel(draw=slice(3)).assign(days=days)
    xr.DataTree.from_dict({"posterior": draws}).to_netcdf(path, engine="h5netcdf")
    assert read_posterior(path)["posterior"]["days"].dtype == float


@pytest.mark.parametrize("what", NETCDF)
def test_a_damaged_netcdf_file_is_refused(stored, what):
    path = stored / "written.nc"
    NETCDF[what](path)
    refused(path)


def test_netcdf_has_checksums_that_other_programs_check(stored):
    path = stored / "written.nc"
    with h5py.File(path) as file:
        array: Any = file[PLAUSIBILITY]
        assert array.fletcher32
        place = array.id.get_chunk_info(0).byte_offset
    rewrite(path, lambda b: b[:place] + bytes([b[place] ^ 1]) + b[place + 1 :])
    with xr.open_datatree(path, engine="h5netcdf") as tree, pytest.raises(OSError):
        tree.load()


@pytest.mark.parametrize("oldest", ["earliest", "v108", "v110"])
def test_the_end_of_hdf5_is_found_in_every_superblock(tmp_path, oldest):
    path = tmp_path / "x.nc"
    with h5py.File(path, "w", libver=(oldest, "latest")) as file:
        file["x"] = np.arange(100.0)
    size, start = path.stat().st_size, path.read_bytes()[:64]
    assert start[8] == ["earliest", None, "v108", "v110"].index(oldest)
    assert checksums._end_of_hdf5(start, size + 50) == size
    if (
        oldest == "earliest"
    ):  # version 1: four bytes more before the addresses (HDF5 File Format Specification 3.0, II.A)
        first = start[:8] + bytes([1]) + start[9:24] + bytes([32, 0, 0, 0]) + start[24:60]
        assert checksums._end_of_hdf5(first, size + 50) == size
    assert (
        checksums._end_of_hdf5(start[:8] + bytes([9]) + start[9:], size) == size
    )  # a version that is not known


@pytest.mark.parametrize("name", ["finished.zarr", "written.zarr", "written.nc"])
def test_undamaged_posteriors_are_read(stored, name):
    path = stored / name
    tree = read_posterior(path).load()
    np.testing.assert_array_equal(tree["posterior"]["plausibility"], posterior()["posterior"]["plausibility"])
    if path.is_dir():  # files of the system, which zarr never reads
        (path / PLAUSIBILITY / ".DS_Store").write_bytes(b"x")
    read_posterior(path)


def test_without_verification_exchanged_chunks_are_not_seen(stored, monkeypatch):
    """The wrong twin: zarr alone reads other draws than were written."""
    path = stored / "finished.zarr"
    DAMAGE["chunks exchanged"][0](path)
    monkeypatch.setattr(Checksums, "of", classmethod(lambda cls, store: None))
    read = read_posterior(path)["posterior"]["plausibility"].to_numpy()
    written = posterior()["posterior"]["plausibility"].to_numpy()
    assert not np.array_equal(read, written)
    np.testing.assert_array_equal(np.sort(read, axis=None), np.sort(written, axis=None))


def test_damage_after_opening_is_found_when_it_is_read(stored):
    path = stored / "finished.zarr"
    tree = read_draws(path)
    (path / SECOND).unlink()
    flip(path / chunk(0, SCORES), random.Random(1))
    assert tree["posterior"]["item"].size == 4
    with pytest.raises(DamageError, match=f"{SECOND}: it is missing"):
        tree["posterior"]["plausibility"].to_numpy()
    with pytest.raises(DamageError, match=f"{chunk(0, SCORES)}: its bytes"):
        tree["log_likelihood"]["observed_label"].to_numpy()


@pytest.mark.parametrize("what", ["chunks exchanged", "a chunk is missing", "another model"])
def test_commands_believe_no_damaged_store(stored, tmp_path, what):
    path = stored / "finished.zarr"
    predictions = write(
        tmp_path / "p.csv", {"item": ["i1", "i2", "i3", "i4"], "category": ["flu"] * 4, "rank": [1] * 4}
    )
    assert "accuracy" in run("evaluate", path, predictions).stdout
    DAMAGE[what][0](path)
    for command in (["evaluate", path, predictions], ["fit", "--resume", path]):
        result = run(*command)
        assert result.exit_code == 2 and not result.stdout.strip(), result.stdout
        assert DAMAGE[what][1] in said(result) and "remedy: " in said(result)


def test_stores_without_checksums_are_read_and_gone_on_with(stored):
    path = stored / "unfinished.zarr"
    manifest(path).unlink()
    attribute(path, ".", draws_written=29)  # written anew, as by another version
    assert read_posterior(path)["posterior"].sizes["draw"] == 29
    with DrawStore.open(path) as store:
        for first in range(30, DRAWS, PIECE):
            store.write({"draw": slice(first, first + PIECE)}, block(first, first + PIECE))
        store.mark({"drawn": DRAWS}, {}, DRAWS)
        store.finish(ATTRS)
    assert read_posterior(path)["posterior"].equals(posterior()["posterior"])
    rewrite(path / SECOND, lambda b: b[::-1])
    refused(path, SECOND)


@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_posteriors_of_other_programs_are_read_with_a_note(tmp_path, suffix):
    """What xarray writes anew from a posterior of ours has no checksums, and is not taken for damaged."""
    ours, theirs = tmp_path / f"ours{suffix}", tmp_path / f"theirs{suffix}"
    write_posterior(posterior(), ours)
    if suffix == ".zarr":
        xr.open_datatree(ours, engine="zarr", consolidated=False).to_zarr(theirs, consolidated=False)
    else:
        with xr.open_datatree(ours, engine="h5netcdf") as tree:
            tree.to_netcdf(theirs, engine="h5netcdf")
    predictions = write(
        tmp_path / "p.csv", {"item": ["i1", "i2", "i3", "i4"], "category": ["flu"] * 4, "rank": [1] * 4}
    )
    note = "has no checksums"
    results = {path: run("evaluate", path, predictions) for path in (ours, theirs)}
    assert all(result.exit_code == 0 for result in results.values())
    assert note not in results[ours].stderr and results[theirs].stderr.count(note) == 1
    assert results[ours].stdout == results[theirs].stdout


def test_a_kill_between_any_two_writes_leaves_a_valid_store(tmp_path, monkeypatch):
    """The disk is copied at each change of the file of checksums, before and after."""
    copies, path = [], tmp_path / "run.zarr"
    append, replace = Checksums._append, Checksums._write

    def copied(change):
        def changed(own, *what):
            for _ in range(2):
                if path.exists():
                    copies.append(shutil.copytree(path, tmp_path / f"copy{len(copies)}.zarr"))
                    if len(copies) % 2:
                        change(own, *what)
                else:
                    return change(own, *what)
            return None

        return changed

    monkeypatch.setattr(Checksums, "_append", copied(append))
    monkeypatch.setattr(Checksums, "_write", copied(replace))
    draw_store(path, DRAWS, finished=True)
    assert len(copies) > 40
    believed = 0
    for copy in copies:
        found = Checksums.of(copy)
        assert found is not None
        found.verify()
        if not found._sealed:  # it is gone on with, and the first block is that of another chain
            unresolved = Checksums.of(shutil.copytree(copy, tmp_path / "unresolved.zarr"))
            found.resolve()
            for own in (found, unresolved):
                own.mark()
            Checksums.of(copy).verify()
            try:
                Checksums.of(unresolved.store).verify()
            except DamageError:
                believed += 1  # to be written, and is not
            shutil.rmtree(unresolved.store)
    assert believed > 10


def test_a_line_that_a_kill_or_a_full_disk_cut_is_no_damage(stored):
    path = stored / "unfinished.zarr"
    with manifest(path).open("ab") as file:
        file.write(b"0123abcd 44")
    assert read_posterior(path)["posterior"].sizes["draw"] == 30
    with DrawStore.open(path) as store:
        store.write({"draw": slice(30, 40)}, block(30, 40))
        store.mark({"drawn": 40}, {}, 40)
    assert read_posterior(path)["posterior"].sizes["draw"] == 40


def test_files_of_file_managers_are_no_damage_and_others_are_to_be_removed(stored):
    path = stored / "finished.zarr"
    for name in ("desktop.ini", "Thumbs.db", ".DS_Store"):
        (path / "posterior" / name).write_bytes(b"x")
    assert read_posterior(path)["posterior"].sizes["draw"] == DRAWS
    (path / "posterior" / "notes.txt").write_bytes(b"x")
    assert "remove it" in refused(path, "notes.txt")


def test_threads_record_whole_lines(stored):
    """Files that threads write at once have a line each."""
    path = stored / "unfinished.zarr"
    found = Checksums.of(path)
    keys = [f"{PLAUSIBILITY}/c/9/{k}/0" for k in range(400)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: found.record(key, key.encode()), keys))
    assert sorted(
        line.split()[-1] for line in manifest(path).read_text().splitlines() if "/c/9/" in line
    ) == sorted(keys)


def test_memory_of_verification_is_bounded(stored, monkeypatch):
    monkeypatch.setattr(checksums, "BLOCK", 7)
    for name in ("finished.zarr", "written.nc"):
        read_posterior(stored / name)
    file = Path(stored / "written.nc")
    assert checksums.Checksum.of_file(file) == checksums.Checksum.of(file.read_bytes())

"""Stored posteriors with damaged or missing numbers are never evaluated or resumed: the message names the file and the remedy."""

import json
import random
import shutil
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from raterzoo import inference
from raterzoo.inference.storage import store as stores
from raterzoo.inference.storage.untrusted_files import DamageError

from tests.support.command_line import run, said, write
from tests.support.fuzz_posteriors import posterior
from tests.support.stores import DrawStore, allocated, read_draws, read_posterior, write_posterior

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


def declare(store, key, **changed):
    """Change the declaration of a group or array."""
    file = store / key / "zarr.json"
    node = json.loads(file.read_text())
    assert all(node[name] != value for name, value in changed.items())
    file.write_text(json.dumps(node | changed, indent=2))


def rewrite(file, change):
    """Change the bytes of a file."""
    file.write_bytes(change(file.read_bytes()))


def chunk(number, array=PLAUSIBILITY):
    return f"{array}/c/0/{number}/0" + ("/0" if array == PLAUSIBILITY else "")


SCORES = "log_likelihood/observed_label"
FIRST, SECOND = chunk(0), chunk(1)
DAMAGE = {  # what -> (how, the file that the message names)
    "a chunk is cut": (lambda s: rewrite(s / SECOND, lambda b: b[:-1]), SECOND),
    "a chunk is longer": (lambda s: rewrite(s / SECOND, lambda b: b + b"\0"), SECOND),
    "a chunk is empty": (lambda s: rewrite(s / SECOND, lambda b: b""), SECOND),
    "a chunk is all zero": (lambda s: rewrite(s / SECOND, lambda b: b"\0" * len(b)), SECOND),
    "a chunk is missing": (lambda s: (s / SECOND).unlink(), SECOND),
    "all chunks are missing": (lambda s: shutil.rmtree(s / PLAUSIBILITY / "c"), PLAUSIBILITY),
    "an item is missing": (lambda s: (s / "posterior/item/c/0").unlink(), "posterior/item/c/0"),
    "a draw number is missing": (lambda s: (s / "posterior/draw/c/0").unlink(), "posterior/draw/c/0"),
    "ids of items": (lambda s: flip(s / "posterior/item/c/0", random.Random(1)), "posterior/item/c/0"),
    "more draws": (lambda s: declare(s, PLAUSIBILITY, shape=[2, 60, 4, 3]), PLAUSIBILITY),
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


@pytest.mark.parametrize("name", ["finished.zarr", "unfinished.zarr", "written.zarr"])
def test_a_flipped_bit_is_found_in_every_chunk(stored, name):
    rng, path = random.Random(name), stored / name
    chunks = [f for f in sorted(path.rglob("*")) if f.is_file() and f.name != "zarr.json"]
    assert len(chunks) >= 9
    for file in chunks:
        before = file.read_bytes()
        flip(file, rng)
        refused(path, str(file.relative_to(path)))
        file.write_bytes(before)
    assert read_posterior(path)["posterior"].sizes["draw"] in (30, 50)


def test_a_flipped_bit_is_found_in_every_number_of_netcdf(stored):
    rng, path = random.Random(1), stored / "written.nc"
    with h5py.File(path) as file:
        arrays: list[Any] = [
            file[name] for name in (PLAUSIBILITY, SCORES, "posterior/draw", "posterior/chain")
        ]
        places = [array.id.get_chunk_info(k) for array in arrays for k in range(array.id.get_num_chunks())]
    for info in places:
        at, bit = info.byte_offset + rng.randrange(info.size), 1 << rng.randrange(8)
        rewrite(path, lambda b, at=at, bit=bit: b[:at] + bytes([b[at] ^ bit]) + b[at + 1 :])
        refused(path)
        rewrite(path, lambda b, at=at, bit=bit: b[:at] + bytes([b[at] ^ bit]) + b[at + 1 :])
    read_posterior(path)


@pytest.mark.parametrize("what", ["a chunk is missing", "a chunk is empty", "ids of items"])
def test_a_damaged_unfinished_store_is_not_resumed(stored, what):
    spoil, named = DAMAGE[what]
    path = stored / "unfinished.zarr"
    spoil(path)
    refused(path, named)
    with pytest.raises(DamageError, match=named):
        inference.resume(path, progressbar=False)


def test_draws_that_are_not_written_yet_are_not_missing(stored):
    path = stored / "unfinished.zarr"
    assert not (path / chunk(3)).exists() and read_posterior(path)["posterior"].sizes["draw"] == 30
    (path / chunk(2)).unlink()
    refused(path, chunk(2))


NETCDF = {"cut": lambda b: b[:-100], "cut in half": lambda b: b[: len(b) // 2], "empty": lambda b: b""}


def test_numbers_with_a_unit_of_time_stay_numbers(tmp_path):
    path = tmp_path / "days.nc"
    days = xr.DataArray(np.ones((2, 3)), dims=("chain", "draw"), attrs={"units": "days since 2000-01-01"})
    draws = posterior()["posterior"].to_dataset()[["plausibility"]].isel(draw=slice(3)).assign(days=days)
    xr.DataTree.from_dict({"posterior": draws}).to_netcdf(path, engine="h5netcdf")
    assert read_posterior(path)["posterior"]["days"].dtype == float


@pytest.mark.parametrize("what", NETCDF)
def test_a_damaged_netcdf_file_is_refused(stored, what):
    path = stored / "written.nc"
    rewrite(path, NETCDF[what])
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


@pytest.mark.parametrize("name", ["finished.zarr", "written.zarr", "written.nc"])
def test_undamaged_posteriors_are_read(stored, name):
    path = stored / name
    tree = read_posterior(path).load()
    np.testing.assert_array_equal(tree["posterior"]["plausibility"], posterior()["posterior"]["plausibility"])
    if path.is_dir():  # files of the system, which zarr never reads
        (path / PLAUSIBILITY / ".DS_Store").write_bytes(b"x")
    read_posterior(path)


def test_without_verification_a_missing_chunk_reads_as_fill_values(stored, monkeypatch):
    """The wrong twin: zarr alone reads other draws than were written."""
    path = stored / "finished.zarr"
    DAMAGE["a chunk is missing"][0](path)
    monkeypatch.setattr(stores, "_checked_arrays", lambda path: {})
    read = read_posterior(path)["posterior"]["plausibility"]
    assert np.isnan(read[:, PIECE : 2 * PIECE]).any() and not np.isnan(read[:, :PIECE]).any()


def test_without_checksums_a_flipped_bit_is_other_draws(stored, monkeypatch):
    """The wrong twin: a store of the version before."""
    path, written = stored / "bare.zarr", posterior()
    encoding = {"compressors": None, "chunks": (2, PIECE, 4, 3)}
    written.to_zarr(path, consolidated=False, encoding={"/posterior": {"plausibility": encoding}})
    flip(path / PLAUSIBILITY / "c/0/0/0/0", random.Random(3))
    assert not read_posterior(path)["posterior"]["plausibility"].equals(written["posterior"]["plausibility"])


def test_damage_after_opening_is_found_when_it_is_read(stored):
    path = stored / "finished.zarr"
    tree = read_draws(path)
    flip(path / chunk(0, SCORES), random.Random(1))
    assert tree["posterior"]["plausibility"].to_numpy().shape[1] == DRAWS
    with pytest.raises(ValueError):
        tree["log_likelihood"]["observed_label"].to_numpy()


@pytest.mark.parametrize("what", ["a chunk is cut", "a chunk is missing"])
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


def test_stores_of_the_version_before_are_read(stored):
    """A file of checksums in a store, and a trailer behind a netCDF file, are ignored."""
    path = stored / "finished.zarr"
    (path / PLAUSIBILITY / "checksums.txt").write_bytes(
        b"raterzoo checksums 1\n01234567 7 posterior/x\nmark\nend 90e1b2f7\n"
    )
    rewrite(path / "zarr.json", lambda b: b + b" \n")
    netcdf = stored / "written.nc"
    with h5py.File(netcdf, "r+") as file:
        file["/"].id.set_comment(b".", b"raterzoo crc32c")
    rewrite(netcdf, lambda b: b + b"\nraterzoo crc32c 01234567\n")
    for own in (path, netcdf):
        assert read_posterior(own)["posterior"].equals(posterior()["posterior"])


def test_an_unfinished_store_without_checksums_is_gone_on_with(stored):
    path, bare = stored / "unfinished.zarr", stored / "bare.zarr"
    for file in path.rglob("zarr.json"):
        node = json.loads(file.read_text())
        if node["node_type"] == "array":
            for piece in (p for p in (file.parent / "c").rglob("*") if p.is_file()):
                rewrite(piece, lambda b: b[:-4])
            node["codecs"] = [codec for codec in node["codecs"] if codec["name"] != "crc32c"]
            file.write_text(json.dumps(node))
    assert read_posterior(path)["posterior"].sizes["draw"] == 30
    with DrawStore.open(path) as store:
        for first in range(30, DRAWS, PIECE):
            store.write({"draw": slice(first, first + PIECE)}, block(first, first + PIECE))
        store.mark({"drawn": DRAWS}, {}, DRAWS)
        store.finish(ATTRS)
    assert not bare.exists() and read_posterior(path)["posterior"].equals(posterior()["posterior"])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_posteriors_of_other_programs_are_read_with_a_note(tmp_path, suffix):
    """Posteriors that xarray writes have no checksums; copies by xarray of ours keep them."""
    ours, theirs, copy = (tmp_path / f"{name}{suffix}" for name in ("ours", "theirs", "copy"))
    write_posterior(posterior(), ours)
    if suffix == ".zarr":
        posterior().to_zarr(theirs, consolidated=False)
        xr.open_datatree(ours, engine="zarr", consolidated=False).to_zarr(copy, consolidated=False)
    else:
        posterior().to_netcdf(theirs, engine="h5netcdf")
        with xr.open_datatree(ours, engine="h5netcdf") as tree:
            tree.to_netcdf(copy, engine="h5netcdf")
    predictions = write(
        tmp_path / "p.csv", {"item": ["i1", "i2", "i3", "i4"], "category": ["flu"] * 4, "rank": [1] * 4}
    )
    note = "has no checksums"
    results = {path: run("evaluate", path, predictions) for path in (ours, theirs, copy)}
    assert all(result.exit_code == 0 for result in results.values())
    assert [result.stderr.count(note) for result in results.values()] == [0, 1, 0]
    assert len({result.stdout for result in results.values()}) == 1


def test_a_copy_by_xarray_may_lack_chunks_of_zeros(tmp_path):
    """zarr leaves them out unless it is asked to write them; ours have them, and are refused without."""
    ours, copy, tree = tmp_path / "ours.zarr", tmp_path / "copy.zarr", posterior()
    tree["posterior"]["count"] = xr.zeros_like(tree["posterior"]["plausibility"], dtype=int)
    tree["posterior"]["diverging"] = tree["posterior"]["count"].astype(bool)
    write_posterior(tree, ours)
    xr.open_datatree(ours, engine="zarr", consolidated=False).to_zarr(copy, consolidated=False)
    assert read_posterior(copy)["posterior"].load().equals(tree["posterior"])
    (ours / "posterior/count/c/0/0/0/0").unlink()
    refused(ours, "posterior/count/c/0/0/0/0")


def test_files_of_file_managers_are_no_damage(stored):
    path = stored / "finished.zarr"
    for name in ("desktop.ini", "Thumbs.db", ".DS_Store"):
        (path / name).write_bytes(b"x")
        (path / "posterior" / name).write_bytes(b"x")
    assert read_posterior(path)["posterior"].sizes["draw"] == DRAWS

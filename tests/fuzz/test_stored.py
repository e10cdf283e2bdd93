"""Files of posteriors that would run code, read other files or fill the memory: refused before any of it is decoded."""

import json
import os
import pickle
import random
import shutil

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from raterzoo.inference.storage import untrusted_files
from raterzoo.models import DataError
from raterzoo.models.data import read_table

from tests.support.command_line import run, said, write
from tests.support.fuzz_doors import FILE_DOORS, judged
from tests.support.fuzz_posteriors import POSTERIORS, command, spoil_posterior, write_posterior_to
from tests.support.fuzz_seeds import TABLES
from tests.support.stores import read_posterior


class Payload:
    """What leaves a file behind if it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def refused(path, mark=None):
    """Return why a posterior is not read; nothing of it has run."""
    with pytest.raises(ValueError, match="not a posterior") as caught:
        read_posterior(path)
    assert mark is None or not mark.exists()
    message = str(caught.value)
    assert len(message) < 2_000 and "\n" not in message
    return message


def array_of(root, **changed):
    """Write a store of zarr format 3 with one array, and return its declaration."""
    shutil.rmtree(root, ignore_errors=True)
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [1, 1],
        "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
        "dimension_names": ["chain", "draw"],
    }
    (root / "posterior" / "x" / "c" / "0").mkdir(parents=True)
    for folder in (root, root / "posterior"):
        (folder / "zarr.json").write_text(json.dumps(group))
    (root / "posterior" / "x" / "zarr.json").write_text(json.dumps(array | changed))
    return root


def test_payload_would_be_seen(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()
    assert read_posterior(array_of(tmp_path / "p.zarr"))["posterior"]["x"].item() == 0


@pytest.mark.parametrize("suffix", POSTERIORS)
def test_what_is_written_is_read(tmp_path, suffix):
    path = write_posterior_to(tmp_path / f"p{suffix}")
    assert read_posterior(path)["posterior"].sizes["draw"] == 50


@pytest.mark.parametrize("where", ["filters", "compressor"])
def test_pickles_in_zarr_of_format_2(tmp_path, where, golden):
    root, mark = tmp_path / "p.zarr", tmp_path / "mark"
    array = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "order": "C", "fill_value": None}
    codec = {"id": "pickle", "protocol": 5}
    array |= {"filters": None, "compressor": None} | {where: [codec] if where == "filters" else codec}
    (root / "posterior" / "x").mkdir(parents=True)
    for folder in (root, root / "posterior"):
        (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (root / "posterior" / "x" / ".zarray").write_text(json.dumps(array))
    (root / "posterior" / "x" / "0").write_bytes(pickle.dumps([Payload(mark)]))
    golden.says(refused(root, mark))


@pytest.mark.parametrize(
    "changed",
    [
        {"codecs": [{"name": "bytes"}, {"name": "numcodecs.pickle"}]},
        {"codecs": [{"name": "sharding_indexed", "configuration": {"codecs": ["pickle"]}}]},
        {"codecs": "bytes"},
        {"codecs": [{"name": ["bytes"]}]},
        {"data_type": "object"},
        {"data_type": {"name": "struct", "configuration": {}}},
        {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 2**40}}},
        {"data_type": "variable_length_bytes"},
        {"shape": [10**15, 1]},
        {"shape": [2**62, 2**62]},
        {"shape": [10**30, 1]},
        {"shape": [-1, 1]},
        {"shape": [1.5, 1]},
        {"shape": [True, 1]},
        {"shape": [1] * 17},
        {"shape": "big"},
        {"chunk_grid": {"configuration": {"chunk_shape": [10**12, 1]}}},
        {"chunk_grid": {"configuration": {"chunk_shape": [0, 1]}}},
        {"chunk_grid": {"configuration": {"chunk_shape": [1]}}},
        {"chunk_grid": None},
        {"zarr_format": 2},
        {"node_type": "code"},
    ],
)  # fmt: skip
def test_declarations_of_zarr_that_are_refused(tmp_path, changed, golden):
    message = refused(array_of(tmp_path / "p.zarr", **changed))
    golden.says(message)
    assert "posterior/x" in message or "declare" in message


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b"[]", b"3", b"\xff", b"{}", b" " * (2**24 + 1)]
)
def test_declarations_of_zarr_that_are_no_json(tmp_path, content):
    root = array_of(tmp_path / "p.zarr")
    (root / "posterior" / "x" / "zarr.json").write_bytes(content)
    assert "posterior/x: " in refused(root)


def test_stores_with_folders_of_unknown_use(tmp_path, golden):
    root = array_of(tmp_path / "p.zarr")
    (root / "extra").mkdir()
    golden.says(refused(root))
    with golden.raises(DataError):
        (tmp_path / "empty").mkdir()
        untrusted_files.check_zarr((tmp_path / "empty").rename(tmp_path / "other-p.zarr"))


def test_declared_bytes_may_be_large_if_they_are_stored(tmp_path, golden):
    root = array_of(tmp_path / "p.zarr", shape=[2**32, 1])
    untrusted_files.check_zarr(root)  # at the limit
    array_of(root, shape=[2**32 + 1, 1])
    with golden.raises(DataError):
        untrusted_files.check_zarr(root)
    with (root / "posterior" / "x" / "c" / "0" / "0").open("wb") as file:
        file.truncate(2**22)  # a hole: takes no space
    untrusted_files.check_zarr(root)


def netcdf(path, make):
    with h5py.File(path, "w") as file:
        make(file.create_group("posterior"))
    return path


HDF5 = {
    "1e15 elements": lambda g: g.create_dataset("x", shape=(4, 10**15), dtype="f4", chunks=(1, 9)),
    "a chunk": lambda g: g.create_dataset("x", shape=(4, 10**9), dtype="f4", chunks=(4, 2 * 10**8)),
    "opaque": lambda g: g.create_dataset("x", data=np.void(pickle.dumps(Payload("mark")))),
    "compound": lambda g: g.create_dataset("x", data=np.array([(1, 2.0)], "i4,f4")),
    "references": lambda g: g.create_dataset("x", shape=(2,), dtype=h5py.ref_dtype),
    "lists": lambda g: g.create_dataset("x", shape=(2,), dtype=h5py.vlen_dtype("i4")),
    "another file": lambda g: g.create_dataset("x", shape=(3,), dtype="i1", external=[("elsewhere.bin", 0, 3)]),
    "a link out": lambda g: g.__setitem__("x", h5py.ExternalLink("elsewhere.h5", "/y")),
    "a link in": lambda g: g.__setitem__("x", h5py.SoftLink("/posterior")),
    "a loop": lambda g: g.__setitem__("x", g),
    "a type": lambda g: g.__setitem__("x", np.dtype("i4")),
    "a plugin": lambda g: g.create_dataset("x", data=np.arange(100), compression="lzf"),
}  # fmt: skip


@pytest.mark.parametrize("what", HDF5)
def test_netcdf_that_is_refused(tmp_path, what, golden):
    make = HDF5[what]
    path = netcdf(tmp_path / "p.nc", make)
    golden.says(refused(path))


def test_netcdf_of_virtual_arrays(tmp_path):
    netcdf(tmp_path / "other.nc", lambda g: g.create_dataset("x", data=np.arange(4)))
    layout = h5py.VirtualLayout(shape=(4,), dtype="i8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.nc", "posterior/x", shape=(4,))
    path = netcdf(tmp_path / "p.nc", lambda g: g.create_virtual_dataset("x", layout))
    assert "another file" in refused(path)


def test_netcdf_that_is_none(tmp_path, golden):
    path = tmp_path / "p.nc"
    for content in (b"", b"CDF\x01", b"\x89HDF\r\n\x1a\n", pickle.dumps(Payload(tmp_path / "mark"))):
        path.write_bytes(content)
        refused(path, tmp_path / "mark")
    whole = write_posterior_to(tmp_path / "whole.nc").read_bytes()
    for cut in range(100, len(whole), len(whole) // 8):
        path.write_bytes(whole[:cut])
        refused(path)
    with golden.raises(DataError):
        path.write_bytes(b"x")
        untrusted_files.check_netcdf(path)


def test_posteriors_without_draws(tmp_path, golden):
    path = tmp_path / "p.nc"
    xr.DataTree.from_dict({"prior": xr.Dataset({"x": 1.0})}).to_netcdf(path, engine="h5netcdf")
    with golden.raises(ValueError):
        read_posterior(path)
    path.unlink()
    xr.DataTree.from_dict({"posterior": xr.Dataset({"x": ("item", [1.0])})}).to_netcdf(
        path, engine="h5netcdf"
    )
    with golden.raises(ValueError):
        read_posterior(path)


def test_attributes_that_xarray_cannot_decode(tmp_path):
    for fill in ("AAAA", "AAAAAAAA+H8=AAAA", 3, None, [], "x"):
        root = array_of(tmp_path / "p.zarr", data_type="float64", attributes={"_FillValue": fill})
        judged(read_posterior, root)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", POSTERIORS)
def test_posteriors_that_a_fuzzer_spoils(tmp_path, suffix):
    rng = random.Random(suffix)
    predictions = write(tmp_path / "p.csv", TABLES["ranked"])
    for _ in range(12):
        path = spoil_posterior(suffix, rng, tmp_path)
        judged(lambda path: command("evaluate", path, predictions), path)


def test_damage_that_is_found_late_is_no_traceback(tmp_path):
    path = write_posterior_to(tmp_path / "p.zarr")
    predictions = write(tmp_path / "p.csv", TABLES["ranked"])
    chunk = next(
        p for p in (path / "posterior" / "plausibility").rglob("*") if p.is_file() and p.name != "zarr.json"
    )
    chunk.write_bytes(b"\xff" * 100)
    result = run("evaluate", path, predictions)
    assert result.exit_code == 2
    assert "array is damaged" in said(result)


def test_parquet_of_python_objects(tmp_path):
    """Arrow once unpickled what a file's metadata named as an extension type."""
    path, mark = tmp_path / "t.parquet", tmp_path / "mark"
    named = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Payload(mark)),
    }
    fields = [pa.field(name, pa.binary() if name == "item" else pa.string(), metadata=named if name == "item" else None)
              for name in ("item", "rater", "category", "rank")]  # fmt: skip
    cells = [pa.array([pickle.dumps(Payload(mark))], pa.binary()), *[pa.array(["1"])] * 3]
    pq.write_table(pa.Table.from_arrays(cells, schema=pa.schema(fields)), path)
    assert judged(FILE_DOORS["rankings"], path) != "valid"
    assert not mark.exists()


def test_pickles_under_other_names(tmp_path):
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        for protocol in range(6):
            path = tmp_path / f"t{suffix}"
            path.write_bytes(pickle.dumps(Payload(tmp_path / "mark"), protocol))
            with pytest.raises(DataError):
                read_table(path)
    assert not (tmp_path / "mark").exists()

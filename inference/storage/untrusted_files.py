"""Validation of the metadata of zarr stores before decoding: no code execution, no implausible sizes.

Zarr format 2 can name a codec that unpickles what it decodes, and an array of any format can declare more
bytes than any memory has. The metadata are small JSON files, which are read here without zarr.
"""

import json
import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lazy_loader

from ..._messages import short_repr, step
from ...models.data.errors import DataError

h5py: Any = lazy_loader.load("h5py")  # only netCDF files need it

TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".xlsx")
WRITTEN = "draws_written"  # attribute of an unfinished store: number of its draws that are read, or of each of its chains
MAX_NODES = 10_000
MAX_DECLARATION = 2**24  # bytes of one zarr.json
MAX_CHUNK = 2**31  # bytes of a chunk, which is read as a whole
MAX_DECLARED = 2**32  # bytes of all arrays that are accepted whatever is stored
MAX_INFLATION = 1_100  # declared bytes per stored byte beyond that: the limit of deflate
MAX_DIMS = 16
OLD = {".zarray", ".zgroup", ".zmetadata"}
DECLARATIONS = {"zarr.json", ".zattrs", *OLD}
NEEDED = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
CODECS = {"bytes", "blosc", "crc32c", "gzip", "sharding_indexed", "transpose", "vlen-utf8", "zstd"}

BYTES: dict[str, int] = {"bool": 1, "string": 16, "fixed_length_utf32": 0} | {
    f"{kind}{bits}": bits // 8
    for kind, widths in {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}.items()
    for bits in widths
}  # fmt: skip


class DamageError(DataError):
    """Stored posterior that is not as it was written."""


def damaged(path: Path, key: str, problem: str) -> DamageError:
    """`DamageError` for a file of a store, or an array of a netCDF file."""
    remedy = "copy the posterior again from where it is whole, or fit again"
    return DamageError(problem, remedy=remedy, where=f"{path}, {key}")


def check_posterior_path(path: Path) -> None:
    """Raise ValueError if there is no such file, or it is a table."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.suffix.lower() in TABLES:
        raise ValueError(
            f"{path} is a table, no posterior: name first what `raterzoo fit` wrote, such as posterior.nc"
        )


def check_zarr(path: Path) -> None:
    """Raise a `DataError` unless a store declares only arrays of numbers and text, of plausible sizes.

    Refused: folders that are not zarr format 3, object arrays, unknown codecs, links, arrays that declare much more
    than is stored (of an unfinished store, the written draws count). The message names the array.
    """
    declared, written = 0, None
    for name, node in _nodes(path):  # the root comes first
        if name == ".":
            written = _draws_written(path, node)
        declared += _zarr_bytes(path, name, node, written)
    if declared > MAX_DECLARED:
        files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        check_inflation(path, declared, sum(file.stat().st_size for file in files))


def check_inflation(path: Path, declared: int, stored: int) -> None:
    """Raise a `DataError` if arrays declare over 4 GiB and over 1,100 times the stored bytes."""
    if declared > max(MAX_DECLARED, MAX_INFLATION * stored):
        problem = f"its arrays declare {declared:,} bytes, and {stored:,} are stored"
        raise _refused_zarr(path, "", problem, f"4 GiB, or {MAX_INFLATION:,} times what is stored")


def _nodes(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the relative path and the metadata of every group and array of a store, the root first."""
    waiting, found = ["."], 0
    while waiting:
        name = waiting.pop()
        found += 1
        if found > MAX_NODES:
            raise _refused_zarr(path, "", "it has too many arrays", f"{MAX_NODES:,}")
        folders, files = _listed(path, name)
        if old := OLD.intersection(files):
            problem = f"it has {min(old)}, of zarr format 2, which can hold code"
            raise _refused_zarr(path, name, problem, "zarr format 3")
        if "zarr.json" not in files:
            raise _refused_zarr(path, name, "there is no zarr.json in it", "zarr format 3")
        node = _read(path, name)
        yield name, node
        if node["node_type"] == "array":
            _check_chunks(path, folders)
        else:
            waiting += folders


def _listed(path: Path, name: str) -> tuple[list[str], list[str]]:
    """Relative paths of the subfolders and names of the files of a folder; links, which zarr follows, are refused."""
    folders, files = [], []
    with os.scandir(os.path.join(path, name)) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(os.path.normpath(os.path.join(name, entry.name)))
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif os.path.lexists(entry.path):  # unless its writer has just renamed it
                place = os.path.normpath(os.path.join(name, entry.name))
                raise _refused_zarr(path, place, "it is a link or a device", "files and folders")
    return folders, files


def _check_chunks(path: Path, folders: list[str]) -> None:
    """Raise if a folder below an array has metadata, not only chunks."""
    waiting = [*folders]
    while waiting:
        name = waiting.pop()
        inner, files = _listed(path, name)
        if hidden := DECLARATIONS.intersection(files):
            problem = f"it has {min(hidden)}, and lies in an array"
            raise _refused_zarr(path, name, problem, "chunks below an array")
        waiting += inner


def readable_part(written: int | list[int]) -> tuple[int | None, int]:
    """Return the chains, None for all, and draws that are read of an unfinished store: the most draws that first chains have."""
    if not isinstance(written, list):
        return None, int(written)
    parts = [(k + 1, min(written[: k + 1])) for k in range(len(written))]
    return max(parts, key=lambda part: (part[0] * part[1], part[0]), default=(0, 0))


def _draws_written(path: Path, root: dict[str, Any]) -> int | None:
    """Return the number of draws that are read of an unfinished store; None for a finished one."""
    attrs = root.get("attributes", {})
    if not isinstance(attrs, dict) or WRITTEN not in attrs:
        return None
    written = attrs[WRITTEN]
    counts = written if isinstance(written, list) else [written]
    if not all(type(n) is int and 0 <= n < 2**63 for n in counts):
        raise _refused_zarr(
            path, "", f"{WRITTEN} is {short_repr(written)}", "a whole number from 0, or one of each chain"
        )
    return readable_part(written)[1]


def _zarr_bytes(path: Path, name: str, node: dict[str, Any], written: int | None) -> int:
    """Validate one node, and return the bytes that are read of it."""
    if node["node_type"] == "group":
        return 0
    if missing := [key for key in NEEDED if key not in node]:
        raise _refused_zarr(path, name, f"it declares no {missing[0]}", "zarr format 3")
    shape = _sizes(path, name, node["shape"], 0)
    chunk = _sizes(path, name, _get(_get(node["chunk_grid"], "configuration"), "chunk_shape"), 1)
    if len(chunk) != len(shape):
        raise _refused_zarr(path, name, "its chunks and its shape differ in length", "as many")
    width = _width(path, name, node["data_type"])
    if (size := math.prod(chunk) * width) > MAX_CHUNK:
        raise _refused_zarr(path, name, f"a chunk of it has {size:,} bytes", f"{MAX_CHUNK:,}")
    _check_codecs(path, name, node["codecs"])
    return math.prod(_sizes_read(name, shape, node, written)) * width


def _sizes_read(name: str, shape: list[int], node: dict[str, Any], written: int | None) -> list[int]:
    """Shape of an array as it is read: of an unfinished store, only the written draws."""
    dims = node.get("dimension_names")
    if written is None or not isinstance(dims, list) or len(dims) != len(shape):
        return shape
    if os.path.basename(name) in dims:  # coordinates are read whole at opening
        return shape
    return [min(n, written) if dim == "draw" else n for n, dim in zip(shape, dims, strict=True)]


def _read(path: Path, name: str) -> dict[str, Any]:
    """Read and validate the metadata file of a node."""
    file = path / name / "zarr.json"
    if file.stat().st_size > MAX_DECLARATION:
        raise _refused_zarr(path, name, "its declaration is too long", f"{MAX_DECLARATION:,} bytes")
    try:
        node = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise _refused_zarr(path, name, "its zarr.json is no JSON", "zarr format 3") from None
    if _get(node, "zarr_format") != 3 or _get(node, "node_type") not in ("group", "array"):
        raise _refused_zarr(path, name, "it is no array or group", "zarr format 3")
    return node


def _sizes(path: Path, name: str, sizes: Any, least: int) -> list[int]:
    """Return a list of whole numbers from `least`, or raise."""
    fine = isinstance(sizes, list) and len(sizes) <= MAX_DIMS
    if not fine or not all(type(n) is int and least <= n < 2**63 for n in sizes):
        allowed = f"at most {MAX_DIMS} whole numbers from {least}"
        raise _refused_zarr(path, name, f"{short_repr(sizes)} is no shape", allowed)
    return sizes


def _width(path: Path, name: str, kind: Any) -> int:
    """Size of one element in bytes."""
    base = kind.get("name") if isinstance(kind, dict) else kind
    if not isinstance(base, str) or base not in BYTES:
        raise _refused_zarr(path, name, f"it holds {short_repr(base)}", "numbers and text")
    if base != "fixed_length_utf32":
        return BYTES[base]
    length = _get(_get(kind, "configuration"), "length_bytes")
    if type(length) is not int or not 0 < length <= MAX_CHUNK:
        raise _refused_zarr(path, name, f"its texts have {short_repr(length)} bytes", f"up to {MAX_CHUNK:,}")
    return length


def _check_codecs(path: Path, name: str, codecs: Any) -> None:
    """Raise at the first unknown codec."""
    if not isinstance(codecs, list) or len(codecs) > MAX_DIMS:
        raise _refused_zarr(path, name, f"{short_repr(codecs)} is no list of codecs", "zarr format 3")
    for codec in codecs:
        known = codec.get("name") if isinstance(codec, dict) else codec
        if not isinstance(known, str) or known not in CODECS:
            raise _refused_zarr(path, name, f"it is coded by {short_repr(known)}", ", ".join(sorted(CODECS)))
        if known == "sharding_indexed":
            for inner in ("codecs", "index_codecs"):
                _check_codecs(path, name, _get(_get(codec, "configuration"), inner))


def _get(mapping: Any, key: str) -> Any:
    """Value of a key; None if absent, or `mapping` is not a dict."""
    return mapping.get(key) if isinstance(mapping, dict) else None


def _refused_zarr(path: Path, name: str, problem: str, allowed: str) -> DataError:
    """`DataError` for a node of the store."""
    where = path.name if name in ("", ".") else f"{path.name}, {name}"
    remedy = "write the posterior again, by `raterzoo fit` or inference.sample(..., store=)"
    return DataError(problem, allowed=allowed, remedy=remedy, where=where)


# --- Validation of netCDF files before anything in them is decoded: no external files, no plugins, no implausible sizes ---

MAX_DEPTH = 16
SIGNATURE = b"\x89HDF\r\n\x1a\n"
FILTERS = {1, 2, 3}  # of HDF5: deflate, shuffle, Fletcher-32
# errors that h5py and xarray raise for damaged files
DAMAGED = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
DAMAGED += (AssertionError, struct.error)


def check_netcdf(path: Path) -> None:
    """Raise a `DataError` unless a netCDF 4 file holds only numbers and text, inside the file, of plausible sizes.

    Refused: other formats, damage, links, external or virtual data sets, other element types, filters that need a
    plugin, and arrays that declare much more than is stored. The message names the array. Defects of the HDF5 library
    itself when it reads a damaged file are beyond these checks: zarr is safer for posteriors from untrusted sources.
    """
    with path.open("rb") as file:
        if file.read(len(SIGNATURE)) != SIGNATURE:
            raise _refused_netcdf(path, "", "it is no HDF5 file", "netCDF 4")
    try:
        with h5py.File(path, "r") as file:
            declared = sum(_netcdf_bytes(path, array) for array in _arrays(path, file))
    except DataError:
        raise
    except DAMAGED as problem:
        raise _refused_netcdf(path, "", f"it is damaged ({problem})", "netCDF 4") from problem
    check_inflation(path, declared, path.stat().st_size)


def verify_netcdf(path: Path) -> None:
    """Read all chunks with a Fletcher-32 of a file that `check_netcdf` has accepted; raise a `DamageError` at a damaged one."""
    with h5py.File(path, "r") as file, step("Checking the stored posterior"):
        for array in _arrays(path, file):
            try:
                for chunk in array.iter_chunks() if array.fletcher32 else ():
                    array[chunk]
            except DAMAGED as problem:
                raise damaged(path, array.name, "its bytes are not those that were written") from problem


def _arrays(path: Path, file: Any) -> Iterator[Any]:
    """Yield all arrays of the file; each group is visited once, links are refused."""
    waiting, nodes = [(file["/"], 0)], 0
    while waiting:
        group, depth = waiting.pop()
        for name in group:
            nodes += 1
            if nodes > MAX_NODES or depth > MAX_DEPTH:
                limits = f"{MAX_NODES:,} arrays, {MAX_DEPTH} groups deep"
                raise _refused_netcdf(path, "", "it has too many arrays, or too deep", limits)
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                problem = "it is a link, perhaps to another file"
                raise _refused_netcdf(path, f"{group.name}/{name}", problem, "arrays in this file")
            node = group[name]
            if isinstance(node, h5py.Group):
                waiting.append((node, depth + 1))
            elif isinstance(node, h5py.Dataset):
                yield node
            else:
                raise _refused_netcdf(path, node.name, "it is a named data type", "numbers and text")


def _netcdf_bytes(path: Path, array: Any) -> int:
    """Validate one array, and return its size in memory in bytes."""
    text = h5py.check_string_dtype(array.dtype) is not None
    if not text and array.dtype.kind not in "fiub":
        raise _refused_netcdf(path, array.name, f"it holds {array.dtype}", "numbers and text")
    if array.external or array.is_virtual:
        raise _refused_netcdf(path, array.name, "its values lie in another file", "arrays in this file")
    made = array.id.get_create_plist()
    for code in (made.get_filter(k)[0] for k in range(made.get_nfilters())):
        if code not in FILTERS:
            allowed = "deflate, shuffle and fletcher32"
            raise _refused_netcdf(path, array.name, f"it is coded by filter {code}", allowed)
    # a string of variable length takes at least 16 bytes
    width = max(array.dtype.itemsize, 16 if text else 1)
    if (size := width * math.prod(array.chunks or ())) > MAX_CHUNK:
        raise _refused_netcdf(path, array.name, f"a chunk of it has {size:,} bytes", f"{MAX_CHUNK:,}")
    return int(array.size or 0) * width


def _refused_netcdf(path: Path, name: str, problem: str, allowed: str) -> DataError:
    """`DataError` for an array of the file."""
    where, remedy = path.name, "write the posterior again, by `raterzoo fit`"
    return DataError(
        problem, allowed=allowed, remedy=remedy, where=f"{where}, {short_repr(name)}" if name else where
    )

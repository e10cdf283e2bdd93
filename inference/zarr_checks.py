"""What a zarr store declares, checked before anything of it is decoded: no code in it is run, no size believed.

Zarr of format 2 can name a codec that unpickles what it decodes, and an array of any format can declare in a few bytes more than
any memory holds. The declarations are small JSON files; they are read here without zarr.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..models.data.errors import DataError, shown

__all__ = ["MAX_PIECE", "WRITTEN", "check_zarr", "refuse_hollow"]

WRITTEN = "draws_written"  # attribute of a store that is not finished: so many draws of it are read
MAX_NODES = 10_000
MAX_DECLARATION = 2**24  # bytes of one zarr.json
MAX_PIECE = 2**31  # bytes of a chunk, which is read as a whole
MAX_DECLARED = 2**32  # bytes of all arrays that are read whatever is stored of them
MAX_INFLATION = 1_100  # declared bytes by stored byte, of what is larger: deflate can do no more
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


def check_zarr(path: Path) -> None:
    """Raise unless a store declares arrays of numbers and text alone, of sizes that it may have.

    Parameters
    ----------
    path : Path
        A folder.

    Raises
    ------
    DataError
        If it is no store of zarr format 3, an array holds objects or is coded by what is not known, declares much more than is
        stored, or a link is in it; it names the array. Of a store that is not finished, the draws that are written count.
    """
    declared, written = 0, None
    for name, node in _nodes(path):  # the root comes first
        if name == ".":
            written = _draws_written(path, node)
        declared += _declared_bytes(path, name, node, written)
    if declared > MAX_DECLARED:
        refuse_hollow(path, declared, _stored_bytes(path))


def refuse_hollow(path: Path, declared: int, stored: int) -> None:
    """Raise if arrays declare so much more than is stored of them that they can hold nothing.

    Parameters
    ----------
    path : Path
        File or store, for the message.
    declared, stored : int
        Bytes.

    Raises
    ------
    DataError
        If they are over 4 GiB and 1,100 times what is stored.
    """
    if declared > max(MAX_DECLARED, MAX_INFLATION * stored):
        raise _refused(
            path,
            "",
            f"its arrays declare {declared:,} bytes, and {stored:,} are stored",
            f"4 GiB, or {MAX_INFLATION:,} times what is stored",
        )


def _nodes(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return all nodes by their folder, relative to the store."""
    waiting, found = ["."], 0
    while waiting:
        name = waiting.pop()
        found += 1
        if found > MAX_NODES:
            raise _refused(path, "", "it has too many arrays", f"{MAX_NODES:,}")
        folders, files = _listed(path, name)
        if old := OLD.intersection(files):
            problem = f"it has {min(old)}, of zarr format 2, which can hold code"
            raise _refused(path, name, problem, "zarr format 3")
        if "zarr.json" not in files:
            raise _refused(path, name, "there is no zarr.json in it", "zarr format 3")
        node = _read(path, name)
        yield name, node
        if node["node_type"] == "array":
            _check_chunks(path, folders)
        else:
            waiting += folders


def _listed(path: Path, name: str) -> tuple[list[str], list[str]]:
    """Return the folders in a folder, by their paths, and the names of its files; zarr follows links, so there may be none."""
    folders, files = [], []
    with os.scandir(os.path.join(path, name)) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(os.path.normpath(os.path.join(name, entry.name)))
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif os.path.lexists(entry.path):  # and has not just been renamed by its writer
                place = os.path.normpath(os.path.join(name, entry.name))
                raise _refused(path, place, "it is a link or a device", "files and folders")
    return folders, files


def _check_chunks(path: Path, folders: list[str]) -> None:
    """Raise if there is anything but chunks below an array."""
    waiting = [*folders]
    while waiting:
        name = waiting.pop()
        inner, files = _listed(path, name)
        if hidden := DECLARATIONS.intersection(files):
            problem = f"it has {min(hidden)}, and lies in an array"
            raise _refused(path, name, problem, "chunks below an array")
        waiting += inner


def _draws_written(path: Path, root: dict[str, Any]) -> int | None:
    """Return how many draws of an unfinished store are written; None of a finished one."""
    attrs = root.get("attributes", {})
    if not isinstance(attrs, dict) or WRITTEN not in attrs:
        return None
    written = attrs[WRITTEN]
    if type(written) is not int or not 0 <= written < 2**63:
        raise _refused(path, "", f"{WRITTEN} is {shown(written)}", "a whole number from 0")
    return written


def _stored_bytes(path: Path) -> int:
    return sum(
        os.stat(os.path.join(folder, name)).st_size
        for folder, _, files in os.walk(path)
        for name in files
    )


def _declared_bytes(path: Path, name: str, node: dict[str, Any], written: int | None) -> int:
    """Check one node; return what is read of an array."""
    if node["node_type"] == "group":
        return 0
    if missing := [key for key in NEEDED if key not in node]:
        raise _refused(path, name, f"it declares no {missing[0]}", "zarr format 3")
    shape = _sizes(path, name, node.get("shape"), 0)
    grid = node.get("chunk_grid")
    chunk = _sizes(path, name, _of(_of(grid, "configuration"), "chunk_shape"), 1)
    if len(chunk) != len(shape):
        raise _refused(path, name, "its chunks have other dims than it", "as many")
    width = _width(path, name, node.get("data_type"))
    if math.prod(chunk) * width > MAX_PIECE:
        problem = f"a chunk of it has {math.prod(chunk) * width:,} bytes"
        raise _refused(path, name, problem, f"{MAX_PIECE:,}")
    _check_codecs(path, name, node.get("codecs"))
    return math.prod(_sizes_read(name, shape, node, written)) * width


def _sizes_read(
    name: str, shape: list[int], node: dict[str, Any], written: int | None
) -> list[int]:
    """Return the shape of what counts of an array: of an unfinished store, the draws that are written."""
    dims = node.get("dimension_names")
    if written is None or not isinstance(dims, list) or len(dims) != len(shape):
        return shape
    if os.path.basename(name) in dims:  # ids of a dim are read as a whole when the store is opened
        return shape
    return [min(n, written) if dim == "draw" else n for n, dim in zip(shape, dims, strict=True)]


def _read(path: Path, name: str) -> dict[str, Any]:
    file = path / name / "zarr.json"
    if file.stat().st_size > MAX_DECLARATION:
        raise _refused(path, name, "its declaration is too long", f"{MAX_DECLARATION:,} bytes")
    try:
        node = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise _refused(path, name, "its zarr.json is no JSON", "zarr format 3") from None
    kinds = ("group", "array")
    if _of(node, "zarr_format") != 3 or _of(node, "node_type") not in kinds:
        raise _refused(path, name, "it is no array or group", "zarr format 3")
    return node


def _sizes(path: Path, name: str, sizes: Any, least: int) -> list[int]:
    """Return a list of whole numbers, or raise."""
    fine = isinstance(sizes, list) and len(sizes) <= MAX_DIMS
    if not fine or not all(type(n) is int and least <= n < 2**63 for n in sizes):
        problem = f"{shown(sizes)} is no shape"
        raise _refused(path, name, problem, f"at most {MAX_DIMS} whole numbers from {least}")
    return sizes


def _width(path: Path, name: str, kind: Any) -> int:
    """Return the bytes of one element."""
    base = kind.get("name") if isinstance(kind, dict) else kind
    if not isinstance(base, str) or base not in BYTES:
        raise _refused(path, name, f"it holds {shown(base)}", "numbers and text")
    if base != "fixed_length_utf32":
        return BYTES[base]
    length = _of(_of(kind, "configuration"), "length_bytes")
    if type(length) is not int or not 0 < length <= MAX_PIECE:
        raise _refused(path, name, f"its texts have {shown(length)} bytes", f"up to {MAX_PIECE:,}")
    return length


def _check_codecs(path: Path, name: str, codecs: Any) -> None:
    """Raise at the first codec that is not one of the known."""
    if not isinstance(codecs, list) or len(codecs) > MAX_DIMS:
        raise _refused(path, name, f"{shown(codecs)} is no list of codecs", "zarr format 3")
    for codec in codecs:
        known = codec.get("name") if isinstance(codec, dict) else codec
        if not isinstance(known, str) or known not in CODECS:
            raise _refused(path, name, f"it is coded by {shown(known)}", ", ".join(sorted(CODECS)))
        if known == "sharding_indexed":
            for inner in ("codecs", "index_codecs"):
                _check_codecs(path, name, _of(_of(codec, "configuration"), inner))


def _of(mapping: Any, key: str) -> Any:
    return mapping.get(key) if isinstance(mapping, dict) else None


def _refused(path: Path, name: str, problem: str, allowed: str) -> DataError:
    where = path.name if name in ("", ".") else f"{path.name}, {name}"
    return DataError(
        problem,
        allowed=allowed,
        remedy="write the posterior again, by `raterzoo fit` or inference.sample(..., store=)",
        where=where,
    )

"""Validation of netCDF files before anything in them is decoded: no external files, no plugins, no implausible sizes.

netCDF 4 is HDF5, which allows links and data sets in other files, filter plugins, and opaque element types.
Defects of the HDF5 library itself when it reads a damaged file are beyond these checks: zarr is safer for
posteriors from untrusted sources.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from ..models.data.errors import DataError, shown
from .zarr_checks import MAX_PIECE, refuse_hollow

__all__ = ["check_netcdf"]

MAX_NODES = 10_000
MAX_DEPTH = 16
SIGNATURE = b"\x89HDF\r\n\x1a\n"
FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
ENTRY = 16  # least bytes of a string of variable length
# errors that h5py and xarray raise for damaged files
DAMAGED = (
    OSError,
    RuntimeError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    struct.error,
)


def check_netcdf(path: Path) -> None:
    """Raise a `DataError` unless a netCDF 4 file holds only numbers and text, inside the file, of plausible sizes.

    Refused: other formats, damage, links, external or virtual data sets, other element types, filters that
    need a plugin, and arrays that declare much more than is stored. The message names the array.
    """
    with path.open("rb") as file:
        if file.read(len(SIGNATURE)) != SIGNATURE:
            raise _refused(path, "", "it is no HDF5 file", "netCDF 4")
    try:
        with h5py.File(path, "r") as file:
            declared = sum(_declared_bytes(path, array) for array in _arrays(path, file))
    except DataError:
        raise
    except DAMAGED as problem:
        raise _refused(path, "", f"it is damaged ({problem})", "netCDF 4") from problem
    refuse_hollow(path, declared, path.stat().st_size)


def _arrays(path: Path, file: Any) -> Iterator[Any]:
    """Yield all arrays of the file; each group is visited once, links are refused."""
    waiting, nodes = [(file["/"], 0)], 0
    while waiting:
        group, depth = waiting.pop()
        for name in group:
            nodes += 1
            if nodes > MAX_NODES or depth > MAX_DEPTH:
                limits = f"{MAX_NODES:,} arrays, {MAX_DEPTH} groups deep"
                raise _refused(path, "", "it has too many arrays, or too deep", limits)
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                problem = "it is a link, perhaps to another file"
                raise _refused(path, f"{group.name}/{name}", problem, "arrays in this file")
            node = group[name]
            if isinstance(node, h5py.Group):
                waiting.append((node, depth + 1))
            elif isinstance(node, h5py.Dataset):
                yield node
            else:
                raise _refused(path, node.name, "it is a named data type", "numbers and text")


def _declared_bytes(path: Path, array: Any) -> int:
    """Validate one array, and return its size in memory in bytes."""
    text = h5py.check_string_dtype(array.dtype) is not None
    if not text and array.dtype.kind not in "fiub":
        raise _refused(path, array.name, f"it holds {array.dtype}", "numbers and text")
    if array.external or array.is_virtual:
        problem = "its values lie in another file"
        raise _refused(path, array.name, problem, "arrays in this file")
    if unknown := [n for n in _filters(array) if n not in FILTERS]:
        allowed = "deflate, shuffle and fletcher32"
        raise _refused(path, array.name, f"it is coded by filter {unknown[0]}", allowed)
    width = max(array.dtype.itemsize, ENTRY if text else 1)
    piece = width
    for size in array.chunks or ():
        piece *= size
    if piece > MAX_PIECE:
        raise _refused(path, array.name, f"a chunk of it has {piece:,} bytes", f"{MAX_PIECE:,}")
    return int(array.size or 0) * width


def _filters(array: Any) -> list[int]:
    """Codes of the filters of an array."""
    known = array.id.get_create_plist()
    return [known.get_filter(k)[0] for k in range(known.get_nfilters())]


def _refused(path: Path, name: str, problem: str, allowed: str) -> DataError:
    """`DataError` for an array of the file."""
    return DataError(
        problem,
        allowed=allowed,
        remedy="write the posterior again, by `raterzoo fit`",
        where=f"{path.name}, {shown(name)}" if name else path.name,
    )

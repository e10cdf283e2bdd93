"""Features of items on the command line: a table, or an .npz file of arrays."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .._messages import first_reprs, short_repr
from ..models.data.errors import DataError
from ..models.data.features import WHERE, id_column_of
from ..models.data.reading.array_archives import DAMAGE, MalformedMember, read_member
from ..models.data.reading.columns import code_ids, is_blank, is_integer
from ..models.data.reading.files import read_file, read_names, refuse_unreadable
from ..models.data.reading.frames import Column, column_names, named_columns
from ..models.data.reading.numbers import decimal_points
from .terminal import on_command_line, print_note

ARRAYS = "arrays items (item,) and features (item, feature), and perhaps names (feature,)"
MOST_BYTES = 16 * 2**30  # of the arrays of an .npz file, unpacked


def features_of(path: Path, items: np.ndarray) -> dict[str, Any]:
    """Return the features of these items from a file, as a builder takes and checks them; rows of other items are left out."""
    columns = dict(_read(path, path.stat().st_mtime_ns if path.exists() else 0))
    ids, *names = columns
    columns[ids] = _as_ids(columns[ids], items)
    try:
        code_ids(Column(ids, columns[ids]))
    except DataError as error:
        raise _of_file(error, path) from None
    known = {*items.tolist()}
    kept = [row for row, item in enumerate(columns[ids]) if item in known]
    if 0 < len(kept) < len(columns[ids]):
        print_note(f"{path.name}: left out {len(columns[ids]) - len(kept):,} items without an annotation")
        columns = {name: _rows(cells, kept) for name, cells in columns.items()}
    return {"item": columns[ids]} | {name: columns[name] for name in names}


def check_features(path: Path) -> None:
    """Raise, before any slow import, if a file cannot hold features."""
    refuse_unreadable(path)
    if path.suffix.lower() == ".npz":
        _check_archive(path)
    elif path.suffix.lower() == ".npy":
        raise _refused(path, "an .npy file has no ids of the items")
    elif path.suffix.lower() in (".csv", ".tsv"):
        read_names(path)  # only the first line is read


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Mapping[str, Any]:
    """Columns of a file, that of the item ids first; `changed` is its time, so that another content is read anew."""
    check_features(path)
    if path.suffix.lower() == ".npz":
        return _of_arrays(path)
    table = read_file(path)
    if table.note:
        print_note(f"{path.name}: reading {table.note}")
    names = column_names(table.columns)
    try:
        own = named_columns(table.columns, {name: name for name in names})
        columns: dict[str, Any] = {name: own[name].values for name in names}
        if table.may_have_commas:
            columns = {name: decimal_points(cells) or cells for name, cells in columns.items()}
        ids = id_column_of(columns)
    except DataError as error:
        raise _of_file(error, path) from None
    return {ids: columns.pop(ids)} | columns


def _rows(cells: Any, rows: list[int]) -> Any:
    """Cells of some rows of a column, a list or an array."""
    return cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows]


def _as_ids(cells: Any, items: np.ndarray) -> list[Any]:
    """Ids as text where those of the data are text; numbers without decimals are written as such."""
    values = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    if items.dtype.kind != "U":
        return values
    return [str(value) if is_integer(type(value)) else value for value in values]


def _of_arrays(path: Path) -> dict[str, Any]:
    """Columns of the arrays of an .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = _arrays(archive, path)
    except DataError:
        raise
    except MalformedMember as problem:
        raise _refused(path, f"{problem}; objects are not read, as they could run a program") from None
    except DAMAGE:
        raise _refused(path, "the file is damaged") from None
    items, features = found["items"], found["features"]
    if items.ndim != 1 or features.ndim != 2 or len(items) != len(features):
        raise _refused(path, f"items have shape {items.shape} and features {features.shape}")
    if features.dtype.kind not in "iufb" or items.dtype.kind not in "iuU":
        raise _refused(path, f"items are of dtype {items.dtype} and features of {features.dtype}")
    names = found.get("names", np.array([f"feature {k}" for k in range(1, features.shape[1] + 1)]))
    own = names.tolist()
    if (
        names.shape != features.shape[1:]
        or len({*own}) < len(own)
        or "item" in own
        or any(map(is_blank, own))
    ):
        raise _refused(path, f"names have shape {names.shape}, or one stands twice, is empty or is 'item'")
    columns = {str(name): features[:, k] for k, name in enumerate(own)}
    return {"item": items} | columns


def _arrays(archive: zipfile.ZipFile, path: Path) -> dict[str, np.ndarray]:
    """Arrays of an archive that are read, by name."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise _refused(path, "an array stands twice")
    if lacking := [name for name in ("items", "features") if name not in members]:
        raise _refused(path, f"there is no array {short_repr(lacking[0])}, but {first_reprs(members)}")
    return {
        name: read_member(archive, members[name])
        for name in ("items", "features", "names")
        if name in members
    }


def _check_archive(path: Path) -> None:
    """Raise if an .npz file is no archive, or its arrays are too large."""
    if not zipfile.is_zipfile(path):
        raise _refused(path, "the file is not an .npz archive")
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MOST_BYTES:
        raise _refused(path, f"the arrays have {size / 2**30:,.0f} GiB")


def _refused(path: Path, problem: str) -> DataError:
    """Error about an .npz file."""
    remedy = "write it by numpy.savez(file, items=ids, features=array), without objects"
    return DataError(
        problem, allowed=f"{ARRAYS}, of up to {MOST_BYTES / 2**30:.0f} GiB", remedy=remedy, where=path.name
    )


@contextmanager
def features_named(path: Path | None) -> Iterator[None]:
    """Context manager: an error about the argument ``features`` of a builder names the file that they are from."""
    try:
        yield
    except DataError as error:
        if path is None or not error.where.removeprefix("argument ").startswith(WHERE):
            raise
        raise _of_file(error, path) from None


def _of_file(error: DataError, path: Path) -> DataError:
    """Return an error about features in the words of the command line, with the name of the file."""
    if error.where.startswith(path.name):
        return error
    error.remedy = on_command_line(error.remedy)
    place = error.where.removeprefix("argument ").removeprefix(WHERE).removeprefix(", ")
    error.allowed = error.allowed.replace("a DataArray (item, feature), or ", "")
    error.where = f"{path.name}, {place}" if place and place != "the table" else path.name
    return error

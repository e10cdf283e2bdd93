"""From cells to codes: ids and labels are text or whole numbers, ranks are whole numbers from 1.

A column is coded in one pass over its cells; what a cell holds is checked on the distinct values.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import count, filterfalse
from typing import Any

import numpy as np

from .errors import DataError, shown
from .tables import Column

__all__ = ["MAX_CHARACTERS", "MAX_RANK", "code_ids", "read_ranks", "text_or_integer"]

MAX_CHARACTERS = 10_000
MAX_INDEX_BYTES = 2**30
MAX_RANK = 1_000_000

_FLOAT = (float, np.floating)
# Array libraries have markers of their own, known here by the names of their types.
_MISSING = ("NoneType", "NAType", "NaTType")
_ID = "one text or one whole number in each cell"
_RANK = f"whole numbers from 1 (best) to {MAX_RANK:,}, equal ranks for a tie"
_NO_MISSING = "fill the cell in or leave the row out: a category that was not ranked has no row"

# NUL ends fixed-width text early, and half a surrogate pair cannot be written to any file.
_UNSAFE = re.compile(r"[\0\ud800-\udfff]")
_LEGIBLE = re.compile(r"\s*[^\s\0\ud800-\udfff][^\0\ud800-\udfff]*")
_WHOLE = re.compile(r"\s*\+?([0-9]{1,15})(\.0*)?\s*")


def code_ids(column: Column, reserved: Collection[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Code a column of ids or labels.

    Parameters
    ----------
    column : Column
        Cells, all text or all whole numbers. Text is kept exactly.
    reserved : collection of str
        Labels that mean something else.

    Returns
    -------
    index : ndarray of str or int64, shape (distinct,)
        Distinct values in order of first appearance.
    code : ndarray of int32, shape (row,)
        Place of each cell in `index`.

    Raises
    ------
    DataError
        If a cell is missing, empty, too long, reserved, neither text nor integer, or not of the
        kind of the first cell.
    """
    index_of = _text_index if _is_text(column) else _integer_index
    code, distinct = _code(column.values)
    index = index_of(column, distinct)
    if taken := [label for label in distinct if label in reserved]:
        raise _at(column, taken[0], "is a reserved label", remedy="give the category another name")
    return index, code


def read_ranks(column: Column) -> np.ndarray:
    """Read a column of ranks, as numbers or as their decimal text.

    Parameters
    ----------
    column : Column
        Cells.

    Returns
    -------
    ndarray of int64, shape (row,)
        Ranks from 1.

    Raises
    ------
    DataError
        If a cell is missing, no whole number, infinite, below 1 or absurdly large.
    """
    if odd := {kind for kind in _kinds(column) if not _may_be_rank(kind)}:
        raise _refused(
            column,
            _first(column, lambda value: type(value) in odd),
            "is not a number",
            allowed=_RANK,
            remedy="number the blocks 1, 2, 3 from the best",
        )
    code, distinct = _code(column.values)
    return np.array([_rank(column, value) for value in distinct], np.int64)[code]


def text_or_integer(index: np.ndarray) -> str:
    """Name the kind of an index, as messages do.

    Parameters
    ----------
    index : ndarray of str or int64
        Ids.

    Returns
    -------
    str
        ``"text"`` or ``"integers"``.
    """
    return "text" if index.dtype.kind == "U" else "integers"


def _code(values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Give the distinct values numbers as they come: the dict asks the counter at each new one."""
    number = defaultdict(count().__next__)
    code = np.fromiter(map(number.__getitem__, values), np.int32, len(values))
    return code, list(number)


def _is_text(column: Column) -> bool:
    """Tell text from integers; raise at the first cell that is neither, or not as the first."""
    kinds = _kinds(column)
    if all(issubclass(kind, str) for kind in kinds):
        return True
    if all(map(_is_integer, kinds)):
        return False
    if odd := {kind for kind in kinds if not issubclass(kind, str) and not _is_integer(kind)}:
        raise _not_an_id(column, _first(column, lambda value: type(value) in odd))
    text_first = isinstance(column.values[0], str)
    raise _refused(
        column,
        _first(column, lambda value: isinstance(value, str) != text_first),
        f"stands under {shown(column.values[0])} of row 1: text and integers are mixed",
        allowed="one kind in a column",
        remedy="write all of them as text, or all as integers",
    )


def _is_integer(kind: type) -> bool:
    # bool derives from int, and NumPy's timedelta64 from its integers.
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def _may_be_rank(kind: type) -> bool:
    return issubclass(kind, (str, *_FLOAT)) or _is_integer(kind)


def _not_an_id(column: Column, place: int) -> DataError:
    value = column.values[place]
    problem = f"is of type {type(value).__name__}, neither text nor an integer"
    remedy = "write it as text"
    if isinstance(value, _FLOAT):
        remedy = "make the column integers (a missing cell turns 3 into 3.0 in pandas) or text"
    return _refused(column, place, problem, allowed=_ID, remedy=remedy)


def _kinds(column: Column) -> set[type]:
    """Return the types of the cells; raise at the first None, NaN, NA or NaT."""
    kinds = {*map(type, column.values)}
    marked = any(kind.__name__ in _MISSING for kind in kinds)
    floats = any(issubclass(kind, _FLOAT) for kind in kinds)
    if marked or (floats and any(map(_is_missing, column.values))):
        place = _first(column, _is_missing)
        raise _refused(column, place, "is a missing cell", remedy=_NO_MISSING)
    return kinds


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in _MISSING or (isinstance(value, _FLOAT) and value != value)


def _text_index(column: Column, distinct: list[str]) -> np.ndarray:
    """Check the texts, and only then copy them into fixed width."""
    longest = max(distinct, key=len)
    if len(longest) > MAX_CHARACTERS:
        raise _at(
            column,
            longest,
            "is too long",
            allowed=f"{MAX_CHARACTERS:,} characters",
            remedy="shorten it",
        )
    if illegible := [*filterfalse(_LEGIBLE.fullmatch, distinct)]:
        raise _illegible(column, illegible[0])
    size = 4 * len(longest) * len(distinct)
    if size > MAX_INDEX_BYTES:
        raise _at(
            column,
            longest,
            f"is one of {len(distinct):,} texts, {size / 2**30:,.1f} GiB at its width",
            allowed=f"{MAX_INDEX_BYTES / 2**30:.0f} GiB in all",
            remedy="use short ids",
        )
    return np.array(distinct, dtype=np.str_)


def _illegible(column: Column, text: str) -> DataError:
    if _UNSAFE.search(text):
        return _at(
            column,
            text,
            "holds a NUL or half a surrogate pair",
            remedy="write it as valid Unicode text",
        )
    return _at(column, text, "is empty", allowed=_ID, remedy=_NO_MISSING)


def _integer_index(column: Column, distinct: list[int]) -> np.ndarray:
    limit = np.iinfo(np.int64)
    for value in (min(distinct), max(distinct)):
        if not limit.min <= value <= limit.max:
            raise _at(column, value, "does not fit into 64 bits", remedy="write the ids as text")
    return np.array(distinct, dtype=np.int64)


def _rank(column: Column, value: Any) -> int:
    """Return one distinct rank as an integer."""
    rank = None
    if isinstance(value, str):
        rank = int(whole[1]) if (whole := _WHOLE.fullmatch(value)) else None
    elif not isinstance(value, _FLOAT) or value.is_integer():
        rank = int(value)
    if rank is None:
        raise _at(
            column,
            value,
            "is not a whole number",
            allowed=_RANK,
            remedy="number the blocks 1, 2, 3",
        )
    if rank < 1:
        raise _at(
            column, value, "is below 1", allowed=_RANK, remedy="add 1 if the best counts from 0"
        )
    if rank > MAX_RANK:
        raise _at(
            column,
            value,
            "is no rank",
            allowed=_RANK,
            remedy="leave out the rows of unranked categories",
        )
    return rank


def _first(column: Column, bad: Callable[[Any], bool]) -> int:
    return next(place for place, value in enumerate(column.values) if bad(value))


def _at(column: Column, value: Any, problem: str, *, allowed: str = "", remedy: str) -> DataError:
    """Return the error about a distinct value, at the first row that holds it."""
    place = column.values.index(value)
    return _refused(column, place, problem, allowed=allowed, remedy=remedy)


def _refused(
    column: Column, place: int, problem: str, *, allowed: str = "", remedy: str
) -> DataError:
    value = column.values[place]
    return DataError(
        f"{shown(value)} {problem}",
        row=place + 1,
        column=column.name,
        value=value,
        allowed=allowed,
        remedy=remedy,
    )

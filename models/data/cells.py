"""Cells of a column: types, distinct values, missing cells, and the error about one cell."""

from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from .errors import DataError, shown
from .tables import Column

__all__ = [
    "FLOATS",
    "NO_MISSING",
    "code_values",
    "first_place",
    "is_empty",
    "is_integer",
    "is_missing",
    "kinds_of",
    "refused_cell",
    "refused_value",
]

FLOATS = (float, np.floating)
NO_MISSING = "fill the cell in or leave the row out: a missing answer has no row"
# missing-value markers of array libraries, by the names of their types
_MISSING = ("NoneType", "NAType", "NaTType")


def code_values(values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Factorise values in order of first appearance: code (row,) int32, and the list of distinct values.

    One pass: the dict asks the counter for a number at each new key.
    """
    number = defaultdict(count().__next__)
    code = np.fromiter(map(number.__getitem__, values), np.int32, len(values))
    return code, list(number)


def is_integer(kind: type) -> bool:
    """Integer test for a type of cells.

    Excludes bool, which derives from int, and NumPy's timedelta64, which derives from its integers.
    """
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def is_missing(value: Any) -> bool:
    """Missing-value test: None, NaN, NA or NaT; empty text is not missing."""
    return type(value).__name__ in _MISSING or (isinstance(value, FLOATS) and value != value)


def is_empty(value: Any) -> bool:
    """Test for a missing cell or empty text, where a cell is optional."""
    return is_missing(value) or (isinstance(value, str) and value == "")


def kinds_of(column: Column) -> set[type]:
    """Types of the cells of a column; raises at the first missing cell."""
    kinds = {*map(type, column.values)}
    marked = any(kind.__name__ in _MISSING for kind in kinds)
    floats = any(issubclass(kind, FLOATS) for kind in kinds)
    if marked or (floats and any(map(is_missing, column.values))):
        place = first_place(column, is_missing)
        raise refused_cell(column, place, "is a missing cell", remedy=NO_MISSING)
    return kinds


def first_place(column: Column, bad: Callable[[Any], bool]) -> int:
    """Index, from 0, of the first bad cell; one cell must be bad."""
    return next(place for place, value in enumerate(column.values) if bad(value))


def refused_value(
    column: Column, value: Any, problem: str, *, allowed: str = "", remedy: str
) -> DataError:
    """Error about a distinct value, located at the first row that holds it; the problem follows the value."""
    place = column.values.index(value)
    return refused_cell(column, place, problem, allowed=allowed, remedy=remedy)


def refused_cell(
    column: Column, place: int, problem: str, *, allowed: str = "", remedy: str
) -> DataError:
    """Error about the cell at a place counted from 0; the problem follows the value."""
    value = column.values[place]
    return DataError(
        f"{shown(value)} {problem}",
        row=place + 1,
        column=column.name,
        value=value,
        allowed=allowed,
        remedy=remedy,
    )

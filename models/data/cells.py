"""What cells hold: their types, their distinct values, and the error about one of them."""

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
NO_MISSING = "fill the cell in or leave the row out: what was not said has no row"
# Array libraries have markers of their own, known here by the names of their types.
_MISSING = ("NoneType", "NAType", "NaTType")


def code_values(values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Give the distinct values numbers as they come: the dict asks the counter at each new one.

    Parameters
    ----------
    values : list
        Cells.

    Returns
    -------
    code : ndarray of int32, shape (row,)
        Number of each cell.
    distinct : list
        The values, in order of first appearance.
    """
    number = defaultdict(count().__next__)
    code = np.fromiter(map(number.__getitem__, values), np.int32, len(values))
    return code, list(number)


def is_integer(kind: type) -> bool:
    """Tell whether values of a type are whole numbers.

    Parameters
    ----------
    kind : type
        Type of a cell.

    Returns
    -------
    bool
        Not for bool, which derives from int, nor for NumPy's timedelta64, which does from its integers.
    """
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def is_missing(value: Any) -> bool:
    """Tell whether a cell holds None, NaN, NA or NaT.

    Parameters
    ----------
    value : object
        Cell.

    Returns
    -------
    bool
        Whether nothing is there. Empty text is another matter.
    """
    return type(value).__name__ in _MISSING or (isinstance(value, FLOATS) and value != value)


def is_empty(value: Any) -> bool:
    """Tell whether a cell is missing, or holds empty text.

    Parameters
    ----------
    value : object
        Cell.

    Returns
    -------
    bool
        Whether nothing is said there, where nothing may be said.
    """
    return is_missing(value) or (isinstance(value, str) and value == "")


def kinds_of(column: Column) -> set[type]:
    """Return the types of the cells.

    Parameters
    ----------
    column : Column
        Cells.

    Returns
    -------
    set of type
        Those that occur.

    Raises
    ------
    DataError
        At the first missing cell.
    """
    kinds = {*map(type, column.values)}
    marked = any(kind.__name__ in _MISSING for kind in kinds)
    floats = any(issubclass(kind, FLOATS) for kind in kinds)
    if marked or (floats and any(map(is_missing, column.values))):
        place = first_place(column, is_missing)
        raise refused_cell(column, place, "is a missing cell", remedy=NO_MISSING)
    return kinds


def first_place(column: Column, bad: Callable[[Any], bool]) -> int:
    """Return the place of the first cell that is bad.

    Parameters
    ----------
    column : Column
        Cells, one of them bad.
    bad : callable
        Cell -> bool.

    Returns
    -------
    int
        Place, from 0.
    """
    return next(place for place, value in enumerate(column.values) if bad(value))


def refused_value(
    column: Column, value: Any, problem: str, *, allowed: str = "", remedy: str
) -> DataError:
    """Return the error about a distinct value, at the first row that holds it.

    Parameters
    ----------
    column : Column
        Cells.
    value : object
        What is wrong.
    problem, allowed, remedy : str
        As `DataError` takes them; the problem goes on after the value.

    Returns
    -------
    DataError
        To be raised.
    """
    place = column.values.index(value)
    return refused_cell(column, place, problem, allowed=allowed, remedy=remedy)


def refused_cell(
    column: Column, place: int, problem: str, *, allowed: str = "", remedy: str
) -> DataError:
    """Return the error about one cell.

    Parameters
    ----------
    column : Column
        Cells.
    place : int
        Place of the cell, from 0.
    problem, allowed, remedy : str
        As `DataError` takes them; the problem goes on after the value.

    Returns
    -------
    DataError
        To be raised.
    """
    value = column.values[place]
    return DataError(
        f"{shown(value)} {problem}",
        row=place + 1,
        column=column.name,
        value=value,
        allowed=allowed,
        remedy=remedy,
    )

"""Ids and labels as codes: text or integers.

A column is factorised in one pass over its cells; the checks run on the distinct values.
"""

import re
from collections.abc import Collection
from itertools import filterfalse

import numpy as np

from .cells import (
    FLOATS,
    NO_MISSING,
    code_values,
    first_place,
    is_integer,
    kinds_of,
    refused_cell,
    refused_value,
)
from .errors import DataError, shown
from .tables import Column

__all__ = ["MAX_CHARACTERS", "code_ids", "text_or_integer"]

MAX_CHARACTERS = 10_000
MAX_INDEX_BYTES = 2**30

_ID = "one text or one whole number in each cell"

# NUL truncates fixed-width text, and half a surrogate pair cannot be encoded
_UNSAFE = re.compile(r"[\0\ud800-\udfff]")
_LEGIBLE = re.compile(r"\s*[^\s\0\ud800-\udfff][^\0\ud800-\udfff]*")


def code_ids(column: Column, reserved: Collection[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a column of ids or labels, all text (kept exactly) or all integers.

    Returns the distinct values in order of first appearance, (distinct,), and the code of each row, (row,)
    int32. Refuses cells that are missing, empty, too long, reserved, neither text nor integer, or not of the
    kind of the first cell.
    """
    index_of = _text_index if _is_text(column) else _integer_index
    code, distinct = code_values(column.values)
    index = index_of(column, distinct)
    if taken := [label for label in distinct if label in reserved]:
        raise refused_value(
            column, taken[0], "is a reserved label", remedy="give the category another name"
        )
    return index, code


def text_or_integer(index: np.ndarray) -> str:
    """Kind of an index in messages: "text" or "integers"."""
    return "text" if index.dtype.kind == "U" else "integers"


def _is_text(column: Column) -> bool:
    """Type test of a column: text or integers; raises at the first cell of another or a second kind."""
    kinds = kinds_of(column)
    if all(issubclass(kind, str) for kind in kinds):
        return True
    if all(map(is_integer, kinds)):
        return False
    if odd := {kind for kind in kinds if not issubclass(kind, str) and not is_integer(kind)}:
        raise _not_an_id(column, first_place(column, lambda value: type(value) in odd))
    text_first = isinstance(column.values[0], str)
    raise refused_cell(
        column,
        first_place(column, lambda value: isinstance(value, str) != text_first),
        f"stands under {shown(column.values[0])} of row 1: text and integers are mixed",
        allowed="one kind in a column",
        remedy="write all of them as text, or all as integers",
    )


def _not_an_id(column: Column, place: int) -> DataError:
    """Error about a cell that is neither text nor an integer."""
    value = column.values[place]
    problem = f"is of type {type(value).__name__}, neither text nor an integer"
    remedy = "write it as text"
    if isinstance(value, FLOATS):
        remedy = "make the column integers (a missing cell turns 3 into 3.0 in pandas) or text"
    return refused_cell(column, place, problem, allowed=_ID, remedy=remedy)


def _text_index(column: Column, distinct: list[str]) -> np.ndarray:
    """Validate distinct texts before they are copied into an array of fixed width."""
    longest = max(distinct, key=len)
    if len(longest) > MAX_CHARACTERS:
        raise refused_value(
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
        raise refused_value(
            column,
            longest,
            f"is one of {len(distinct):,} texts, which take {size / 2**30:,.1f} GiB at its width",
            allowed=f"{MAX_INDEX_BYTES / 2**30:.0f} GiB in all",
            remedy="use short ids",
        )
    return np.array(distinct, dtype=np.str_)


def _illegible(column: Column, text: str) -> DataError:
    """Error about text that is empty, or not valid Unicode."""
    if _UNSAFE.search(text):
        return refused_value(
            column,
            text,
            "holds a NUL or half a surrogate pair",
            remedy="write it as valid Unicode text",
        )
    return refused_value(column, text, "is empty", allowed=_ID, remedy=NO_MISSING)


def _integer_index(column: Column, distinct: list[int]) -> np.ndarray:
    """Validate distinct integers, and copy them into an int64 array."""
    limit = np.iinfo(np.int64)
    for value in (min(distinct), max(distinct)):
        if not limit.min <= value <= limit.max:
            raise refused_value(
                column, value, "does not fit into 64 bits", remedy="write the ids as text"
            )
    return np.array(distinct, dtype=np.int64)

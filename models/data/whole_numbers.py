"""Validation of ranks and counts: integers or their decimal text, within bounds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cells import (
    FLOATS,
    code_values,
    first_place,
    is_integer,
    kinds_of,
    refused_cell,
    refused_value,
)
from .tables import Column

__all__ = ["MAX_COUNT", "MAX_RANK", "read_counts", "read_ranks", "split_counts"]

MAX_RANK = 1_000_000
MAX_COUNT = 2**31 - 1

_WHOLE = re.compile(r"\s*([+-]?[0-9]{1,100})(\.0*)?\s*")


@dataclass(frozen=True)
class _Meaning:
    """Bounds of a column of integers, and the phrases of its errors."""

    least: int
    most: int
    allowed: str
    not_whole: str
    too_small: str
    too_large: str


_RANK = _Meaning(
    least=1,
    most=MAX_RANK,
    allowed=f"whole numbers from 1 (best) to {MAX_RANK:,}, equal ranks for a tie",
    not_whole="number the blocks 1, 2, 3 from the best",
    too_small="add 1 if the best counts from 0",
    too_large="leave out the rows of unranked categories",
)
_COUNT = _Meaning(
    least=0,
    most=MAX_COUNT,
    allowed=f"whole numbers from 0 to {MAX_COUNT:,}",
    not_whole="say how often the answer was given; a weight is no count",
    too_small="leave the row out, or write 0, where the answer was not given",
    too_large="split the row",
)


def read_ranks(column: Column) -> np.ndarray:
    """Read a column of ranks from 1, integers or decimal text, as int64, shape (row,)."""
    return _read(column, _RANK)


def read_counts(column: Column) -> np.ndarray:
    """Read a column of counts from 0, integers or decimal text, as int64, shape (row,)."""
    return _read(column, _COUNT)


def split_counts(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Split rows whose count exceeds `MAX_COUNT` into several rows that `read_counts` accepts."""
    count = table["count"]
    rows = np.maximum(-(-count // MAX_COUNT), 1)
    row = np.repeat(np.arange(len(count)), rows)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(rows) - rows, rows)
    split = {name: cells[row] for name, cells in table.items()}
    return split | {"count": np.minimum(count[row] - nth * MAX_COUNT, MAX_COUNT)}


def _read(column: Column, meaning: _Meaning) -> np.ndarray:
    """Read a column of integers; each distinct value is converted once."""
    if odd := {kind for kind in kinds_of(column) if not _may_be_number(kind)}:
        raise refused_cell(
            column,
            first_place(column, lambda value: type(value) in odd),
            "is not a number",
            allowed=meaning.allowed,
            remedy=meaning.not_whole,
        )
    code, distinct = code_values(column.values)
    return np.array([_number(column, value, meaning) for value in distinct], np.int64)[code]


def _may_be_number(kind: type) -> bool:
    """Type test: text, float or integer."""
    return issubclass(kind, (str, *FLOATS)) or is_integer(kind)


def _number(column: Column, value: Any, meaning: _Meaning) -> int:
    """Convert one distinct value to an integer within bounds."""
    number = None
    if isinstance(value, str):
        number = int(whole[1]) if (whole := _WHOLE.fullmatch(value)) else None
    elif not isinstance(value, FLOATS) or value.is_integer():
        number = int(value)
    if number is None:
        problem, remedy = "is not a whole number", meaning.not_whole
    elif number < meaning.least:
        problem, remedy = f"is below {meaning.least}", meaning.too_small
    elif number > meaning.most:
        problem, remedy = f"is above {meaning.most:,}", meaning.too_large
    else:
        return number
    raise refused_value(column, value, problem, allowed=meaning.allowed, remedy=remedy)

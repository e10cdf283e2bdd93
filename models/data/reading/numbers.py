"""Validation of ranks and counts: integers or their decimal text, within bounds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite
from typing import Any

import numpy as np

from ...._messages import short_repr
from ..errors import DataError
from .columns import (
    FLOATS,
    NO_MISSING,
    code_values,
    first_place,
    is_integer,
    kinds_of,
    refused_cell,
    refused_value,
)
from .tables import Column, is_listed, listed

MAX_SCORE = 1e100

"""Largest absolute score: sums of squares stay finite."""

Bounds = tuple[float, float]

"""Lowest and highest score that could be given."""

_DECIMAL = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?\s*")

_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")

_SAY_THE_SCORE = "write the score as a number, or leave the row out where none was given"


def read_scores(column: Column, bounds: Bounds | None) -> np.ndarray:
    """Read a column of scores, numbers or decimal text, as float64, shape (row,).

    Numbers keep their exact value, but minus zero becomes zero. Refuses cells that are missing, not a number,
    infinite, out of bounds, or without an exact value in 64 bits.
    """
    kinds = kinds_of(column)
    if odd := {kind for kind in kinds if not _may_be_score(kind)}:
        place = first_place(column, lambda value: type(value) in odd)
        problem = f"is of type {type(column.values[place]).__name__}, not a number"
        raise refused_cell(column, place, problem, allowed=_allowed(bounds), remedy=_SAY_THE_SCORE)
    if kinds == {float}:
        scores = np.array(column.values)
    else:
        scores = _coded_numbers(column, bounds)
    low, high = bounds or (-MAX_SCORE, MAX_SCORE)
    if (outside := (scores < low) | (scores > high)).any():
        place = int(outside.argmax())
        raise _outside(column, place, float(scores[place]), bounds)
    return scores + 0.0  # minus zero is zero


def read_bounds(bounds: Sequence[Any] | np.ndarray | None) -> Bounds | None:
    """Validate bounds: two finite numbers, the lower first, or None."""
    if bounds is None:
        return None
    if not is_listed(bounds) or len(bounds) != 2:
        raise _refused_bounds(bounds, "are not two numbers")
    ends = listed(bounds)
    for end in ends:
        if not (isinstance(end, FLOATS) or is_integer(type(end))):
            raise _refused_bounds(bounds, f"hold {short_repr(end)}, which is not a number")
        if not -MAX_SCORE <= end <= MAX_SCORE:
            raise _refused_bounds(bounds, f"hold {short_repr(end)}")
    low, high = (float(end) + 0.0 for end in ends)
    if low >= high:
        raise _refused_bounds(bounds, "are equal" if low == high else "are the wrong way round")
    return low, high


def _may_be_score(kind: type) -> bool:
    """Type test: text, Decimal, float or integer."""
    return issubclass(kind, (str, Decimal, *FLOATS)) or is_integer(kind)


def _coded_numbers(column: Column, bounds: Bounds | None) -> np.ndarray:
    """Cells of a column of several types as floats; each distinct value is converted once."""
    for place, value in enumerate(column.values):
        # a signalling NaN can be neither compared nor hashed
        if isinstance(value, Decimal) and value.is_nan():
            raise refused_cell(column, place, "is a missing cell", remedy=NO_MISSING)
    code, distinct = code_values(column.values)
    return np.array([_score(column, value, bounds) for value in distinct])[code]


def _score(column: Column, value: Any, bounds: Bounds | None) -> float:
    """Convert one distinct value to a float, infinite if it exceeds the range of floats."""
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value):
            return float(value)
        raise _no_number(column, value, bounds)
    try:
        number = float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    # decimals are written in base ten: the nearest float is what they mean
    if number != value and not isinstance(value, Decimal) and abs(number) <= MAX_SCORE:
        problem, remedy = "has no exact value as a 64-bit float", "round it, or change the unit"
        raise refused_value(column, value, problem, allowed=_allowed(bounds), remedy=remedy)
    return number


def _no_number(column: Column, text: str, bounds: Bounds | None) -> DataError:
    """Error about text that is not a decimal number."""
    problem, remedy = "is not a number", _SAY_THE_SCORE
    if not text.strip():
        problem = "is empty"
    elif _COMMA.fullmatch(text):
        remedy = f"write the decimal point: {text.strip().replace(',', '.')}"
    return refused_value(column, text, problem, allowed=_allowed(bounds), remedy=remedy)


def _allowed(bounds: Bounds | None) -> str:
    """Phrase with the allowed range."""
    if bounds is None:
        return f"finite numbers, at most {MAX_SCORE:g} in size"
    return f"numbers from {bounds[0]:.12g} to {bounds[1]:.12g}"


def _outside(column: Column, place: int, score: float, bounds: Bounds | None) -> DataError:
    """Error about a score that is infinite, too large, or out of bounds."""
    if not isfinite(score):
        problem, remedy = "is not finite", _SAY_THE_SCORE
    elif bounds is None:
        problem, remedy = f"is larger than {MAX_SCORE:g} in size", "change the unit"
    else:
        problem = "is below the lower bound" if score < bounds[0] else "is above the upper bound"
        remedy = "correct the cell, or declare the bounds of the whole scale: bounds=(low, high)"
    return refused_cell(column, place, problem, allowed=_allowed(bounds), remedy=remedy)


def _refused_bounds(bounds: Any, problem: str) -> DataError:
    return DataError(
        f"{short_repr(bounds)} {problem}",
        column="bounds",
        value=bounds,
        allowed="two finite numbers, the lower first",
        remedy="pass bounds=(low, high), the lowest and the highest score that could be given, or None",
        where="argument bounds",
    )


# --- Validation of ranks and counts: integers or their decimal text, within bounds ---

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

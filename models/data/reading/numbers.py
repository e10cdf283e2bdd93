"""Columns of numbers: scores, ranks and counts, or their decimal text, within bounds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite
from typing import Any

import numpy as np

from ...._messages import short_repr
from ....posterior.table_text import decimal_number
from ..errors import DataError, refused_argument
from .columns import FLOATS, code_values, first_place, is_integer, kinds_of, refused_cell, refused_value
from .frames import Column, is_listed, listed

MAX_SCORE = 1e100  # largest absolute score: sums of squares stay finite
Bounds = tuple[float, float]  # lowest and highest score that could be given
_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
_WRITE_SCORE = "write the score as a number, or leave the row out where none was given"


def read_scores(column: Column, bounds: Bounds | None) -> np.ndarray:
    """Read a column of scores, numbers or decimal text, as float64, shape (row,).

    Numbers keep their exact value, but minus zero becomes zero. Refuses cells that are missing, not a number,
    infinite, out of bounds, or without an exact value in 64 bits.
    """
    allowed = _allowed(bounds)
    kinds = _require_numbers(
        column, (str, Decimal, *FLOATS), "is of type {}, not a number", allowed, _WRITE_SCORE
    )
    if kinds == {float}:
        scores = np.array(column.values)
    else:
        for place, value in enumerate(column.values):
            # a signalling NaN can be neither compared nor hashed
            if isinstance(value, Decimal) and value.is_nan():
                raise refused_cell(column, place, "is a missing cell", remedy=column.fill_in)
        code, distinct = code_values(column.values)
        scores = np.array([_score(column, value, allowed) for value in distinct])[code]
    for end in bounds or ():
        scores[scores == np.float64(np.float32(end))] = end  # .3 of a column in 32 bits is a little more
    low, high = bounds or (-MAX_SCORE, MAX_SCORE)
    if (outside := (scores < low) | (scores > high)).any():
        place = int(outside.argmax())
        if not isfinite(scores[place]):
            problem, remedy = "is not finite", _WRITE_SCORE
        elif bounds is None:
            problem, remedy = f"is larger than {MAX_SCORE:g} in size", "change the unit"
        else:
            problem = "is below the lower bound" if scores[place] < low else "is above the upper bound"
            remedy = "correct the cell, or declare the bounds of the whole scale: bounds=(low, high)"
        raise refused_cell(column, place, problem, allowed=allowed, remedy=remedy)
    return scores + 0.0  # minus zero is zero


def is_number(cell: Any) -> bool:
    """Test for a number, or its decimal text, perhaps with a decimal comma."""
    if isinstance(cell, str):
        return decimal_number(cell) is not None or bool(_COMMA.fullmatch(cell))
    return isinstance(cell, (Decimal, *FLOATS)) or is_integer(type(cell))


def number_of(cell: Any) -> float | None:
    """Convert a cell, or its decimal text, to a number, infinite beyond the range of floats; None if it is none."""
    if isinstance(cell, str):
        return decimal_number(cell)
    if not is_number(cell) or (isinstance(cell, Decimal) and cell.is_nan()):
        return None
    try:
        return float(cell)
    except OverflowError:
        return inf if cell > 0 else -inf


def decimal_points(cells: Sequence[Any]) -> list[Any] | None:
    """Cells with points for decimal commas; None unless some have commas, and all others are whole or empty."""
    texts = {cell for cell in cells if isinstance(cell, str) and cell.strip()}
    commas = {cell for cell in texts if _COMMA.fullmatch(cell)}
    if not commas or not all(_WHOLE.fullmatch(cell) and "." not in cell for cell in texts - commas):
        return None
    return [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in cells]


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


def _require_numbers(
    column: Column, types: tuple[type, ...], problem: str, allowed: str, remedy: str
) -> set[type]:
    """Types of the cells, all integers or of the given types; raises at the first missing or other cell."""
    kinds = kinds_of(column)
    if odd := {kind for kind in kinds if not issubclass(kind, types) and not is_integer(kind)}:
        place = first_place(column, lambda value: type(value) in odd)
        problem = problem.format(type(column.values[place]).__name__)
        raise refused_cell(column, place, problem, allowed=allowed, remedy=remedy)
    return kinds


def _score(column: Column, value: Any, allowed: str) -> float:
    """Convert one distinct value to a float, infinite if it exceeds the range of floats."""
    number = number_of(value)
    if number is None:
        problem, remedy = "is not a number" if value.strip() else "is empty", _WRITE_SCORE
        if _COMMA.fullmatch(value):
            remedy = f"write the decimal point: {value.strip().replace(',', '.')}"
        raise refused_value(column, value, problem, allowed=allowed, remedy=remedy)
    # decimals, and texts of them, are written in base ten: the nearest float is what they mean
    if not isinstance(value, str | Decimal) and number != value and abs(number) <= MAX_SCORE:
        problem, remedy = "has no exact value as a 64-bit float", "round it, or change the unit"
        raise refused_value(column, value, problem, allowed=allowed, remedy=remedy)
    return number


def _allowed(bounds: Bounds | None) -> str:
    """Phrase with the allowed range."""
    if bounds is None:
        return f"finite numbers, at most {MAX_SCORE:g} in size"
    return f"numbers from {bounds[0]:.12g} to {bounds[1]:.12g}"


def _refused_bounds(bounds: Any, problem: str) -> DataError:
    problem, allowed = f"{short_repr(bounds)} {problem}", "two finite numbers, the lower first"
    remedy = "pass bounds=(low, high), the lowest and the highest score that could be given, or None"
    return refused_argument("bounds", problem, value=bounds, allowed=allowed, remedy=remedy)


MAX_RANK = 1_000_000
MAX_COUNT = 2**31 - 1
_WHOLE = re.compile(r"\s*([+-]?[0-9]{1,100})(\.0*)?\s*")


@dataclass(frozen=True)
class _NumberKind:
    """Bounds of a column of integers, and the phrases of its errors."""

    least: int
    most: int
    allowed: str
    not_whole: str
    too_small: str
    too_large: str


_RANK = _NumberKind(
    least=1,
    most=MAX_RANK,
    allowed=f"whole numbers from 1 (best) to {MAX_RANK:,}, equal ranks for a tie",
    not_whole="number the blocks 1, 2, 3 from the best",
    too_small="leave the row out if the category was not ranked, or add 1 to all if the best counts from 0",
    too_large="leave out the rows of unranked categories",
)

_COUNT = _NumberKind(
    least=0,
    most=MAX_COUNT,
    allowed=f"whole numbers from 0 to {MAX_COUNT:,}",
    not_whole="say how often the answer was given; a weight is no count",
    too_small="leave the row out, or write 0, where the answer was not given",
    too_large="split the row",
)


def read_ranks(column: Column) -> np.ndarray:
    """Read a column of ranks from 1, integers or decimal text, as int64, shape (row,)."""
    return _read_whole(column, _RANK)


def read_counts(column: Column) -> np.ndarray:
    """Read a column of counts from 0, integers or decimal text, as int64, shape (row,)."""
    return _read_whole(column, _COUNT)


def split_counts(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Split rows whose count exceeds `MAX_COUNT` into several rows that `read_counts` accepts."""
    count = table["count"]
    rows = np.maximum(-(-count // MAX_COUNT), 1)
    row = np.repeat(np.arange(len(count)), rows)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(rows) - rows, rows)
    split = {name: cells[row] for name, cells in table.items()}
    return split | {"count": np.minimum(count[row] - nth * MAX_COUNT, MAX_COUNT)}


def _read_whole(column: Column, kind: _NumberKind) -> np.ndarray:
    """Read a column of integers; each distinct value is converted once."""
    _require_numbers(column, (str, *FLOATS), "is not a number", kind.allowed, kind.not_whole)
    code, distinct = code_values(column.values)
    return np.array([_whole(column, value, kind) for value in distinct], np.int64)[code]


def _whole(column: Column, value: Any, kind: _NumberKind) -> int:
    """Convert one distinct value to an integer within bounds."""
    number = None
    if isinstance(value, str):
        number = int(digits[1]) if (digits := _WHOLE.fullmatch(value)) else None
    elif not isinstance(value, FLOATS) or value.is_integer():
        number = int(value)
    if number is None:
        problem, remedy = "is not a whole number", kind.not_whole
    elif number < kind.least:
        problem, remedy = f"is below {kind.least}", kind.too_small
    elif number > kind.most:
        problem, remedy = f"is above {kind.most:,}", kind.too_large
    else:
        return number
    raise refused_value(column, value, problem, allowed=kind.allowed, remedy=remedy)

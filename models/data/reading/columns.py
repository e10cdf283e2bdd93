"""Cells of columns: validation, missing cells, and ids coded and matched to an index; errors name column, row and value."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import count, filterfalse
from typing import Any, Literal

import numpy as np

from ...._messages import short_repr, warn_user
from ....posterior.matching import POINT
from ....posterior.schema import OTHER
from ....posterior.table_text import whole_number
from ..errors import DataError, DataWarning, refused_argument
from .coded_cells import CodedCells, recoded
from .frames import MAX_CHARACTERS, Column, is_listed, listed

Missing = Literal["error", "drop"]  # treatment of rows with an empty cell
ANONYMOUS_KINDS = ("comparisons", "scores")  # whose tables need no column of raters
ATTRIBUTE = "rater_attributes "  # prefix of the roles of columns with attributes of the raters

FLOATS = (float, np.floating)

# missing-value markers of array libraries, by the names of their types
MISSING_TYPES = ("NoneType", "NAType", "NaTType")


def code_values(values: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """Factorise values in order of first appearance: code (row,) int32, and the list of distinct values.

    Of a list in one pass: the dict asks the counter for a number at each new key.
    """
    if isinstance(values, CodedCells):
        return values.code, values.distinct
    number = defaultdict(count().__next__)
    code = np.fromiter(map(number.__getitem__, values), np.int32, len(values))
    return code, list(number)


def is_integer(kind: type) -> bool:
    """Integer test for a type of cells; excludes bool and timedelta64, which derive from integers."""
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def is_missing(value: Any) -> bool:
    """Missing-value test: None, NaN, NA or NaT; empty text is not missing."""
    return type(value).__name__ in MISSING_TYPES or (isinstance(value, FLOATS) and value != value)


def is_empty(value: Any) -> bool:
    """Test for a missing cell or empty text, where a cell is optional."""
    return is_missing(value) or (isinstance(value, str) and value == "")


def whole_cells(column: Column, *, gap: bool = False) -> Column:
    """Undo the floats that a missing cell makes of a column of integers; `gap`: also where a column beside it has one."""
    if isinstance(column.values, CodedCells):
        return column
    floats = [v for v in column.values if isinstance(v, FLOATS) and v == v]
    has_gap = gap or len(floats) < len(column.values)
    if floats and has_gap and all(v.is_integer() for v in floats):
        values = [int(v) if isinstance(v, FLOATS) and v == v else v for v in column.values]
        return replace(column, values=values)
    return column


def whole_columns(columns: Sequence[Column]) -> list[Column]:
    """Undo the floats that a missing cell makes of columns of one variable: a pivot makes all of them floats if one has a gap."""
    gap = any(
        any(map(is_missing, column.values)) for column in columns if not isinstance(column.values, CodedCells)
    )
    return [whole_cells(column, gap=gap) for column in columns]


def kinds_of(column: Column) -> set[type]:
    """Types of the cells of a column; raises at the first missing cell."""
    if isinstance(column.values, CodedCells):
        return {int if isinstance(column.values.values, np.ndarray) else type(column.values.distinct[0])}
    kinds = {*map(type, column.values)}
    marked = any(kind.__name__ in MISSING_TYPES for kind in kinds)
    floats = any(issubclass(kind, FLOATS) for kind in kinds)
    if marked or (floats and any(map(is_missing, column.values))):
        place = first_place(column, is_missing)
        raise refused_cell(column, place, "is a missing cell", remedy=column.fill_in)
    return kinds


def cells_that(values: Sequence[Any], test: Callable[[Any], bool]) -> np.ndarray:
    """Mask of the cells that pass a test, (row,)."""
    if isinstance(values, CodedCells):
        return values.mask(test)
    return np.fromiter(map(test, values), bool, len(values))


def first_place(column: Column, bad: Callable[[Any], bool]) -> int:
    """Index, from 0, of the first bad cell; one cell must be bad."""
    return next(place for place, value in enumerate(column.values) if bad(value))


def first_repeat(codes: np.ndarray) -> int | None:
    """Index, from 0, of the first element that equals an earlier one; None if all are distinct."""
    _, first = np.unique(codes, return_index=True)
    repeats = np.setdiff1d(np.arange(len(codes)), first)
    return int(repeats[0]) if len(repeats) else None


def refused_value(column: Column, value: Any, problem: str, *, allowed: str = "", remedy: str) -> DataError:
    """Error about a distinct value, located at the first row that holds it; the problem follows the value."""
    place = column.values.index(value)
    return refused_cell(column, place, problem, allowed=allowed, remedy=remedy)


def refused_cell(column: Column, place: int, problem: str, *, allowed: str = "", remedy: str) -> DataError:
    """Error about the cell at a place counted from 0; the problem follows the value."""
    value = column.values[place]
    problem = f"{short_repr(value)} {problem}"
    return DataError(
        problem, row=column.row(place), column=column.name, value=value, allowed=allowed, remedy=remedy
    )


MAX_INDEX_BYTES = 2**30
_ID = "one text or one whole number in each cell"

# NUL truncates fixed-width text, and half a surrogate pair cannot be encoded
_UNSAFE = re.compile(r"[\0\ud800-\udfff]")
_LEGIBLE = re.compile(r"\s*[^\s\0\ud800-\udfff][^\0\ud800-\udfff]*")


def code_ids(column: Column, reserved: Collection[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a column of ids or labels, all text (kept exactly, but for `without_points`) or all integers.

    Returns the distinct values in order of first appearance, (distinct,), and the codes, (row,) int32.
    Refuses cells that are missing, empty, too long, reserved, of another type or of mixed types.
    """
    index_of = _text_index if _is_text(column) else _integer_index
    if isinstance(column.values, CodedCells) and isinstance(column.values.values, np.ndarray):
        return _integer_index(column, column.values.values), column.values.code
    code, distinct = code_values(column.values)
    if index_of is _text_index and (found := without_points(column.name, distinct)) is not None:
        column = replace(column, values=CodedCells(found[0], found[1][code]))
        code, distinct = code_values(column.values)
    index = index_of(column, distinct)
    if taken := [label for label in distinct if label in reserved] if reserved else []:
        raise refused_value(column, taken[0], "is a reserved label", remedy="give the category another name")
    return index, code


def without_points(name: str, distinct: Sequence[str]) -> tuple[list[str], np.ndarray] | None:
    """Distinct texts, and the new code of each, where "1.0" beside "1" is the same whole number; None if nothing changes.

    Libraries write integers as floats in columns with a missing cell, and as integers beside them.
    """
    pointed = [text for text in distinct if text.endswith(POINT)]
    if not 0 < len(pointed) < len(distinct):
        return None
    whole = [text.removesuffix(POINT) for text in distinct]
    if any(whole_number(text) is None for text in whole):
        return None
    code, merged = code_values(whole)
    warn_user(
        f"column {short_repr(name)}: reading whole numbers with and without a point as the same, such as "
        f"{short_repr(pointed[0])} as {short_repr(pointed[0].removesuffix(POINT))}",
        DataWarning,
    )
    return merged, code


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
        place = first_place(column, lambda value: type(value) in odd)
        problem = f"is of type {type(column.values[place]).__name__}, neither text nor an integer"
        remedy = "write it as text"
        if isinstance(column.values[place], FLOATS):
            remedy = "make the column integers (a missing cell turns 3 into 3.0 in pandas) or text"
        raise refused_cell(column, place, problem, allowed=_ID, remedy=remedy)
    text_first = isinstance(column.values[0], str)
    place = first_place(column, lambda value: isinstance(value, str) != text_first)
    problem = f"stands under {short_repr(column.values[0])} of row 1: text and integers are mixed"
    remedy = "write all of them as text, or all as integers"
    raise refused_cell(column, place, problem, allowed="one kind in a column", remedy=remedy)


def _text_index(column: Column, distinct: list[str]) -> np.ndarray:
    """Validate distinct texts before they are copied into an array of fixed width."""
    longest = max(distinct, key=len)
    if len(longest) > MAX_CHARACTERS:
        allowed = f"{MAX_CHARACTERS:,} characters"
        raise refused_value(column, longest, "is too long", allowed=allowed, remedy="shorten it")
    if illegible := [*filterfalse(_LEGIBLE.fullmatch, distinct)]:
        if not _UNSAFE.search(illegible[0]):
            raise refused_value(column, illegible[0], "is empty", allowed=_ID, remedy=column.fill_in)
        problem, remedy = "holds a NUL or half a surrogate pair", "write it as valid Unicode text"
        raise refused_value(column, illegible[0], problem, remedy=remedy)
    size = 4 * len(longest) * len(distinct)
    if size > MAX_INDEX_BYTES:
        problem = f"is one of {len(distinct):,} texts, which take {size / 2**30:,.1f} GiB at its width"
        allowed = f"{MAX_INDEX_BYTES / 2**30:.0f} GiB in all"
        raise refused_value(column, longest, problem, allowed=allowed, remedy="use short ids")
    return np.array(distinct, dtype=np.str_)


def _integer_index(column: Column, distinct: list[int] | np.ndarray) -> np.ndarray:
    """Validate distinct integers, and copy them into an int64 array."""
    limit = np.iinfo(np.int64)
    ends = (
        map(int, (distinct.min(), distinct.max()))
        if isinstance(distinct, np.ndarray)
        else (min(distinct), max(distinct))
    )
    for value in ends:
        if not limit.min <= value <= limit.max:
            raise refused_value(column, value, "does not fit into 64 bits", remedy="write the ids as text")
    return np.array(distinct, dtype=np.int64)


def is_blank(value: Any) -> bool:
    """Test for a missing cell, empty text or spaces."""
    return is_empty(value) or (isinstance(value, str) and not value.strip())


MAX_IDS = 1_000_000
RESERVED = (OTHER,)


def code_categories(
    column: Column, declared: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a column within its closed set; returns categories (category,) and codes (row,).

    `declared` is the closed set in the order that breaks ties; None takes the categories that the column's
    dtype declares, or else the sorted categories that occur. Refuses cells outside the set, and a set of one
    category.
    """
    used, code = code_ids(column, RESERVED)
    if declared is None:
        declared = column.declared
    categories = np.sort(used) if declared is None else distinct_ids("categories", declared, RESERVED)
    if len(categories) < 2:
        raise DataError(
            f"{short_repr(categories[0].item())} is the only category: there is nothing to choose from",
            column=column.name,
            value=categories[0].item(),
            allowed="a closed set of two or more categories",
            remedy="pass categories= with all that could have been chosen",
        )
    position = match_ids(used, categories, "categories", row=1, column=column.name)
    if (position < 0).any():
        row = int((position[code] < 0).argmax())
        value = used[code[row]].item()
        problem, allowed = f"{short_repr(value)} is not one of the categories", nearest(value, categories)
        remedy = "correct the cell, or add it to categories="
        place = column.row(row)
        raise DataError(problem, row=place, column=column.name, value=value, allowed=allowed, remedy=remedy)
    return categories, recoded(position, code)


def distinct_ids(argument: str, ids: Sequence[Any] | np.ndarray, reserved: Sequence[str] = ()) -> np.ndarray:
    """Validate an argument that lists distinct ids; returns them as an array, shape (id,).

    Refuses an unordered collection, no ids or too many, and ids that are repeated or reserved; places count
    from 1.
    """
    if not is_listed(ids):
        problem = f"{argument}={short_repr(ids)} is a {type(ids).__name__}"
        allowed, remedy = "a list or another sequence in a fixed order", f"pass {argument}=[...]"
        raise refused_argument(argument, problem, value=ids, allowed=allowed, remedy=remedy)
    if not 0 < len(ids) <= MAX_IDS:
        problem, allowed = f"{len(ids):,} ids are listed", f"1 to {MAX_IDS:,} ids"
        remedy = "list the ids to be used"
        raise refused_argument(argument, problem, value=len(ids), allowed=allowed, remedy=remedy)
    column = Column(argument, listed(ids))
    try:
        index, code = code_ids(column, reserved)
        if (place := first_repeat(code)) is not None:
            raise refused_cell(column, place, "is listed twice", remedy="list each once")
    except DataError as error:
        raise error.moved(f"argument {argument}, place {error.row}") from None
    return index


def distinct_item_ids(column: Column, remedy: str) -> np.ndarray:
    """Validate a column with one row for each item; returns the ids, shape (row,)."""
    items, code = code_ids(column)
    if (place := first_repeat(code)) is not None:
        problem = "stands in an earlier row too"
        raise refused_cell(column, place, problem, allowed="one row for each item", remedy=remedy)
    return items


def match_ids(
    wanted: np.ndarray, index: np.ndarray, name: str, *, row: int | None = None, column: str | None = None
) -> np.ndarray:
    """Find the place of each wanted id, shape (wanted,), in an index of distinct ids, -1 where it is absent.

    `name` names the index in messages; `row` and `column` locate the first wanted id, and without a row it is
    an argument. Raises if one side is text and the other integers.
    """
    if wanted.dtype.kind != index.dtype.kind:
        one, other = wanted[0].item(), index[0].item()
        raise DataError(
            f"values such as {short_repr(one)} are {text_or_integer(wanted)}, but the {name} are "
            f"{text_or_integer(index)} such as {short_repr(other)}",
            value=one,
            allowed="one kind on both sides",
            remedy=f"write both as text, or both as integers ({short_repr(one)} is not {short_repr(other)})",
            row=row,
            column=column or name,
            where="" if row else f"argument {name}",
        )
    place = {label: code for code, label in enumerate(index.tolist())}
    return np.array([place.get(label, -1) for label in wanted.tolist()], np.int32)


def chosen_items(items: Sequence[Any] | np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Resolve chosen items: old codes of those kept, (kept,), and new codes of all, (item,), -1 if dropped.

    Refuses items that are unknown, repeated, or text where the ids are integers.
    """
    wanted = distinct_ids("items", items)
    code = match_ids(wanted, index, "items")
    if (code < 0).any():
        unknown = wanted[(code < 0).argmax()].item()
        problem, allowed = f"{short_repr(unknown)} is not one of the items", nearest(unknown, index)
        remedy = "choose among .items"
        raise refused_argument("items", problem, value=unknown, allowed=allowed, remedy=remedy)
    place = np.full(len(index), -1, np.int32)
    place[code] = np.arange(len(code))
    return code, place


def rows_of(column: Column, rows: np.ndarray) -> Column:
    """Column of some rows, places from 0 (row,)."""
    values = column.values
    cells = values.kept(rows) if isinstance(values, CodedCells) else [values[row] for row in rows.tolist()]
    return replace(column, values=cells, kept=rows if column.kept is None else column.kept[rows])


def nearest(label: Any, index: np.ndarray) -> str:
    """Phrase with the id most similar to a label that was not found, or with the first three ids."""
    texts = [own for own in index.tolist() if isinstance(own, str)]
    near = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    if near:
        return f"the nearest is {short_repr(near[0])}"
    return f"{len(index):,} such as {', '.join(map(short_repr, index[:3].tolist()))}"

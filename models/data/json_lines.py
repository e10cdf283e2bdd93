"""JSON lines reader: one object a line, all with the keys of the first."""

import json
import re
from pathlib import Path
from typing import Any

from .columns import MAX_CHARACTERS
from .errors import DataError, shown
from .text_lines import text_lines

__all__ = ["read_json_lines"]

HALF_PAIR = re.compile(r"[\ud800-\udfff]")  # of surrogates: JSON can spell it, no file can hold it


def read_json_lines(path: Path) -> dict[str, list[Any]]:
    """Read one JSON object from each line of a UTF-8 file into columns.

    Integers become their decimal text, as in a CSV file; null becomes None. Refuses a line that is truncated
    or no object, repeats a key, has other keys than the first, or holds a list, an object or too long a text;
    the error names the line.
    """
    columns: dict[str, list[Any]] = {}
    lines = [*text_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    for row, line in enumerate(lines, start=1):
        place = f"{path.name}, line {row:,}"
        try:
            record = json.loads(
                line, object_pairs_hook=_object, parse_int=str, parse_constant=_number
            )
        except (json.JSONDecodeError, RecursionError) as error:
            problem = (
                f"{error.msg} at place {error.colno}"
                if isinstance(error, ValueError)
                else "too deep"
            )
            raise DataError(
                f"this is no JSON object on one line ({problem})",
                row=row,
                value=line[:100],
                remedy="complete the line, or leave it out if it is blank",
                where=place,
            ) from None
        except DataError as error:
            raise error.moved(place) from None
        _append(columns, record, row, place)
    return columns


def _append(columns: dict[str, list[Any]], record: Any, row: int, place: str) -> None:
    """Validate one record, and append its cells to the columns."""
    if not isinstance(record, dict):
        raise DataError(
            f"{shown(record)} is no JSON object",
            row=row,
            value=record,
            allowed="one object of cells on every line",
            remedy='write {"column": cell, ...}',
            where=place,
        )
    if row == 1:
        _refuse_names(record, place)
        columns.update((name, []) for name in record)
    if differing := sorted(record.keys() ^ columns.keys()):
        name = differing[0]
        raise DataError(
            f"key {shown(name)} is {'new' if name in record else 'missing'}",
            row=row,
            column=name,
            allowed=f"the keys of the first line: {', '.join(map(shown, columns))}",
            remedy="write null where there is no value",
            where=place,
        )
    for name, cell in record.items():
        if not _is_cell(cell):
            raise DataError(
                f"{shown(cell)} is no cell of a table",
                row=row,
                column=name,
                value=cell,
                allowed=f"valid Unicode text of at most {MAX_CHARACTERS:,} characters, a number or null",
                remedy="write one row for each member, or a shorter text",
                where=f"{place}, column {shown(name)}",
            )
        columns[name].append(cell)


def _refuse_names(record: dict[str, Any], place: str) -> None:
    if half := [name for name in record if HALF_PAIR.search(name)]:
        raise DataError(
            f"key {shown(half[0])} holds half a surrogate pair",
            row=1,
            column=half[0],
            value=half[0],
            remedy="write it as valid Unicode text",
            where=place,
        )


def _is_cell(cell: Any) -> bool:
    """Test of a cell: a number, a bool, None, or valid text of bounded length."""
    if isinstance(cell, str):
        return len(cell) <= MAX_CHARACTERS and not HALF_PAIR.search(cell)
    return not isinstance(cell, dict | list)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Parse an object; refuses repeated keys."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise DataError("a key is written twice in one object", remedy="drop one of them")
    return record


def _number(constant: str) -> float:
    """Refuse NaN and Infinity, which are not JSON."""
    raise DataError(
        f"{constant} is no number in JSON", value=constant, remedy="write null, or a number"
    )

"""CSV and TSV reader: cells are text, and all rows have the width of the header."""

import csv
from collections import Counter
from pathlib import Path

from .columns import MAX_CHARACTERS
from .errors import DataError, shown
from .text_lines import text_lines

__all__ = ["read_delimited"]


def read_delimited(path: Path, delimiter: str) -> dict[str, list[str]]:
    """Read a delimited UTF-8 file with a header, cells quoted or not, into columns of text.

    Refuses a header with a repeated name, no row, a blank row, a row of another width, an unclosed quote, and
    a cell that is too long; the error names the row.
    """
    reader = csv.reader(text_lines(path), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    line = 1
    try:
        header = _header(next(reader), path, delimiter)
        for cells in reader:
            line = reader.line_num
            rows.append(cells)
    except csv.Error as error:
        raise DataError(
            f"the row cannot be split into cells ({error})",
            row=len(rows) + 1,
            remedy=f"close every quote, and keep cells below {MAX_CHARACTERS:,} characters",
            where=f"{path.name}, row {len(rows) + 1:,} (after line {line:,})",
        ) from None
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise DataError(
            "there is a header but no row", where=path.name, remedy="check what wrote it"
        )
    _refuse_ragged(rows, len(header), path)
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    _refuse_long(columns, path)
    return columns


def _header(names: list[str], path: Path, delimiter: str) -> list[str]:
    """Validate the header: unique names, and at least two."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"the header names column {shown(twice[0])} twice",
            column=twice[0],
            value=twice[0],
            remedy="rename or drop one of them",
            where=path.name,
        )
    if len(names) < 2:
        other = next(
            (mark for mark in ",;\t|" if mark != delimiter and mark in "".join(names)), None
        )
        raise DataError(
            f"the header has no {delimiter!r}: {shown(''.join(names))}",
            value="".join(names),
            allowed="a header line, with commas in .csv and tabs in .tsv",
            remedy=f"write {delimiter!r} instead of {other!r}" if other else "write a header line",
            where=path.name,
        )
    return names


def _refuse_ragged(rows: list[list[str]], width: int, path: Path) -> None:
    """Raise at the first row that is blank or has not the width of the header."""
    for row, cells in enumerate(rows, start=1):
        if len(cells) != width:
            raise DataError(
                f"{len(cells)} cells under a header of {width}" if cells else "the row is blank",
                row=row,
                value=len(cells),
                remedy="quote cells that hold the delimiter" if cells else "leave blank lines out",
                where=f"{path.name}, row {row:,}",
            )


def _refuse_long(columns: dict[str, list[str]], path: Path) -> None:
    """Raise at the longest cell of a column if it exceeds `MAX_CHARACTERS`."""
    for name, cells in columns.items():
        longest = max(map(len, cells))
        if longest > MAX_CHARACTERS:
            row = [*map(len, cells)].index(longest) + 1
            raise DataError(
                f"the cell has {longest:,} characters",
                row=row,
                column=name,
                value=cells[row - 1],
                allowed=f"{MAX_CHARACTERS:,} characters",
                remedy="shorten it, or check the quotes",
                where=f"{path.name}, row {row:,}, column {shown(name)}",
            )

"""File readers: CSV, TSV, JSON lines and Parquet, by suffix.

Ids are always read as text, integers as their decimal text: an id is the same in a CSV and in a Parquet file.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw

from ...._messages import short_repr
from ..errors import DataError
from .columns import MAX_CHARACTERS

MAX_LINE = 1_000_000

_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\x1f\x8b": "compressed with gzip",
    b"\xff\xfe": "in UTF-16",
    b"\xfe\xff": "in UTF-16",
    b"\x80\x04": "a pickle, which is never read",
    b"\x80\x05": "a pickle, which is never read",
}


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line ends, without a byte order mark.

    Raises if the file is empty or binary, or a line is not UTF-8 or has over a million bytes.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            yield _decode(line, f"{path.name}, line {number:,}", first=number == 1)
    if number == 0:
        raise DataError("the file is empty", where=path.name, remedy="check what wrote it")


def _decode(line: bytes, place: str, *, first: bool) -> str:
    """Decode one line; on the first, recognise binary formats and strip the byte order mark."""
    if len(line) > MAX_LINE:
        remedy = "check the line ends and the quotes"
        raise DataError("the line is too long", allowed=f"{MAX_LINE:,} bytes", remedy=remedy, where=place)
    known = [what for signature, what in _SIGNATURES.items() if first and line.startswith(signature)]
    if known or b"\0" in line:
        problem = f"this is no text: it is {known[0] if known else 'binary'}"
        remedy = "export it as text, or correct the suffix of the file"
        raise DataError(problem, allowed="CSV, TSV or JSON lines in UTF-8", remedy=remedy, where=place)
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {line[error.start]:#04x} at place {error.start + 1} is not UTF-8"
        remedy = "save the file as UTF-8"
        raise DataError(problem, value=line[error.start : error.end], remedy=remedy, where=place) from None


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
        raise DataError("there is a header but no row", where=path.name, remedy="check what wrote it")
    for row, cells in enumerate(rows, start=1):
        if len(cells) != len(header):
            problem = f"{len(cells)} cells under a header of {len(header)}" if cells else "the row is blank"
            remedy = "quote cells that hold the delimiter" if cells else "leave blank lines out"
            where = f"{path.name}, row {row:,}"
            raise DataError(problem, row=row, value=len(cells), remedy=remedy, where=where)
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    _refuse_long_cells(columns, path)
    return columns


def _header(names: list[str], path: Path, delimiter: str) -> list[str]:
    """Validate the header: unique names, and at least two."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        problem = f"the header names column {short_repr(twice[0])} twice"
        remedy = "rename or drop one of them"
        raise DataError(problem, column=twice[0], value=twice[0], remedy=remedy, where=path.name)
    if len(names) < 2:
        other = next((mark for mark in ",;\t|" if mark != delimiter and mark in "".join(names)), None)
        problem = f"the header has no {delimiter!r}: {short_repr(''.join(names))}"
        allowed = "a header line, with commas in .csv and tabs in .tsv"
        remedy = f"write {delimiter!r} instead of {other!r}" if other else "write a header line"
        raise DataError(problem, value="".join(names), allowed=allowed, remedy=remedy, where=path.name)
    return names


def _refuse_long_cells(columns: dict[str, list[str]], path: Path) -> None:
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
                where=f"{path.name}, row {row:,}, column {short_repr(name)}",
            )


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
            record = json.loads(line, object_pairs_hook=_object, parse_int=str, parse_constant=_number)
        except (json.JSONDecodeError, RecursionError) as error:
            found = f"{error.msg} at place {error.colno}" if isinstance(error, ValueError) else "too deep"
            problem = f"this is no JSON object on one line ({found})"
            remedy = "complete the line, or leave it out if it is blank"
            raise DataError(problem, row=row, value=line[:100], remedy=remedy, where=place) from None
        except DataError as error:
            raise error.moved(place) from None
        _append(columns, record, row, place)
    return columns


def _append(columns: dict[str, list[Any]], record: Any, row: int, place: str) -> None:
    """Validate one record, and append its cells to the columns."""
    if not isinstance(record, dict):
        problem, allowed = f"{short_repr(record)} is no JSON object", "one object of cells on every line"
        remedy = 'write {"column": cell, ...}'
        raise DataError(problem, row=row, value=record, allowed=allowed, remedy=remedy, where=place)
    if row == 1:
        if half := [name for name in record if HALF_PAIR.search(name)]:
            problem = f"key {short_repr(half[0])} holds half a surrogate pair"
            remedy = "write it as valid Unicode text"
            raise DataError(problem, row=1, column=half[0], value=half[0], remedy=remedy, where=place)
        columns.update((name, []) for name in record)
    if differing := sorted(record.keys() ^ columns.keys()):
        name = differing[0]
        problem = f"key {short_repr(name)} is {'new' if name in record else 'missing'}"
        allowed = f"the keys of the first line: {', '.join(map(short_repr, columns))}"
        remedy = "write null where there is no value"
        raise DataError(problem, row=row, column=name, allowed=allowed, remedy=remedy, where=place)
    for name, cell in record.items():
        if not _is_cell(cell):
            raise DataError(
                f"{short_repr(cell)} is no cell of a table",
                row=row,
                column=name,
                value=cell,
                allowed=f"valid Unicode text of at most {MAX_CHARACTERS:,} characters, a number or null",
                remedy="write one row for each member, or a shorter text",
                where=f"{place}, column {short_repr(name)}",
            )
        columns[name].append(cell)


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
    raise DataError(f"{constant} is no number in JSON", value=constant, remedy="write null, or a number")


MAX_BYTES = 2**30
MAX_CELLS = 200_000_000
_SUFFIXES = ".csv, .tsv, .jsonl, .ndjson and .parquet"


def read_table(path: str | PathLike[str], *, rename: Mapping[str, str] | None = None) -> Any:
    """Read a table file into a frame that all containers accept; integers become text.

    Formats: ``.csv``, ``.tsv``, ``.jsonl`` and ``.ndjson`` in UTF-8 (to pandas), and ``.parquet`` (to
    pyarrow). `rename` maps columns of the file to new names. Raises `DataError` with file, row or line, and
    remedy.
    """
    path = Path(path)
    _refuse_unreadable(path)
    try:
        if path.suffix.lower() == ".parquet":
            frame = _read_parquet(path)
        else:
            frame = nw.from_dict(read_columns(path), backend="pandas")
    except OSError as error:
        raise DataError(
            f"the file cannot be read ({error.strerror or error})",
            remedy="check its permissions",
            where=path.name,
        ) from None
    if not frame.columns:
        raise DataError("the table has no columns", where=path.name, remedy="check what wrote it")
    return _renamed(frame, rename or {}, path).to_native()


def read_columns(path: Path) -> dict[str, list[Any]]:
    """Read a CSV, TSV or JSON lines file into a dict of columns, without a frame library."""
    match path.suffix.lower():
        case ".csv":
            return read_delimited(path, ",")
        case ".tsv":
            return read_delimited(path, "\t")
        case ".jsonl" | ".ndjson":
            return read_json_lines(path)
        case suffix:
            problem, remedy = (
                f"the suffix {suffix!r} is not a supported format",
                "export the table to one of them",
            )
            if suffix == ".json":
                remedy = "write one JSON object on each line of a .jsonl file"
            raise DataError(problem, value=suffix, allowed=_SUFFIXES, remedy=remedy, where=path.name)


def _refuse_unreadable(path: Path) -> None:
    """Raise if the path is not a file, or the file is too large."""
    if not path.is_file():
        found = "is not a file" if path.exists() else "does not exist"
        where, remedy = short_repr(str(path)), "give the path of one file"
        raise DataError(found, value=str(path), remedy=remedy, where=where)
    size = path.stat().st_size
    if size > MAX_BYTES:
        problem = f"the file has {size:,} bytes"
        remedy = "read it with a frame library, and pass the columns that are needed"
        raise DataError(problem, value=size, allowed=f"{MAX_BYTES:,} bytes", remedy=remedy, where=path.name)


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    """Read Parquet with text as dictionaries, since a small file can hold much repeated text."""
    try:
        parquet = import_module("pyarrow.parquet")  # an extra: nothing else here needs it
        arrow = import_module("pyarrow")
    except ImportError:
        remedy = "install pyarrow, or write CSV"
        raise DataError("reading Parquet needs pyarrow", remedy=remedy, where=path.name) from None
    try:
        with parquet.ParquetFile(path) as file:
            footer = file.metadata
        _refuse_oversized(footer, path)
        columns = [footer.schema.column(c) for c in range(footer.num_columns)]
        text = [column.path for column in columns if column.logical_type.type == "STRING"]
        with parquet.ParquetFile(path, read_dictionary=text) as file:
            table = file.read()
        _validate(table)
        frame = nw.from_native(table, eager_only=True)
        whole = [name for name, kind in frame.schema.items() if kind.is_integer()]
        _refuse_long(frame, text, path)
        return frame.with_columns(nw.col(name).cast(nw.String) for name in whole)
    except DataError:
        raise
    except (OSError, ValueError, NotImplementedError, arrow.ArrowException) as error:
        raise DataError(
            f"this is no Parquet file that can be read ({' '.join(str(error).split())[:200]})",
            remedy="write it again, or correct its suffix",
            where=path.name,
        ) from None


def _validate(table: Any) -> None:
    """Run Arrow's validation: it raises if indices exceed their dictionaries, or text is not UTF-8."""
    table.validate(full=True)
    for column in table.columns:
        for chunk in column.chunks:
            if hasattr(chunk, "dictionary"):  # which is not validated with its table
                chunk.dictionary.validate(full=True)


def _refuse_oversized(footer: Any, path: Path) -> None:
    """Raise if the footer announces more cells or bytes than allowed, before anything is decompressed."""
    cells = footer.num_rows * footer.num_columns
    size = sum(footer.row_group(g).total_byte_size for g in range(footer.num_row_groups))
    if cells > MAX_CELLS or size > MAX_BYTES:
        problem = f"the table has {cells:,} cells in {size:,} bytes"
        allowed = f"{MAX_CELLS:,} cells in {MAX_BYTES:,} bytes"
        remedy = "write the columns that are needed to a file of their own"
        raise DataError(problem, value=cells, allowed=allowed, remedy=remedy, where=path.name)


def _refuse_long(frame: nw.DataFrame[Any], names: list[str], path: Path) -> None:
    """Raise if a text cell exceeds `MAX_CHARACTERS`."""
    for name in (name for name in names if name in frame.columns):
        longest = frame[name].drop_nulls().unique().cast(nw.String).str.len_chars().max() or 0
        if longest > MAX_CHARACTERS:
            raise DataError(
                f"a cell has {longest:,} characters",
                column=name,
                value=longest,
                allowed=f"{MAX_CHARACTERS:,} characters",
                remedy="shorten it",
                where=f"{path.name}, column {short_repr(name)}",
            )


def _renamed(frame: nw.DataFrame[Any], rename: Mapping[str, str], path: Path) -> nw.DataFrame[Any]:
    """Rename columns; raises if one is missing or two would share a name."""
    there = ", ".join(map(short_repr, frame.columns))
    if missing := [name for name in rename if name not in frame.columns]:
        problem = f"there is no column {short_repr(missing[0])} to rename"
        allowed, remedy = f"the columns that are there: {there}", "rename one of these"
        raise DataError(problem, column=missing[0], allowed=allowed, remedy=remedy, where=path.name)
    names = [rename.get(name, name) for name in frame.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        problem = f"two columns would be named {short_repr(twice[0])}"
        allowed, remedy = f"the columns that are there: {there}", "rename the other one, too"
        raise DataError(problem, column=twice[0], allowed=allowed, remedy=remedy, where=path.name)
    return frame.rename(dict(rename))

"""File readers: CSV, TSV, JSON, JSON lines, Excel and Parquet, by suffix.

Ids are always read as text, integers as their decimal text: an id is the same in a CSV and in a Parquet file.
"""

import csv
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from importlib import import_module
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any
from unicodedata import category, normalize
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

import narwhals as nw
import numpy as np

from ...._messages import first_reprs, quoted_error, short_repr, warn_user
from ..errors import DataError, DataWarning
from . import preference_files
from .frames import NamedCells
from .numbers import is_number

MAX_LINE = 1_000_000
UTF_16 = "in UTF-16"

_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\x1f\x8b": "compressed with gzip",
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
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
        if known == [UTF_16]:
            problem, remedy = f"the text is {UTF_16}", "save the file as UTF-8"
        raise DataError(problem, allowed="CSV, TSV or JSON lines in UTF-8", remedy=remedy, where=place)
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {line[error.start]:#04x} at place {error.start + 1} is not UTF-8"
        remedy = "save the file as UTF-8"
        raise DataError(problem, value=line[error.start : error.end], remedy=remedy, where=place) from None


@dataclass(frozen=True)
class TableFile:
    """Table read from a file: a mapping of columns, or an Arrow table; cells of text and numbers."""

    columns: Any
    note: str = ""  # how it was read, if that is not plain
    may_have_commas: bool = False  # for decimal points: cells are divided by another mark
    # column -> its first cell or name that lost an apostrophe
    guarded: Mapping[str, str] = field(default_factory=dict)
    records: Sequence[int] = ()  # of an export of another tool: record of each row, from 1

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(getattr(self.columns, "column_names", self.columns))


DELIMITERS = ",;\t|"


def _delimiter_of(header: str, usual: str) -> str:
    """Delimiter that divides a header into most names, of equals the usual one."""
    marks = [usual, *DELIMITERS.replace(usual, "")]
    return max(marks, key=lambda mark: len(_cells_of(header, mark)))


def _cells_of(line: str, delimiter: str) -> list[str]:
    """Cells of one line."""
    limit = csv.field_size_limit(MAX_LINE)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    finally:
        csv.field_size_limit(limit)


def read_delimited(path: Path, usual: str) -> TableFile:
    """Read a delimited UTF-8 file with a header, cells quoted or not, into columns of text.

    The delimiter is that of the header. An apostrophe that guards a formula is taken off, and `guarded` names the
    columns where: it may also be one of the user's text. Refuses no row, a
    blank row, a row of another width, and an unclosed quote; the error names the row. Columns that share a name
    are refused when they are taken.
    """
    lines = text_lines(path)
    first = next(lines)
    limit = csv.field_size_limit(MAX_LINE)
    try:
        delimiter = _delimiter_of(first.partition("\r")[0], usual)
        columns, guarded = _delimited_columns(chain([first], lines), path, delimiter)
    finally:
        csv.field_size_limit(limit)
    return TableFile(columns, may_have_commas=delimiter != ",", guarded=guarded)


def _delimited_columns(
    lines: Iterator[str], path: Path, delimiter: str
) -> tuple[Mapping[str, list[Any]], dict[str, str]]:
    """Columns of the lines of a delimited file, but those without a name; and by column the first cell that was guarded."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    line = 1
    try:
        written = next(reader)
        header = _header([*map(restored, written)], path, delimiter)
        for cells in reader:
            line = reader.line_num
            rows.append(cells)
    except csv.Error as error:
        raise DataError(
            f"the row cannot be split into cells ({error})",
            row=len(rows) + 1,
            remedy=f"close every quote, and keep cells below {MAX_LINE:,} characters",
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
            if 0 < len(cells) < len(header):
                remedy = "write a delimiter for each cell, also for an empty one"
            where = f"{path.name}, row {row:,}"
            raise DataError(problem, row=row, value=len(cells), remedy=remedy, where=where)
    columns, guarded = [], {}
    for name, given, cells in zip(header, written, zip(*rows, strict=True), strict=True):
        own, changed = _restored(list(cells))
        columns.append(own)
        if example := changed or (given if given != name else ""):
            guarded[name] = example
    return _named(header, columns, path), guarded


def _restored(cells: list[str]) -> tuple[list[str], str]:
    """Cells of a column without the apostrophes that guard them from being run as formulas, and the first that had one."""
    if not any("'" in cell for cell in set(cells)):
        return cells, ""
    found = [*map(restored, cells)]
    return found, next((cell for cell, own in zip(cells, found, strict=True) if cell != own), "")


def _header(names: list[str], path: Path, delimiter: str) -> list[str]:
    """Validate the header: at least two names."""
    if len(names) < 2:
        problem = f"the header has no {delimiter!r}: {short_repr(''.join(names))}"
        allowed = "a header line of names with commas, semicolons, tabs or | between them"
        remedy = "write a header line"
        raise DataError(problem, value="".join(names), allowed=allowed, remedy=remedy, where=path.name)
    return _few(names, path)


def _few(names: list[str], path: Path) -> list[str]:
    """Return the names of columns; raise if there are more than any table of annotations needs."""
    if len(names) > MAX_COLUMNS:
        problem, allowed = f"the table has {len(names):,} columns", f"{MAX_COLUMNS:,} columns"
        remedy = (
            "write one row for each answer, with columns item, rater and label or score; or leave columns out"
        )
        raise DataError(problem, value=len(names), allowed=allowed, remedy=remedy, where=path.name)
    return names


def _named(header: Sequence[str], columns: Sequence[list[Any]], path: Path) -> Mapping[str, list[Any]]:
    """Columns by name, but those without one; of those that share a name, none can be taken."""
    named = NamedCells(header, columns, path.name)
    if named.repeated:
        return named
    return {name: cells for name, cells in zip(header, columns, strict=True) if name}


def read_json_lines(path: Path) -> TableFile:
    """Read one JSON object from each line of a UTF-8 file into columns.

    Integers become their decimal text, as in a CSV file; null, and a key that is not there, become None.
    Refuses a line that is truncated or no object, or repeats a key; the error names the line.
    """
    lines = [*text_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    records = []
    for row, line in enumerate(lines, start=1):
        place = f"{path.name}, line {row:,}"
        try:
            records.append(_parsed(line))
        except (json.JSONDecodeError, RecursionError) as error:
            found = f"{error.msg} at place {error.colno}" if isinstance(error, ValueError) else "too deep"
            problem = f"this is no JSON object on one line ({found})"
            remedy = "complete the line, or leave it out if it is blank"
            raise DataError(problem, row=row, value=line[:100], remedy=remedy, where=place) from None
        except DataError as error:
            raise error.moved(place) from None
    return TableFile(_columns_of(records, path, "line"))


def read_json(path: Path) -> TableFile:
    """Read a JSON array of objects, an object of columns, or JSON lines, from a UTF-8 file."""
    try:
        whole = _parsed(path.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        return read_json_lines(path)  # whose errors name the line
    except RecursionError:
        raise DataError("the nesting is too deep", remedy=_RECORDS, where=path.name) from None
    except DataError as error:
        raise error.moved(path.name) from None
    if isinstance(whole, dict) and len(whole) == 1:  # {"data": [...]}
        (inner,) = whole.values()
        whole = inner if isinstance(inner, list) and inner and isinstance(inner[0], dict) else whole
    if isinstance(whole, dict):
        cells = {name: [*own.values()] if isinstance(own, dict) else own for name, own in whole.items()}
        if cells and all(isinstance(own, list) for own in cells.values()):
            return TableFile(cells)
        whole = [whole]
    if not isinstance(whole, list) or not whole:
        raise DataError(f"{short_repr(whole)} is no table", remedy=_RECORDS, where=path.name)
    return TableFile(_columns_of(whole, path, "record"))


HALF_PAIR = re.compile(r"[\ud800-\udfff]")  # of surrogates: JSON can spell it, no file can hold it
_UNICODE = "write it as valid Unicode text"
_RECORDS = 'write [{"column": cell, ...}, ...]'


def _parsed(text: str) -> Any:
    """Parse JSON with integers as text; NaN and Infinity, which are not JSON, are floats."""
    return json.loads(text, object_pairs_hook=_object, parse_int=str)


def _columns_of(records: Sequence[Any], path: Path, what: str) -> dict[str, list[Any]]:
    """Columns of records, with None where a record lacks a key."""
    columns: dict[str, list[Any]] = {}
    most = MAX_SPARSE + 10 * sum(len(record) for record in records if isinstance(record, dict))
    for row, record in enumerate(records):
        place = f"{path.name}, {what} {row + 1:,}"
        if not isinstance(record, dict):
            problem, allowed = f"{short_repr(record)} is no JSON object", "one object of cells for every row"
            remedy = 'write {"column": cell, ...}'
            raise DataError(problem, row=row + 1, value=record, allowed=allowed, remedy=remedy, where=place)
        for name, cell in record.items():
            if name not in columns:
                if (len(columns) + 1) * len(records) > most:
                    problem, allowed = f"key {short_repr(name)} is one of too many", f"{most:,} cells"
                    remedy = "write the same keys in every row"
                    raise DataError(problem, row=row + 1, allowed=allowed, remedy=remedy, where=place)
                if HALF_PAIR.search(name):
                    problem, remedy = f"key {short_repr(name)} holds half a surrogate pair", _UNICODE
                    raise DataError(problem, row=row + 1, column=name, remedy=remedy, where=place)
                columns[name] = [None] * len(records)
            columns[name][row] = cell
    return columns


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Parse an object; refuses repeated keys."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise DataError("a key is written twice in one object", remedy="drop one of them")
    return record


def read_preferences(path: Path) -> TableFile:
    """Read a PrefLib file as the long table of a ranking by each voter."""
    columns = preference_files.preference_columns(text_lines(path), path)
    return TableFile(columns, "a ranking by each voter from a file of PrefLib")


def read_excel(path: Path) -> TableFile:
    """Read the first sheet of an Excel workbook whose first row that is not empty is the header."""
    try:
        openpyxl = import_module("openpyxl")  # an extra: nothing else here needs it
    except ImportError:
        remedy = "install raterzoo[excel], or save the sheet as CSV"
        raise DataError("reading Excel needs openpyxl", remedy=remedy, where=path.name) from None
    try:
        with ZipFile(path) as file:
            size = sum(member.file_size for member in file.infolist())
        if size > MAX_BYTES:
            problem, allowed = f"the workbook has {size:,} bytes", f"{MAX_BYTES:,} bytes"
            raise DataError(problem, allowed=allowed, remedy="save the sheet as CSV", where=path.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions, which hold no cells
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = _sheet_rows(sheet, path)
    except DataError:
        raise
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        SyntaxError,
        BadZipFile,
        ZlibError,
    ) as error:
        raise DataError(
            f"this is no Excel workbook that can be read{quoted_error(error)}",
            remedy="save it again, or as CSV",
            where=path.name,
        ) from None
    if len(rows) < 2:
        raise DataError("the first sheet has no rows under a header", remedy="check it", where=path.name)
    names = ["" if name is None else str(name) for name in rows[0]]
    columns = _named(names, [*map(list, zip(*rows[1:], strict=True))], path)
    if (n := len(book.worksheets)) > 1:
        warn_user(f"{path.name}: reading the first of {n} sheets, {short_repr(sheet.title)}", DataWarning)
    return TableFile(columns)


def _sheet_rows(sheet: Any, path: Path) -> list[list[Any]]:
    """Rows of a sheet from the first to the last that is not empty, of one width."""
    rows: list[list[Any]] = []
    seen = 0
    for row in sheet.iter_rows(values_only=True):
        seen += max(len(row), 1)
        if seen > MAX_CELLS:
            problem, allowed = "the sheet has too many cells", f"{MAX_CELLS:,} cells"
            raise DataError(problem, allowed=allowed, remedy="save the table as CSV", where=path.name)
        if rows or any(cell is not None for cell in row):
            rows.append([_excel_cell(cell) for cell in row])
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]


def _excel_cell(cell: Any) -> Any:
    """Convert a cell: whole numbers, which may be ids, and dates become text."""
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    whole = isinstance(cell, int | float) and not isinstance(cell, bool) and float(cell).is_integer()
    return str(int(cell)) if whole else cell


COMPRESSED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z")
MAX_BYTES = 2**30
MAX_EXACT = 2**53  # from here on floats are not all whole numbers
MAX_CELLS = 200_000_000
MAX_COLUMNS = 10_000
MAX_SPARSE = 20_000_000  # cells of records whose keys differ
READERS: dict[str, Callable[[Path], TableFile]] = {
    ".csv": lambda path: read_delimited(path, ","),
    ".tsv": lambda path: read_delimited(path, "\t"),
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".xlsx": read_excel,
    ".parquet": lambda path: _read_parquet(path),
    **dict.fromkeys(preference_files.SUFFIXES, read_preferences),
}


def read_table(path: str | PathLike[str], *, rename: Mapping[str, str] | None = None) -> Any:
    """Read a table file into a frame that all containers accept; integers become text.

    Formats: ``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, ``.xlsx``, and of PrefLib ``.soc``, ``.soi``, ``.toc`` and
    ``.toi`` (to pandas), and ``.parquet`` (to pyarrow). `rename` maps columns of the file to new names. Raises `DataError` with
    file, row or line, and remedy.
    """
    path = Path(path)
    return _renamed(
        nw.from_native(frame_of(read_file(path), path), eager_only=True), rename or {}, path
    ).to_native()


def frame_of(table: TableFile, path: Path) -> Any:
    """Frame of a table file; of columns that share a name none, with a warning."""
    columns = table.columns
    if isinstance(columns, NamedCells):
        warn_user(
            f"{path.name}: left out, for two columns of one name: {first_reprs(sorted(columns.repeated))}",
            DataWarning,
        )
        columns = {name: columns[name] for name in columns if name not in columns.repeated}
    if isinstance(columns, Mapping):
        try:
            columns = nw.from_dict(columns, backend="pandas").to_native()
        except UnicodeEncodeError:
            raise _half_pair(columns, path) from None
    return columns


def _half_pair(columns: Mapping[str, Sequence[Any]], path: Path) -> DataError:
    """Error about the first cell with half a surrogate pair."""
    column, row, cell = next(
        (name, row, cell)
        for name, cells in columns.items()
        for row, cell in enumerate(cells, start=1)
        if isinstance(cell, str) and HALF_PAIR.search(cell)
    )
    where = f"{path.name}, row {row:,}, column {short_repr(column)}"
    problem = f"{short_repr(cell)} holds half a surrogate pair"
    return DataError(problem, row=row, column=column, value=cell, remedy=_UNICODE, where=where)


def read_file(path: Path) -> TableFile:
    """Read a table file without a frame library; raises `DataError` with file, row or line, and remedy."""
    refuse_unreadable(path)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise DataError(
            f"the suffix {path.suffix!r} is not a supported format",
            value=path.suffix,
            allowed=", ".join(READERS),
            remedy="decompress the file" if suffix in COMPRESSED else "export the table to one of them",
            where=path.name,
        )
    try:
        table = READERS[suffix](path)
    except OSError as error:
        raise DataError(
            f"the file cannot be read ({error.strerror or error})",
            remedy="check its permissions",
            where=path.name,
        ) from None
    if not table.names:
        raise DataError("the table has no columns", where=path.name, remedy="check what wrote it")
    _few(table.names, path)
    return table


def read_names(path: Path) -> list[str]:
    """Names of the columns of a table file; of a delimited one, only its first line is read."""
    usual = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if usual is None:
        return read_file(path).names
    refuse_unreadable(path)
    first = next(text_lines(path))
    names = map(restored, _cells_of(first, _delimiter_of(first, usual)))
    return _few(list(dict.fromkeys(filter(None, names))), path)


def refuse_unreadable(path: Path) -> None:
    """Raise if the path is not a file, or the file is too large."""
    if not path.is_file():
        found = "is not a file" if path.exists() else "does not exist"
        where, remedy = short_repr(str(path)), "give the path of one file"
        if path.is_fifo() or path.is_char_device() or str(path) == "-":
            remedy = "write a pipe or standard input to a file first, such as answers.csv"
        raise DataError(found, value=str(path), remedy=remedy, where=where)
    size = path.stat().st_size
    if size > MAX_BYTES:
        problem = f"the file has {size:,} bytes"
        remedy = "read it with a frame library, and pass the columns that are needed"
        raise DataError(problem, value=size, allowed=f"{MAX_BYTES:,} bytes", remedy=remedy, where=path.name)


@contextmanager
def opened_parquet(path: Path, *, without: str, unreadable: str) -> Iterator[Any]:
    """Context manager: pyarrow's module for Parquet, an extra; what it raises about a file is a `DataError` that names the file.

    `without` is the remedy where pyarrow is not installed, `unreadable` that of a file that it cannot read.
    """
    try:
        parquet = import_module("pyarrow.parquet")
        arrow = import_module("pyarrow")
    except ImportError:
        raise DataError("reading Parquet needs pyarrow", remedy=without, where=path.name) from None
    try:
        yield parquet
    except DataError:
        raise
    except (OSError, ValueError, NotImplementedError, arrow.ArrowException) as error:
        problem = f"this is no Parquet file that can be read{quoted_error(error)}"
        raise DataError(problem, remedy=unreadable, where=path.name) from None


def _read_parquet(path: Path) -> TableFile:
    """Read Parquet with text as dictionaries, since a small file can hold much repeated text."""
    remedies = {
        "without": "install pyarrow, or write CSV",
        "unreadable": "write it again, or correct its suffix",
    }
    with opened_parquet(path, **remedies) as parquet:
        with parquet.ParquetFile(path) as file:
            footer = file.metadata
        _refuse_oversized(footer, path)
        columns = [footer.schema.column(c) for c in range(footer.num_columns)]
        text = [column.path for column in columns if column.logical_type.type == "STRING"]
        with parquet.ParquetFile(path, read_dictionary=text) as file:
            table = file.read()
        validate_arrow(table)
        frame = nw.from_native(table, eager_only=True)
        gaps = [
            name for name, kind in frame.schema.items() if kind.is_float() and _is_of_integers(frame[name])
        ]
        frame = frame.with_columns(nw.col(name).cast(nw.Int64) for name in gaps)
        whole = [name for name, kind in frame.schema.items() if kind.is_integer()]
        return TableFile(frame.with_columns(nw.col(name).cast(nw.String) for name in whole).to_native())


def _is_of_integers(floats: nw.Series[Any]) -> bool:
    """Whether a column of floats has missing cells, which made it so, and otherwise whole numbers."""
    there = floats.drop_nulls().to_numpy()
    return 0 < len(there) < len(floats) and bool(
        ((there == np.trunc(there)) & (np.abs(there) < MAX_EXACT)).all()
    )


def validate_arrow(table: Any) -> None:
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


# --- Formulas: text that a spreadsheet would run is written after an apostrophe, which reading takes off again ---

_SIGNS = tuple("=+-@")
_CONTROLS = tuple("\t\r\n")
_INNER = re.compile(r"(?<=[;\t\r\n])[^;\t\r\n]+")  # what follows a mark that may divide cells


def is_formula(text: str) -> bool:
    """Test whether a spreadsheet might run a cell; blanks and full-width signs count, numbers do not."""
    if not text or (text.isalnum() and text.isascii()):
        return False
    if text.startswith(_CONTROLS):
        return True
    first = next((c for c in text if not c.isspace() and category(c) not in ("Cf", "Cc")), "")
    return normalize("NFKC", first).startswith(_SIGNS) and not is_number(text)


def guarded(text: str) -> str:
    """Return a cell that no spreadsheet runs: text that would be a formula follows an apostrophe, and so do its apostrophes.

    So does what follows a semicolon, a tab or a line break, where a spreadsheet may begin another cell.
    """
    inner = _INNER.sub(lambda part: f"'{part[0]}" if is_formula(part[0].lstrip("'")) else part[0], text)
    return f"'{inner}" if is_formula(text.lstrip("'")) else inner


def restored(text: str) -> str:
    """Return the text of a cell that was guarded, or that its author has written so: the two cannot be told apart."""
    whole = _INNER.sub(lambda part: part[0][1:] if _is_guarded(part[0]) else part[0], text)
    return whole[1:] if _is_guarded(whole) else whole


def _is_guarded(part: str) -> bool:
    """Test for an apostrophe before what would be a formula."""
    return part.startswith("'") and is_formula(part.lstrip("'"))

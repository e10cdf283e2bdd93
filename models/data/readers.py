"""File readers: CSV, TSV, JSON lines and Parquet, by suffix.

Ids are always read as text: integers become their decimal text in every format, so that an id is the same in
a CSV of annotations and in a Parquet file of predictions.
"""

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw

from .columns import MAX_CHARACTERS
from .delimited import read_delimited
from .errors import DataError, shown
from .json_lines import read_json_lines

__all__ = ["read_columns", "read_table"]

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
            raise DataError(
                f"the suffix {suffix!r} is not a supported format",
                value=suffix,
                allowed=_SUFFIXES,
                remedy="write one JSON object on each line of a .jsonl file"
                if suffix == ".json"
                else "export the table to one of them",
                where=path.name,
            )


def _refuse_unreadable(path: Path) -> None:
    """Raise if the path is not a file, or the file is too large."""
    if not path.is_file():
        found = "is not a file" if path.exists() else "does not exist"
        raise DataError(
            found, value=str(path), remedy="give the path of one file", where=shown(str(path))
        )
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataError(
            f"the file has {size:,} bytes",
            value=size,
            allowed=f"{MAX_BYTES:,} bytes",
            remedy="read it with a frame library, and pass the columns that are needed",
            where=path.name,
        )


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    """Read Parquet with text as dictionaries, since a small file can hold much repeated text."""
    try:
        parquet = import_module("pyarrow.parquet")  # an extra: nothing else here needs it
        arrow = import_module("pyarrow")
    except ImportError:
        raise DataError(
            "reading Parquet needs pyarrow", remedy="install pyarrow, or write CSV", where=path.name
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            footer = file.metadata
        _refuse_bomb(footer, path)
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


def _refuse_bomb(footer: Any, path: Path) -> None:
    """Raise if the footer announces more cells or bytes than allowed, before anything is decompressed."""
    cells = footer.num_rows * footer.num_columns
    size = sum(footer.row_group(g).total_byte_size for g in range(footer.num_row_groups))
    if cells > MAX_CELLS or size > MAX_BYTES:
        raise DataError(
            f"the table has {cells:,} cells in {size:,} bytes",
            value=cells,
            allowed=f"{MAX_CELLS:,} cells in {MAX_BYTES:,} bytes",
            remedy="write the columns that are needed to a file of their own",
            where=path.name,
        )


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
                where=f"{path.name}, column {shown(name)}",
            )


def _renamed(frame: nw.DataFrame[Any], rename: Mapping[str, str], path: Path) -> nw.DataFrame[Any]:
    """Rename columns; raises if one is missing or two would share a name."""
    there = ", ".join(map(shown, frame.columns))
    if missing := [name for name in rename if name not in frame.columns]:
        raise DataError(
            f"there is no column {shown(missing[0])} to rename",
            column=missing[0],
            allowed=f"the columns that are there: {there}",
            remedy="rename one of these",
            where=path.name,
        )
    names = [rename.get(name, name) for name in frame.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(
            f"two columns would be named {shown(twice[0])}",
            column=twice[0],
            allowed=f"the columns that are there: {there}",
            remedy="rename the other one, too",
            where=path.name,
        )
    return frame.rename(dict(rename))

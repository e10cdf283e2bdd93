"""Files of tables: CSV, TSV, JSON lines and Parquet, told apart by their suffix.

Ids are read as text always: whole numbers become their decimal text in every format, so that a
case is the same case in a CSV of annotations and in a Parquet file of predictions.
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
    """Read a file into a frame that every door takes.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson`` file in UTF-8, or ``.parquet``.
    rename : mapping of str to str, optional
        Column in the file -> its new name.

    Returns
    -------
    pandas.DataFrame or pyarrow.Table
        The table (pyarrow for Parquet), whole numbers as text.

    Raises
    ------
    DataError
        If the file cannot be read; it names file, row or line, and remedy.
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
    """Read a text file into plain columns, without any frame library.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson`` file.

    Returns
    -------
    dict of str to list
        Column name -> cells.

    Raises
    ------
    DataError
        If it is no such file, or a line of it cannot be read.
    """
    match path.suffix.lower():
        case ".csv":
            return read_delimited(path, ",")
        case ".tsv":
            return read_delimited(path, "\t")
        case ".jsonl" | ".ndjson":
            return read_json_lines(path)
        case suffix:
            raise DataError(
                f"the suffix {suffix!r} names no format that is read here",
                value=suffix,
                allowed=_SUFFIXES,
                remedy="write one JSON object on each line of a .jsonl file"
                if suffix == ".json"
                else "export the table to one of them",
                where=path.name,
            )


def _refuse_unreadable(path: Path) -> None:
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
    """Read Parquet, text as dictionaries: a small file can hold more repeated text than memory."""
    try:
        parquet = import_module("pyarrow.parquet")  # an extra: nothing else here needs it
        arrow = import_module("pyarrow")
    except ImportError:
        raise DataError(
            "reading Parquet takes pyarrow", remedy="install pyarrow, or write CSV", where=path.name
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
            remedy="write it again, or give it the suffix of what it is",
            where=path.name,
        ) from None


def _validate(table: Any) -> None:
    """Raise what Arrow raises if indexes leave their dictionaries, or text is no UTF-8."""
    table.validate(full=True)
    for column in table.columns:
        for chunk in column.chunks:
            if hasattr(chunk, "dictionary"):  # which is not validated with its table
                chunk.dictionary.validate(full=True)


def _refuse_bomb(footer: Any, path: Path) -> None:
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

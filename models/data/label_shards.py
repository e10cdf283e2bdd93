"""Shards of labels: Parquet files that are read one at a time, by whoever works on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..._messages import short_repr
from .errors import DataError, refused_argument
from .labels import Labels
from .no_answers import NoAnswer, categories_of, listed_answers, matcher
from .reading.columns import Missing, code_categories, is_blank
from .reading.files import opened_parquet, validate_arrow
from .reading.frames import Column, resolved_names
from .reading.long_tables import check_missing, tell_synonyms

MAX_SHARD_ROWS = 50_000_000
_IDS = ("item", "rater", "label")  # roles whose cells are all text or all integers
_OTHER_FILES = ("_", ".")  # first letters of files that Spark and others write beside the table


@dataclass(frozen=True)
class LabelShards:
    """Labels in Parquet files, a shard a file, for tables that no process shall hold whole.

    Made by `from_parquet`, which reads no more than the footers of the files. `inference.dawid_skene_em` and
    `inference.dawid_skene_gibbs` take it in place of `Labels`: each file is read and validated once, by the worker that has
    to do with it.

    Attributes
    ----------
    files : tuple of Path
        The files, in the order of their items.
    rows : tuple of int
        Number of rows of each file.
    columns : mapping of str to str
        Name of the column of each role: item, rater, label, and count and gold if there are any.
    categories : tuple or None
        Closed set of categories; None for the sorted labels that occur in any file.
    missing : {"error", "drop"}
        Treatment of rows with an empty cell.
    no_answer : tuple
        Answers that are no truth, which are left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from raterzoo import models
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number, item in enumerate([[1, 1, 2], [3, 3, 4]]):
    ...         table = pd.DataFrame({"item": item, "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]})
    ...         table.to_parquet(Path(folder) / f"part-{number}.parquet")
    ...     models.LabelShards.from_parquet(folder)
    LabelShards(2 files, 6 rows)
    """

    files: tuple[Path, ...]
    rows: tuple[int, ...]
    columns: Mapping[str, str]
    categories: tuple[Any, ...] | None = None
    missing: Missing = "error"
    no_answer: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        files = f"{len(self.files):,} file{'s' * (len(self.files) > 1)}"
        return f"LabelShards({files}, {sum(self.rows):,} rows)"

    @classmethod
    def from_parquet(
        cls,
        files: str | PathLike[str] | Sequence[str | PathLike[str]],
        *,
        item: str = "item",
        rater: str = "rater",
        label: str = "label",
        count: str | None = None,
        gold: str | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
        missing: Missing = "error",
        no_answer: NoAnswer = (),
    ) -> Self:
        """Find the files of a long table with one row for each answer, and compare their columns.

        Parameters
        ----------
        files : path or sequence of paths
            Files, in this order, or a folder, of which all files ``*.parquet`` are taken in the order of their names (not those
            that begin with "_" or ".", nor those of folders inside). Workers must see the same paths. All rows of an item are
            in one file; where an item is in two, the estimators raise.
        item, rater, label, count, gold
            Names of the columns, as in `Labels.from_table`. A column is text in all files, or integers in all.
        categories : sequence, optional
            Closed set of categories; by default the sorted labels that occur in any file, for which the column of the
            labels is read once more.
        missing : {"error", "drop"}
            Treatment of rows with an empty cell, except gold.
        no_answer : sequence, optional
            Answers that are no truth, as in `Labels.from_table`; each file that has some warns how many.

        Returns
        -------
        LabelShards
            The files with their columns. As one table they would be the `Labels` of the files one after the other.

        Raises
        ------
        DataError
            If there is no such file, one is no Parquet file, has no or too many rows, lacks a column, or has a column of another
            kind than the first file; if pyarrow is not installed.

        Examples
        --------
        >>> from raterzoo import models
        >>> try:
        ...     models.LabelShards.from_parquet([])
        ... except models.DataError as error:
        ...     print(error.problem)
        no file is named
        """
        check_missing(missing)
        paths = _files_of(files)
        roles = {"item": item, "rater": rater, "label": label, "count": count, "gold": gold}
        asked = {role: name for role, name in roles.items() if name is not None}
        first, *others = map(_Footer.of, paths)
        try:
            columns = resolved_names(first.names, asked, kind="labels")
        except DataError as error:
            raise error.moved(first.path.name) from None
        tell_synonyms({role: name for role, name in columns.items() if asked[role] != name})
        kinds = first.kinds_of(columns)
        for footer in others:
            footer.require(columns, kinds, first.path)
        rows = (first.rows, *(footer.rows for footer in others))
        own = categories_of(categories, no_answer)
        closed = None if own is None else tuple(np.asarray(own).tolist())
        return cls(tuple(paths), rows, columns, closed, missing, tuple(listed_answers(no_answer)))

    def labels(self, shard: int, categories: Sequence[Any] | np.ndarray | None = None) -> Labels:
        """Read and validate one file.

        Parameters
        ----------
        shard : int
            Number of the file, from 0.
        categories : sequence, optional
            Closed set of categories; by default that of the shards, or the labels that occur in this file.

        Returns
        -------
        Labels
            The answers of the file.

        Raises
        ------
        DataError
            At the first error; it names file, row, column and remedy.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from raterzoo import models
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
        ...     pd.DataFrame(table).to_parquet(f"{folder}/all.parquet")
        ...     models.LabelShards.from_parquet([f"{folder}/all.parquet"]).labels(0)
        Labels(2 items, 2 raters, 3 answers, 2 categories)
        """
        path = self.files[shard]
        closed = self.categories if categories is None else categories
        table = _read(path, [*self.columns.values()])
        optional: dict[str, Any] = {
            role: self.columns[role] for role in ("count", "gold") if role in self.columns
        }
        ids: dict[str, Any] = {role: self.columns[role] for role in _IDS}
        cells = _label_cells(self, shard) if self.no_answer else []
        none = [word for word in self.no_answer if any(map(matcher([word]), cells))]  # those of this file
        rules: dict[str, Any] = {"categories": closed, "missing": self.missing, "no_answer": none}
        try:
            return Labels.from_table(table, **ids, **optional, **rules)
        except DataError as error:
            raise error.moved(", ".join(filter(None, (path.name, error.where)))) from None


def labels_in(shards: LabelShards, shard: int) -> list[Any]:
    """Return the distinct labels of a file, without empty cells and answers that are no truth, in no order."""
    is_none = matcher(shards.no_answer)
    return [cell for cell in _label_cells(shards, shard) if not is_none(cell)]


def _label_cells(shards: LabelShards, shard: int) -> list[Any]:
    """Return the distinct cells of a file's column of labels, without empty ones, in no order."""
    table = _read(shards.files[shard], [shards.columns["label"]]).unify_dictionaries()
    return [cell for cell in table.column(0).unique().to_pylist() if not is_blank(cell)]


def closed_set(shards: LabelShards, found: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return the categories, (category,): those declared, or else all labels `found` in the files."""
    name = shards.columns["label"]
    cells = sorted({cell for own in found for cell in own}) or list(shards.categories or ())
    if not cells:
        problem, remedy = "no file has a label", "check what wrote the files"
        raise DataError(problem, column=name, remedy=remedy)
    try:
        return code_categories(Column(name, cells), shards.categories)[0]
    except DataError as error:
        raise error.moved(f"column {short_repr(name)}") from None


def identity(shards: LabelShards) -> dict[str, Any]:
    """Return what the answers depend on: files with their sizes and times, columns and rules, for JSON."""
    stats = [(path, path.stat()) for path in shards.files]
    return {
        "files": [[path.name, stat.st_size, stat.st_mtime_ns] for path, stat in stats],
        "columns": dict(shards.columns),
        "categories": None if shards.categories is None else list(shards.categories),
        "missing": shards.missing,
        "no_answer": list(shards.no_answer),
    }


# --- Files ---


def _files_of(files: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """Return the paths of the files that are named, or are in a folder; raise unless there is one and all exist."""
    if isinstance(files, str | PathLike):
        given = Path(files)
        if not given.is_dir():
            return _files_of([given])
        found = sorted(path for path in given.glob("*.parquet") if not path.name.startswith(_OTHER_FILES))
        if not found:
            problem = "there is no file *.parquet in the folder"
            remedy = "give the folder of the files, or list them"
            if any(given.glob("*/*.parquet")):
                problem, remedy = f"{problem}, but in folders inside", "list the files in their order"
            raise DataError(problem, value=str(given), remedy=remedy, where=short_repr(str(given)))
        return _files_of(found)
    paths = [Path(path) for path in files]
    if not paths:
        remedy = "give a folder, or the paths of the files"
        raise refused_argument("files", "no file is named", remedy=remedy)
    for number, path in enumerate(paths):
        if not path.is_file():
            found = "is not a file" if path.exists() else "does not exist"
            remedy = "give paths of files, or one folder"
            raise DataError(found, value=str(path), remedy=remedy, where=short_repr(str(path)))
        if path in paths[:number]:
            problem, remedy = "the file is named twice", "name each file once"
            raise DataError(problem, value=str(path), remedy=remedy, where=short_repr(str(path)))
    return [path.absolute() for path in paths]


@dataclass(frozen=True)
class _Footer:
    """Footer of a Parquet file."""

    path: Path
    rows: int
    types: Mapping[str, Any]  # Arrow type of each column

    @classmethod
    def of(cls, path: Path) -> "_Footer":
        """Read the footer of a file; raise if it has no rows, or too many."""
        with opened_parquet(path, **_REMEDIES) as parquet, parquet.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
        if rows == 0:
            remedy = "leave the file out, or check what wrote it"
            raise DataError("the file has no rows", remedy=remedy, where=path.name)
        if rows > MAX_SHARD_ROWS:
            allowed = f"{MAX_SHARD_ROWS:,} rows; a million or so is best"
            problem, remedy = f"the file has {rows:,} rows", "divide it by items into several files"
            raise DataError(problem, value=rows, allowed=allowed, remedy=remedy, where=path.name)
        return cls(path, rows, dict(zip(schema.names, schema.types, strict=True)))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.types)

    def kinds_of(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Kind of each column of ids, "text" or "integers"; raise at another one."""
        kinds = {columns[role]: _kind(self.types[columns[role]]) for role in _IDS}
        for name, kind in kinds.items():
            if kind not in ("text", "integers"):
                raise DataError(
                    f"the column is of type {kind}, neither text nor integers",
                    column=name,
                    value=kind,
                    allowed="one text or one whole number in each cell",
                    remedy="write it as integers (a missing cell turns 3 into 3.0 in pandas) or as text",
                    where=f"{self.path.name}, column {short_repr(name)}",
                )
        return kinds

    def require(self, columns: Mapping[str, str], kinds: Mapping[str, str], first: Path) -> None:
        """Raise unless the file has the columns, of the same kinds as the first file."""
        for name in columns.values():
            if name not in self.types:
                raise DataError(
                    f"there is no column {short_repr(name)}, which {first.name} has",
                    column=name,
                    allowed=f"the columns that are there: {', '.join(map(short_repr, self.names))}",
                    remedy="write the same columns to all files, or leave this file out",
                    where=self.path.name,
                )
        for name, kind in self.kinds_of(columns).items():
            if kind != kinds[name]:
                raise DataError(
                    f"the column is {'of ' * (kind == 'integers')}{kind}, but {kinds[name]} in {first.name}",
                    column=name,
                    value=kind,
                    allowed="one kind in all files",
                    remedy="write the column as text in all files, or as integers in all",
                    where=f"{self.path.name}, column {short_repr(name)}",
                )


def _kind(arrow_type: Any) -> str:
    """Kind of an Arrow type: "text", "integers", or its name."""
    types = import_module("pyarrow").types
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_integer(arrow_type):
        return "integers"
    text = types.is_string(arrow_type) or types.is_large_string(arrow_type)
    return "text" if text else str(arrow_type)


_REMEDIES = {
    "without": "install pyarrow (pip install pyarrow), or read a smaller table by Labels.from_table",
    "unreadable": "write it again, or leave it out",
}


def _read(path: Path, names: list[str]) -> Any:
    """Read some columns of a Parquet file into an Arrow table, text as dictionaries."""
    with opened_parquet(path, **_REMEDIES) as parquet:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
        text = [name for name in names if name in schema.names and _kind(schema.field(name).type) == "text"]
        with parquet.ParquetFile(path, read_dictionary=text) as file:
            table = file.read(columns=names, use_threads=False)
        validate_arrow(table)
    if missing := [name for name in names if name not in table.column_names]:
        problem, remedy = f"there is no column {short_repr(missing[0])} any more", "find the files again"
        raise DataError(problem, column=missing[0], remedy=remedy, where=path.name)
    return table

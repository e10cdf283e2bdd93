"""Folders of table files, which are read as one table; files without a column of raters hold the annotations of one each."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import narwhals as nw

from ...._messages import first_reprs, is_shown, short_repr
from ....posterior.table_text import columns_alike
from ..errors import DataError
from .files import READERS, TableFile, read_file, read_names

RATER = "rater"


@dataclass(frozen=True)
class JoinedTable(TableFile):
    """Table of several files, one after the other."""

    files: Sequence[str] = ()  # their names
    starts: Sequence[int] = ()  # rows before each file

    def placed(self, error: DataError) -> DataError:
        """Return an error about a row with the name of its file and the row there."""
        if error.row is None:
            return error
        own = bisect_right(self.starts, error.row - 1) - 1
        column = "" if error.column is None else f", column {short_repr(error.column)}"
        row = error.row - self.starts[own]
        placed = error.moved(f"{self.files[own]}, row {row:,}{column}")
        placed.row = row
        return placed


def read_folder(
    source: Path | Sequence[Path], *, raters: bool = True, taken: Collection[str] = ()
) -> JoinedTable:
    """Read table files as one table; with `raters` those without a column of raters get one with the stems of their names.

    `taken` are columns with another role. Raises if the columns of two files differ, and names the file.
    """
    paths, others = _files_of(source)
    tables = [read_file(path) for path in paths]
    names = tables[0].names
    for path, table in zip(paths, tables, strict=True):
        if differing := sorted({*names} ^ {*table.names}):
            lacks = "has no" if differing[0] in names else "has a"
            problem = f"the file {lacks} column {short_repr(differing[0])}, unlike {paths[0].name}"
            remedy = "give all files the same columns, or read this one on its own"
            raise DataError(problem, column=differing[0], remedy=remedy, where=path.name)
    columns = [_lists(table.columns) for table in tables]
    sizes = [len(own[names[0]]) for own in columns]
    joined = {name: [cell for own in columns for cell in own[name]] for name in names}
    notes = [f"the folder without {first_reprs(others)}"] if others else []
    if raters and not _has_raters(names, taken):
        stems = _stems(paths)
        joined[RATER] = [stem for stem, size in zip(stems, sizes, strict=True) for _ in range(size)]
        notes.insert(0, f"the names of {len(paths):,} files as raters: {first_reprs(stems)}")
    return JoinedTable(
        joined,
        "; ".join(notes),
        any(table.may_have_commas for table in tables),
        {name: cell for table in tables for name, cell in table.guarded.items()},
        files=[path.name for path in paths],
        starts=[0, *accumulate(sizes)][:-1],
    )


def folder_names(folder: Path, *, raters: bool = True, taken: Collection[str] = ()) -> list[str]:
    """Names of the columns of `read_folder`, by the first file."""
    names = read_names(_files_of(folder)[0][0])
    return [*names, RATER] if raters and not _has_raters(names, taken) else names


def _has_raters(names: Sequence[str], taken: Collection[str]) -> bool:
    """Whether there is a column of raters."""
    return RATER in names or bool(columns_alike(RATER, names, taken))


def _files_of(source: Path | Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return table files, of a folder in the order of their names, and the names of its other entries but hidden ones."""
    if not isinstance(source, Path):
        return [*source], []
    entries = [path for path in sorted(source.iterdir()) if not path.name.startswith((".", "_"))]
    paths = [path for path in entries if path.suffix.lower() in READERS and path.is_file()]
    if not paths:
        raise DataError(
            "there is no table in the folder",
            value=str(source),
            allowed=", ".join(READERS),
            remedy="name a file, or a folder of files of one rater each",
            where=short_repr(str(source)),
        )
    if not all(is_shown(path.stem) for path in paths):
        raise DataError(
            "names of files may be those of raters, which are not to be shown",
            remedy="write one table with a column rater",
            where=short_repr(str(source)),
        )
    return paths, [path.name for path in entries if path not in paths]


def _stems(paths: Sequence[Path]) -> list[str]:
    """Stems of the names of files; raises if two are the same."""
    stems = [path.stem for path in paths]
    for place, stem in enumerate(stems):
        if stem in stems[:place]:
            problem, remedy = f"two files are named {short_repr(stem)}, as one rater", "rename one of them"
            raise DataError(problem, value=stem, remedy=remedy, where=paths[place].name)
    return stems


def _lists(columns: Any) -> Mapping[str, Sequence[Any]]:
    """Cells of a table by column."""
    return (
        columns
        if isinstance(columns, Mapping)
        else nw.from_native(columns, eager_only=True).to_dict(as_series=False)
    )

"""Names of raters replaced as soon as a table is read, so that nothing behind this module ever knows one."""

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os.path import isfile, samefile
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .._messages import short_repr
from ..models.data.container import suspicious_ids
from ..models.data.look_alikes import look_alikes
from ..models.data.reading.columns import code_ids, is_blank
from ..models.data.reading.files import TableFile
from ..models.data.reading.frames import PYTHON, Column, named_columns
from ..models.data.reading.headers import Asked
from ..models.data.reading.sources import exporting_tool
from ..posterior.table_text import TRADE, folded

# names of columns in the words of the trade; single letters may be the initials of raters
NAMES_OF_ROLES = {word for words in TRADE.values() for word in words if len(word) > 1} | {"count", "gold"}

NUMBER = re.compile("rater [0-9]+")


class Raters(NamedTuple):
    """Numbers in place of the names of raters, in a random order."""

    numbers: Sequence[str] = ()  # "rater 1", "rater 2" ...
    alike: Sequence[Sequence[str]] = ()  # groups of numbers of raters whose names look alike
    may_be_missing: Sequence[str] = ()  # numbers of raters whose names often mean a missing cell
    first: Mapping[str, str] = {}  # where the name behind a number stands first

    def alike_among(self, raters: np.ndarray) -> list[list[str]]:
        """Return the groups of raters whose names look alike, of those that are left."""
        left = set(raters.tolist())
        groups = ([number for number in group if number in left] for group in self.alike)
        return [group for group in groups if len(group) > 1]

    def suspicious(self, raters: np.ndarray) -> dict[str, str]:
        """Return the findings about names that the report of a container with these raters would have."""
        alike, left = self.alike_among(raters), set(raters.tolist())
        strange = [number for number in self.may_be_missing if number in left]
        found = {"look-alike raters": "; ".join(map(self.in_words, alike[:5]))} if alike else {}
        return found | ({"raters that may be missing": self.in_words(strange)} if strange else {})

    def in_words(self, numbers: Sequence[str]) -> str:
        """Numbers, each with the place where its name stands first."""
        return " / ".join(f"{short_repr(number)} ({self.first[number]})" for number in numbers[:5])


def refuse_annotations_among(
    tables: Iterable[Path | str | None], annotations: Path, source: str | None
) -> None:
    """Raise if one of the other files is that of the annotations, and no export of a tool, which may hold predictions as well."""
    for table in tables:
        if table is None or not (isfile(table) and isfile(annotations)):
            continue
        if (
            samefile(table, annotations)
            and exporting_tool(annotations, Asked("", tool=source), PYTHON) is None
        ):
            raise ValueError(
                f"--anonymize: {table} is the table of the annotations itself, and in any other place the names of its raters "
                "would be read as names of categories, classifiers, features or groups; name the other table"
            )


def may_show(typed: Sequence[str], layout: str) -> Callable[[str], bool]:
    """Return which texts messages may quote: names of columns in words of the trade or `typed`, and numbers of raters.

    In a wide table, where columns are raters, only those of items.
    """
    words = NAMES_OF_ROLES if layout != "wide" else TRADE["item"] | {"item", "count", "gold"}
    own = frozenset(typed)
    return lambda text: text in own or folded(text) in words or NUMBER.fullmatch(text) is not None


def numbered(names: Sequence[Any], taken: Sequence[str], places: Sequence[str]) -> tuple[np.ndarray, Raters]:
    """Return the number of each distinct name, shape (name,), and all that messages may say of them.

    `taken` are names of other columns, and `places` say where each name stands first.
    """
    free = (f"rater {k}" for k in range(1, len(names) + len(taken) + 1))
    numbers = [number for number in free if number not in taken][: len(names)]
    own = np.random.default_rng().permutation(np.array(numbers, np.str_))
    texts = np.array([name if isinstance(name, str) else str(name) for name in names], np.str_)
    of = dict(zip(texts.tolist(), own.tolist(), strict=True))
    at = dict(zip(texts.tolist(), places, strict=True))
    alike = [
        [of[name] for name in sorted(group, key=lambda name: _number_in(at[name]))]
        for group in look_alikes(texts)
    ]
    strange = [of[name] for name in texts.tolist() if suspicious_ids({"raters": np.array([name])})]
    return own, Raters(numbers, alike, strange, dict(zip(own.tolist(), places, strict=True)))


def _number_in(place: str) -> int:
    """Return the row or column of a place in words."""
    return int(re.sub(r"\D", "", place))


def without_names(table: TableFile, rater: str) -> tuple[TableFile, Raters]:
    """Replace the names in the column of the raters; empty cells stay, and are told by the reader."""
    cells = named_columns(table.columns, {"rater": rater})["rater"].values
    named = np.array([not is_blank(cell) for cell in cells], bool)
    rows = np.flatnonzero(named)
    if not len(rows):
        return table, Raters()
    names, code = code_ids(Column(rater, [cells[row] for row in rows.tolist()], kept=rows))
    _, first = np.unique(code, return_index=True)
    numbers, raters = numbered(names.tolist(), (), [f"first in row {rows[place] + 1:,}" for place in first])
    nameless = list(cells)
    for row, number in zip(rows.tolist(), numbers[code].tolist(), strict=True):
        nameless[row] = number
    return replace(table, columns=_with_column(table.columns, rater, nameless)), raters


def without_named_columns(
    table: TableFile, names: Sequence[str], kept: Sequence[str]
) -> tuple[TableFile, dict[str, str], Raters]:
    """Replace the names of columns that are raters; returns also the number of each."""
    places = [f"column {table.names.index(name) + 1:,} of those with a name" for name in names]
    numbers, raters = numbered(names, kept, places)
    of = dict(zip(names, numbers.tolist(), strict=True))
    columns = table.columns
    if isinstance(columns, Mapping):
        columns = ChainMap({number: columns[name] for name, number in of.items()}, columns)  # type: ignore[arg-type]
    else:
        columns = nw.from_native(columns, eager_only=True).rename(of).to_native()
    return replace(table, columns=columns), of, raters


def _with_column(columns: Any, name: str, cells: list[Any]) -> Any:
    """Table with other cells in one of its columns."""
    if isinstance(columns, Mapping):
        return ChainMap({name: cells}, columns)  # type: ignore[arg-type]
    frame = nw.from_native(columns, eager_only=True)
    return frame.with_columns(nw.new_series(name, cells, backend=frame.implementation)).to_native()

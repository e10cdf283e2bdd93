"""Items of a report one by one: estimates of each, its raters and what each said, and predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FILE = "items.jsonl"
Cells = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Table of every item, such as what each of its raters said."""

    key: str  # name in the file of the items
    title: str
    columns: Mapping[str, Sequence[Any]]  # cells of all items, those of an item contiguous
    start: np.ndarray  # (item + 1,): rows of item i are start[i]:start[i + 1]
    bar: str = ""  # column of probabilities that the page also draws

    @classmethod
    def of(
        cls, key: str, title: str, item: np.ndarray, n_items: int, columns: Mapping[str, Any], bar: str = ""
    ) -> "ItemTable":
        """Return the table of columns of the same length, whose rows are of `item`, codes (row,) in any order."""
        order = np.argsort(item, kind="stable")
        start = np.r_[0, np.bincount(item, minlength=n_items).cumsum()]
        sorted_columns = {name: np.asarray(cells)[order].tolist() for name, cells in columns.items()}
        return cls(key, title, sorted_columns, start, bar)

    def rows(self, item: int) -> list[Cells]:
        """Return the rows of an item."""
        first, end = self.start[item : item + 2].tolist()
        return list(zip(*(cells[first:end] for cells in self.columns.values()), strict=True))


@dataclass(frozen=True, eq=False)
class Items:
    """Estimates and tables of every item.

    `facts` has a mapping for each item, with its id as "item" and the same keys throughout; the page has as many of the
    first as fit. `ids` are the items in the order of the tables.
    """

    facts: Sequence[Mapping[str, Any]]
    order: str  # of `facts`, in words, such as "the least certain first"
    ids: Sequence[str]
    tables: Sequence[ItemTable]

    @property
    def names(self) -> list[str]:
        """Names of the facts."""
        return [name for name in self.facts[0] if name != "item"] if self.facts else []

    @property
    def predicted(self) -> bool:
        """Whether there are predictions."""
        return any(table.key == "predictions" for table in self.tables)

    def records(self) -> Iterator[tuple[str, list[Any], list[list[Cells]]]]:
        """Yield id, facts, and rows of each table, item by item."""
        code = {item: place for place, item in enumerate(self.ids)}
        for row in self.facts:
            place = code[row["item"]]
            facts = [value for name, value in row.items() if name != "item"]
            yield row["item"], facts, [table.rows(place) for table in self.tables]

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield what is known of each item as a JSON object; `docs/report.md` describes the keys."""
        for item, facts, rows in self.records():
            found = {"item": item, **dict(zip(self.names, facts, strict=True))}
            for table, own in zip(self.tables, rows, strict=True):
                found[table.key] = [dict(zip(table.columns, cells, strict=True)) for cells in own]
            yield found

"""Rows of a table as codes: their raters renumbered, sorted, and equal rows merged."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

ANONYMOUS = -1  # code of the rater of anonymous annotations
NO_RATERS = np.array([], np.str_)  # ids of anonymous raters


class CodedRows(dict[str, np.ndarray]):
    """Columns of codes and numbers, one place for each row, under the names of the fields of a container.

    ``annotation_rater`` is -1 if the raters are anonymous; the column ``count``, from 0, is the last.
    """

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the rows; `kept` is a mask or an array of row numbers."""
        return type(self)({name: column[kept] for name, column in self.items()})

    def replaced(self, columns: Mapping[str, np.ndarray]) -> Self:
        """Rows with other columns of these names."""
        return type(self)({**self, **columns})

    def extended(self, n: int, **values: Any) -> Self:
        """Append `n` rows of the given values, 0 in the other columns."""
        more = {name: np.broadcast_to(values.get(name, 0), n) for name in self}
        return type(self)({name: np.concatenate([column, more[name]]) for name, column in self.items()})

    def changes(self, *names: str) -> np.ndarray:
        """Mask of the rows that differ from the row above in one of the columns; the first row does."""
        differs = np.ones(len(self[names[0]]), bool)
        differs[1:] = False
        for name in names:
            differs[1:] |= self[name][1:] != self[name][:-1]
        return differs

    def renumbered(self, first: np.ndarray, n_raters: int) -> tuple[np.ndarray, Self]:
        """Renumber the raters present in the order of `first`, then of their codes.

        The order of a rater is the least value of `first`, shape (row,), among its rows. Returns the old codes
        of the raters present, shape (rater,), and the rows with new codes; anonymous rows stay anonymous.
        """
        absent = np.iinfo(np.int64).max
        order = np.full(n_raters, absent)
        if n_raters:
            np.minimum.at(order, self["annotation_rater"], first)
        present = np.argsort(order, kind="stable")[: np.count_nonzero(order < absent)]
        number = np.full(n_raters + 1, ANONYMOUS, np.int32)  # index -1 = last place: stays anonymous
        number[present] = np.arange(len(present))
        return present, self.replaced({"annotation_rater": number[self["annotation_rater"]]})

    def merged(self, n_raters: int) -> tuple[np.ndarray, Self]:
        """Drop counts of zero, sort by the columns in their order, and add up the counts of equal rows.

        `n_raters` is the number of rater codes, 0 if the raters are anonymous. The raters are renumbered in
        order of first appearance item by item, an order that sorting the table keeps; raters of pairs of items
        keep their order. Returns the old codes of the raters present, shape (rater,), and the rows.
        """
        given = self.where(self["count"] > 0)
        present, rows = given.renumbered(given.get("annotation_item", given["annotation_rater"]), n_raters)
        names = list(rows)[:-1]
        rows = rows.where(np.lexsort(_sort_keys([rows[name] for name in names])))
        opens = np.flatnonzero(rows.changes(*names))
        first = rows.where(opens)
        if len(opens):
            first["count"] = np.add.reduceat(rows["count"], opens)
        codes = {name: first[name].astype(np.int32) for name in names if first[name].dtype.kind != "f"}
        return present, first.replaced(codes)


def _sort_keys(columns: list[np.ndarray]) -> list[np.ndarray]:
    """Keys for lexsort, the last one first; codes from -1 are folded into one integer while it fits 63 bits."""
    keys = [columns[0].astype(np.int64)]
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 2 if column.dtype.kind != "f" else 2**63
        if (int(keys[-1].max(initial=0)) + 1) * size < 2**63:
            keys[-1] = keys[-1] * size + column + 1
        else:
            keys.append(column)
    return keys[::-1]

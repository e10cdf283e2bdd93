"""Rows of a table as codes: their raters renumbered, sorted, and equal rows merged."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from .reading.coded_cells import ascending, blocks, recoded

ANONYMOUS = -1  # code of the rater of anonymous annotations
ABSENT = np.iinfo(np.int64).max  # order of a rater without a row
FEW_ROWS, PART_OF_VALUES = 100_000, 64  # rows from which the least values are sought among the low ones first
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
        order = _least(first, self["annotation_rater"], n_raters)
        present = np.argsort(order, kind="stable")[: np.count_nonzero(order < ABSENT)]
        if np.array_equal(present, np.arange(n_raters)):
            return present, self
        number = np.full(n_raters + 1, ANONYMOUS, np.int32)  # index -1 = last place: stays anonymous
        number[present] = np.arange(len(present))
        return present, self.replaced({"annotation_rater": recoded(number, self["annotation_rater"])})

    def merged(self, n_raters: int) -> tuple[np.ndarray, Self]:
        """Drop counts of zero, sort by the columns in their order, and add up the counts of equal rows.

        `n_raters` is the number of rater codes, 0 if the raters are anonymous. The raters are renumbered in
        order of first appearance item by item, an order that sorting the table keeps; raters of pairs of items
        keep their order. Returns the old codes of the raters present, shape (rater,), and the rows.
        """
        given = self if self["count"].all() else self.where(self["count"] > 0)
        present, rows = given.renumbered(given.get("annotation_item", given["annotation_rater"]), n_raters)
        names, count = list(rows)[:-1], rows["count"]
        packed = _Packed.of([rows[name] for name in names])
        if packed is None:
            return present, rows._merged_by_columns(names)
        if ascending(packed.key, strictly=True):
            codes = [rows[name].astype(np.int32, copy=False) for name in names]
        else:
            key, count = _merged_keys(packed.key, count)
            codes = packed.columns(key)
        merged = dict(zip(names, codes, strict=True))
        return present, type(self)({**merged, "count": count.astype(np.int64, copy=False)})

    def _merged_by_columns(self, names: list[str]) -> Self:
        """Sort by columns that do not fit into one integer, such as scores, and add up the counts of equal rows."""
        rows = self.where(np.lexsort(_sort_keys([self[name] for name in names])))
        opens = np.flatnonzero(rows.changes(*names))
        first = rows.where(opens)
        if len(opens):
            first["count"] = np.add.reduceat(rows["count"], opens)
        codes = {name: first[name].astype(np.int32) for name in names if first[name].dtype.kind != "f"}
        return first.replaced(codes)


def _least(value: np.ndarray, rater: np.ndarray, n_raters: int) -> np.ndarray:
    """Least value, from 0, among the rows of each rater, (rater,); shapes of `value` and `rater` (row,)."""
    least = np.full(n_raters, ABSENT)
    if not n_raters:
        return least
    if len(value) > FEW_ROWS:  # whoever has a value below a bound has the least one there
        low = np.flatnonzero(value < value.max() // PART_OF_VALUES)
        np.minimum.at(least, rater[low], value[low])
        if (least < ABSENT).all():
            return least
    np.minimum.at(least, rater, value)
    return least


class _Packed(NamedTuple):
    """Columns of codes from -1 as one integer for each row, ordered as the rows are."""

    key: np.ndarray  # int32, or int64 where it takes more than 31 bits, (row,)
    bits: list[int]  # of each column
    low: list[int]  # least code of each column: 0 or -1

    @classmethod
    def of(cls, columns: list[np.ndarray]) -> "Self | None":
        """Pack columns; None if one is of floats, or they do not fit into 63 bits."""
        if any(column.dtype.kind == "f" for column in columns):
            return None
        low = [min(int(column.min(initial=0)), 0) for column in columns]
        sizes = zip(columns, low, strict=True)
        bits = [(int(column.max(initial=0)) - least).bit_length() for column, least in sizes]
        if sum(bits) > 63:
            return None
        key = np.empty(len(columns[0]), np.int32 if sum(bits) < 32 else np.int64)
        for rows in blocks(len(key)):
            part = key[rows]
            part[:] = 0
            for column, n, least in zip(columns, bits, low, strict=True):
                part <<= n
                np.add(part, column[rows], out=part, casting="unsafe")
                if least:
                    part -= least
        return cls(key, bits, low)

    def columns(self, key: np.ndarray) -> list[np.ndarray]:
        """Columns of keys, int32 (row,); the keys are overwritten, and short ones become the first column."""
        spare = key.dtype == np.int32
        found = [key if spare and not n else np.empty(len(key), np.int32) for n in range(len(self.bits))]
        parts = [*zip(found, self.bits, self.low, strict=True)][::-1]
        for rows in blocks(len(key)):
            part = key[rows]
            for column, n, least in parts:
                code = column[rows]
                if column is not key:
                    np.bitwise_and(part, (1 << n) - 1, out=code, casting="unsafe")
                    part >>= n
                if least:
                    code += np.int32(least)
        return found


def _merged_keys(key: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys, and add up the counts of equal ones; both (row,), `key` is overwritten."""
    once = (count == 1).all()
    if once:
        key.sort()
    else:
        order = np.argsort(key)
        key, count = key[order], count[order]
    if ascending(key, strictly=True):
        return key, count
    differs = key[1:] != key[:-1]
    opens = np.append(0, np.flatnonzero(differs) + 1)
    sums = np.diff(np.append(opens, len(key))) if once else np.add.reduceat(count, opens)
    return key[opens], sums


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

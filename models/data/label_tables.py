"""Conversion of labels from long and wide tables and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .cells import FLOATS, is_empty
from .columns import code_ids
from .errors import DataError, shown
from .label_summary import AnyLabels
from .matching import distinct_ids
from .tables import Column, column_names, named_columns
from .whole_numbers import read_counts, split_counts

__all__ = ["item_ids", "items_of_rows", "long_columns", "long_names", "wide_columns"]

MAX_ITEMS = 10_000_000
CROWD_KIT = {"item": "task", "rater": "worker"}


def long_names(frame: Any, roles: dict[str, str]) -> dict[str, str]:
    """Column names by role (argument name); crowd-kit's names serve where the default names are missing."""
    there = set(column_names(frame))
    found = dict(roles)
    for role, theirs in CROWD_KIT.items():
        if found[role] == role and role not in there and theirs in there:
            found[role] = theirs
    return found


def wide_columns(
    frame: Any, raters: Sequence[str], item: str | None, count: str | None
) -> tuple[np.ndarray, dict[str, Column], np.ndarray, np.ndarray]:
    """Melt a wide table to one row for each answer.

    Returns items; columns rater and label (answer,); row of each answer (answer,); and repeats (row,), the
    number of items that each row stands for. Raises if a column is missing, an item is repeated, or a count
    is wrong.
    """
    names = distinct_ids("raters", raters).tolist()
    extra = {k: v for k, v in {"item": item, "count": count}.items() if v is not None}
    columns = named_columns(frame, {f"raters {name}": name for name in names} | extra)
    answers = [_whole_cells(columns[f"raters {name}"]) for name in names]
    repeats = np.ones(len(answers[0].values), np.int64)
    if count is not None:
        repeats = read_counts(columns["count"])
        if repeats.sum() > MAX_ITEMS:
            raise DataError(
                f"the counts add up to {repeats.sum():,} items",
                column=count,
                value=int(repeats.sum()),
                allowed=f"{MAX_ITEMS:,} items",
                remedy="split the table",
            )
    items = item_ids(columns.get("item"), repeats, count is not None)
    given = [
        (row, name, column.values[row])
        for row in np.flatnonzero(repeats).tolist()
        for name, column in zip(names, answers, strict=True)
        if not is_empty(column.values[row])
    ]
    if not given:
        raise DataError(
            "no cell of the raters' columns holds an answer", remedy="check the columns"
        )
    row, rater, label = map(list, zip(*given, strict=True))
    long = {"rater": Column("rater", rater), "label": Column("label", label)}
    return items, long, np.array(row), repeats


def items_of_rows(row: np.ndarray, repeats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the answers of each row for every item that the row stands for.

    Shapes: row (answer,); repeats (row,); returns item codes and answer numbers, both (repeated answer,).
    """
    first, times = np.cumsum(repeats) - repeats, repeats[row]
    answer = np.repeat(np.arange(len(row)), times)
    nth = np.arange(len(answer)) - np.repeat(np.cumsum(times) - times, times)
    return (first[row][answer] + nth).astype(np.int32), answer


def long_columns(labels: AnyLabels) -> dict[str, np.ndarray]:
    """Columns of the long table of `Labels.to_table`; anonymous labels become a table of counts.

    A row of count 0 stands for an item without an answer.
    """
    if not len(labels.raters):
        counts = {str(k): labels.counts[:, c] for c, k in enumerate(labels.categories.tolist())}
        return {"item": labels.items, **counts}
    silent = np.setdiff1d(np.arange(len(labels.items)), labels.annotation_item)
    nobody = np.zeros(len(silent), np.int64)
    item = np.r_[labels.annotation_item, silent]
    order = np.argsort(item, kind="stable")
    item, rater = item[order], np.r_[labels.annotation_rater, nobody][order]
    table = {
        "item": labels.items[item],
        "rater": labels.raters[rater],
        "label": labels.categories[np.r_[labels.label_code, nobody][order]],
        "count": np.r_[labels.count, nobody][order],
    }
    if (labels.gold >= 0).any():
        names = np.array([*labels.categories.tolist(), ""], object)
        table["gold"] = names[labels.gold[item]]
    attributes = {name: own[rater] for name, own in labels.rater_attributes.items()}
    return split_counts(table | attributes)


def _whole_cells(column: Column) -> Column:
    """Undo the floats that a missing cell makes of a column of integers."""
    floats = [v for v in column.values if isinstance(v, FLOATS) and v == v]
    if floats and len(floats) < len(column.values) and all(v.is_integer() for v in floats):
        values = [int(v) if isinstance(v, FLOATS) and v == v else v for v in column.values]
        return Column(column.name, values, column.declared)
    return column


def item_ids(column: Column | None, repeats: np.ndarray, are_patterns: bool) -> np.ndarray:
    """Ids of the items; None as column numbers the rows from 0.

    Shapes: column and repeats (row,), the number of items that a row stands for. With `are_patterns` the
    items of a row get the ids "row.1", "row.2"... Raises if an id is repeated.
    """
    ids = np.arange(len(repeats))
    if column is not None:
        ids, code = code_ids(column)
        if len(ids) < len(code):
            row = int(np.setdiff1d(np.arange(len(code)), np.unique(code, return_index=True)[1])[0])
            raise DataError(
                f"{shown(column.values[row])} stands in an earlier row too",
                row=row + 1,
                column=column.name,
                value=column.values[row],
                allowed="one row for each item",
                remedy="if each row is one answer the table is long, not wide: read it by from_table, or --layout long",
            )
    if not are_patterns:
        return ids
    numbered = [
        f"{name}.{k}"
        for name, n in zip(ids.tolist(), repeats.tolist(), strict=True)
        for k in range(1, n + 1)
    ]
    return np.array(numbered, np.str_)

"""Labels in tables of other shapes: a column for each rater, and counts without raters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .cells import is_missing
from .columns import code_ids
from .errors import DataError, shown
from .label_summary import AnyLabels
from .matching import distinct_ids, match_ids, nearest
from .tables import Column, column_names, named_columns
from .whole_numbers import read_counts

__all__ = ["counted_columns", "long_columns", "long_names", "wide_columns"]

MAX_ITEMS = 10_000_000
CROWD_KIT = {"item": "task", "rater": "worker"}


def long_names(frame: Any, roles: dict[str, str]) -> dict[str, str]:
    """Return the names of the columns, those of crowd-kit where our defaults are missing.

    Parameters
    ----------
    frame : frame or mapping
        The table.
    roles : dict of str to str
        Argument of the door -> name of the column.

    Returns
    -------
    dict of str to str
        The same roles.
    """
    there = set(column_names(frame))
    found = dict(roles)
    for role, theirs in CROWD_KIT.items():
        if found[role] == role and role not in there and theirs in there:
            found[role] = theirs
    return found


def wide_columns(
    frame: Any, raters: Sequence[str], item: str | None, count: str | None
) -> tuple[np.ndarray, dict[str, Column], Callable[[int], tuple[int, str]]]:
    """Write a wide table as a long one.

    Parameters
    ----------
    frame : frame or mapping
        One row for each item, or for each pattern.
    raters : sequence of str
        Columns of the raters.
    item, count : str or None
        Columns of the items' ids and of the number of items behind a row.

    Returns
    -------
    items : ndarray of str or int64
        Ids of the items.
    columns : dict of str to Column
        Item (as a code), rater and label of every answer.
    row_of : callable
        Place of an answer -> row of the wide table and its column.

    Raises
    ------
    DataError
        If a column is missing, an item stands twice, or a count is wrong.
    """
    names = distinct_ids("raters", raters).tolist()
    extra = {k: v for k, v in {"item": item, "count": count}.items() if v is not None}
    columns = named_columns(frame, {f"raters {name}": name for name in names} | extra)
    answers = [_whole_cells(columns[f"raters {name}"]) for name in names]
    n_rows = len(answers[0].values)
    repeats = np.ones(n_rows, np.int64)
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
    items = _item_ids(columns.get("item"), repeats, count is not None)
    start = np.cumsum(repeats) - repeats
    at, rater, label, source = [], [], [], []
    for row in range(n_rows):
        given = [
            (n, c.values[row])
            for n, c in zip(names, answers, strict=True)
            if not _is_empty(c.values[row])
        ]
        for k in range(start[row], start[row] + repeats[row]):
            at += [k] * len(given)
            rater += [name for name, _ in given]
            label += [value for _, value in given]
        source += [(row, name) for name, _ in given] * int(repeats[row])
    if not label:
        raise DataError(
            "no cell of the raters' columns holds an answer", remedy="check the columns"
        )
    long = {
        "item": Column("item", at),
        "rater": Column("rater", rater),
        "label": Column("label", label),
    }
    return items, long, source.__getitem__


def long_columns(labels: AnyLabels) -> dict[str, np.ndarray]:
    """Write labels as a long table, or anonymous ones as a table of counts.

    Parameters
    ----------
    labels : Labels
        The data.

    Returns
    -------
    dict of str to ndarray
        Columns, as `Labels.to_table` says.
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
    return table | {name: own[rater] for name, own in labels.rater_attributes.items()}


def _is_empty(value: Any) -> bool:
    return is_missing(value) or value == ""


def _whole_cells(column: Column) -> Column:
    """Undo that a missing cell turns a column of integers into floats."""
    floats = [v for v in column.values if isinstance(v, float | np.floating) and v == v]
    if floats and len(floats) < len(column.values) and all(v.is_integer() for v in floats):
        values = [v if is_missing(v) or isinstance(v, str) else int(v) for v in column.values]
        return Column(column.name, values, column.declared)
    return column


def _item_ids(column: Column | None, repeats: np.ndarray, are_patterns: bool) -> np.ndarray:
    """Return the ids of the items: of the rows, or of the items that each row stands for."""
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


def counted_columns(
    counts: Any, item: str, categories: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read a table of counts.

    Parameters
    ----------
    counts : DataArray, frame or mapping
        Counts by item and category.
    item : str
        Column, or dim, of the items.
    categories : sequence or None
        The categories, in their order.

    Returns
    -------
    items, categories : ndarray of str or int64
        Ids.
    table : ndarray of int64, shape (item, category)
        Counts.

    Raises
    ------
    DataError
        If a count is no whole number from 0, an item stands twice, or there are fewer than two categories.
    """
    if hasattr(counts, "dims"):
        frame, labels = _array_columns(counts, item)
    else:
        frame, labels = counts, [name for name in column_names(counts) if name != item]
    there = distinct_ids("categories", labels)
    names = there if categories is None else distinct_ids("categories", categories)
    place = match_ids(names, there, "categories")
    if (place < 0).any():
        unknown = names[(place < 0).argmax()].item()
        raise DataError(
            f"{shown(unknown)} is counted nowhere",
            value=unknown,
            allowed=nearest(unknown, there),
            remedy="name columns of the table",
            where="argument categories",
        )
    if len(names) < 2:
        raise DataError(
            f"{shown(names[0].item())} is the only category: there is nothing to choose from",
            value=names[0].item(),
            allowed="a closed set of two or more categories",
            remedy="give counts of the others as well",
        )
    if item != "item" and "item" in names.tolist():
        raise DataError(
            "a category is called 'item', as is the column of ids",
            column="item",
            value="item",
            remedy="give the category another name",
        )
    keys = [labels[k] for k in place]
    columns = named_columns(frame, {"item": item} | {f"categories {k}": k for k in keys})
    table = np.stack([read_counts(columns[f"categories {k}"]) for k in keys], axis=1)
    ids = _item_ids(columns["item"], np.ones(len(table), np.int64), are_patterns=False)
    return ids, names, table


def _array_columns(counts: Any, item: str) -> tuple[dict[str, Any], list[Any]]:
    """Write a DataArray as columns; its labels may be integers."""
    if set(counts.dims) != {item, "category"} or not {item, "category"} <= set(counts.coords):
        raise DataError(
            f"the array has dims {tuple(counts.dims)} with coords {tuple(counts.coords)}",
            value=tuple(counts.dims),
            allowed=f"dims ({item!r}, 'category'), each with its coordinate",
            remedy="name the dims, and assign the ids of items and categories",
        )
    labels = counts["category"].values.tolist()
    cells = counts.transpose(item, "category").values
    return {item: counts[item].values} | {k: cells[:, c] for c, k in enumerate(labels)}, labels

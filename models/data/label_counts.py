"""Labels as counts by item and category, without raters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import DataError, shown
from .label_summary import AnyLabels
from .label_tables import item_ids
from .matching import distinct_ids, match_ids, nearest
from .tables import column_names, named_columns
from .whole_numbers import read_counts

__all__ = ["counted_columns", "dense_counts"]

MAX_CELLS = 1_000_000_000  # of counts by item and category


def dense_counts(labels: AnyLabels) -> np.ndarray:
    """Sum the counts of labels over raters, shape (item, category); raises if there are too many cells."""
    shape = len(labels.items), len(labels.categories)
    if shape[0] * shape[1] > MAX_CELLS:
        raise DataError(
            f"{shape[0]:,} items x {shape[1]:,} categories are {shape[0] * shape[1]:,} counts",
            value=shape[0] * shape[1],
            allowed=f"{MAX_CELLS:,} counts",
            remedy="check which column holds the labels, or split the items",
            where="labels",
        )
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels.annotation_item, labels.label_code), labels.count)
    return counts


def counted_columns(
    counts: Any, item: str, categories: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read counts from a DataArray, frame or mapping; returns items, categories, and counts (item, category).

    `item` names the column or dim of the items; `categories` chooses and orders the others. Refuses counts
    that are not integers from 0, repeated items, and fewer than two categories.
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
            f"{shown(unknown)} has no counts",
            value=unknown,
            allowed=nearest(unknown, there),
            remedy="choose among the columns, or labels, that have counts",
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
    ids = item_ids(columns["item"], np.ones(len(table), np.int64), are_patterns=False)
    return ids, names, table


def _array_columns(counts: Any, item: str) -> tuple[dict[str, Any], list[Any]]:
    """Columns of a DataArray of counts, and the labels of its categories, which may be integers."""
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

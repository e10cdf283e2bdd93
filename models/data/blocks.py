"""Compressed layout of rankings: annotations point to blocks, blocks to entries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .errors import DataError, shown
from .tables import Column

__all__ = ["Entries", "block_layout", "refuse_repeats"]


@dataclass(frozen=True, eq=False)
class Entries:
    """Ranked categories, one entry for each row of the table."""

    item: np.ndarray  # (entry,) int32
    rater: np.ndarray  # (entry,) int32
    category: np.ndarray  # (entry,) int32
    rank: np.ndarray  # (entry,) int64, from 1

    @property
    def annotation(self) -> np.ndarray:
        """Number of the (item, rater) pair of each entry, shape (entry,); ascending by item, then rater."""
        return self.item.astype(np.int64) * (int(self.rater.max()) + 1) + self.rater

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the entries; `kept` is a mask or an array of row numbers."""
        return type(self)(self.item[kept], self.rater[kept], self.category[kept], self.rank[kept])


def refuse_repeats(entries: Entries, columns: Mapping[str, Column]) -> None:
    """Raise at the first row that repeats a category of an annotation; `columns` are for the message."""
    annotation = entries.annotation
    # stable sort: equal entries keep the order of their rows
    order = np.lexsort((entries.category, annotation))
    same = annotation[order[1:]] == annotation[order[:-1]]
    same &= entries.category[order[1:]] == entries.category[order[:-1]]
    if not same.any():
        return
    repeat = np.flatnonzero(same)
    repeat = repeat[order[repeat + 1].argmin()]
    first, row = order[repeat], order[repeat + 1]
    value, rater, item = (columns[role].values[row] for role in ("category", "rater", "item"))
    raise DataError(
        f"{shown(value)} is ranked twice by rater {shown(rater)} of item {shown(item)}, "
        f"first in row {first + 1:,}",
        row=int(row) + 1,
        column=columns["category"].name,
        value=value,
        allowed="each category once in an annotation",
        remedy="keep one of the rows",
    )


def block_layout(entries: Entries, raters: np.ndarray) -> dict[str, Any]:
    """Group entries into blocks, and blocks into annotations.

    Returns the arguments of `PartialRankings` except items and categories. No category may occur twice in an
    annotation. `raters` are the ids behind the rater codes; those who occur come back in order of first
    appearance item by item. `gaps` counts the annotations whose ranks skip a number.
    """
    raters, entries = _number_raters(entries, raters)
    annotation = entries.annotation
    order = np.lexsort((entries.category, entries.rank, annotation))
    entries, annotation = entries.where(order), annotation[order]
    opens_annotation = np.r_[True, annotation[1:] != annotation[:-1]]
    opens_block = opens_annotation | np.r_[True, entries.rank[1:] != entries.rank[:-1]]
    # entries are sorted by annotation, rank, category: starts are where annotation or rank changes
    first = np.flatnonzero(opens_annotation)
    block_start = np.r_[np.flatnonzero(opens_block), len(order)]
    annotation_start = np.searchsorted(block_start, np.r_[first, len(order)])
    last = np.r_[first[1:], len(order)] - 1
    return {
        "raters": raters,
        "annotation_item": entries.item[first],
        "annotation_rater": entries.rater[first],
        "annotation_start": annotation_start,
        "block_start": block_start,
        "category_code": entries.category,
        "gaps": int((entries.rank[last] != np.diff(annotation_start)).sum()),
    }


def _number_raters(entries: Entries, raters: np.ndarray) -> tuple[np.ndarray, Entries]:
    """Renumber raters by first appearance item by item, an order that sorting the table keeps.

    Returns the ids of the raters present, shape (rater,), and the entries with new rater codes.
    """
    by_item = np.argsort(entries.item, kind="stable")
    present, first = np.unique(entries.rater[by_item], return_index=True)
    present = present[np.argsort(first)]
    number = np.empty(len(raters), np.int32)
    number[present] = np.arange(len(present))
    renumbered = Entries(entries.item, number[entries.rater], entries.category, entries.rank)
    return raters[present], renumbered

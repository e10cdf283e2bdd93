"""From coded rows to the compressed layout annotation -> blocks -> entries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .errors import DataError, shown
from .tables import Column

__all__ = ["Entries", "block_layout", "refuse_repeats"]


@dataclass(frozen=True, eq=False)
class Entries:
    """Ranked categories, one entry each.

    Attributes
    ----------
    item, rater, category : ndarray of int32, shape (entry,)
        Codes.
    rank : ndarray of int64, shape (entry,)
        Ranks from 1.
    """

    item: np.ndarray
    rater: np.ndarray
    category: np.ndarray
    rank: np.ndarray

    @property
    def annotation(self) -> np.ndarray:
        """One number for each pair of item and rater, ascending by item, then by rater."""
        return self.item.astype(np.int64) * (int(self.rater.max()) + 1) + self.rater

    def where(self, kept: np.ndarray) -> Self:
        """Return some of the entries.

        Parameters
        ----------
        kept : ndarray of bool or int
            Which.

        Returns
        -------
        Entries
            The chosen entries.
        """
        return type(self)(self.item[kept], self.rater[kept], self.category[kept], self.rank[kept])


def refuse_repeats(entries: Entries, columns: Mapping[str, Column]) -> None:
    """Raise if a rater ranks one category of an item twice.

    Parameters
    ----------
    entries : Entries
        Coded rows.
    columns : mapping of str to Column
        The columns they came from, for the message.

    Raises
    ------
    DataError
        At the first row that repeats an earlier one.
    """
    annotation = entries.annotation
    # The sort is stable: equal entries stay in the order of their rows.
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

    Parameters
    ----------
    entries : Entries
        Entries, no category twice in an annotation.
    raters : ndarray of str or int64, shape (rater,)
        Ids behind the rater codes.

    Returns
    -------
    dict
        Arguments of `PartialRankings`: the raters that occur, in order of first appearance item by
        item, the compressed rows, and how many annotations had gaps in their ranks.
    """
    raters, entries = _number_raters(entries, raters)
    annotation = entries.annotation
    order = np.lexsort((entries.category, entries.rank, annotation))
    entries, annotation = entries.where(order), annotation[order]
    opens_annotation = np.r_[True, annotation[1:] != annotation[:-1]]
    opens_block = opens_annotation | np.r_[True, entries.rank[1:] != entries.rank[:-1]]
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
    """Renumber raters by first appearance item by item, an order that the sorted table has too."""
    by_item = np.argsort(entries.item, kind="stable")
    present, first = np.unique(entries.rater[by_item], return_index=True)
    present = present[np.argsort(first)]
    number = np.empty(len(raters), np.int32)
    number[present] = np.arange(len(present))
    renumbered = Entries(entries.item, number[entries.rater], entries.category, entries.rank)
    return raters[present], renumbered

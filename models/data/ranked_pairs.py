"""Ranked pairs: every (item, category) that some rater ranked, laid end to end."""

from typing import NamedTuple

import numpy as np

from .rankings import PartialRankings

__all__ = ["RankedPairs", "ranked_pairs"]


class RankedPairs(NamedTuple):
    """The distinct ranked categories of each item, and which of them every entry names.

    Attributes
    ----------
    start : ndarray of int64, shape (item + 1,)
        Pairs of item ``i`` are ``start[i]:start[i + 1]``, by category code.
    item, category : ndarray of int32, shape (pair,)
        Codes.
    entry : ndarray of int64, shape (entry,)
        Pair of every ranked entry.
    entry_annotation, entry_block : ndarray of int64, shape (entry,)
        Annotation of every entry, and the number of its block there: 0 = best.
    """

    start: np.ndarray
    item: np.ndarray
    category: np.ndarray
    entry: np.ndarray
    entry_annotation: np.ndarray
    entry_block: np.ndarray


def ranked_pairs(rankings: PartialRankings) -> RankedPairs:
    """List the (item, category) pairs that some rater ranked.

    Parameters
    ----------
    rankings : PartialRankings
        The annotations.

    Returns
    -------
    RankedPairs
        Items in their order, categories in theirs.
    """
    n_blocks = np.diff(rankings.annotation_start)
    block_annotation = np.repeat(np.arange(len(n_blocks)), n_blocks)
    block_number = np.arange(len(block_annotation)) - rankings.annotation_start[block_annotation]
    block_size = np.diff(rankings.block_start)
    entry_annotation = np.repeat(block_annotation, block_size)
    entry_item = rankings.annotation_item[entry_annotation].astype(np.int64)
    key = entry_item * len(rankings.categories) + rankings.category_code
    named, entry = np.unique(key, return_inverse=True)
    item, category = np.divmod(named, len(rankings.categories))
    return RankedPairs(
        start=np.searchsorted(item, np.arange(len(rankings.items) + 1)),
        item=item.astype(np.int32),
        category=category.astype(np.int32),
        entry=entry,
        entry_annotation=entry_annotation,
        entry_block=np.repeat(block_number, block_size),
    )

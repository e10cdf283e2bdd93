"""Distinct ranked (item, category) pairs, concatenated over items."""

from typing import NamedTuple

import numpy as np

from .rankings import PartialRankings

__all__ = ["RankedPairs", "ranked_pairs"]


class RankedPairs(NamedTuple):
    """Distinct ranked categories of each item, and the pair of every entry.

    Pairs of item ``i`` are ``start[i]:start[i + 1]``, ordered by category code.
    """

    start: np.ndarray  # (item + 1,) int64
    item: np.ndarray  # (pair,) int32
    category: np.ndarray  # (pair,) int32
    entry: np.ndarray  # (entry,) int64, pair of each entry
    entry_annotation: np.ndarray  # (entry,) int64
    entry_block: np.ndarray  # (entry,) int64, number of the block in its annotation, 0 = best


def ranked_pairs(rankings: PartialRankings) -> RankedPairs:
    """List the (item, category) pairs ranked by some rater, ordered by item, then category code."""
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

"""Distinct ranked (item, category) pairs, concatenated over items."""

from typing import Literal, NamedTuple

import numpy as np

from .rankings import PartialRankings


class RankedPairs(NamedTuple):
    """Distinct ranked categories of items, ascending at ``start[i]:start[i + 1]`` of item ``i``, and the pair of every entry."""

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


def inverse_rank_scores(rankings: PartialRankings, tie_weight: Literal["split", "full"]) -> np.ndarray:
    """Inverse rank normalisation (IRN) of every ranked pair, shape (pair,), in the order of `ranked_pairs`.

    Support by the raters of the item, as shares that sum to one. `tie_weight` "split" shares the weight of a
    block among its tied categories (eq. 3); "full" gives each the whole weight.
    """
    if tie_weight not in ("split", "full"):
        raise ValueError(f"tie_weight={tie_weight!r} is not one of 'split', 'full'")
    pairs = ranked_pairs(rankings)
    weight = 1.0 / (pairs.entry_block + 1)  # 1 / i
    if tie_weight == "split":
        size = np.diff(rankings.block_start)
        weight /= np.repeat(size, size)  # / |b_i|, eq. 3
    score = np.bincount(pairs.entry, weight, minlength=len(pairs.item))
    return score / np.bincount(pairs.item, score)[pairs.item]

"""Candidates: the (item, category) pairs that have a worth in a ranking model, on one flat dim.

A dense (item, category) array would be mostly padding: there are hundreds of categories, and raters name few.
The candidates of an item are adjacent, in the order of the categories; the categories that no rater of the
item ranked share a last candidate, ``OTHER``.
"""

from dataclasses import dataclass

import numpy as np

from ..data.rankings import PartialRankings

__all__ = ["OTHER_CODE", "Candidates", "annotation_blocks", "every_candidate", "ranked_candidates"]

OTHER_CODE = -1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Flat layout of the candidates of a set of partial rankings."""

    start: np.ndarray  # int64 (item + 1,): candidates of item i are start[i]:start[i + 1]
    item: np.ndarray  # int32 (candidate,)
    category: np.ndarray  # int32 (candidate,); OTHER_CODE for OTHER
    other_size: np.ndarray  # int64 (item,): number of categories in OTHER, 0 without it
    place: np.ndarray  # int32 (annotation, place): candidates of the item, then zeros
    # int8 or int16 (annotation, place): block of each candidate, 0 = first, largest = unranked, -1 = padding
    block: np.ndarray


def ranked_candidates(rankings: PartialRankings, *, other: bool) -> Candidates:
    """Lay out the categories that some rater of the item ranked and, with `other`, OTHER for the rest."""
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    pair = _entry_items(rankings) * n_categories + rankings.category_code
    named = np.unique(pair)
    item = named // n_categories
    never_ranked = n_categories - np.bincount(item, minlength=n_items)
    other_size = never_ranked if other else np.zeros(n_items, np.int64)
    rest = np.flatnonzero(other_size)

    # OTHER sorts after the last category of its item.
    key = np.concatenate([named + item, rest * (n_categories + 1) + n_categories])
    key.sort()
    item, category = np.divmod(key, n_categories + 1)
    start = np.searchsorted(item, np.arange(n_items + 1))
    entry = np.searchsorted(key, pair + pair // n_categories)
    place, block = annotation_blocks(rankings, start, entry)
    return Candidates(
        start=start,
        item=item.astype(np.int32),
        category=np.where(category == n_categories, OTHER_CODE, category).astype(np.int32),
        other_size=other_size,
        place=place,
        block=block,
    )


def every_candidate(rankings: PartialRankings) -> Candidates:
    """Lay out every category of every item, without OTHER: candidate = item * K + category."""
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    start = np.arange(n_items + 1) * n_categories
    entry = _entry_items(rankings) * n_categories + rankings.category_code
    place, block = annotation_blocks(rankings, start, entry)
    item, category = np.divmod(np.arange(n_items * n_categories, dtype=np.int32), n_categories)
    return Candidates(start, item, category, np.zeros(n_items, np.int64), place, block)


def annotation_blocks(
    rankings: PartialRankings, start: np.ndarray, entry: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return place and block of every annotation, as in `Candidates`: a block number per candidate.

    Shapes: start (item + 1,), candidates of each item; entry (entry,), candidate of every ranked entry;
    results (annotation, place).
    """
    first = start[rankings.annotation_item]
    width = start[rankings.annotation_item + 1] - first
    n_blocks = np.diff(rankings.annotation_start)
    column = np.arange(width.max())
    inside = column < width[:, None]
    place = np.where(inside, first[:, None] + column, 0).astype(np.int32)
    block = np.where(inside, n_blocks[:, None], -1).astype(np.min_scalar_type(-n_blocks.max() - 1))
    annotation = _entry_annotations(rankings)
    number = np.arange(len(rankings.block_start) - 1) - np.repeat(
        rankings.annotation_start[:-1], n_blocks
    )
    block[annotation, entry - first[annotation]] = np.repeat(number, np.diff(rankings.block_start))
    return place, block


def _entry_annotations(rankings: PartialRankings) -> np.ndarray:
    """Return the annotation of every ranked entry."""
    n_entries = np.diff(rankings.block_start[rankings.annotation_start])
    return np.repeat(np.arange(len(n_entries)), n_entries)


def _entry_items(rankings: PartialRankings) -> np.ndarray:
    """Return the item code of every ranked entry as int64, so that products do not overflow."""
    return rankings.annotation_item[_entry_annotations(rankings)].astype(np.int64)

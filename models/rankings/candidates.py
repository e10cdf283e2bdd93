"""Candidates: the (item, category) pairs a ranking model has a worth for, laid end to end.

Hundreds of categories, of which the raters of one item name a handful: a dense (item, category) array would be mostly
padding. A model of rankings therefore has one flat dim ``candidate``. The candidates of an item are contiguous, in the
order of the categories; the categories that no rater of the item ranked share one last candidate, ``OTHER``.
"""

from dataclasses import dataclass

import numpy as np

from ..data.rankings import PartialRankings

__all__ = ["OTHER_CODE", "Candidates", "annotation_blocks", "every_candidate", "ranked_candidates"]

OTHER_CODE = -1


@dataclass(frozen=True, eq=False)
class Candidates:
    """The flat layout of one set of partial rankings.

    Attributes
    ----------
    start : ndarray of int64, shape (item + 1,)
        Candidates of item ``i`` are ``start[i]:start[i + 1]``.
    item, category : ndarray of int32, shape (candidate,)
        Codes of each candidate; the category of OTHER is ``OTHER_CODE``.
    other_size : ndarray of int64, shape (item,)
        How many never-ranked categories OTHER stands for; 0 where the item has no such candidate.
    place : ndarray of int32, shape (annotation, place)
        Candidate behind each place of an annotation: all candidates of its item, then zeros.
    block : ndarray of int8 or int16, shape (annotation, place)
        Block number the rater gave that candidate: 0 = first, ..., the largest = unranked; -1 beyond the item's candidates.
    """

    start: np.ndarray
    item: np.ndarray
    category: np.ndarray
    other_size: np.ndarray
    place: np.ndarray
    block: np.ndarray


def ranked_candidates(rankings: PartialRankings, *, other: bool) -> Candidates:
    """Lay out the categories that some rater of the item ranked, and with `other` their pooled rest.

    Parameters
    ----------
    rankings : PartialRankings
        The annotations.
    other : bool
        Whether the never-ranked categories of an item share a last candidate.

    Returns
    -------
    Candidates
        The flat layout.
    """
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
    """Lay out every category for every item: the dense layout (item, category), row after row.

    Parameters
    ----------
    rankings : PartialRankings
        The annotations.

    Returns
    -------
    Candidates
        A layout without OTHER, in which candidate = item * K + category.
    """
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    start = np.arange(n_items + 1) * n_categories
    entry = _entry_items(rankings) * n_categories + rankings.category_code
    place, block = annotation_blocks(rankings, start, entry)
    item, category = np.divmod(np.arange(n_items * n_categories, dtype=np.int32), n_categories)
    return Candidates(start, item, category, np.zeros(n_items, np.int64), place, block)


def annotation_blocks(
    rankings: PartialRankings, start: np.ndarray, entry: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Write every annotation as one block number for each candidate of its item.

    Parameters
    ----------
    rankings : PartialRankings
        The annotations.
    start : ndarray of int64, shape (item + 1,)
        Candidates of each item.
    entry : ndarray of int64, shape (entry,)
        Candidate of every ranked entry of `rankings`.

    Returns
    -------
    place, block : ndarray, shape (annotation, place)
        As in `Candidates`.
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
    """Return the item code of every ranked entry, wide enough to be multiplied."""
    return rankings.annotation_item[_entry_annotations(rankings)].astype(np.int64)

"""Pair table: the votes pair by pair and rater by rater, laid out for compiled code.

Which of the two items stood on the left is forgotten here: models with a left bias read `Comparisons` itself.
"""

from typing import NamedTuple

import numpy as np

from .comparisons import Comparisons
from .votes import TIE

__all__ = ["PairTable", "pair_table"]


class PairTable(NamedTuple):
    """How often each rater preferred the first item of each pair, the second, or neither.

    Attributes
    ----------
    first, second : ndarray of int64, shape (pair,)
        Codes of the items, first < second; pairs ascending by first, then second.
    start : ndarray of int64, shape (pair + 1,)
        Cells of pair ``e`` are ``start[e]:start[e + 1]``; a cell is one rater's votes on one pair.
    rater : ndarray of int32, shape (cell,)
        Codes, ascending within a pair; anonymous raters are one rater, 0.
    wins, losses, ties : ndarray of float64, shape (cell,)
        Votes for the first item, for the second, for neither.
    n_items, n_raters : int
        How many there are, with votes or not; anonymous raters are one.
    """

    first: np.ndarray
    second: np.ndarray
    start: np.ndarray
    rater: np.ndarray
    wins: np.ndarray
    losses: np.ndarray
    ties: np.ndarray
    n_items: int
    n_raters: int


def pair_table(pairs: Comparisons) -> PairTable:
    """Lay comparisons out pair by pair.

    Parameters
    ----------
    pairs : Comparisons
        The votes.

    Returns
    -------
    PairTable
        All of them, both orders of a pair merged.
    """
    swapped = pairs.left > pairs.right
    first = np.where(swapped, pairs.right, pairs.left).astype(np.int64)
    pair = first * len(pairs.items) + np.where(swapped, pairs.left, pairs.right)
    rater = np.maximum(pairs.annotation_rater, 0)
    # 0 for the first item, 1 for the second, 2 for neither
    outcome = np.where(pairs.outcome == TIE, TIE, pairs.outcome ^ swapped)
    order = np.lexsort((rater, pair)) if swapped.any() else slice(None)
    pair, rater, outcome, count = pair[order], rater[order], outcome[order], pairs.count[order]
    new_pair = np.r_[True, pair[1:] != pair[:-1]]
    new_cell = new_pair | np.r_[True, rater[1:] != rater[:-1]]
    cell, opens = np.cumsum(new_cell) - 1, np.flatnonzero(new_cell)
    pair_opens = np.flatnonzero(new_pair[opens])
    first, second = np.divmod(pair[opens[pair_opens]], len(pairs.items))
    wins, losses, ties = (
        np.bincount(cell, np.where(outcome == o, count, 0), len(opens)) for o in range(3)
    )
    return PairTable(
        first=first,
        second=second,
        start=np.r_[pair_opens, len(opens)],
        rater=rater[opens],
        wins=wins,
        losses=losses,
        ties=ties,
        n_items=len(pairs.items),
        n_raters=max(len(pairs.raters), 1),
    )

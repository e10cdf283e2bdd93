"""Pair table: votes by pair and rater, laid out for compiled code.

The side of the items is dropped: models with a left bias read `Comparisons` itself.
"""

from typing import NamedTuple

import numpy as np

from .comparisons import Comparisons
from .votes import TIE

__all__ = ["PairTable", "pair_table"]


class PairTable(NamedTuple):
    """Wins, losses and ties by pair and rater.

    A cell is one rater's votes on one pair; cells of pair ``e`` are ``start[e]:start[e + 1]``.
    """

    first: np.ndarray  # (pair,), code of one item; pairs ascend by first, then second
    second: np.ndarray  # (pair,), code of the other, first < second
    start: np.ndarray  # (pair + 1,)
    rater: np.ndarray  # (cell,) int32, ascending within a pair; anonymous raters are rater 0
    wins: np.ndarray  # (cell,) float64, votes for first
    losses: np.ndarray  # (cell,), votes for second
    ties: np.ndarray  # (cell,)
    n_items: int  # with or without votes
    n_raters: int  # 1 if anonymous


def pair_table(pairs: Comparisons) -> PairTable:
    """Group comparisons by pair and rater; both orders of a pair are merged."""
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

"""Comparisons in other formats: choix's (winner, loser) pairs and evalica's named outcomes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .comparison_tables import code_items, item_set
from .errors import DataError, shown
from .tables import Column, is_listed
from .votes import LEFT, NOBODY, RIGHT, CodedVotes

__all__ = ["named_outcomes", "paired_votes"]

EVALICA = {"X": "left", "Y": "right", "Draw": "tie"}

_NAMES = "evalica's Winner.X, Winner.Y and Winner.Draw, or 'X', 'Y' and 'Draw'"


def paired_votes(
    pairs: Any, items: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, CodedVotes]:
    """Read (winner, loser) pairs; returns the items and anonymous votes.

    `items` None means the sorted ids that occur. The earlier item is put on the left, since pairs carry no
    side. Refuses entries that are not two ids, and an item paired with itself.
    """
    declared = item_set(items)
    found, winner, loser = code_items(*_winners_and_losers(pairs), declared)
    if declared is None:
        order = np.argsort(found)
        found, place = found[order], np.argsort(order)
        winner, loser = place[winner], place[loser]
    return found, CodedVotes(
        left=np.minimum(winner, loser),
        right=np.maximum(winner, loser),
        rater=np.full(len(winner), NOBODY, np.int32),
        outcome=np.where(winner < loser, LEFT, RIGHT),
        count=np.ones(len(winner), np.int64),
    )


def named_outcomes(winners: Sequence[Any] | np.ndarray) -> list[str]:
    """Translate evalica's outcomes X, Y and Draw to the words of `OUTCOMES`.

    Outcomes are members of evalica's enumeration, or text.
    """
    if not is_listed(winners):
        raise DataError(
            f"winners are a {type(winners).__name__}",
            column="winners",
            value=winners,
            allowed=f"a list of {_NAMES}",
            remedy="pass the three sequences in the order of the votes",
            where="argument winners",
        )
    words = []
    for row, cell in enumerate(winners, 1):
        name = getattr(cell, "name", None) or str(cell).rpartition(".")[2]
        if name not in EVALICA:
            remedy = "correct it; from_table reads words and ids of items"
            if name == "Ignore":
                remedy = "leave out the votes that are to be ignored"
            raise DataError(
                f"{shown(cell)} is no outcome",
                row=row,
                column="winners",
                value=cell,
                allowed=_NAMES,
                remedy=remedy,
            )
        words.append(EVALICA[name])
    return words


def _winners_and_losers(pairs: Any) -> tuple[Column, Column]:
    """Split pairs into two columns; raises at an entry that is not a pair."""
    if isinstance(pairs, np.ndarray) and pairs.ndim == 2:
        pairs = pairs.tolist()
    if not is_listed(pairs) or not len(pairs):
        found = "nothing" if is_listed(pairs) else f"a {type(pairs).__name__}"
        raise _refused_pair(f"pairs hold {found}", pairs, "argument pairs")
    for place, pair in enumerate(pairs, 1):
        if not is_listed(pair) or len(pair) != 2:
            where = f"argument pairs, place {place:,}"
            raise _refused_pair(f"{shown(pair)} is not one winner and one loser", pair, where)
    winner, loser = zip(*pairs, strict=True)
    return Column("winner", [*winner]), Column("loser", [*loser])


def _refused_pair(problem: str, value: Any, where: str) -> DataError:
    return DataError(
        problem,
        column="pairs",
        value=value,
        allowed="a list of (winner, loser), or an array with two columns",
        remedy="write a choice among several items as one pair for each loser, and read ties with from_table",
        where=where,
    )

"""Layout of comparisons: coded rows are merged and sorted by left, right, rater, outcome."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from .errors import DataError

__all__ = ["LEFT", "NOBODY", "OUTCOMES", "RIGHT", "TIE", "CodedVotes", "vote_layout"]

OUTCOMES = ("left", "right", "tie")
"""Outcomes of a comparison; their codes are their places."""

LEFT, RIGHT, TIE = range(len(OUTCOMES))

NOBODY = -1
"""Code of the rater of anonymous votes."""


@dataclass(frozen=True, eq=False)
class CodedVotes:
    """Coded votes, one for each row of a table."""

    left: np.ndarray  # (row,) int32
    right: np.ndarray  # (row,) int32, never equal to left
    rater: np.ndarray  # (row,) int32, or `NOBODY`
    outcome: np.ndarray  # (row,) int32: `LEFT`, `RIGHT` or `TIE`
    count: np.ndarray  # (row,) int64, from 0

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the votes; `kept` is a mask or an array of row numbers."""
        return type(self)(
            self.left[kept],
            self.right[kept],
            self.rater[kept],
            self.outcome[kept],
            self.count[kept],
        )


def vote_layout(votes: CodedVotes, raters: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Merge equal votes, drop counts of zero, and sort; return the raters and the arrays of `Comparisons`.

    `raters` are ids in the order of their codes, none if anonymous. Returned raters, shape (rater,), are old
    codes of those present, in the order of their ids. Raises if no vote is left.
    """
    votes = votes.where(votes.count > 0)
    if not len(votes.count):
        raise DataError(
            "there is no vote left to learn from",
            allowed="one vote or more between two of the items",
            remedy="keep items that were compared, with counts above 0",
        )
    by_id = np.argsort(raters)
    voted = (
        by_id[np.bincount(votes.rater, minlength=len(raters))[by_id] > 0] if len(raters) else by_id
    )
    place = np.full(len(raters) + 1, NOBODY)  # index -1 = last place: stays anonymous
    place[voted] = np.arange(len(voted))
    rater = place[votes.rater]
    pair = votes.left.astype(np.int64) * (votes.right.max() + np.int64(1)) + votes.right
    answer = (rater + 1) * len(OUTCOMES) + votes.outcome
    order = np.lexsort((answer, pair))
    pair, answer = pair[order], answer[order]
    is_new = (pair[1:] != pair[:-1]) | (answer[1:] != answer[:-1])
    opens = np.flatnonzero(np.r_[True, is_new])
    first = order[opens]
    return voted, {
        "left": votes.left[first].astype(np.int32),
        "right": votes.right[first].astype(np.int32),
        "annotation_rater": rater[first].astype(np.int32),
        "outcome": votes.outcome[first].astype(np.int32),
        "count": np.add.reduceat(votes.count[order], opens),
    }

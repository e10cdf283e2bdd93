"""From coded rows to the layout of comparisons: merged, sorted by left, right, rater, outcome."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from .errors import DataError

__all__ = ["LEFT", "NOBODY", "OUTCOMES", "RIGHT", "TIE", "CodedVotes", "vote_layout"]

OUTCOMES = ("left", "right", "tie")
"""What can come of a comparison; the codes are the places."""

LEFT, RIGHT, TIE = range(len(OUTCOMES))

NOBODY = -1
"""The rater of votes whose raters are not told apart."""


@dataclass(frozen=True, eq=False)
class CodedVotes:
    """Votes, one for each row of a table.

    Attributes
    ----------
    left, right : ndarray of int32, shape (row,)
        Codes of the two items, never equal.
    rater : ndarray of int32, shape (row,)
        Code, or `NOBODY`.
    outcome : ndarray of int32, shape (row,)
        `LEFT`, `RIGHT` or `TIE`.
    count : ndarray of int64, shape (row,)
        How often the vote was given, from 0.
    """

    left: np.ndarray
    right: np.ndarray
    rater: np.ndarray
    outcome: np.ndarray
    count: np.ndarray

    def where(self, kept: np.ndarray) -> Self:
        """Return some of the votes.

        Parameters
        ----------
        kept : ndarray of bool or int
            Which.

        Returns
        -------
        CodedVotes
            The chosen votes.
        """
        return type(self)(
            self.left[kept],
            self.right[kept],
            self.rater[kept],
            self.outcome[kept],
            self.count[kept],
        )


def vote_layout(votes: CodedVotes, raters: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Merge equal votes and sort them.

    Parameters
    ----------
    votes : CodedVotes
        Rows in any order.
    raters : ndarray of str or int64
        Ids of the raters, in the order of their codes; none if they are anonymous.

    Returns
    -------
    raters : ndarray of int64, shape (rater,)
        Codes of the raters who voted, in the order of their ids.
    layout : dict
        Arrays of `Comparisons`; counts of zero are gone.

    Raises
    ------
    DataError
        If no vote is left.
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
    place = np.full(len(raters) + 1, NOBODY)  # code -1 takes the last: nobody stays nobody
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

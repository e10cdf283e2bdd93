"""Conversion of comparisons from tables and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..._messages import short_repr
from .connectivity import Compared, components_in_words, connected_components
from .errors import DataError
from .ranking_summary import range_of, second_looks
from .reading.columns import code_ids, refused_cell, refused_value
from .reading.matching import distinct_ids, match_ids, nearest
from .reading.numbers import split_counts
from .reading.tables import Column, Columns, column_names, named_columns

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
            self.left[kept], self.right[kept], self.rater[kept], self.outcome[kept], self.count[kept]
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
    voted = by_id[np.bincount(votes.rater, minlength=len(raters))[by_id] > 0] if len(raters) else by_id
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


# --- Text of `Comparisons.report` ---


class AnyComparisons(Compared, Protocol):
    """Structural type of `Comparisons`, for functions that `Comparisons` itself imports."""

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, shape (rater,); empty if they are anonymous."""
        ...

    @property
    def annotation_rater(self) -> np.ndarray:
        """Code of the rater, shape (annotation,)."""
        ...

    @property
    def outcome(self) -> np.ndarray:
        """Outcome code, shape (annotation,)."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Multiplicity of the vote, shape (annotation,)."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Rater attributes, each of shape (rater,)."""
        ...


def comparisons_report(pairs: AnyComparisons) -> str:
    """Report counts of votes, pairs, items and raters, and warnings about the data, one line each."""
    n_items, n_raters, n_votes = len(pairs.items), len(pairs.raters), int(pairs.count.sum())
    given = np.bincount(pairs.outcome, pairs.count, len(OUTCOMES)).astype(int)
    lines = {
        "items": f"{n_items:,}",
        "raters": f"{n_raters:,}" if n_raters else "anonymous",
        "votes": f"{n_votes:,}, {range_of(_votes_of_items(pairs).sum(axis=0))} an item",
        **_lines_on_pairs(pairs),
        "ties": f"{given[TIE]:,}, {given[TIE] / n_votes:.1%} of the votes",
    }
    if decided := given[LEFT] + given[RIGHT]:
        lines["left won"] = f"{given[LEFT]:,}, {given[LEFT] / decided:.1%} of the decided votes"
    lines |= _lines_on_items(pairs)
    if n_raters:
        per_rater = np.bincount(pairs.annotation_rater, pairs.count, n_raters).astype(int)
        lines["votes by rater"] = range_of(per_rater)
        lines["raters with one vote"] = f"{(per_rater == 1).sum():,}"
    component = connected_components(n_items, pairs.left, pairs.right)
    if component.any():
        lines["NOT CONNECTED"] = (
            f"{component.max() + 1:,} components, compared only through the prior: "
            + components_in_words(pairs.items, component)
        )
    lines |= second_looks({"items": pairs.items, "raters": pairs.raters})
    width = max(map(len, lines))
    return "\n".join(["comparisons", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _votes_of_items(pairs: AnyComparisons) -> np.ndarray:
    """Wins, losses and ties of each item, shape (outcome, item)."""
    n_items = len(pairs.items)
    on_left, on_right = (
        np.bincount(pairs.outcome * n_items + side, pairs.count, len(OUTCOMES) * n_items)
        for side in (pairs.left.astype(np.int64), pairs.right.astype(np.int64))
    )
    won_on_right = on_right.reshape(-1, n_items)[[RIGHT, LEFT, TIE]]
    return (on_left.reshape(-1, n_items) + won_on_right).astype(int)


def _lines_on_items(pairs: AnyComparisons) -> dict[str, str]:
    """Report lines on items that only a prior keeps at a finite quality."""
    won, lost, tied = _votes_of_items(pairs)
    votes = won + lost + tied
    lines = {
        "items that always won": (won == votes) & (votes > 0),
        "items that always lost": (lost == votes) & (votes > 0),
        "items without a vote": votes == 0,
    }
    return {what: _some(pairs.items, which) for what, which in lines.items()}


def _lines_on_pairs(pairs: AnyComparisons) -> dict[str, str]:
    """Report lines on the number of pairs compared, and of pairs with unanimous votes."""
    n_items = len(pairs.items)
    possible = n_items * (n_items - 1) // 2
    first, second = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    compared, pair = np.unique(first.astype(np.int64) * n_items + second, return_inverse=True)
    n_pairs = len(compared)
    # 0 where the first item won, 1 where the second did, 2 for a tie
    found = np.where(pairs.outcome == TIE, TIE, pairs.outcome ^ (pairs.left > pairs.right))
    given = np.bincount(found * n_pairs + pair, pairs.count, len(OUTCOMES) * n_pairs)
    given = given.reshape(-1, n_pairs).astype(int)
    votes = given.sum(axis=0)
    several = votes > 1
    alike = several & (given.max(axis=0) == votes)
    lines = {
        "pairs compared": f"{n_pairs:,} of {possible:,} ({n_pairs / possible:.1%}), {range_of(votes)} votes a pair",
        "unanimous pairs": f"{alike.sum():,} of {several.sum():,} with two votes or more",
    }
    if len(pairs.raters):
        answered = np.unique(pair * len(pairs.raters) + pairs.annotation_rater)
        lines["repeated votes"] = f"{votes.sum() - len(answered):,}"
    return lines


def _some(items: np.ndarray, which: np.ndarray) -> str:
    """Count the items in a mask, and name the first five."""
    n = int(which.sum())
    named = ", ".join(map(short_repr, items[np.flatnonzero(which)[:5]].tolist()))
    return f"{n:,}" + (f": {named}" if n else "") + (", ..." if n > 5 else "")


# --- Conversion of comparisons from tables and back ---

CROWD_KIT = {"rater": "worker", "winner": "label"}

_WORDS = ", ".join(map(short_repr, OUTCOMES))

_Coded = tuple[Column, np.ndarray, np.ndarray]


def vote_columns(frame: Any, roles: Mapping[str, str]) -> Columns:
    """Columns of a table of votes by role (argument name); crowd-kit's names replace missing default ones.

    Raises if a column is missing or named twice, there is no row, or attributes are asked for without raters.
    """
    if "rater" not in roles and (of_rater := [r for r in roles if r.startswith("rater_attributes")]):
        raise DataError(
            f"{short_repr(roles[of_rater[0]])} describes raters who are not told apart",
            column=roles[of_rater[0]],
            remedy="name the column of the raters, or leave the attribute out",
            where="argument rater_attributes",
        )
    there = set(column_names(frame))
    found = dict(roles)
    for role, theirs in CROWD_KIT.items():
        if found.get(role) == role and role not in there and theirs in there:
            found[role] = theirs
    if "rater" in found and found["rater"] not in there:
        raise DataError(
            f"there is no column {short_repr(found['rater'])}",
            column=found["rater"],
            allowed=f"the columns that are there: {', '.join(map(short_repr, sorted(there, key=str)[:20])) or 'none'}",
            remedy="name the column: rater=..., or pass rater=None if the raters are not told apart",
        )
    return named_columns(frame, found)


def item_set(declared: Sequence[Any] | np.ndarray | None) -> np.ndarray | None:
    """Validate the declared closed set of items, in its order; None leaves the set to the votes.

    Refuses ids that are repeated or words for an outcome, and a set of one item.
    """
    if declared is None:
        return None
    items = distinct_ids("items", declared)
    if taken := _words_among(items):
        raise DataError(
            f"{short_repr(taken[0])} is also the word for an outcome",
            column="items",
            value=taken[0],
            allowed=f"any id but {_WORDS}",
            remedy="give the item another name",
            where="argument items",
        )
    if len(items) < 2:
        raise DataError(
            f"{short_repr(items[0].item())} is the only item: there is nothing to compare it with",
            column="items",
            value=items[0].item(),
            allowed="two or more items",
            remedy="declare all items that could have been compared",
            where="argument items",
        )
    return items


def code_items(
    left: Column, right: Column, items: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factorise both columns of items together; returns items (item,), and codes left and right (row,).

    Without a closed set the items come in order of first appearance, row by row, left before right. Refuses
    words for an outcome, ids outside the closed set, and an item compared with itself.
    """
    coded = [(column, *code_ids(column)) for column in (left, right)]
    for column, index, _ in coded:
        if taken := _words_among(index):
            raise refused_value(
                column,
                taken[0],
                "is also the word for an outcome",
                allowed=f"any id but {_WORDS}",
                remedy="give the item another name",
            )
    if items is None:
        items = _by_appearance(*coded)
    one, other = (_places(items, *of_side) for of_side in coded)
    if (same := one == other).any():
        row = int(same.argmax())
        raise refused_cell(
            right,
            row,
            f"is compared with itself: it stands in column {short_repr(left.name)} too",
            allowed="two different items",
            remedy="correct one of the two cells, or leave the row out",
        )
    return items, one, other


def long_columns(pairs: AnyComparisons) -> dict[str, np.ndarray]:
    """Columns of the long table of `Comparisons.to_table`.

    A row of count 0 stands for an item without a vote.
    """
    voted = np.zeros(len(pairs.items), bool)
    voted[pairs.left] = voted[pairs.right] = True
    silent = np.flatnonzero(~voted)
    nobody = np.zeros(len(silent), np.int32)
    left = np.r_[pairs.left, silent]
    right = np.r_[pairs.right, np.where(silent == 0, 1, 0)]
    outcome = np.r_[pairs.outcome, nobody + TIE]
    table = {
        "left": pairs.items[left],
        "right": pairs.items[right],
        "winner": np.array(OUTCOMES)[outcome],
        "count": np.r_[pairs.count, nobody],
    }
    if not len(pairs.raters):
        return split_counts(table)
    rater = np.r_[pairs.annotation_rater, nobody]
    attributes = {name: own[rater] for name, own in pairs.rater_attributes.items()}
    return split_counts({"rater": pairs.raters[rater]} | table | attributes)


def _by_appearance(one: _Coded, other: _Coded) -> np.ndarray:
    """Union of the items of both columns in order of first appearance, row by row, left before right."""
    (_, index, code), (column, other_index, other_code) = one, other
    is_new = match_ids(other_index, index, "items", row=1, column=column.name) < 0
    met = np.r_[2 * _first_rows(code), 2 * _first_rows(other_code)[is_new] + 1]
    return np.concatenate([index, other_index[is_new]])[np.argsort(met)]


def _first_rows(code: np.ndarray) -> np.ndarray:
    """First row of each code."""
    first = np.empty(code.max() + 1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def _places(items: np.ndarray, column: Column, index: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Codes of a column within the closed set of items; raises at a cell outside it."""
    place = match_ids(index, items, "items", row=1, column=column.name)[code]
    if (place < 0).any():
        row = int((place < 0).argmax())
        raise refused_cell(
            column,
            row,
            "is not one of the items",
            allowed=nearest(column.values[row], items),
            remedy="correct the cell, or add it to items=",
        )
    return place


def _words_among(index: np.ndarray) -> list[str]:
    """Words for outcomes that are also ids of items, which makes votes ambiguous."""
    return [word for word in OUTCOMES if index.dtype.kind == "U" and (index == word).any()]

"""Text of `Comparisons.report`."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .connectivity import Compared, components_in_words, connected_components
from .errors import shown
from .summary import range_of, second_looks
from .votes import LEFT, OUTCOMES, RIGHT, TIE

__all__ = ["AnyComparisons", "comparisons_report"]


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
    named = ", ".join(map(shown, items[np.flatnonzero(which)[:5]].tolist()))
    return f"{n:,}" + (f": {named}" if n else "") + (", ..." if n > 5 else "")

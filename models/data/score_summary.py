"""What the scores are like, in words and numbers: the text behind `Scores.report`."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .summary import range_of, second_looks

__all__ = ["AnyScores", "scores_report"]

MANY_LEVELS = 20


class AnyScores(Protocol):
    """What is described or written: the arrays of `Scores`."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, none if they are anonymous."""
        ...

    @property
    def annotation_item(self) -> np.ndarray:
        """Item of each annotation."""
        ...

    @property
    def annotation_rater(self) -> np.ndarray:
        """Rater of each annotation."""
        ...

    @property
    def score(self) -> np.ndarray:
        """Score of each annotation."""
        ...

    @property
    def count(self) -> np.ndarray:
        """How often it was given."""
        ...

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest legal score."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """What is known of the raters."""
        ...


def scores_report(scores: AnyScores) -> str:
    """Count what is there, and name what deserves a second look.

    Parameters
    ----------
    scores : Scores
        The data.

    Returns
    -------
    str
        Lines of ``what  how many``.
    """
    n_items, n_raters = len(scores.items), len(scores.raters)
    per_item = np.bincount(scores.annotation_item, scores.count, n_items).astype(int)
    low, high = (_by_item(scores, np.minimum, np.inf), _by_item(scores, np.maximum, -np.inf))
    several = per_item > 1
    lines = {
        "items": f"{n_items:,}",
        "raters": f"{n_raters:,}" if n_raters else "anonymous",
        "scores": f"{scores.count.sum():,}, {range_of(per_item)} an item",
        **_lines_on_values(scores),
        "items without a score": f"{(per_item == 0).sum():,}",
        "items with one score": f"{(per_item == 1).sum():,}",
        "items scored alike": f"{(several & (low == high)).sum():,} of {several.sum():,} with two scores or more",
    }
    if n_raters:
        lines |= _lines_on_raters(scores)
    if not several.any():
        lines["NOT IDENTIFIED"] = (
            "no item has two scores: how far scores of an item spread is the prior's word"
        )
    lines |= second_looks({"items": scores.items, "raters": scores.raters})
    width = max(map(len, lines))
    return "\n".join(["scores", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _by_item(scores: AnyScores, reduce: np.ufunc, start: float) -> np.ndarray:
    """Return the lowest or the highest score of each item."""
    found = np.full(len(scores.items), start)
    reduce.at(found, scores.annotation_item, scores.score)
    return found


def _lines_on_values(scores: AnyScores) -> dict[str, str]:
    """Say which scores there are, and how often."""
    declared = "not declared"
    if scores.bounds:
        at = [int(scores.count[scores.score == end].sum()) for end in scores.bounds]
        low, high = scores.bounds
        declared = (
            f"{low:.12g} to {high:.12g}, {at[0]:,} scores at the lower and {at[1]:,} at the upper"
        )
    lines = {"bounds": declared}
    level, place = np.unique(scores.score, return_inverse=True)
    if not len(level):
        return lines
    mean = np.average(scores.score, weights=scores.count)
    spread = np.sqrt(np.average((scores.score - mean) ** 2, weights=scores.count))
    lines["values"] = (
        f"{level[0]:g} to {level[-1]:g}, mean {mean:.4g}, standard deviation {spread:.4g}"
    )
    lines["distinct values"] = f"{len(level):,}"
    given = np.bincount(place, scores.count).astype(int)
    if len(level) <= MANY_LEVELS:
        counted = zip(level.tolist(), given.tolist(), strict=True)
        lines["scores by value"] = ", ".join(f"{value:g}: {n:,}" for value, n in counted)
    if len(level) == 1 and scores.count.sum() > 1:
        lines["CONSTANT"] = f"every score is {level[0]:g}: they tell no item from another"
    return lines


def _lines_on_raters(scores: AnyScores) -> dict[str, str]:
    """Say how much each rater scored, and who said the same of everything."""
    n_raters = len(scores.raters)
    per_rater = np.bincount(scores.annotation_rater, scores.count, n_raters).astype(int)
    low, high = np.full(n_raters, np.inf), np.full(n_raters, -np.inf)
    np.minimum.at(low, scores.annotation_rater, scores.score)
    np.maximum.at(high, scores.annotation_rater, scores.score)
    pair = scores.annotation_item.astype(np.int64) * n_raters + scores.annotation_rater
    constant = (low == high) & (per_rater > 1)
    return {
        "scores by rater": range_of(per_rater),
        "raters of one value": f"{constant.sum():,} of {(per_rater > 1).sum():,} with two scores or more",
        "repeated scores": f"{scores.count.sum() - len(np.unique(pair)):,}",
    }

"""Text of `Scores.report`."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .summary import range_of, second_looks

__all__ = ["AnyScores", "scores_report"]

MANY_LEVELS = 20


class AnyScores(Protocol):
    """Structural type of `Scores`, for functions that `Scores` itself imports."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, shape (item,)."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, shape (rater,); empty if they are anonymous."""
        ...

    @property
    def annotation_item(self) -> np.ndarray:
        """Code of the item, shape (annotation,)."""
        ...

    @property
    def annotation_rater(self) -> np.ndarray:
        """Code of the rater, shape (annotation,)."""
        ...

    @property
    def score(self) -> np.ndarray:
        """Score, shape (annotation,)."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Multiplicity of the score, shape (annotation,)."""
        ...

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest legal score, or None."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Rater attributes, each of shape (rater,)."""
        ...


def scores_report(scores: AnyScores) -> str:
    """Report counts of scores, items and raters, and warnings about the data, one line each."""
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
            "no item has two scores: only the prior says how far scores of an item spread"
        )
    lines |= second_looks({"items": scores.items, "raters": scores.raters})
    width = max(map(len, lines))
    return "\n".join(["scores", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _by_item(scores: AnyScores, reduce: np.ufunc, start: float) -> np.ndarray:
    """Reduction of the scores of each item by minimum or maximum, shape (item,)."""
    found = np.full(len(scores.items), start)
    reduce.at(found, scores.annotation_item, scores.score)
    return found


def _lines_on_values(scores: AnyScores) -> dict[str, str]:
    """Report lines on the distribution of the scores."""
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
        lines["CONSTANT"] = f"every score is {level[0]:g}: items cannot be distinguished"
    return lines


def _lines_on_raters(scores: AnyScores) -> dict[str, str]:
    """Report lines on scores by rater, raters of one value, and repeated scores."""
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

"""Text of `PartialRankings.report`, and parts shared by the reports of all containers."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Protocol
from unicodedata import normalize

import numpy as np

from ..._messages import short_repr


class _Rankings(Protocol):
    """Structural type of `PartialRankings`, which imports this module."""

    @property
    def items(self) -> np.ndarray: ...
    @property
    def raters(self) -> np.ndarray: ...
    @property
    def categories(self) -> np.ndarray: ...
    @property
    def annotation_item(self) -> np.ndarray: ...
    @property
    def annotation_start(self) -> np.ndarray: ...
    @property
    def block_start(self) -> np.ndarray: ...
    @property
    def category_code(self) -> np.ndarray: ...
    @property
    def gaps(self) -> int: ...


def rankings_report(rankings: _Rankings) -> str:
    """Report counts of annotations, items, raters and categories, and warnings, one line each."""
    per_item = np.bincount(rankings.annotation_item)
    block = np.diff(rankings.block_start)
    named = np.diff(rankings.block_start[rankings.annotation_start])
    tied = np.maximum.reduceat(block, rankings.annotation_start[:-1]) > 1
    ranked = len(np.unique(rankings.category_code))
    lines = {
        "items": f"{len(rankings.items):,}",
        "raters": f"{len(rankings.raters):,}",
        "annotations": f"{len(named):,}, {range_of(per_item)} an item",
        "categories": f"{len(rankings.categories):,} declared, {ranked:,} ranked",
        "categories named": f"{range_of(named)} an annotation",
        "annotations with ties": f"{tied.sum():,}, largest block {block.max():,}",
        "ranks with gaps": f"{rankings.gaps:,} annotations, renumbered",
        "items with one annotation": f"{(per_item == 1).sum():,}",
    }
    lines |= second_looks(
        {"items": rankings.items, "raters": rankings.raters, "categories": rankings.categories}
    )
    width = max(map(len, lines))
    return "\n".join(["partial rankings", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def range_of(counts: np.ndarray) -> str:
    """Minimum, maximum and median of counts in words; one number if all are equal."""
    low, high = counts.min(), counts.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {np.median(counts):g})"


MEANS_NOTHING = {"nan", "na", "n/a", "#n/a", "none", "null", "nil", "-", "?", ".", "missing", "unknown"}


def second_looks(indexes: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Report lines on ids to check: look-alikes, and words that often mean a missing cell.

    `indexes` maps the kind of the ids, such as "items", to the ids; returns heading -> ids concerned.
    """
    lines = {}
    for what, index in indexes.items():
        if alike := look_alikes(index):
            groups = (" / ".join(map(short_repr, group)) for group in alike[:5])
            lines[f"look-alike {what}"] = "; ".join(groups)
        texts = index.tolist() if index.dtype.kind == "U" else []
        if empty := [text for text in texts if text.strip().casefold() in MEANS_NOTHING]:
            lines[f"{what} that may be missing"] = ", ".join(map(short_repr, empty[:5]))
    return lines


def look_alikes(index: np.ndarray) -> list[list[str]]:
    """Group ids that differ only in case, spaces or Unicode form; groups have two members or more."""
    if index.dtype.kind != "U":
        return []
    groups = defaultdict(list)
    for text in index.tolist():
        groups[" ".join(normalize("NFKC", text).casefold().split())].append(text)
    return [group for group in groups.values() if len(group) > 1]

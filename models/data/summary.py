"""Parts of the text of `report`: ranges of counts, and ids to check."""

from collections import defaultdict
from collections.abc import Mapping
from unicodedata import normalize

import numpy as np

from ..._messages import short_repr

MISSING_WORDS = {"nan", "na", "n/a", "#n/a", "none", "null", "nil", "-", "?", ".", "missing", "unknown"}


def range_of(counts: np.ndarray) -> str:
    """Minimum, maximum and median of counts in words; one number if all are equal."""
    low, high = counts.min(), counts.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {np.median(counts):g})"


def suspicious_ids(indexes: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return look-alikes, and words that often mean a missing cell, by heading; `indexes` maps kinds such as "items" to ids."""
    lines = {}
    for what, index in indexes.items():
        if alike := look_alikes(index):
            groups = (" / ".join(map(short_repr, group)) for group in alike[:5])
            lines[f"look-alike {what}"] = "; ".join(groups)
        texts = index.tolist() if index.dtype.kind == "U" else []
        if empty := [text for text in texts if text.strip().casefold() in MISSING_WORDS]:
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

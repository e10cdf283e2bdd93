"""Text of `Labels.report`."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .errors import shown
from .summary import range_of, second_looks

__all__ = ["AnyLabels", "labels_report"]


class AnyLabels(Protocol):
    """Structural type of `Labels`, for functions that `Labels` itself imports."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, shape (item,)."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, shape (rater,); empty if they are anonymous."""
        ...

    @property
    def categories(self) -> np.ndarray:
        """Ids of the categories, shape (category,)."""
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
    def label_code(self) -> np.ndarray:
        """Code of the label, shape (annotation,)."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Multiplicity of the answer, shape (annotation,)."""
        ...

    @property
    def counts(self) -> np.ndarray:
        """Counts of labels, shape (item, category)."""
        ...

    @property
    def gold(self) -> np.ndarray:
        """Code of the true category or -1, shape (item,)."""
        ...

    @property
    def identified(self) -> bool:
        """Identifiability of errors apart from rare categories."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Rater attributes, each of shape (rater,)."""
        ...


def labels_report(labels: AnyLabels) -> str:
    """Report counts of answers, items, raters and categories, and warnings about the data, one line each."""
    n_items, n_raters, n_categories = map(len, (labels.items, labels.raters, labels.categories))
    per_item = np.bincount(labels.annotation_item, labels.count, n_items).astype(int)
    given = np.bincount(labels.label_code, labels.count, n_categories).astype(int)
    lines = {
        "items": f"{n_items:,}, {(labels.gold >= 0).sum():,} with a known truth",
        "raters": f"{n_raters:,}" if n_raters else "anonymous",
        "answers": f"{labels.count.sum():,}, {range_of(per_item)} an item",
        "categories": f"{n_categories:,} declared, {(given > 0).sum():,} given",
        "answers by category": ", ".join(
            f"{shown(k)} {n:,}"
            for k, n in zip(labels.categories[:20].tolist(), given, strict=False)
        ),
        "items without an answer": f"{(per_item == 0).sum():,}",
        "items with one answer": f"{(per_item == 1).sum():,}",
    }
    if n_raters:
        per_rater = np.bincount(labels.annotation_rater, labels.count, n_raters).astype(int)
        lines["answers by rater"] = range_of(per_rater)
        lines["repeated answers"] = f"{_repeats(labels):,}"
    if not labels.identified:
        lines["NOT IDENTIFIED"] = (
            "no item has two answers: only the prior says who errs, and how often"
        )
    lines |= second_looks(
        {"items": labels.items, "raters": labels.raters, "categories": labels.categories}
    )
    width = max(map(len, lines))
    return "\n".join(["labels", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _repeats(labels: AnyLabels) -> int:
    """Count the answers that repeat an (item, rater) pair."""
    pair = labels.annotation_item.astype(np.int64) * len(labels.raters) + labels.annotation_rater
    return int(labels.count.sum() - len(np.unique(pair)))

"""What the labels are like, in words and numbers: the text behind `Labels.report`."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .errors import shown
from .summary import range_of, second_looks

__all__ = ["AnyLabels", "labels_report"]


class AnyLabels(Protocol):
    """What is described or written: the arrays of `Labels`."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, none if they are anonymous."""
        ...

    @property
    def categories(self) -> np.ndarray:
        """The closed set."""
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
    def label_code(self) -> np.ndarray:
        """Label of each annotation."""
        ...

    @property
    def count(self) -> np.ndarray:
        """How often it was given."""
        ...

    @property
    def counts(self) -> np.ndarray:
        """Counts by item and category."""
        ...

    @property
    def gold(self) -> np.ndarray:
        """True category of each item, or -1."""
        ...

    @property
    def identified(self) -> bool:
        """Whether raters can be told from truth."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """What is known of the raters."""
        ...


def labels_report(labels: AnyLabels) -> str:
    """Count what is there, and name what deserves a second look.

    Parameters
    ----------
    labels : Labels
        The data.

    Returns
    -------
    str
        Lines of ``what  how many``.
    """
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
            "no item has two answers: who errs, and how often, is the prior's word"
        )
    lines |= second_looks(
        {"items": labels.items, "raters": labels.raters, "categories": labels.categories}
    )
    width = max(map(len, lines))
    return "\n".join(["labels", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _repeats(labels: AnyLabels) -> int:
    """Return how many answers a rater gave to an item beyond the first."""
    pair = labels.annotation_item.astype(np.int64) * len(labels.raters) + labels.annotation_rater
    return int(labels.count.sum() - len(np.unique(pair)))

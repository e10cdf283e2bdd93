"""Answers one by one, for models that condition on the rater of each answer."""

import numpy as np

from .errors import DataError
from .label_summary import AnyLabels

__all__ = ["check_answers", "one_by_one"]

MAX_ANSWERS = 200_000_000


def check_answers(labels: AnyLabels) -> None:
    """Raise `DataError` if there is no answer, or more than a model of single answers can hold."""
    total = int(labels.count.sum())
    if not total:
        raise DataError(
            "there is no answer to learn from", remedy="check what was read or selected"
        )
    if total > MAX_ANSWERS:
        raise DataError(
            f"the counts add up to {total:,} answers of single raters",
            column="count",
            value=total,
            allowed=f"{MAX_ANSWERS:,} answers",
            remedy="check the counts; a rater answers an item a few times",
        )


def one_by_one(labels: AnyLabels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of item, rater and label of every single answer, each of shape (answer,) int32."""
    check_answers(labels)
    codes = (labels.annotation_item, labels.annotation_rater, labels.label_code)
    item, rater, label = (np.repeat(code, labels.count) for code in codes)
    return item, rater, label

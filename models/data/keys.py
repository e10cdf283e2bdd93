"""Published keys of items, as answers of one more rater."""

from typing import Any

import numpy as np

from ..._messages import short_repr
from .errors import refused_argument
from .labels import Labels, code_of
from .reading.columns import nearest

KEY = "key"  # rater whose answers a published key is


def with_key(labels: Labels, key: Any) -> Labels:
    """Return the labels with one more rater, "key": the published answer of every item that has one.

    `key` is a mapping or Series of item -> category, or one category for all items. Refuses unknown items and categories,
    and labels with a rater of this name.
    """
    if KEY in labels.raters.tolist():
        problem, remedy = f"a rater is named {short_repr(KEY)} already", 'pass key_makers=("key",) instead'
        raise refused_argument("key", problem, value=KEY, remedy=remedy)
    if hasattr(key, "items"):
        pairs = list(key.items())
    else:
        pairs = [(item, key) for item in labels.items.tolist()]
    if not pairs:
        raise refused_argument("key", "it is empty", remedy="leave it out, or check what was read")
    ids, answers = (np.array(own) for own in zip(*pairs, strict=True))
    item, label = code_of(ids, labels.items), code_of(answers, labels.categories)
    _refuse_unknown("item", ids, item, labels.items)
    _refuse_unknown("category", answers, label, labels.categories)
    if len(np.unique(item)) < len(item):
        _, first = np.unique(item, return_index=True)
        again = ids[np.setdiff1d(np.arange(len(item)), first)[0]].item()
        problem = f"item {short_repr(again)} is there twice"
        raise refused_argument("key", problem, value=again, remedy="keep one answer of each item")
    rows = labels._rows().extended(
        len(item), annotation_item=item, annotation_rater=len(labels.raters), label_code=label, count=1
    )
    name = KEY if labels.raters.dtype.kind == "U" else int(labels.raters.max()) + 1
    raters = np.append(labels.raters, name)
    return labels._of_rows(
        rows, items=labels.items, raters=raters, categories=labels.categories, gold=labels.gold
    )


def _refuse_unknown(what: str, ids: np.ndarray, code: np.ndarray, known: np.ndarray) -> None:
    """Raise at the first id of a key that the labels do not have."""
    if (code < 0).any():
        wrong = ids[int((code < 0).argmax())].item()
        problem = f"{short_repr(wrong)} is no {what} of the labels"
        remedy = "correct it, or read the labels with categories= that hold it"
        if what == "item":
            remedy = "correct the id, or leave out items that no model answered"
        raise refused_argument("key", problem, value=wrong, allowed=nearest(wrong, known), remedy=remedy)

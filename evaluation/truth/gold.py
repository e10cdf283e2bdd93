"""Gold labels that contradict the raters: no answer to the item is the category that gold says."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ..._messages import first_reprs


def contradicts_answers(gold: np.ndarray, item: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Mask of items (item,) that have answers and a gold label, which none of the answers is.

    Shapes: gold (item,), -1 if unknown; item and label (answer,), codes.
    """
    answered = np.bincount(item, minlength=len(gold)) > 0
    right = np.bincount(item[label == gold[item]], minlength=len(gold)) > 0
    return (gold >= 0) & answered & ~right


def gold_against_answers(tree: xr.DataTree | xr.Dataset | xr.DataArray) -> list[str]:
    """Return the items of a tree whose gold label none of their raters gave; none if the tree does not hold gold and answers."""
    if not isinstance(tree, xr.DataTree) or not {"observed_data", "constant_data"} <= {*tree.children}:
        return []
    constant, observed = (tree[group].to_dataset() for group in ("constant_data", "observed_data"))
    if not {"gold", "annotation_item"} <= {*constant} or "observed_label" not in observed:
        return []
    label = observed["observed_label"]
    if label.dims != constant["annotation_item"].dims or constant["gold"].dims != ("item",):
        return []  # counts of labels
    gold = constant["gold"].to_numpy().astype(np.int64)
    if (gold < 0).all():
        return []  # the answers are not read
    found = contradicts_answers(
        gold, constant["annotation_item"].to_numpy().astype(np.int64), label.to_numpy()
    )
    return tree["posterior"]["item"].to_numpy()[found].astype(str).tolist()


def gold_in_words(items: Sequence[str]) -> str:
    """Return a warning of gold labels that no rater gave; "" if there are none."""
    if not items:
        return ""
    number = "1 item" if len(items) == 1 else f"{len(items):,} items"
    return (
        f"The gold label of {number} is none that a rater gave: {first_reprs(items, 5)}. The model takes gold for certain: check "
        "whether it is wrong there."
    )

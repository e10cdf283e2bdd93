"""Ranked lists of classifiers among the rankings of a posterior: whether it has seen them."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from ...posterior.plausibility import Plausibility, of_rankings
from .alignment import align_items

ABSENT = -1


class SeenLists(NamedTuple):
    """Lists of one classifier, as a posterior of rankings has seen them."""

    listed: np.ndarray  # (item,): whether there is a list in question
    seen: np.ndarray  # (item,): whether one of its lists is among the rankings, or there is none to see
    differ: np.ndarray  # (item,): whether that is another list than the one in question


def lists_seen(tree: xr.DataTree, predictions: xr.DataArray, rater: int) -> SeenLists | None:
    """Return which lists of a classifier, the only one of the predictions, are the rankings of a rater of a tree, by its code.

    None if the tree does not hold the rankings of its raters.
    """
    if not _holds_rankings(tree):
        return None
    constant, view = tree["constant_data"].to_dataset(), Plausibility.of(tree)
    names, listed = _blocks(align_items(view, predictions)[0].isel(classifier=0))
    is_listed = (listed >= 0).any(axis=1)
    seen, differ = ~is_listed, np.zeros(len(view.items), bool)
    own = np.flatnonzero(constant["annotation_rater"].to_numpy() == rater)
    item = constant["annotation_item"].to_numpy()[own].astype(np.int64)
    block = tree["observed_data"]["observed_ranking"].to_numpy()[own].astype(np.int64)
    column = _columns_of_places(tree, own, names)
    asked = np.where(column == ABSENT, ABSENT, listed[item[:, None], column])
    unlisted = listed[item].max(axis=1, keepdims=True, initial=ABSENT) + 1  # block of all others
    inside = block >= 0
    same = (np.where(asked == ABSENT, unlisted, asked) == block) | ~inside
    among = ((asked >= 0) & inside).sum(axis=1) == (listed[item] >= 0).sum(axis=1)
    seen[item] = True
    np.logical_or.at(
        differ, item, ~(same.all(axis=1) & among)
    )  # a rater may have ranked an item several times
    return SeenLists(is_listed, seen, differ)


def is_rater_without_name(tree: xr.DataTree, predictions: xr.DataArray) -> bool:
    """Whether a rater gave the lists of a classifier, the only one of the predictions, and no others, in a tree without names."""
    if not _holds_rankings(tree):
        return False
    constant = tree["constant_data"].to_dataset()
    view = Plausibility.of(tree)
    rater, item = (constant[f"annotation_{of}"].to_numpy().astype(np.int64) for of in ("rater", "item"))
    n_items = len(view.items)
    raters, items = np.unique(np.unique(rater * n_items + item) // n_items, return_counts=True)
    _, blocks = _blocks(align_items(view, predictions)[0].isel(classifier=0))
    listed = (blocks >= 0).any(axis=1).sum()
    found = (lists_seen(tree, predictions, rater) for rater in raters[(items == listed) & (listed > 0)])
    return any(own is not None and own.seen.all() and not own.differ.any() for own in found)


def _holds_rankings(tree: xr.DataTree) -> bool:
    """Whether a tree holds rankings, with the item and the rater of each."""
    codes = {"annotation_item", "annotation_rater"}
    return (
        of_rankings(tree) and "constant_data" in tree.children and codes <= {*tree["constant_data"].data_vars}
    )


def _blocks(array: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return names of categories, and the block of each in the list of an item, 0 = first, -1 = not listed.

    Shapes: names (category,); blocks (item, category). Equal scores and the members of a set are tied.
    """
    if "category" in array.dims:
        array = array.transpose("item", "category")
        scores = array.to_numpy()
        if scores.dtype.kind == "b":
            scores = np.where(scores, 0.0, -np.inf)
        block = rankdata(-scores.astype(float), "dense", axis=1).astype(np.int64) - 1
        return array["category"].to_numpy().astype(str), np.where(scores > -np.inf, block, ABSENT)
    labels = array.transpose("item", "position").to_numpy().astype(str)
    names, code = np.unique(labels, return_inverse=True)
    block = np.full((len(labels), len(names)), ABSENT, np.int64)
    item, place = np.nonzero(labels != "")
    block[item, code.reshape(labels.shape)[item, place]] = place
    return names, block


def _columns_of_places(tree: xr.DataTree, annotation: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the place among `names` of the category at each place of some annotations (annotation, place), -1 for none."""
    place = {name: code for code, name in enumerate(names.tolist())}
    categories = tree["posterior"]["plausibility"]["category"].to_numpy().astype(str).tolist()
    code = np.array([place.get(name, ABSENT) for name in categories], np.int64)
    constant = tree["constant_data"].to_dataset()
    if "candidate_of_place" in constant:
        return code[constant["candidate_of_place"].to_numpy()[annotation]]
    return np.broadcast_to(code, (len(annotation), len(code)))

"""Probabilities of classifiers as features of the items, so that how sure a classifier is counts as evidence on the truth.

A classifier that is a rater (`Labels.with_predictions`) says one label for each item. As features its probabilities f say more:
a model of labels with features has

    p(T_i = c) proportional to p_c exp(sum_d w_dc log(f_id / f_ir)),    r a category of reference

and learns p and w together with the raters: an overconfident classifier has small weights, a useless one none. It is the law that
follows if log(f_d / f_r) are normal given the truth with the same covariance in all categories (linear discriminant analysis),
and needs no such law. Classifiers that repeat each other share their weight and are not counted twice.

References
----------
Platt (1999), Probabilistic outputs for support vector machines, Advances in Large Margin Classifiers. Guo et al. (2017), On
calibration of modern neural networks, ICML, section 4.2 (matrix scaling).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from ..._messages import short_repr
from ...posterior.errors import EvaluationError
from ...posterior.schema import ALONE

MOST_OFF = 0.01  # of a sum of probabilities from one: they may be rounded
LOG = ": log "  # between the name of a classifier and its categories in that of a feature
CLOSE = 1e-6  # log ratios that differ less are equal: they were standardised and stored


def prediction_features(predictions: xr.DataArray, *, floor: float | None = None) -> xr.DataArray:
    """Return log ratios of a classifier's probabilities as features of the items, for a model that learns what they are worth.

    A posterior of ``models.dawid_skene(labels, features=prediction_features(predictions))`` has seen the predictions, and
    how sure they are; metrics of them against it are of accuracy against the truth, as with `Labels.with_predictions`, in
    which only the best label of each item counts. Take one of the two for a classifier, not both.

    Parameters
    ----------
    predictions : DataArray
        Probabilities (item, category), perhaps with a dim ``classifier``, as by `predictions_from_table` with ``score=``.
    floor : float, optional
        Smallest probability that is believed, such as .001: smaller ones, above all zeros, count as it. It must be below an
        equal share of all categories.

    Returns
    -------
    DataArray
        (item, feature): of each classifier the log ratios of the probabilities of each category but the first and of the
        first, named "net: log dog / cat"; the classifier of predictions without a name is "predictions". Categories need not
        be all of the labels: of the others the classifier says nothing. A ratio that is the same for all items tells none
        apart; models set it aside with a warning, and refuse features of which none differs.

    Raises
    ------
    EvaluationError
        If these are no probabilities of at least two categories that sum to one for each item and classifier, or one is zero
        and there is no `floor`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> names = {"item": ["a", "b"], "category": ["cat", "dog"], "classifier": "net"}
    >>> predictions = xr.DataArray([[0.5, 0.5], [0.2, 0.8]], names, ("item", "category"))
    >>> features = evaluation.prediction_features(predictions)
    >>> features["feature"].values.tolist(), features.values.round(2).tolist()
    (['net: log dog / cat'], [[0.0], [1.39]])
    """
    array = _probabilities(predictions)
    values = array.to_numpy().astype(float)
    names, items = array["classifier"].to_numpy().tolist(), array["item"].to_numpy()
    if floor is not None:
        n_categories, number = array.sizes["category"], isinstance(floor, int | float | np.number)
        if isinstance(floor, bool) or not number or not 0 < floor < 1 / n_categories:
            raise EvaluationError(
                f"floor={floor!r}: expected a probability above 0, such as .001, and below 1 / {n_categories}, an equal share of "
                f"the {n_categories} categories"
            )
        values = np.maximum(values, floor)
    if (values == 0).any():
        c, i, k = np.argwhere(values == 0)[0].tolist()
        category = array["category"].to_numpy().tolist()[k]
        raise EvaluationError(
            f"prediction_features: the probability of {short_repr(category)} for item {short_repr(items.tolist()[i])} by "
            f"{short_repr(names[c])} is 0, which no evidence could overrule; pass floor=.001, or what is believed of it"
        )
    log_ratio = np.log(values[..., 1:]) - np.log(values[..., :1])  # (classifier, item, category - 1)
    categories = array["category"].to_numpy().tolist()
    columns = [name for own in names for name in _columns(own, categories[1:], categories[0])]
    features = np.moveaxis(log_ratio, 0, 1).reshape(len(items), -1)
    return xr.DataArray(features, {"item": items, "feature": columns}, ("item", "feature"))


class SeenProbabilities(NamedTuple):
    """Log ratios of one classifier's probabilities among the features of a posterior."""

    categories: list[str]  # of the tree, those whose log ratio is known
    log_ratio: np.ndarray  # (item, category)


def labels_in_features(tree: xr.DataTree, predictions: xr.DataArray, name: object) -> np.ndarray | None:
    """Return whether each category is the best label of a classifier by the features of a posterior, bool (item, category).

    `predictions` are those of the classifier alone. None if its probabilities are not among the features: no feature has its
    name, nor, where one of both has none, are there features with these probabilities. A log ratio that is the same for all
    items is no feature of a model, and is taken from the predictions.
    """
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if not {"features", "feature_mean", "feature_sd"} <= set(constant) or "feature" not in constant.coords:
        return None
    own = constant["features"] * constant["feature_sd"] + constant["feature_mean"]
    features = own.transpose("item", "feature").assign_coords(feature=constant["feature"].astype(str))
    categories = tree["posterior"]["category"].to_numpy().astype(str).tolist()
    asked = _probabilities_of_items(predictions, constant["item"].to_numpy())
    names = features["feature"].to_numpy().tolist()
    owners = [own.partition(LOG)[0] for own in names if LOG in own]  # of log ratios, perhaps
    for owner in dict.fromkeys([str(name), *owners]):
        if (found := _seen(features, owner, categories, asked)) is None:
            continue
        if owner != str(name):
            nameless = ALONE in (owner, name)
            if not nameless or asked is None or not _are_equal(found, asked):
                continue
        best = np.zeros((features.sizes["item"], len(categories)), bool)
        codes = [categories.index(own) for own in found.categories]
        best[:, codes] = found.log_ratio >= found.log_ratio.max(axis=1, keepdims=True) - CLOSE
        return best
    return None


def _seen(
    features: xr.DataArray, owner: str, categories: list[str], asked: xr.DataArray | None
) -> SeenProbabilities | None:
    """Return the log ratios of a classifier, and those that are the same for all items by its probabilities; None without any."""
    names = features["feature"].to_numpy().tolist()
    references = dict.fromkeys(
        [*categories, *([] if asked is None else asked["category"].to_numpy().tolist())]
    )
    for reference in references:
        columns = dict(zip(categories, _columns(owner, categories, reference), strict=True))
        found = {own: features.sel(feature=name).to_numpy() for own, name in columns.items() if name in names}
        if not found:
            continue
        found |= {reference: np.zeros(features.sizes["item"])} if reference in categories else {}
        if asked is not None and reference in asked["category"]:
            p = asked.transpose("category", "item").to_numpy()
            log = dict(
                zip(asked["category"].to_numpy().tolist(), np.log(np.where(p > 0, p, np.nan)), strict=True)
            )
            for other in [own for own in categories if own in log and own not in found]:
                ratio = log[other] - log[reference]
                if np.ptp(ratio) <= CLOSE:
                    found[other] = ratio
        known = [own for own in categories if own in found]
        return SeenProbabilities(known, np.stack([found[own] for own in known], axis=1))
    return None


def _probabilities_of_items(predictions: xr.DataArray, items: np.ndarray) -> xr.DataArray | None:
    """Return probabilities (item, category) in the order of the items of a tree; None of predictions that are none."""
    if "classifier" in predictions.dims:
        predictions = predictions.isel(classifier=0, drop=True)
    if {*predictions.dims} != {"item", "category"} or predictions.dtype.kind != "f":
        return None
    if not np.isin(items, predictions["item"].to_numpy()).all():
        return None
    array = predictions.sel(item=items).transpose("item", "category")
    return array.assign_coords(category=array["category"].to_numpy().astype(str))


def _are_equal(seen: SeenProbabilities, asked: xr.DataArray) -> bool:
    """Whether log ratios are those of probabilities, perhaps of some that were raised to a floor."""
    if not {*seen.categories} <= {*asked["category"].to_numpy().tolist()}:
        return False
    p = asked.sel(category=seen.categories).to_numpy()
    item, least = np.unravel_index(p.argmin(), p.shape)
    most = p[item].argmax()
    floor = p[item, most] * np.exp(seen.log_ratio[item, least] - seen.log_ratio[item, most])
    if not floor > 0:
        return False
    log = np.log(np.maximum(p, floor))
    differ = (log - log[:, :1]) - (seen.log_ratio - seen.log_ratio[:, :1])
    return bool((np.abs(differ) <= CLOSE).all())


def _columns(name: object, categories: Sequence[object], reference: object) -> list[str]:
    """Return the names of the features of a classifier."""
    return [f"{name}{LOG}{category} / {reference}" for category in categories]


def _probabilities(predictions: xr.DataArray) -> xr.DataArray:
    """Return probabilities (classifier, item, category), or raise."""
    if not isinstance(predictions, xr.DataArray) or {*predictions.dims} - {"classifier"} != {
        "item",
        "category",
    }:
        found = (
            predictions.dims if isinstance(predictions, xr.DataArray) else f"a {type(predictions).__name__}"
        )
        raise EvaluationError(
            f"prediction_features: found {found}; expected probabilities (item, category), perhaps with a dim classifier, as by "
            "predictions_from_table(table, score=...)"
        )
    if lacking := [d for d in predictions.dims if d not in predictions.coords]:
        raise EvaluationError(
            f"prediction_features: the dim {lacking[0]} has no coordinate; assign_coords({lacking[0]}=[...])"
        )
    if "classifier" not in predictions.dims:
        known = "classifier" in predictions.coords
        predictions = predictions.expand_dims(
            classifier=[predictions["classifier"].item() if known else ALONE]
        )
    array = predictions.transpose("classifier", "item", "category")
    values = array.to_numpy()
    if array.sizes["category"] < 2 or values.dtype.kind not in "iuf":
        raise EvaluationError(
            "prediction_features: expected probabilities of at least two categories; labels alone are answers, see "
            "Labels.with_predictions"
        )
    wrong = ~(values >= 0).all(axis=-1) | ~(np.abs(values.sum(axis=-1) - 1) <= MOST_OFF)
    if wrong.any():
        c, i = np.argwhere(wrong)[0].tolist()
        item, name = array["item"].to_numpy().tolist()[i], array["classifier"].to_numpy().tolist()[c]
        raise EvaluationError(
            f"prediction_features: the row of item {short_repr(item)} by {short_repr(name)} is "
            f"{short_repr(values[c, i].tolist())}, which are no probabilities that sum to one; of scores take their softmax, and "
            "leave out items without a prediction"
        )
    return array

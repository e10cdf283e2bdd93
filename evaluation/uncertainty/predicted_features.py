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

import numpy as np
import xarray as xr

from ..._messages import short_repr
from ..calls import EvaluationError

ALONE = "predictions"  # name of predictions without one, as Labels.with_predictions calls it
MOST_OFF = 0.01  # of a sum of probabilities from one: they may be rounded
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
        Smallest probability that is believed, such as .001: smaller ones, above all zeros, count as it.

    Returns
    -------
    DataArray
        (item, feature): of each classifier the log ratios of the probabilities of each category but the first and of the
        first, named "net: log dog / cat".

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
        if isinstance(floor, bool) or not 0 < floor < 1 / array.sizes["category"]:
            raise EvaluationError(f"floor={floor!r}: expected a probability above 0, such as .001")
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


def labels_in_features(tree: xr.DataTree, name: object) -> np.ndarray | None:
    """Return whether each category is the best label of a classifier by the features of a posterior, bool (item, category).

    None if its probabilities are not among the features.
    """
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if not {"features", "feature_mean", "feature_sd"} <= set(constant) or "feature" not in constant.coords:
        return None
    categories = tree["posterior"]["category"].to_numpy().astype(str).tolist()
    places = {str(column): place for place, column in enumerate(constant["feature"].to_numpy().tolist())}
    for reference in categories:
        others = [category for category in categories if category != reference]
        columns = _columns(name, others, reference)
        if not {*columns} <= {*places}:
            continue
        own = constant.isel(feature=[places[column] for column in columns])
        raw = (own["features"] * own["feature_sd"] + own["feature_mean"]).transpose("item", "feature")
        log_ratio = np.zeros((raw.sizes["item"], len(categories)))
        log_ratio[:, [categories.index(category) for category in others]] = raw.to_numpy()
        return log_ratio >= log_ratio.max(axis=1, keepdims=True) - CLOSE
    return None


def _columns(name: object, categories: Sequence[object], reference: object) -> list[str]:
    """Return the names of the features of a classifier."""
    return [f"{name}: log {category} / {reference}" for category in categories]


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

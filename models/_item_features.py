"""Features of the items of a model: coordinate, data, and the prior of each item's true category from them.

That prior is a softmax regression with coefficients that shrink together.
"""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable
from scipy.linalg import helmert

from ._hierarchy import prior_array, rows_times
from ._prior_arguments import finite_array
from .data.features import ItemFeatures, item_features, warn_of_labels
from .data.labels import Labels

# scale of the half-normal prior of the scale of the coefficients, log odds for a standard deviation
WIDEST = 1.0


def feature_coords(features: ItemFeatures | None) -> dict[str, np.ndarray]:
    """Return the coordinate ``feature``, names of the columns; nothing without features."""
    return {} if features is None else {"feature": features.names.astype(str)}


def register_features(features: ItemFeatures) -> Any:
    """Register standardised ``features`` (item, feature), with ``feature_mean`` and ``feature_sd`` of the raw columns (feature,).

    Returns the first; by the others features of further items are standardised.
    """
    values = pm.Data("features", features.values, dims=("item", "feature"))
    pm.Data("feature_mean", features.mean, dims="feature")
    pm.Data("feature_sd", features.scale, dims="feature")
    return values


# --- Prior of the true category of labels ---


def read_features(labels: Labels, features: Any) -> ItemFeatures | None:
    """Return the standardised features of the items of the labels; None without any. Warns of those that repeat the answers."""
    if features is None:
        return None
    found = item_features(features, labels.items)
    warn_of_labels(found, _most_frequent(labels))
    return found


def _most_frequent(labels: Labels) -> np.ndarray:
    """Code of the most frequent answer to each item (item,), -1 if there is none or several are."""
    counts = np.zeros((len(labels.items), len(labels.categories)))
    np.add.at(counts, (labels.annotation_item, labels.label_code), labels.count)
    most = counts.max(axis=1)
    single = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
    return np.where(single, counts.argmax(axis=1), -1)


def prior_of_truth(
    labels: Labels, prevalence: TensorVariable, features: ItemFeatures | None, prior_logits: Any = None
) -> TensorVariable:
    """Register ``feature_scale`` and ``feature_effect``; return the prior of each item's true category (item, category).

        scale   ~ HalfNormal(1)
        W_f     = e_f - mean(e_f),   e_fj ~ Normal(0, scale)      for every feature f
        p(T_i)  = softmax(log p + x_i W + L_i)

    With neither features nor logits L the result is the prevalence, (category,). With features the data of the model have the
    standardised ``features`` (item, feature), and mean and standard deviation of the raw columns, ``feature_mean`` and
    ``feature_sd`` (feature).

    Shapes: prevalence (category,); prior_logits (item, category).
    """
    if features is None and prior_logits is None:
        return prevalence
    log_odds: Any = pt.log(prevalence)
    if features is not None:
        log_odds = log_odds + _by_features(labels, features)
    if prior_logits is not None:
        shape = (len(labels.items), len(labels.categories))
        log_odds = log_odds + prior_array("prior_logits", prior_logits, shape, finite_array)
    return cast(TensorVariable, softmax(log_odds, axis=1))


def _by_features(labels: Labels, features: ItemFeatures) -> Any:
    """Register the features and their effects; return the log odds x W (item, category)."""
    values = register_features(features)
    answered = np.isin(np.arange(len(labels.items)), labels.annotation_item) | (labels.gold >= 0)
    directions = FeatureDirections(features.values[answered], len(labels.categories))
    scale = pm.HalfNormal("feature_scale", WIDEST)
    dims = ("feature", "category")
    effect = pm.ZeroSumNormal("feature_effect", scale, dims=dims, default_transform=directions)
    return pt.dot(values, effect)


class FeatureDirections(Transform):
    """Transform of the effects of features whose rows sum to zero: effects along the principal axes, in posterior units.

        W = V diag(s) Z B,    s_k = (1 / scale^2 + l_k / K)^(-1/2),    X'X = V diag(l) V'

    The rows of B (category - 1, category) are orthonormal and sum to zero (Helmert); X are the features of the items that have
    an answer or a gold label. l_k / K is the information of such items about the effect along axis k if their truth is known
    and categories are equally probable. So Z has a standard deviation of about one, whatever the scale and however columns
    correlate: there is no funnel where features are useless, and no ridge where they are informative. The distribution of W is
    unchanged.

    The idea of coordinates between centred and non-centred ones: Papaspiliopoulos, Roberts and Sköld (2007), A general
    framework for the parametrization of hierarchical models, Statistical Science 22(1), doi:10.1214/088342307000000014.
    """

    name = "directions"
    ndim_supp = 2

    def __init__(self, features: np.ndarray, n_categories: int) -> None:
        information, self._axes = np.linalg.eigh(features.T @ features)
        self._information = np.maximum(information, 0.0) / n_categories
        self._basis = helmert(n_categories)

    def _spread(self, inputs: tuple[Any, ...]) -> Any:
        """Return s (axis, 1), given the inputs of the random variable: the scale is the last but the shape."""
        scale = inputs[-2].reshape(())
        return (1 / scale**2 + self._information)[:, None] ** -0.5

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates Z (axis, category - 1)."""
        return rows_times(rows_times(value.T, self._axes).T, self._basis.T) / self._spread(inputs)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the effects W (feature, category)."""
        return rows_times(rows_times((self._spread(inputs) * value).T, self._axes.T).T, self._basis)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the determinant of W, in orthonormal coordinates, by Z."""
        return len(self._basis) * cast(Any, pt.log(self._spread(inputs))).sum()

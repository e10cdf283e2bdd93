"""Prior of the true category of items before any answer: the prevalence, or with features one of each item.

With prevalence p, effects W (feature, category) and standardised features x of a model with features:

    p(T_i = c) = softmax(log p + x_i W)_c

so that p is that of an item with the mean features, and the share of a category among the items is the mean of p(T_i = c).
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import log_softmax

from .errors import EvaluationError

EFFECT = "feature_effect"
MOST_PROBABILITIES = 200_000_000  # of which shares are means; of more items evenly spaced ones are taken
BLOCK_SIZE = 5_000_000  # probabilities at once


def given_features(prevalence: np.ndarray, features: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """Return p(true category) given the features (..., item, category).

    Shapes: prevalence (..., category); features (item, feature); effect (..., feature, category).
    """
    with np.errstate(divide="ignore"):  # a category of prevalence zero stays impossible
        intercept = np.log(prevalence.astype(float))
    return np.exp(log_softmax(intercept[..., None, :] + features @ effect.astype(float), axis=-1))


def effect_on_categories(tree: xr.DataTree) -> xr.DataArray | None:
    """Return the effects of features on the log odds of the true category; None if the model has none."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    found = posterior.get(EFFECT)
    return found if found is not None and "category" in found.dims else None


def features_of(tree: xr.DataTree) -> np.ndarray:
    """Return the standardised features of the items of a posterior (item, feature), or raise."""
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "features" not in constant:
        raise EvaluationError(
            "the tree has effects of features, but no 'features' in constant_data, by which the prior of its items is known; "
            "keep it"
        )
    return constant["features"].transpose("item", "feature").to_numpy().astype(float)


def shares_of_categories(tree: xr.DataTree, prevalence: xr.DataArray) -> xr.DataArray:
    """Return the share of each category among the items, before any answer, in every draw: the prevalence without features.

    `prevalence` is that of the posterior. Shares are means over all items, or over so many evenly spaced ones as are taken in
    some seconds.
    """
    effect = effect_on_categories(tree)
    if effect is None:
        return prevalence
    sample = [dim for dim in prevalence.dims if dim != "category"]
    prevalence = prevalence.transpose(*sample, "category")
    own = effect.transpose(*sample, "feature", "category").to_numpy()
    p = prevalence.to_numpy()
    found = _mean_prior(
        p.reshape(-1, p.shape[-1]), features_of(tree), own.reshape(-1, *own.shape[len(sample) :])
    )
    return prevalence.copy(data=found.reshape(p.shape))


def _mean_prior(prevalence: np.ndarray, features: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """Return means over items of their priors (draw, category); prevalence (draw, category), effect (draw, feature, category)."""
    most = max(1, MOST_PROBABILITIES // prevalence.size)
    if len(features) > most:
        features = features[np.linspace(0, len(features) - 1, most).astype(np.int64)]
    step = max(1, BLOCK_SIZE // (len(features) * prevalence.shape[1]))
    parts: Sequence[np.ndarray] = [
        given_features(prevalence[first : first + step], features, effect[first : first + step]).mean(axis=-2)
        for first in range(0, len(prevalence), step)
    ]
    return np.concatenate(parts)

"""Features of the items of a model: their coordinate, and their data."""

from typing import Any

import numpy as np
import pymc as pm

from .data.features import ItemFeatures

__all__ = ["feature_coords", "register_features"]


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

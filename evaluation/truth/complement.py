"""Predictions of one category for each item: the other one of two has the complement."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

from ..calls import EvaluationError


def with_complement(predictions: xr.DataArray, categories: np.ndarray | None) -> xr.DataArray:
    """Complete predictions that give the probability of one category for each item.

    Of two declared categories the other has the complement, by classifier, with a warning and the attribute
    ``note``; of more it is unknown, and scores of one and the same category are refused. Labels with a score,
    such as the confidence in the best one of three, stay as they are.
    """
    if categories is None or not isinstance(predictions, xr.DataArray) or predictions.dtype.kind not in "iuf":
        return predictions
    if {*predictions.dims} - {"classifier"} != {"item", "category"} or "category" not in predictions.coords:
        return predictions  # refused, or no scores
    names, known = predictions["category"].to_numpy(), categories.astype(str).tolist()
    scores = predictions.astype(float).transpose(..., "item", "category")
    values = scores.to_numpy()
    given = values > -np.inf
    best = np.where(given, values, 0).sum(axis=-1)  # of the one category that is given
    # a label with score 1 is complete
    alone = (given.sum(axis=-1) == 1).all(axis=-1) & (best != 1).any(axis=-1) & ~np.isnan(best).any(axis=-1)
    if not alone.any() or not set(names.astype(str).tolist()) <= set(known):
        return predictions
    same = alone & (given.any(axis=-2).sum(axis=-1) == 1) & (values.shape[-2] > 1)
    probable = ((best >= 0) & (best <= 1)).all(axis=-1)
    if same.any() and (len(known) > 2 or not probable[same].all()):
        name = names[given[same].reshape(-1, len(names)).any(axis=0).argmax()]
        what = "categories" if len(known) > 2 else "categories, with numbers that are no probabilities"
        raise EvaluationError(
            f"predictions: the only category with a score is {name!s}, one of {len(known)} {what}, and it would be the best "
            "of every item; give the scores of all categories, a row for each item and category"
        )
    if len(known) != 2 or not (alone & probable).any():
        return predictions
    note = (
        "predictions have the probability of one category for each item; that of the other, of "
        f"{' and '.join(known)}, is taken to be its complement"
    )
    warnings.warn(note, UserWarning, stacklevel=2)
    fill: Any = -np.inf
    both = scores.reindex(
        category=categories.astype(np.int64 if names.dtype.kind in "iu" else str), fill_value=fill
    )
    values = both.to_numpy().copy()
    filled = (alone & probable)[..., None, None] & (values == -np.inf)
    return both.copy(data=np.where(filled, (1 - best)[..., None], values)).assign_attrs(note=note)

"""Predicted ranks of all categories, from scores, sets or lists of labels."""

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from .alignment import Aligned, align, align_categories, align_items
from .errors import EvaluationError
from .metric import Metric
from .plausibility import OTHER, Plausibility
from .top_labels import OtherAs

__all__ = ["align_ranks"]


def align_ranks(
    metric: Metric, view: Plausibility, predictions: xr.DataArray, other: OtherAs
) -> Aligned:
    """Align predictions with a posterior and rank all categories by them.

    Predictions as for `align`. Result: ranks (classifier, item, category), 1 = best, ties share their mean,
    categories without a prediction are tied last. The categories are the declared ones, or else those named.
    Raises if items or labels do not match, a score is NaN, or other="label".
    """
    if other == "label":
        raise EvaluationError(
            f'other="label": {metric.name} compares categories, and {OTHER} is not one'
        )
    array, classifier = align_items(view, predictions)
    if "category" in array.dims:
        array = array.transpose("classifier", "item", "category")
        view, values, codes = align_categories(view, array, other)
        scores = _unscored(view, values.shape[:2])
        scores[..., codes[codes >= 0]] = values[..., codes >= 0]
    else:
        aligned = align(view, predictions, array.sizes["position"], other, ordered=True)
        view = aligned.view
        scores = _unscored(view, aligned.predicted.shape[:2])
        c, i, position = np.nonzero(aligned.predicted >= 0)
        scores[c, i, aligned.predicted[c, i, position]] = -position
    return Aligned(view, rankdata(-scores, axis=-1).astype(np.float32), classifier)


def _unscored(view: Plausibility, shape: tuple[int, ...]) -> np.ndarray:
    """Scores of -inf for every category, including declared ones that nobody names."""
    declared = 0 if view.declared is None else len(view.declared)
    n = max(len(view.categories), view.declared_count() or 0, declared)
    return np.full((*shape, n), -np.inf)

"""Predicted ranks of every category, from scores, sets or lists."""

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
    """Match predictions with a posterior, and rank all categories by them.

    Parameters
    ----------
    metric : Metric
        What the ranks are for.
    view : Plausibility
        Posterior.
    predictions : DataArray
        Labels (item, position), best first, "" after the last; or scores (item, category), -inf =
        not predicted, or bool, a set; and optionally ``classifier``.
    other : {"split", "exclude"}
        How OTHER is treated.

    Returns
    -------
    Aligned
        Ranks (classifier, item, category): 1 is the best, ties share their mean, and categories without
        a prediction are tied last. The categories are the declared ones, or those that are named.

    Raises
    ------
    EvaluationError
        If items or labels do not match, a score is NaN, or OTHER is to be a label.
    """
    if other == "label":
        raise EvaluationError(f'other="label": {metric.name} compares categories; {OTHER} is none')
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
    """Return -inf for every category, those included that nobody names."""
    declared = 0 if view.declared is None else len(view.declared)
    n = max(len(view.categories), view.declared_count() or 0, declared)
    return np.full((*shape, n), -np.inf)

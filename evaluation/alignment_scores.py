"""Predicted scores of all categories, in the category order of a posterior."""

import numpy as np
import xarray as xr

from .alignment import Aligned, align_items
from .errors import EvaluationError
from .metric import Metric
from .plausibility import OTHER, Plausibility
from .top_labels import OtherAs

__all__ = ["align_scores"]

ROUNDING = 1e-4  # of probabilities printed with few digits, or kept in single precision


def align_scores(
    metric: Metric, view: Plausibility, predictions: xr.DataArray, other: OtherAs
) -> Aligned:
    """Align predicted scores (item, category) of every declared category with a posterior.

    Probabilities must sum to one, and -inf (not predicted) becomes zero. Raises if a category is missing,
    unknown or duplicated, if a score is NaN or no probability, or if other="label".
    """
    if other == "label":
        raise EvaluationError(
            f'other="label": {metric.name} compares categories, and {OTHER} is not one'
        )
    array, classifier = align_items(view, predictions)
    kind = "probabilities" if metric.response == "probabilities" else "scores"
    if "category" not in array.dims or array.dtype.kind not in "iuf":
        raise EvaluationError(
            f"{metric.name} needs predictions (item, category) of {kind}, found {predictions.dims} of {array.dtype}"
        )
    names = array["category"].to_numpy().astype(str).tolist()
    closed = view.categories if view.declared is None else view.declared
    unknown = [] if view.declared is None else np.setdiff1d(names, closed).tolist()
    if unknown:
        raise EvaluationError(
            f"predictions have categories such as {unknown[0]!r}, which is not among the {len(closed)} of the posterior"
        )
    view = view.with_categories(names)
    needed = view.declared_count() or len(view.categories)
    if sorted(names) != sorted(view.categories.tolist()) or len(names) != needed:
        raise EvaluationError(
            f"predictions have {len(names)} categories; {metric.name} needs all {needed}, each once"
            + _missing(names, view.categories.tolist())
        )
    order = {name: i for i, name in enumerate(names)}
    array = array.isel(category=[order[name] for name in view.categories.tolist()])
    array = array.transpose("classifier", "item", "category")
    values = array.to_numpy().astype(float)
    _check_numbers(values, array)
    if metric.response == "probabilities":
        values = np.where(values == -np.inf, 0.0, values)
        _check_probabilities(values, array, metric.name)
    return Aligned(view, values, classifier)


def _missing(names: list[str], categories: list[str]) -> str:
    """Name the first missing category, for an error message."""
    lacking = [name for name in categories if name not in set(names)]
    return f"; {lacking[0]!r} is missing" if lacking else ""


def _cell(array: xr.DataArray, place: np.ndarray) -> str:
    """Name the item, and the classifier if there is one, at a position (classifier, item)."""
    item = f"item {array['item'].to_numpy()[place[1]]!s}"
    named = "classifier" in array.coords
    return f"{item}, classifier {array['classifier'].to_numpy()[place[0]]!s}" if named else item


def _check_numbers(values: np.ndarray, array: xr.DataArray) -> None:
    bad = np.argwhere(np.isnan(values) | (values == np.inf))
    if len(bad):
        category = array["category"].to_numpy()[bad[0][2]]
        raise EvaluationError(
            f"predictions: score of {_cell(array, bad[0])}, category {category!s} is "
            f"{'NaN' if np.isnan(values[tuple(bad[0])]) else 'inf'}; -inf means not predicted"
        )


def _check_probabilities(values: np.ndarray, array: xr.DataArray, name: str) -> None:
    negative = np.argwhere(values < 0)
    if len(negative):
        place = negative[0]
        category = array["category"].to_numpy()[place[2]]
        raise EvaluationError(
            f"{name} needs probabilities: that of {_cell(array, place)}, category {category!s} is {values[tuple(place)]:g}"
        )
    total = values.sum(axis=-1)
    off = np.argwhere(abs(total - 1) > ROUNDING)
    if len(off):
        raise EvaluationError(
            f"{name} needs probabilities: those of {_cell(array, off[0])} sum to {total[tuple(off[0])]:g}; "
            "divide by their sum, or take the softmax of scores"
        )

"""Uncertain membership in subgroups: each draw of the truth has its own members.

An item counts in a group if the draw says that it is a member. Assigning an item to its most probable group
beforehand answers another question, with group labels that contradict the uncertain truth used by the metric.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, section 3, which calls metrics of hard-assigned groups ill-defined.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.matching import match_items
from ...posterior.plausibility import Plausibility
from ..truth.groups import group_by_code
from .adjusted import Scorer

By = Mapping[object, object] | xr.DataArray
FORMS = "(item) or (chain, draw, item) of groups, or (..., item, group) of weights, and classifier"


class ScoredPart(NamedTuple):
    """Part of the posterior that is scored, and the label (sample, item) of each draw there."""

    items: slice
    samples: slice
    label: Callable[[], np.ndarray]


@dataclass(frozen=True)
class GroupWeights:
    """Weight of each item in each group."""

    names: np.ndarray  # (group,)
    weights: Callable[[ScoredPart], np.ndarray]  # -> (classifier or 1, group, sample or 1, item)


def members_of(scorer: Scorer, by: By | None) -> tuple[Scorer, GroupWeights]:
    """Return groups, by appearance or ascending from an array, and the scorer with a mapping's labels; None is one group."""
    if by is None:
        return scorer, GroupWeights(np.array(["all"]), lambda _: np.ones((1, 1, 1, 1)))
    if isinstance(by, Mapping):
        return _by_truth(scorer, by)
    if not isinstance(by, xr.DataArray):
        raise EvaluationError(
            f"by={by!r}: expected {{label: group}}, or a DataArray {FORMS}; found {type(by).__name__}"
        )
    return scorer, _by_array(scorer, by)


def _by_truth(scorer: Scorer, by: Mapping[object, object]) -> tuple[Scorer, GroupWeights]:
    """Return groups by the scored label of every draw."""
    view, group_of_code, names = group_by_code(scorer.aligned.view, by, scorer.labels.other)
    aligned, labels = replace(scorer.aligned, view=view), replace(scorer.labels, view=view)
    scorer = replace(scorer, aligned=aligned, labels=labels)

    def weights(drawn: ScoredPart) -> np.ndarray:
        group = group_of_code[drawn.label()]
        return (group == np.arange(len(names))[:, None, None])[None]

    return scorer, GroupWeights(names, weights)


def _by_array(scorer: Scorer, by: xr.DataArray) -> GroupWeights:
    """Return groups or weights from an array of the caller."""
    array = _ordered(scorer, by)
    samples = slice(None) if array.shape[2] > 1 else slice(0, 1)

    def part(drawn: ScoredPart) -> np.ndarray:
        return array[:, :, drawn.samples if samples.stop is None else samples, drawn.items]

    if "group" in by.dims:
        names = by["group"].to_numpy() if "group" in by.coords else np.arange(by.sizes["group"])
        return GroupWeights(names, part)
    names = np.unique(array)
    return GroupWeights(names, lambda drawn: part(drawn) == names[:, None, None])


def _ordered(scorer: Scorer, by: xr.DataArray) -> np.ndarray:
    """Align an array of groups or weights as (classifier or 1, group or 1, sample or 1, item), or raise."""
    view, weights = scorer.aligned.view, "group" in by.dims
    known = {"classifier", "group", "item", *view.sample_dims}
    drawn = [d for d in view.sample_dims if d in by.dims]
    if "item" not in by.dims or set(by.dims) - known or len(drawn) not in (0, len(view.sample_dims)):
        raise EvaluationError(f"by: expected dims {FORMS}; found {by.dims}")
    if "item" not in by.coords:
        raise EvaluationError("by: dim item has no coordinate to match items by")
    by = by.isel(item=match_items(view.items, by["item"].to_numpy(), "group"))
    for dim in drawn:
        _check_draws(view, by, dim)
    if "classifier" in by.dims:
        by = by.isel(classifier=_places_of_classifiers(scorer, by))
    for dim in ("classifier", "group"):
        by = by if dim in by.dims else by.expand_dims(dim)
    by = by.transpose("classifier", "group", *drawn, "item")
    array = by.to_numpy().reshape(by.sizes["classifier"], by.sizes["group"], -1, len(view.items))
    if weights and not (array.dtype.kind in "biuf" and np.all(array >= 0) and np.all(array < np.inf)):
        raise EvaluationError("by: weights along group must be finite numbers from 0 on, or bool")
    if array.dtype.kind in "fO" and np.any(array != array):
        raise EvaluationError(
            "by: a group or weight is NaN; leave the item out of all groups by weights of zero"
        )
    return array


def _check_draws(view: Plausibility, by: xr.DataArray, dim: str) -> None:
    """Raise unless groups have the same draws in the same order."""
    if by.sizes[dim] != view.array.sizes[dim]:
        raise EvaluationError(
            f"by has {by.sizes[dim]} values of {dim}, the posterior {view.array.sizes[dim]}"
        )
    if dim in by.coords and dim in view.array.coords:
        own, others = by[dim].to_numpy(), view.array[dim].to_numpy()
        if (own != others).any():
            raise EvaluationError(
                f"by has {dim} {own[own != others][0]!s} where the posterior has {others[own != others][0]!s}: order them alike"
            )


def _places_of_classifiers(scorer: Scorer, by: xr.DataArray) -> np.ndarray:
    """Position of each classifier of the predictions in the groups, or raise."""
    names = scorer.aligned.classifier
    if names is None or "classifier" not in by.coords:
        raise EvaluationError(
            "by has the dim classifier: by and the predictions need a classifier coordinate with the same names"
        )
    own, given = names.to_numpy().tolist(), by["classifier"].to_numpy().tolist()
    if sorted(map(str, own)) != sorted(map(str, given)):
        raise EvaluationError(
            f"by has the classifiers {given}, the predictions {own}: name each of those once"
        )
    return np.array([given.index(name) for name in own])

"""Probabilistic predictions of classifiers for the items of a survey."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from ..calls import EvaluationError
from ..truth.matching import ROUNDING, places_of, with_complement
from .counts import LabelCounts, coordinate_of


@dataclass(frozen=True)
class Classifiers:
    """Validated predictions of classifiers for the items of a survey."""

    names: np.ndarray  # of the classifiers; one empty text without a dim classifier
    probability: np.ndarray  # (classifier, item, category), sums to one
    named: bool  # whether the predictions had a dim classifier
    categories: np.ndarray  # (category,), those of the labels, then those of the predictions alone

    @classmethod
    def of(cls, predictions: xr.DataArray) -> tuple["Classifiers", np.ndarray]:
        """Validate predictions; return them and the ids of their items."""
        _check_shape(predictions)
        items, names = (coordinate_of(predictions, dim, "predictions") for dim in ("item", "category"))
        named = "classifier" in predictions.dims
        several = predictions if named else predictions.expand_dims("classifier")
        values = several.transpose("classifier", "item", "category").to_numpy().astype(float)
        wrong = np.argwhere(np.isnan(values))
        if len(wrong):
            _, i, j = wrong[0]
            raise EvaluationError(
                f"predictions: item {items[i]!s}, category {names[j]!s} is NaN; give a probability, or drop "
                "the item from predictions and counts"
            )
        wrong = np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING))
        if len(wrong):
            c, i, j = wrong[0]
            raise EvaluationError(
                f"predictions: item {items[i]!s}, category {names[j]!s}: {values[c, i, j]:g} is no probability; divide "
                "scores by their sum; for a hard classifier pass 1 for its label and 0 for the others"
            )
        total = values.sum(axis=2)
        wrong = np.argwhere(np.abs(total - 1) > ROUNDING)
        if len(wrong):
            c, i = wrong[0]
            raise EvaluationError(
                f"predictions: the probabilities of item {items[i]!s} sum to {total[c, i]:.7g}, expected 1; divide by the sum, "
                "or add the categories that are missing"
            )
        values = np.clip(values, 0, 1) / np.clip(values, 0, 1).sum(axis=2, keepdims=True)
        labels = coordinate_of(predictions, "classifier", "predictions") if named else np.array([""])
        return cls(labels.astype(str), values, named, names.astype(str)), items

    @classmethod
    def aligned_to(cls, predictions: xr.DataArray, labels: LabelCounts) -> "Classifiers":
        """Return predictions for the items of the labels, the categories of the labels first, those of predictions alone last."""
        given, items = cls.of(with_complement(predictions, labels.categories))
        named, known = given.categories.tolist(), labels.categories.tolist()
        more = [name for name in named if name not in known]
        if more and labels.labels is None:
            raise EvaluationError(
                f"predictions: category {more[0]!r} is not in counts, which have {', '.join(known)}; add it to the counts, "
                "with 0 where nobody gave it, or correct the spelling"
            )
        lost = [name for name in known if name not in named]
        if lost:
            raise EvaluationError(
                f"predictions have no category {lost[0]!r}, which raters can give; add it, with probability 0 if "
                "the classifier never predicts it"
            )
        categories = np.array([*known, *more])
        column = [named.index(name) for name in categories.tolist()]
        place = places_of(labels.items, items, ("counts", "predictions"))
        probability = given.probability[:, place][..., column]
        return replace(given, probability=probability, categories=categories)


def _check_shape(predictions: object) -> None:
    if not isinstance(predictions, xr.DataArray):
        raise EvaluationError(
            f"predictions: expected a DataArray (item, category) of probabilities, found {type(predictions).__name__}"
        )
    if {*predictions.dims} - {"classifier"} != {"item", "category"}:
        raise EvaluationError(
            f"predictions: expected dims (item, category), and classifier where there are several; found {predictions.dims}"
        )
    if predictions.dtype.kind not in "biuf" or not predictions.size:
        raise EvaluationError(
            f"predictions: {predictions.size} values of dtype {predictions.dtype}; expected probabilities, at least one"
        )

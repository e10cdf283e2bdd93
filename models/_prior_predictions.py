"""Probabilities of a classifier as a prior of the plausibilities, with a strength that is learnt."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

from ..posterior.schema import SEEN_IN_PRIOR
from ._hierarchy import Number, prior_number
from ._prior_arguments import positive_array
from .data.reading.predicted_probabilities import PredictedProbabilities, read_predicted_probabilities

STRENGTH = "prediction_strength"


@dataclass(frozen=True, eq=False)
class PredictionPrior:
    """Probabilities of a classifier, and the scale of the half-normal prior of their strength."""

    predicted: PredictedProbabilities
    scale: Any  # one number or scalar expression

    @property
    def coords(self) -> dict[str, list[str]]:
        """Coordinate of the model that names the classifier, which every sampler hands on."""
        return {"classifier": [self.predicted.classifier]}

    def register(self, probability: np.ndarray, dims: tuple[str, ...]) -> TensorVariable:
        """Register probabilities and ``prediction_strength``; return their product, what is added to a concentration."""
        pm.Data(SEEN_IN_PRIOR, probability[None], dims=("classifier", *dims))
        return pm.HalfNormal(STRENGTH, self.scale) * probability


def prediction_prior(
    predictions: Any, ids: tuple[np.ndarray, np.ndarray], classifier: str | None, scale: Number
) -> PredictionPrior | None:
    """Read the arguments of a builder; `ids` are the items and the categories. None without predictions."""
    if predictions is None:
        if classifier is not None:
            raise ValueError(
                f"classifier={classifier!r} names the classifier of prior_predictions, and there are none; pass "
                "them, or leave classifier out"
            )
        return None
    found = prior_number("prediction_scale", scale, lambda name, value: positive_array(name, value, ()))
    return PredictionPrior(read_predicted_probabilities(predictions, *ids, classifier), found)

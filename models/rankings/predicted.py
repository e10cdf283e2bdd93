"""Gamma prior of the worths with the probabilities of a classifier in its shape."""

from typing import cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._prior_predictions import PredictionPrior
from .observed import (
    OTHER_CODE,
    CandidateLayout,
    Candidates,
    flat_worth,
    register_annotations,
    register_other,
)


def predicted_worth_prior(layout: CandidateLayout, prior: PredictionPrior) -> TensorVariable:
    """Register what `observed.worth_prior` does, worths of shape alpha + kappa f, and kappa.

    Shapes: result (annotation, place), log worths of the candidates of each annotation's item.
    """
    register_annotations(layout.rankings)
    register_other(layout.candidates, np.nan)
    probability = prior.predicted.probability
    if not layout.dense:
        added = prior.register(of_candidates(layout.candidates, probability), ("candidate",))
        worth = flat_worth(layout.candidates, layout.shape + added)
        index = pm.Data("candidate_of_place", layout.candidates.place, dims=("annotation", "place"))
        return cast(TensorVariable, pt.log(worth))[index]
    dims = ("item", "category")
    worth = pm.Gamma("worth", layout.concentration + prior.register(probability, dims), 1.0, dims=dims)
    pm.Deterministic("plausibility", worth / worth.sum(-1, keepdims=True), dims=dims)
    return cast(TensorVariable, pt.log(worth))[layout.rankings.annotation_item]


def of_candidates(candidates: Candidates, probability: np.ndarray) -> np.ndarray:
    """Return the probability of each candidate (candidate,), of OTHER that of all members; `probability` (item, category)."""
    item, category = candidates.item, candidates.category
    named = category != OTHER_CODE
    left = probability.copy()
    left[item[named], category[named]] = 0.0
    return np.where(named, probability[item, np.where(named, category, 0)], left.sum(axis=1)[item])

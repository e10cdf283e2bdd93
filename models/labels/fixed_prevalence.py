"""Prevalence with a Dirichlet prior, or fixed as uniform."""

from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.labels import Labels
from .observed import prevalence_prior

__all__ = ["prevalence_or_uniform"]


def prevalence_or_uniform(
    labels: Labels, concentration: Any | Literal["uniform"]
) -> TensorVariable:
    """Register ``prevalence``, with a Dirichlet prior or, for concentration "uniform", fixed as uniform.

    Shapes: concentration one number or (category,); result (category,).
    """
    if not isinstance(concentration, str) or concentration != "uniform":
        return prevalence_prior(labels, concentration)
    n = len(labels.categories)
    fixed = pt.as_tensor_variable(np.full(n, 1 / n))
    return cast(TensorVariable, pm.Deterministic("prevalence", fixed, dims="category"))

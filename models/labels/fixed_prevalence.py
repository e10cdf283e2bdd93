"""Prevalence of categories that may be fixed: drawn from its prior, or the same for every category."""

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
    """Register ``prevalence``.

    Parameters
    ----------
    labels : Labels
        The annotations.
    concentration : float or array_like or "uniform"
        Of its Dirichlet prior, one number or one for each category; "uniform": no prior, all categories are equally probable.

    Returns
    -------
    TensorVariable, shape (category,)
        Probability of each category.
    """
    if not isinstance(concentration, str) or concentration != "uniform":
        return prevalence_prior(labels, concentration)
    n = len(labels.categories)
    fixed = pt.as_tensor_variable(np.full(n, 1 / n))
    return cast(TensorVariable, pm.Deterministic("prevalence", fixed, dims="category"))

"""Transforms from values of random variables to PyMC's unconstrained value variables."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

__all__ = ["compiled_values"]


def compiled_values(
    model: pm.Model, variables: Sequence[TensorVariable], options: dict[str, Any]
) -> Callable[..., list[np.ndarray]]:
    """Compile the function from values of free random variables to those of their value variables.

    `options` are those of `pymc.pytensorf.compile`; the function takes and returns one array for each
    variable.
    """
    drawn = [rv.type() for rv in variables]
    values = []
    for rv, value in zip(variables, drawn, strict=True):
        transform = model.rvs_to_transforms[rv]
        values.append(value if transform is None else transform.forward(value, *rv.owner.inputs))
    return pm.pytensorf.compile(drawn, values, **options)

"""From values of random variables to those that PyMC moves, which are transformed to be without bounds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

__all__ = ["compiled_values"]


def compiled_values(
    model: pm.Model, variables: Sequence[TensorVariable], options: dict[str, Any]
) -> Callable[..., list[np.ndarray]]:
    """Compile the function from values of random variables to those of their value variables.

    Parameters
    ----------
    model : pymc.Model
        Knows the transforms.
    variables : sequence of TensorVariable
        Free random variables.
    options : dict
        Of `pymc.pytensorf.compile`.

    Returns
    -------
    callable
        Of as many arrays.
    """
    drawn = [rv.type() for rv in variables]
    values = []
    for rv, value in zip(variables, drawn, strict=True):
        transform = model.rvs_to_transforms[rv]
        values.append(value if transform is None else transform.forward(value, *rv.owner.inputs))
    return pm.pytensorf.compile(drawn, values, **options)

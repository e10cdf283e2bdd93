"""Transform of normal variables to standard units of their prior, for gradient samplers."""

from typing import Any, cast

import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

__all__ = ["Standardised"]


class Standardised(Transform):
    """Transform of a normal random variable: minus its mean, divided by its standard deviation.

        x ~ Normal(m, s^2),    z = (x - m) / s

    In x gradient samplers meet a funnel where the spread s of a population is sampled too and may be near
    zero; z is standard normal whatever m and s. The distribution of x is unchanged.

    Reference: Papaspiliopoulos, Roberts and Sköld (2007), A general framework for the parametrization of
    hierarchical models, Statistical Science 22(1), doi:10.1214/088342307000000014.
    """

    name = "standardised"
    ndim_supp = 0

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable in standard units."""
        _, _, mean, sd = inputs
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        _, _, mean, sd = inputs
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the standard deviation, for each value."""
        return pt.zeros_like(value) + cast(Any, pt.log(inputs[-1]))

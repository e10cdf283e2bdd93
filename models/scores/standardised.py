"""Normal variables in units of their own law, for samplers that move all variables of a model together.

    x ~ Normal(m, s^2),    z = (x - m) / s

A gradient sampler that moves x finds a funnel where the spread s of a population is drawn, too, and may be near zero; z is
standard normal whatever m and s are. The law of x, and with it the model and its other samplers, is left as it is.

References
----------
Papaspiliopoulos, Roberts and Sköld (2007), A general framework for the parametrization of hierarchical models, Statistical
Science 22(1), doi:10.1214/088342307000000014.
"""

from typing import Any, cast

import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

__all__ = ["Standardised"]


class Standardised(Transform):
    """Transform of a normal random variable: minus its mean, by its standard deviation."""

    name = "standardised"
    ndim_supp = 0

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable in units of its law."""
        _, _, mean, sd = inputs
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        _, _, mean, sd = inputs
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the standard deviation, for each value."""
        return pt.zeros_like(value) + cast(Any, pt.log(inputs[-1]))

"""Rows of log odds in coordinates of their own, for samplers that move all variables of a model together.

    x,    z = H x,    H orthonormal, with 1/sqrt(n) throughout its first row

A constant that is added to all log odds of a row changes no probability: the data say nothing of it, and much of all else. A
gradient sampler that moves x sees a narrow ridge along that direction; in z it is a coordinate, with a scale of its own. The law
of x, and with it the model, is left as it is.

References
----------
Lancaster (1965), The Helmert matrices, American Mathematical Monthly 72(1), doi:10.1080/00029890.1965.11970483.
"""

from typing import Any, cast

import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from scipy.linalg import helmert

__all__ = ["Rotated"]


class Rotated(Transform):
    """Transform of a random variable: its rows times an orthonormal matrix.

    Parameters
    ----------
    n : int
        Length of a row.
    """

    name = "rotated"
    ndim_supp = 1

    def __init__(self, n: int) -> None:
        self._rows = helmert(n, full=True)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates: the first is that of the constants."""
        return cast(Any, pt.dot(value, self._rows.T))

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        return cast(Any, pt.dot(value, self._rows))

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return 0 for each row: a rotation keeps volumes."""
        return pt.zeros_like(value[..., 0])

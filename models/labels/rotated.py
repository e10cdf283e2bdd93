"""Transform of log odds to orthonormal coordinates, one of which is the unidentified constant of each row."""

from typing import Any, cast

import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from scipy.linalg import helmert

__all__ = ["Rotated"]


class Rotated(Transform):
    """Transform of a random variable: its rows of length n times an orthonormal matrix.

        z = H x,    H orthonormal, with 1/sqrt(n) throughout its first row (Helmert)

    A constant added to all log odds of a row changes no probability, so that the likelihood does not identify
    it. In x gradient samplers see a narrow ridge along that direction; in z it is a coordinate with its own
    scale. The distribution of x is unchanged.

    Reference: Lancaster (1965), The Helmert matrices, American Mathematical Monthly 72(1),
    doi:10.1080/00029890.1965.11970483.
    """

    name = "rotated"
    ndim_supp = 1

    def __init__(self, n: int) -> None:
        self._rows = helmert(n, full=True)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates; the first is that of the constants."""
        return cast(Any, pt.dot(value, self._rows.T))

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        return cast(Any, pt.dot(value, self._rows))

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return 0 for each row: a rotation preserves volume."""
        return pt.zeros_like(value[..., 0])

"""Planck taper: a uniform density whose ends fall to zero smoothly, so that its Fisher information exists.

    f(x) = expit(z / (z - t) - z / t) / (b - a - z),  t = min(x - a, b - x) < z,  and 1 / (b - a - z) between

Every derivative vanishes at a and b, where the score of a uniform density is not defined. z is a fifth of the
width. The density on [a, b] is that on [0, 1] scaled, so all functions here are for [0, 1].

References
----------
McKechan, Robinson and Sathyaprakash (2010), A tapering window for time-domain templates, Classical and
Quantum Gravity 27, equation 7, doi:10.1088/0264-9381/27/8/084020. Nordio, Tarable and Leonardi (2023),
Ranking a set of objects using heterogeneous workers, arXiv:2310.02016, eq. 11-17 (as the prior of qualities
and reliabilities).
"""

from functools import cache

import numpy as np
from scipy.special import expit

__all__ = ["TAPER", "difference_density", "panel_rule", "planck_density", "planck_information"]

TAPER = 0.2  # z on [0, 1]
NODES = 60  # quadrature nodes of a panel; twice as many change the twelfth digit


def planck_density(x: np.ndarray) -> np.ndarray:
    """Density of the Planck taper on [0, 1]; zero outside."""
    end = np.minimum(x, 1 - x)
    t = np.where((end > 0) & (end < TAPER), end, TAPER / 2)
    rising = expit(TAPER / (TAPER - t) - TAPER / t)
    return np.where(end <= 0, 0.0, np.where(end < TAPER, rising, 1.0)) / (1 - TAPER)


@cache
def planck_information() -> float:
    """Fisher information E[(f'/f)^2] on [0, 1]; for a range it is divided by the square of the width."""
    t, weight = panel_rule(np.array([0.0, TAPER]))
    exponent = TAPER / (TAPER - t) - TAPER / t
    slope = TAPER / (TAPER - t) ** 2 + TAPER / t**2
    rising = expit(exponent) * expit(-exponent) ** 2
    return float(2 * weight @ (slope**2 * rising) / (1 - TAPER))


def difference_density(u: np.ndarray) -> np.ndarray:
    """Density of |x - y| at u in (0, 1), for independent x and y with the Planck taper on [0, 1].

    The integral of f(x) f(x + u) is split into panels where one of the factors changes its formula.
    """
    corners = np.array([0.0, TAPER, 1 - TAPER, 1.0])
    both = np.concatenate([np.tile(corners, (len(u), 1)), corners - u[:, None]], axis=1)
    edges = np.sort(np.clip(both, 0, 1 - u[:, None]), axis=1)
    x, weight = panel_rule(edges)
    return 2 * np.sum(weight * planck_density(x) * planck_density(x + u[:, None]), axis=1)


def panel_rule(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (..., panel * node) of Gauss-Legendre quadrature on adjacent panels.

    Shapes: edges (..., panel + 1), ascending.
    """
    node, weight = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges, axis=-1)[..., None] / 2
    shape = (*edges.shape[:-1], -1)
    nodes = edges[..., :-1, None] + half * (1 + node)
    return nodes.reshape(shape), (half * weight).reshape(shape)

"""Averaged link: the probability that a rater of unknown reliability prefers the first of two items.

    G(d) = E[F(rho d)],   rho ~ Uniform(low, high)
    variance of G^-1(p), p a share of M votes  =  p (1 - p) / (M G'(d)^2),   d = G^-1(p)

References
----------
Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, eq. 24-27.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from ...posterior.links import LOGISTIC, Link

GRID = 4001
NODES, PANEL = 40, 10.0  # quadrature nodes per panel; its width in x = rho d at the largest distance
NEWTON_STEPS = 4  # from a table accurate to 1e-6 to full precision


class AveragedLink(NamedTuple):
    """G on distances within -reach ... reach, by quadrature over the reliabilities."""

    link: Link  # F
    node: np.ndarray  # (node,), reliabilities
    weight: np.ndarray  # (node,), of sum one
    reach: float

    def probability(self, distance: np.ndarray) -> np.ndarray:
        """Return G, elementwise."""
        x = np.multiply.outer(distance, self.node)
        return (expit(x) if self.link == LOGISTIC else ndtr(x)) @ self.weight

    def slope(self, distance: np.ndarray) -> np.ndarray:
        """Return the derivative G', elementwise."""
        x = np.multiply.outer(distance, self.node)
        logistic = self.link == LOGISTIC
        density = expit(x) * expit(-x) if logistic else np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
        return density @ (self.node * self.weight)

    def inverse(self, probability: np.ndarray) -> np.ndarray:
        """Return the distances (pair,) with these values of G, clipped to -reach ... reach."""
        grid = np.linspace(-self.reach, self.reach, GRID)
        share, place = np.unique(probability, return_inverse=True)
        d = np.interp(share, self.probability(grid), grid)
        for _ in range(NEWTON_STEPS):
            d = np.clip(d - (self.probability(d) - share) / self.slope(d), -self.reach, self.reach)
        return d[place]

    def from_shares(self, share: np.ndarray, votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (26) and their precisions (27), by the delta method, from shares of `votes` in (0, 1); all (pair,)."""
        distance = self.inverse(share)
        _, first, place = np.unique(distance, return_index=True, return_inverse=True)
        slope = self.slope(distance[first])[place]
        return distance, votes * slope**2 / (share * (1 - share))


def averaged_link(link: Link, reliability_range: tuple[float, float], reach: float) -> AveragedLink:
    """Return the link averaged over uniform reliabilities, for distances up to `reach`, to about 1e-13."""
    low, high = reliability_range
    # F changes over a width of about 1 / d in rho, so the number of panels grows with the range of x
    node, weight = np.polynomial.legendre.leggauss(NODES)
    edge = np.linspace(low, high, 1 + int(np.ceil((high - low) * reach / PANEL)))
    middle, half = 0.5 * (edge[1:] + edge[:-1]), 0.5 * np.diff(edge)
    nodes = (middle[:, None] + half[:, None] * node).ravel()
    return AveragedLink(link, nodes, np.tile(weight / 2, len(middle)) / len(middle), reach)

"""The link averaged over raters: how often a rater whose reliability is not known prefers the first of two items.

    G(d) = E[F(rho d)],   rho ~ Uniform(low, high)
    variance of G^-1(p), p a share of M votes  =  p (1 - p) / (M G'(d)^2),   d = G^-1(p)

References
----------
Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, eq. 24-27.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, ndtr

__all__ = ["AveragedLink", "Link", "averaged_link"]

Link = Literal["bradley_terry", "thurstone"]

GRID = 4001
NODES, PANEL = 40, 10.0  # of a panel, and its width in x at the largest distance
NEWTON_STEPS = 4  # from a table that is right to 1e-6, to the last digits


class AveragedLink(NamedTuple):
    """G on the distances that items can have.

    Attributes
    ----------
    link : {"bradley_terry", "thurstone"}
        F.
    node, weight : ndarray, shape (node,)
        Quadrature over the reliabilities; weights add up to one.
    reach : float
        Distances lie within -reach ... reach.
    """

    link: Link
    node: np.ndarray
    weight: np.ndarray
    reach: float

    def probability(self, distance: np.ndarray) -> np.ndarray:
        """Return G.

        Parameters
        ----------
        distance : ndarray
            d.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        x = np.multiply.outer(distance, self.node)
        return (expit(x) if self.link == "bradley_terry" else ndtr(x)) @ self.weight

    def slope(self, distance: np.ndarray) -> np.ndarray:
        """Return G'.

        Parameters
        ----------
        distance : ndarray
            d.

        Returns
        -------
        ndarray
            Of the same shape, positive.
        """
        x = np.multiply.outer(distance, self.node)
        if self.link == "bradley_terry":
            density = expit(x) * expit(-x)
        else:
            density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
        return density @ (self.node * self.weight)

    def inverse(self, probability: np.ndarray) -> np.ndarray:
        """Return the distance with this G; beyond the reach, its end.

        Parameters
        ----------
        probability : ndarray, shape (pair,)
            Shares of votes.

        Returns
        -------
        ndarray, shape (pair,)
            Within -reach ... reach.
        """
        grid = np.linspace(-self.reach, self.reach, GRID)
        share, place = np.unique(probability, return_inverse=True)
        d = np.interp(share, self.probability(grid), grid)
        for _ in range(NEWTON_STEPS):
            d = d - (self.probability(d) - share) / self.slope(d)
            d = np.clip(d, -self.reach, self.reach)
        return d[place]

    def from_shares(self, share: np.ndarray, votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate distances, and their precision by the delta method.

        Parameters
        ----------
        share, votes : ndarray, shape (pair,)
            Share of the votes for the first item, between 0 and 1, and number of votes.

        Returns
        -------
        distance, precision : ndarray, shape (pair,)
            G^-1 and the inverse of its variance.
        """
        distance = self.inverse(share)
        _, first, place = np.unique(distance, return_index=True, return_inverse=True)
        slope = self.slope(distance[first])[place]
        return distance, votes * slope**2 / (share * (1 - share))


def averaged_link(link: Link, reliability_range: tuple[float, float], reach: float) -> AveragedLink:
    """Average a link over uniform reliabilities.

    Parameters
    ----------
    link : {"bradley_terry", "thurstone"}
        F.
    reliability_range : tuple of float
        Least and largest reliability.
    reach : float
        Largest distance.

    Returns
    -------
    AveragedLink
        Exact to about 1e-13.
    """
    low, high = reliability_range
    # F turns over about 1 / d, so the panels grow in number with the range of x
    node, weight = np.polynomial.legendre.leggauss(NODES)
    edge = np.linspace(low, high, 1 + int(np.ceil((high - low) * reach / PANEL)))
    middle, half = 0.5 * (edge[1:] + edge[:-1]), 0.5 * np.diff(edge)
    nodes = (middle[:, None] + half[:, None] * node).ravel()
    return AveragedLink(link, nodes, np.tile(weight / 2, len(middle)) / len(middle), reach)

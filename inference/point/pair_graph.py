"""Least squares on the graph of compared pairs.

    minimise  sum over pairs of  w_e (d_e - q_first + q_second)^2        normal equations  L q = B (w * d)

B is the incidence matrix, L = B diag(w) B' the weighted Laplacian. Qualities have no origin: they are centred, and their
covariance is the pseudo-inverse of L.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import cg, splu

__all__ = ["PairGraph"]

DENSE = 1500  # items up to which the Laplacian is solved as a full matrix
EXACT = 4000  # items up to which its pseudo-inverse is computed
CG_STEPS, CG_TOLERANCE = 500, 1e-12
PROBES = 64


@dataclass(frozen=True)
class PairGraph:
    """A connected graph whose edges are the pairs.

    Attributes
    ----------
    first, second : ndarray of int64, shape (pair,)
        Codes of the items.
    n_items : int
        How many there are.
    """

    first: np.ndarray
    second: np.ndarray
    n_items: int

    def differences(self, quality: np.ndarray) -> np.ndarray:
        """Return first less second.

        Parameters
        ----------
        quality : ndarray, shape (item,)
            Qualities.

        Returns
        -------
        ndarray, shape (pair,)
            Their differences.
        """
        return quality[self.first] - quality[self.second]

    def sums(self, flow: np.ndarray) -> np.ndarray:
        """Add up what flows into the first items and out of the second.

        Parameters
        ----------
        flow : ndarray, shape (pair,)
            One number for each pair.

        Returns
        -------
        ndarray, shape (item,)
            B flow.
        """
        n = self.n_items
        return np.bincount(self.first, flow, n) - np.bincount(self.second, flow, n)

    def fit(self, distance: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Return the qualities that explain the distances best.

        Parameters
        ----------
        distance, precision : ndarray, shape (pair,)
            Estimates d and their weights w.

        Returns
        -------
        ndarray, shape (item,)
            Qualities; their mean is zero.
        """
        return self.solve(precision, self.sums(precision * distance))

    def solve(self, weight: np.ndarray, balance: np.ndarray) -> np.ndarray:
        """Solve L q = balance.

        Parameters
        ----------
        weight : ndarray, shape (pair,)
            Positive weights.
        balance : ndarray, shape (item,)
            Sums to zero.

        Returns
        -------
        ndarray, shape (item,)
            The solution whose mean is zero.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the weights are so different that the matrix is singular in double precision.
        """
        return _solver(self.laplacian(weight))(balance)

    def laplacian(self, weight: np.ndarray) -> csr_array:
        """Return L.

        Parameters
        ----------
        weight : ndarray, shape (pair,)
            Weights.

        Returns
        -------
        csr_array, shape (item, item)
            Rows sum to zero.
        """
        n = self.n_items
        edges = coo_array((weight, (self.first, self.second)), (n, n))
        joined = (edges + edges.T).tocsr()
        return csr_array(diags_array(joined.sum(axis=1)) - joined)

    def variances(self, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the variances of the centred qualities, the diagonal of the pseudo-inverse of L.

        Parameters
        ----------
        weight : ndarray, shape (pair,)
            Positive weights.
        rng : numpy.random.Generator
            For more than 4,000 items, source of the probes: random signs v, for which v * (pseudo-inverse v) has the diagonal as
            its mean. What two steps of Jacobi's iteration explain is left out of the mean, for its own is known.

        Returns
        -------
        ndarray, shape (item,)
            Variances; with probes they are off by a few thousandths in a well-connected graph.
        """
        n = self.n_items
        laplacian = self.laplacian(weight)
        if n <= EXACT:
            full = laplacian.toarray()
            scale = np.trace(full) / n  # the constant mode gets the scale of the others
            inverse = cho_solve(cho_factor(full + scale / n), np.eye(n))
            return np.diag(inverse) - 1 / (scale * n)
        degree, solve = laplacian.diagonal(), _solver(laplacian)
        joined = diags_array(degree) - laplacian
        total = np.zeros(n)
        for _ in range(PROBES):
            sign = rng.choice([-1.0, 1.0], n)
            explained = sign / degree + joined @ (sign / degree) / degree
            total += sign * (solve(sign) - explained)
        return total / PROBES + 1 / degree


def _solver(laplacian: csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that solves L q = balance, of which the mean is taken off, for q with the mean zero."""
    degree = laplacian.diagonal()
    n = len(degree)
    if n <= DENSE:
        factor = cho_factor(laplacian.toarray()[1:, 1:], overwrite_a=True)
        return lambda balance: _centred(np.r_[0.0, cho_solve(factor, _centred(balance)[1:])])
    jacobi = diags_array(1 / degree)
    eliminated = None

    def solve(balance: np.ndarray) -> np.ndarray:
        nonlocal eliminated
        balance = _centred(balance)
        if eliminated is None:
            quality, stopped = cg(laplacian, balance, rtol=CG_TOLERANCE, maxiter=CG_STEPS, M=jacobi)
            if not stopped:
                return _centred(quality)
            eliminated = splu(
                laplacian[1:, 1:].tocsc()
            )  # long chains: few edges, little to fill in
        return _centred(np.r_[0.0, eliminated.solve(balance[1:])])

    return solve


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()

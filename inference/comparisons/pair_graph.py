"""Weighted least squares on the graph of compared pairs.

    minimise  sum over pairs of  w_e (d_e - q_first + q_second)^2        normal equations  L q = B (w * d)

B is the incidence matrix, L = B diag(w) B' the weighted Laplacian. The origin of the qualities is not
identified: they are centred, and their covariance is the pseudo-inverse of L.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg, splu

from ..._messages import short_repr, warn_user
from ...models.data.comparisons import Comparisons, require_connected
from ...models.data.container import require_container
from ...models.data.errors import DataError, DataWarning
from ...models.data.reading.comparison_tables import TIE


class PairTable(NamedTuple):
    """Wins, losses and ties in cells, one rater's votes on one pair; cells of pair ``e`` are ``start[e]:start[e + 1]``."""

    first: np.ndarray  # (pair,), code of one item; pairs ascend by first, then second
    second: np.ndarray  # (pair,), code of the other, first < second
    start: np.ndarray  # (pair + 1,)
    rater: np.ndarray  # (cell,) int32, ascending within a pair; anonymous raters are rater 0
    wins: np.ndarray  # (cell,) float64, votes for first
    losses: np.ndarray  # (cell,), votes for second
    ties: np.ndarray  # (cell,)
    n_items: int  # with or without votes
    n_raters: int  # 1 if anonymous


def pair_table(pairs: Comparisons) -> PairTable:
    """Group comparisons by pair and rater; both orders of a pair are merged. Warns (DataWarning) of strengths, not read."""
    if pairs.graded:
        warn_user(
            f"the votes say by how much, on a scale of {pairs.strengths} strengths, and this estimator reads who won alone; "
            "models.bradley_terry and models.thurstone read strength, too",
            DataWarning,
        )
    swapped = pairs.left > pairs.right
    first = np.where(swapped, pairs.right, pairs.left).astype(np.int64)
    pair = first * len(pairs.items) + np.where(swapped, pairs.left, pairs.right)
    rater = np.maximum(pairs.annotation_rater, 0)
    # 0 for the first item, 1 for the second, 2 for neither
    outcome = np.where(pairs.outcome == TIE, TIE, pairs.outcome ^ swapped)
    # one key: the sort is by runs, which the rows of a pair are
    key = pair * max(len(pairs.raters), 1) + rater
    order = np.argsort(key, kind="stable") if swapped.any() else slice(None)
    pair, rater, outcome, count = pair[order], rater[order], outcome[order], pairs.count[order]
    new_pair = np.r_[True, pair[1:] != pair[:-1]]
    new_cell = new_pair | np.r_[True, rater[1:] != rater[:-1]]
    cell, opens = np.cumsum(new_cell) - 1, np.flatnonzero(new_cell)
    pair_opens = np.flatnonzero(new_pair[opens])
    first, second = np.divmod(pair[opens[pair_opens]], len(pairs.items))
    wins, losses, ties = (np.bincount(cell, np.where(outcome == o, count, 0), len(opens)) for o in range(3))
    start, n_raters = np.r_[pair_opens, len(opens)], max(len(pairs.raters), 1)
    return PairTable(first, second, start, rater[opens], wins, losses, ties, len(pairs.items), n_raters)


def connected_table(pairs: Comparisons, what: str) -> PairTable:
    """Return the table of comparisons that join all items, or raise; `what` names the estimator that needs it."""
    require_container(pairs, Comparisons)
    require_connected(pairs, what)
    return pair_table(pairs)


DENSE = 1500  # largest number of items with a dense Laplacian
EXACT = 4000  # largest number of items with an exact pseudo-inverse
CG_STEPS, CG_TOLERANCE = 500, 1e-12
PROBES = 64
NAMED = 3  # items named in an error


@dataclass(frozen=True)
class PairGraph:
    """Connected graph with an edge for each compared pair."""

    first: np.ndarray  # (pair,) int64, codes of items
    second: np.ndarray  # (pair,) int64
    n_items: int

    def differences(self, quality: np.ndarray) -> np.ndarray:
        """Return quality of the first item less that of the second: (item,) -> (pair,)."""
        return quality[self.first] - quality[self.second]

    def sums(self, flow: np.ndarray) -> np.ndarray:
        """Return B flow: (pair,) -> (item,), added at the first item, subtracted at the second."""
        n = self.n_items
        return np.bincount(self.first, flow, n) - np.bincount(self.second, flow, n)

    def fit(self, distance: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Return the centred qualities (item,) of least squares, given distances and precisions (pair,)."""
        return self.solve(precision, self.sums(precision * distance))

    def solve(self, weight: np.ndarray, balance: np.ndarray) -> np.ndarray:
        """Solve L q = balance (item,), of sum zero, for centred q; LinAlgError if L is singular in double precision."""
        return _solver(self.laplacian(weight))(balance)

    def laplacian(self, weight: np.ndarray) -> csr_array:
        """Return L, shape (item, item), whose rows sum to zero, for weights (pair,)."""
        n = self.n_items
        edges = coo_array((weight, (self.first, self.second)), (n, n))
        joined = (edges + edges.T).tocsr()
        return csr_array(diags_array(joined.sum(axis=1)) - joined)

    def variances(self, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the variances (item,) of the centred qualities: the diagonal of the pseudo-inverse of L.

        For more than 4,000 items it is estimated with random probes from `rng`: for random signs v the mean
        of v * (pseudo-inverse v) is the diagonal. Two steps of Jacobi's iteration serve as a control variate
        of known mean. The error is then a few thousandths in a well-connected graph.
        """
        n = self.n_items
        laplacian = self.laplacian(weight)
        if n <= EXACT:
            full = laplacian.toarray()
            scale = np.trace(full) / n  # the constant mode gets the scale of the others
            inverse = cho_solve(cho_factor(full + scale / n), np.eye(n))
            return np.diag(inverse) - 1 / (scale * n)
        degree, solve = laplacian.diagonal(), _solver(laplacian)
        joined, total = diags_array(degree) - laplacian, np.zeros(n)
        for _ in range(PROBES):
            sign = rng.choice([-1.0, 1.0], n)
            explained = sign / degree + joined @ (sign / degree) / degree
            total += sign * (solve(sign) - explained)
        return total / PROBES + 1 / degree


def _solver(laplacian: csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves L q = balance for centred q; the balance is centred first."""
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
            # CG is slow on long chains, which have few edges and little fill-in
            eliminated = splu(laplacian[1:, 1:].tocsc())
        return _centred(np.r_[0.0, eliminated.solve(balance[1:])])

    return solve


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def require_maximum(pairs: Comparisons, graph: PairGraph, wins: np.ndarray, losses: np.ndarray) -> None:
    """Raise unless every item is better than every other along some chain of votes."""
    n = graph.n_items
    winner = np.r_[graph.first[wins > 0], graph.second[losses > 0]]
    loser = np.r_[graph.second[wins > 0], graph.first[losses > 0]]
    beats = coo_array((np.ones(len(winner), np.int8), (winner, loser)), (n, n))
    n_groups, group = connected_components(beats.tocsr(), directed=True, connection="strong")
    if n_groups == 1:
        return
    across, sizes, said = group[winner] != group[loser], np.bincount(group), []
    for beaten, verb in ((loser, "never lost to"), (winner, "never won against")):
        alone = np.ones(n_groups, bool)
        alone[group[beaten[across]]] = False
        for g in np.flatnonzero(alone)[:NAMED]:
            names = pairs.items[np.flatnonzero(group == g)[:NAMED]].tolist()
            more = ", ..." if sizes[g] > NAMED else ""
            said.append(f"{', '.join(map(short_repr, names))}{more} {verb} any other")
    raise DataError(
        f"the likelihood has no maximum, for the items fall into {n_groups:,} groups that won and lost only among themselves or "
        f"always against the others: {'; '.join(said)}",
        column="items",
        value=n_groups,
        allowed="every item preferred to every other along some chain of votes",
        remedy="leave these items out by pairs.select(items=...), or use a model with priors (models.bradley_terry)",
        where="comparisons",
    )


def names_of_raters(pairs: Comparisons) -> np.ndarray:
    """Return the names of the raters of a table of votes, (rater,); one if they are anonymous."""
    return pairs.raters if len(pairs.raters) else np.array(["anonymous"])

"""Posterior modes of distances given reliabilities, and the reverse; a tie is half a vote for each item."""

from typing import NamedTuple

import numpy as np

from ...posterior.links import LOGISTIC, PROBIT, Link
from .kernels.modes import (
    GroupedVotes,
    Prior,
    Search,
    complete_modes,
    pair_statistics,
    product_modes,
    rater_statistics,
    shared_cosh,
)
from .pair_graph import PairTable

STEP = 1e-8  # size of the last Newton step, in units of the interval


class Modes(NamedTuple):
    """Posterior modes, and the information in the votes about each; shapes (pair,) or (rater,)."""

    value: np.ndarray
    observed: np.ndarray  # minus the second derivative of the log likelihood at the mode
    expected: np.ndarray  # Fisher information, the expectation of `observed`


def by_pair(table: PairTable) -> GroupedVotes:
    """Group the votes by pair; ties are halves."""
    half = 0.5 * table.ties
    return GroupedVotes(table.start, table.rater, table.wins + half, table.losses + half)


def by_rater(votes: GroupedVotes, n_raters: int) -> GroupedVotes:
    """Regroup votes by rater that are grouped by pair; the cells are the same."""
    order = np.argsort(votes.other, kind="stable")
    pair = np.repeat(np.arange(len(votes.start) - 1), np.diff(votes.start))
    start = np.searchsorted(votes.other[order], np.arange(n_raters + 1))
    return GroupedVotes(start, pair[order], votes.wins[order], votes.losses[order])


class SparseVotes(NamedTuple):
    """Votes in any design, for either link."""

    thurstone: bool  # F is the normal cdf, not the logistic function
    pairs: GroupedVotes
    raters: GroupedVotes

    def distances(self, reliability: np.ndarray, prior: Prior, start: np.ndarray, reach: float) -> Modes:
        """Modes of distances in -reach ... reach given reliability (rater,), Gaussian priors and first guesses (pair,)."""
        search = Search(start, -reach, reach, STEP * reach)
        return Modes(*product_modes(self.thurstone, self.pairs, reliability, prior, search))

    def reliabilities(self, distance: np.ndarray, start: np.ndarray, interval: tuple[float, float]) -> Modes:
        """Modes of reliabilities, uniform on the interval; guesses (rater,) remain where answers say nothing."""
        search = Search(start, *interval, STEP * interval[1])
        return Modes(*product_modes(self.thurstone, self.raters, distance, flat_prior(len(start)), search))


class CompleteVotes(NamedTuple):
    """Bradley-Terry votes of all raters on all pairs, with the same number of votes in every cell."""

    half_margin: np.ndarray  # (pair, rater), half of the votes for the first item less those for the second
    each: float  # votes per cell

    def distances(self, reliability: np.ndarray, prior: Prior, start: np.ndarray, reach: float) -> Modes:
        """Return the posterior modes of the distances, as `SparseVotes.distances`."""
        statistic, shared = pair_statistics(self.half_margin, reliability), shared_cosh(reliability, reach)
        search = Search(start, -reach, reach, STEP * reach)
        mode, information = complete_modes(statistic, self.each, shared, prior, search)
        return Modes(mode, information, information)

    def reliabilities(self, distance: np.ndarray, start: np.ndarray, interval: tuple[float, float]) -> Modes:
        """Return the posterior modes of the reliabilities, as `SparseVotes.reliabilities`."""
        statistic, shared = rater_statistics(self.half_margin, distance), shared_cosh(distance, interval[1])
        search = Search(start, *interval, STEP * interval[1])
        mode, information = complete_modes(statistic, self.each, shared, flat_prior(len(start)), search)
        return Modes(mode, information, information)


def vote_modes(table: PairTable, link: Link) -> SparseVotes | CompleteVotes:
    """Return the votes with methods for their modes, by sufficient statistics if the design is complete."""
    votes = by_pair(table)
    n_pairs, total = len(table.first), votes.wins + votes.losses
    complete = len(table.rater) == n_pairs * table.n_raters and (total == total[0]).all()
    if link == LOGISTIC and complete:
        half_margin = 0.5 * (votes.wins - votes.losses).reshape(n_pairs, table.n_raters)
        return CompleteVotes(half_margin, float(total[0]))
    return SparseVotes(link == PROBIT, votes, by_rater(votes, table.n_raters))


def flat_prior(n: int) -> Prior:
    """Flat prior of n factors."""
    return Prior(np.zeros(n), np.zeros(n))

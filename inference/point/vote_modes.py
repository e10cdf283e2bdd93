"""Most probable distances given reliabilities, and reliabilities given distances, of one set of votes.

A tie counts as half a vote for each item.
"""

from typing import NamedTuple

import numpy as np

from ...models.data.pair_table import PairTable
from ..kernels.complete_votes import (
    complete_modes,
    pair_statistics,
    rater_statistics,
    shared_cosh,
)
from ..kernels.product_mode import GroupedVotes, Prior, Search, product_modes
from .averaged_link import Link

__all__ = ["CompleteVotes", "Modes", "SparseVotes", "by_pair", "by_rater", "vote_modes"]

STEP = 1e-8  # the last Newton step, in units of the interval


class Modes(NamedTuple):
    """Most probable values, and the information in the votes about each.

    Attributes
    ----------
    value, observed, expected : ndarray, shape (pair,) or (rater,)
        The maximum; minus the second derivative of the log likelihood there; its expectation, the Fisher information.
    """

    value: np.ndarray
    observed: np.ndarray
    expected: np.ndarray


def by_pair(table: PairTable) -> GroupedVotes:
    """Group votes by pair.

    Parameters
    ----------
    table : PairTable
        The votes.

    Returns
    -------
    GroupedVotes
        Ties are halves.
    """
    half = 0.5 * table.ties
    return GroupedVotes(table.start, table.rater, table.wins + half, table.losses + half)


def by_rater(votes: GroupedVotes, n_raters: int) -> GroupedVotes:
    """Group by rater what is grouped by pair.

    Parameters
    ----------
    votes : GroupedVotes
        Votes by pair.
    n_raters : int
        Number of raters.

    Returns
    -------
    GroupedVotes
        The same cells.
    """
    order = np.argsort(votes.other, kind="stable")
    pair = np.repeat(np.arange(len(votes.start) - 1), np.diff(votes.start))
    start = np.searchsorted(votes.other[order], np.arange(n_raters + 1))
    return GroupedVotes(start, pair[order], votes.wins[order], votes.losses[order])


class SparseVotes(NamedTuple):
    """Any votes, either link.

    Attributes
    ----------
    thurstone : bool
        Whether F is the normal cdf.
    pairs, raters : GroupedVotes
        The votes by pair and by rater.
    """

    thurstone: bool
    pairs: GroupedVotes
    raters: GroupedVotes

    def distances(
        self, reliability: np.ndarray, prior: Prior, start: np.ndarray, reach: float
    ) -> Modes:
        """Maximise the posterior of every distance.

        Parameters
        ----------
        reliability : ndarray, shape (rater,)
            Given.
        prior : Prior
            Gaussian priors of the distances.
        start : ndarray, shape (pair,)
            First guesses.
        reach : float
            Largest distance.

        Returns
        -------
        Modes
            Of the pairs.
        """
        search = Search(start, -reach, reach, STEP * reach)
        return Modes(*product_modes(self.thurstone, self.pairs, reliability, prior, search))

    def reliabilities(
        self, distance: np.ndarray, start: np.ndarray, interval: tuple[float, float]
    ) -> Modes:
        """Maximise the posterior of every reliability, whose prior is uniform.

        Parameters
        ----------
        distance : ndarray, shape (pair,)
            Given.
        start : ndarray, shape (rater,)
            First guesses; where no answer says anything, they stay.
        interval : tuple of float
            Least and largest reliability.

        Returns
        -------
        Modes
            Of the raters.
        """
        search = Search(start, *interval, STEP * interval[1])
        return Modes(
            *product_modes(self.thurstone, self.raters, distance, _flat(len(start)), search)
        )


class CompleteVotes(NamedTuple):
    """Bradley-Terry votes of all raters on all pairs, equally many in every cell.

    Attributes
    ----------
    half_lead : ndarray, shape (pair, rater)
        Half of the votes for the first item less those for the second.
    each : float
        Votes in a cell.
    """

    half_lead: np.ndarray
    each: float

    def distances(
        self, reliability: np.ndarray, prior: Prior, start: np.ndarray, reach: float
    ) -> Modes:
        """Maximise the posterior of every distance; as `SparseVotes.distances`.

        Parameters
        ----------
        reliability, prior, start, reach
            As there.

        Returns
        -------
        Modes
            Of the pairs.
        """
        linear, shared = (
            pair_statistics(self.half_lead, reliability),
            shared_cosh(reliability, reach),
        )
        search = Search(start, -reach, reach, STEP * reach)
        mode, information = complete_modes(linear, self.each, shared, prior, search)
        return Modes(mode, information, information)

    def reliabilities(
        self, distance: np.ndarray, start: np.ndarray, interval: tuple[float, float]
    ) -> Modes:
        """Maximise the posterior of every reliability; as `SparseVotes.reliabilities`.

        Parameters
        ----------
        distance, start, interval
            As there.

        Returns
        -------
        Modes
            Of the raters.
        """
        linear, shared = (
            rater_statistics(self.half_lead, distance),
            shared_cosh(distance, interval[1]),
        )
        search = Search(start, *interval, STEP * interval[1])
        mode, information = complete_modes(linear, self.each, shared, _flat(len(start)), search)
        return Modes(mode, information, information)


def vote_modes(table: PairTable, link: Link) -> SparseVotes | CompleteVotes:
    """Choose how to maximise: by the sufficient statistic where there is one.

    Parameters
    ----------
    table : PairTable
        The votes.
    link : {"bradley_terry", "thurstone"}
        F.

    Returns
    -------
    SparseVotes or CompleteVotes
        Both find the same maxima.
    """
    votes = by_pair(table)
    n_pairs, total = len(table.first), votes.wins + votes.losses
    complete = len(table.rater) == n_pairs * table.n_raters and (total == total[0]).all()
    if link == "bradley_terry" and complete:
        half_lead = 0.5 * (votes.wins - votes.losses).reshape(n_pairs, table.n_raters)
        return CompleteVotes(half_lead, float(total[0]))
    return SparseVotes(link == "thurstone", votes, by_rater(votes, table.n_raters))


def _flat(n: int) -> Prior:
    return Prior(np.zeros(n), np.zeros(n))

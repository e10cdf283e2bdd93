"""QUITE's iteration: distances of pairs, qualities by weighted least squares, reliabilities of raters.

    d_e    = argmax  sum_k log F(+-rho_k d) - (d - m_e)^2 / (2 s_e)      at most `reach` from zero
    q      = argmin  sum_e (d_e - q_first + q_second)^2 / v_e
    rho_k  = argmax  sum_e log F(+-rho (q_first - q_second))             within the range of reliabilities

I is the Fisher information in the answers about d_e, J the observed information, P = 1 / s_e. The readings:

| variance | v_e | prior | m_e, s_e |
|---|---|---|---|
| fisher | 1 / I | predicted | the difference of the last qualities, about the last v_e |
| laplace | 1 / (J + P) | frozen | d_e and v_e of the first iteration, by the averaged link |
| printed | I / (J + P)^2 | printed | the last d_e and v_e |

The weight 1 / s_e of a predicted prior is the mean of its last value and 1 / v_e. With 1 / v_e itself, which has the same fixed
points, the iteration ends in a cycle of two: a heavy weight moves a distance to where its own weight is light, and back.

The printed prior is made from the very answers that it is then combined with, and the printed variance believes it: P outgrows
the information doubly exponentially, (1, 4, 25, 676, ...) times, until the answers no longer count and the least squares are
singular.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.product_mode import Prior
from .averaged_link import AveragedLink
from .pair_graph import PairGraph
from .vote_modes import CompleteVotes, Modes, SparseVotes

__all__ = ["OUTGROWN", "Degenerate", "Iterate", "Readings", "Start", "climb", "first_distances"]

OUTGROWN = 1000.0  # a prior made from the answers that weighs this many times what they say


class Degenerate(Exception):
    """The priors of the distances have outgrown the answers.

    Parameters
    ----------
    iteration : int
        Where, counted from 1.
    """

    def __init__(self, iteration: int) -> None:
        super().__init__(iteration)
        self.iteration = iteration


class Readings(NamedTuple):
    """What the iteration reads the paper as, and where it looks.

    Attributes
    ----------
    variance, prior : str
        As the module says.
    reliability_range : tuple of float
        Least and largest reliability.
    max_iterations : int
        Most iterations.
    tolerance : float
        Stop when the qualities move less than this, by the paper's rule.
    """

    variance: str
    prior: str
    reliability_range: tuple[float, float]
    max_iterations: int
    tolerance: float


class Start(NamedTuple):
    """Where the iteration starts.

    Attributes
    ----------
    reliability, distance : ndarray, shapes (rater,) and (pair,)
        First guesses.
    prior : Prior
        Priors of the distances.
    known : bool
        Whether the reliabilities are estimates already. If not, the distances are those of the averaged link, with its precisions
        as their weights.
    """

    reliability: np.ndarray
    distance: np.ndarray
    prior: Prior
    known: bool


class Iterate(NamedTuple):
    """Where the iteration is.

    Attributes
    ----------
    quality, reliability : ndarray, shapes (item,) and (rater,)
        Estimates.
    distance, precision : ndarray, shape (pair,)
        Estimated distances, and their weights in the least squares.
    qualities : list of ndarray
        Of all iterations.
    changes : list of float
        Of all iterations: how far the qualities moved, |q - q_before| / (N |q_before|), the statistic of the stop rule (23); NaN
        in the first.
    converged : bool
        Whether the last is below the tolerance.
    """

    quality: np.ndarray
    reliability: np.ndarray
    distance: np.ndarray
    precision: np.ndarray
    qualities: list[np.ndarray]
    changes: list[float]
    converged: bool


def first_distances(
    link: AveragedLink, wins: np.ndarray, losses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate distances by the averaged link, before anything is known of the raters.

    A share of 0 or 1 has no distance, and (27) no variance for it: the shares of M votes are kept between 1 / 2M and 1 - 1 / 2M,
    half a vote from unanimity.

    Parameters
    ----------
    link : AveragedLink
        G.
    wins, losses : ndarray, shape (pair,)
        Votes for the first and for the second item.

    Returns
    -------
    distance, precision : ndarray, shape (pair,)
        Estimates and the inverse of their variances (27).
    """
    votes = wins + losses
    share = np.clip(wins / votes, 0.5 / votes, 1 - 0.5 / votes)
    return link.from_shares(share, votes)


def climb(
    modes: SparseVotes | CompleteVotes,
    graph: PairGraph,
    start: Start,
    readings: Readings,
    reach: float,
) -> Iterate:
    """Iterate.

    Parameters
    ----------
    modes : SparseVotes or CompleteVotes
        What the votes say.
    graph : PairGraph
        Which items they join.
    start : Start
        From where.
    readings : Readings
        How to do it.
    reach : float
        Largest distance.

    Returns
    -------
    Iterate
        The last.

    Raises
    ------
    Degenerate
        If the priors outgrow the answers.
    numpy.linalg.LinAlgError
        If the weights are such that the least squares are singular.
    """
    reliability, distance, prior, known = start
    precision = prior.precision
    qualities: list[np.ndarray] = []
    changes: list[float] = []
    while True:
        if qualities or known:
            found = modes.distances(reliability, prior, distance, reach)
            if readings.variance == "printed":
                _check_weights(found, prior, len(qualities) + 1)
            distance, precision = found.value, _precision(found, prior, readings.variance)
        if not np.isfinite(precision).all() or precision.min() <= 0:
            raise np.linalg.LinAlgError("a weight is zero or infinite")
        quality = graph.fit(distance, precision)
        predicted = graph.differences(quality)
        reliability = modes.reliabilities(predicted, reliability, readings.reliability_range).value
        changes.append(_change(quality, qualities[-1] if qualities else None))
        qualities.append(quality)
        converged = changes[-1] < readings.tolerance
        if converged or len(changes) == readings.max_iterations:
            break
        if readings.prior == "predicted":
            prior = Prior(predicted, 0.5 * (prior.precision + precision))
        elif readings.prior == "printed":
            prior = Prior(distance, precision)
    return Iterate(quality, reliability, distance, precision, qualities, changes, converged)


def _precision(found: Modes, prior: Prior, variance: str) -> np.ndarray:
    """Return the weight of every distance."""
    if variance == "fisher":
        return found.expected
    if variance == "laplace":
        return found.observed + prior.precision
    return (found.observed + prior.precision) ** 2 / found.expected


def _check_weights(found: Modes, prior: Prior, iteration: int) -> None:
    """Raise if the priors of most pairs count for much more than their answers."""
    if np.mean(prior.precision > OUTGROWN * found.expected) > 0.5:
        raise Degenerate(iteration)


def _change(quality: np.ndarray, before: np.ndarray | None) -> float:
    """Return the statistic of the stop rule."""
    if before is None:
        return np.nan
    scale = len(quality) * np.linalg.norm(before)
    return float(np.linalg.norm(quality - before) / scale) if scale > 0 else np.inf

"""Iteration of QUITE: distances of pairs, qualities by weighted least squares, reliabilities of raters.

    d_e    = argmax  sum_k log F(+-rho_k d) - (d - m_e)^2 / (2 s_e)      within -reach ... reach
    q      = argmin  sum_e (d_e - q_first + q_second)^2 / v_e
    rho_k  = argmax  sum_e log F(+-rho (q_first - q_second))             within the range of reliabilities

I is the Fisher information in the answers about d_e, J the observed information, P = 1 / s_e. The readings:

| variance | v_e | prior | m_e, s_e |
|---|---|---|---|
| fisher | 1 / I | predicted | m_e: difference of the last qualities; s_e: from the last v_e |
| laplace | 1 / (J + P) | frozen | d_e and v_e of the first iteration, by the averaged link |
| printed | I / (J + P)^2 | printed | the last d_e and v_e |

The weight 1 / s_e of a predicted prior is the mean of its last value and 1 / v_e. With 1 / v_e itself, which
has the same fixed points, the iteration ends in a cycle of two: a large weight moves a distance to where its
own weight is small, and back.

The printed prior is estimated from the same answers that it is then combined with, and the printed variance
treats it as independent: P outgrows the information doubly exponentially, (1, 4, 25, 676, ...) times, until
the answers no longer count and the least squares are singular.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.product_mode import Prior
from .averaged_link import AveragedLink
from .pair_graph import PairGraph
from .vote_modes import CompleteVotes, Modes, SparseVotes

__all__ = ["OUTGROWN", "Degenerate", "Iterate", "Readings", "Start", "climb", "first_distances"]

OUTGROWN = 1000.0  # largest ratio of prior precision to the information in the answers


class Degenerate(Exception):
    """Error: the priors of the distances have outgrown the answers, in this iteration (from 1)."""

    def __init__(self, iteration: int) -> None:
        super().__init__(iteration)
        self.iteration = iteration


class Readings(NamedTuple):
    """Reading of the paper's formulas (see the module), range of reliabilities and stopping rule."""

    variance: str
    prior: str
    reliability_range: tuple[float, float]
    max_iterations: int
    tolerance: float  # for the statistic of eq. 23  # for the statistic of eq. 23


class Start(NamedTuple):
    """Initial values of the iteration."""

    reliability: np.ndarray  # (rater,)
    distance: np.ndarray  # (pair,)
    prior: Prior  # of the distances
    # reliabilities are estimates; if False, distances and weights come from the averaged link
    known: bool


class Iterate(NamedTuple):
    """State after the last iteration."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,)
    distance: np.ndarray  # (pair,)
    precision: np.ndarray  # (pair,), weights of the least squares
    qualities: list[np.ndarray]  # of every iteration
    # of every iteration: |q - q_before| / (N |q_before|), eq. 23; NaN in the first
    changes: list[float]
    converged: bool


def first_distances(
    link: AveragedLink, wins: np.ndarray, losses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate distances and their precisions (27) by the averaged link, before any reliability is known.

    A share of 0 or 1 has no finite distance and no variance by (27): the shares of M votes are kept between 1
    / 2M and 1 - 1 / 2M, half a vote from unanimity. Shapes: all (pair,).
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
    """Iterate distances, qualities and reliabilities until convergence or the largest number of iterations.

    Raises `Degenerate` if the priors outgrow the answers, LinAlgError if the weights make the least squares
    singular.
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
        # q = argmin  sum_e (d_e - q_first + q_second)^2 / v_e
        quality = graph.fit(distance, precision)
        predicted = graph.differences(quality)
        reliability = modes.reliabilities(predicted, reliability, readings.reliability_range).value
        changes.append(_change(quality, qualities[-1] if qualities else None))
        qualities.append(quality)
        converged = changes[-1] < readings.tolerance
        if converged or len(changes) == readings.max_iterations:
            break
        if readings.prior == "predicted":
            # damped: with the last weight alone the iteration ends in a cycle of two
            prior = Prior(predicted, 0.5 * (prior.precision + precision))
        elif readings.prior == "printed":
            prior = Prior(distance, precision)
    return Iterate(quality, reliability, distance, precision, qualities, changes, converged)


def _precision(found: Modes, prior: Prior, variance: str) -> np.ndarray:
    """Return the weight 1 / v_e of every distance, shape (pair,)."""
    if variance == "fisher":
        return found.expected
    if variance == "laplace":
        return found.observed + prior.precision
    return (found.observed + prior.precision) ** 2 / found.expected


def _check_weights(found: Modes, prior: Prior, iteration: int) -> None:
    """Raise `Degenerate` if the priors of most pairs have far more weight than their answers."""
    if np.mean(prior.precision > OUTGROWN * found.expected) > 0.5:
        raise Degenerate(iteration)


def _change(quality: np.ndarray, before: np.ndarray | None) -> float:
    """Return the statistic of the stopping rule (23)."""
    if before is None:
        return np.nan
    scale = len(quality) * np.linalg.norm(before)
    return float(np.linalg.norm(quality - before) / scale) if scale > 0 else np.inf

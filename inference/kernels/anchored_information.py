"""Information matrix of the coordinates of `anchored_posterior`: answers by the chain rule, plus priors."""

from typing import NamedTuple

import numpy as np

from .anchored_posterior import BOX, LOG, NONE, SHARED, PairPrior, to_natural
from .pair_likelihood import PairCells, add_information, pair_log_p

__all__ = ["Kind", "anchored_information", "n_coordinates", "of_raters"]


class Kind(NamedTuple):
    """Kind of information matrix."""

    observed: bool  # observed information, otherwise expected (Fisher)
    coupled: bool  # keep the cross terms between a scale and the coordinates that it scales


def of_raters(prior: PairPrior) -> int:
    """Return the number of coordinates of raters, 0 where reliability is shared."""
    return 0 if prior.form == SHARED else prior.n_raters


def n_coordinates(prior: PairPrior) -> int:
    """Return the number of coordinates."""
    return prior.n_items + of_raters(prior) + sum(place != NONE for place in prior.at)


def anchored_information(
    theta: np.ndarray,
    cells: PairCells,
    prior: PairPrior,
    kind: Kind,
    spread: tuple[float, float] = (0.0, 0.0),
) -> np.ndarray:
    """Return minus the Hessian of the log posterior, or its expectation over answers.

    Shapes: theta (coordinate,); result (coordinate, coordinate), symmetric. `spread` holds the traces of the
    covariances of qualities and rater coordinates about their means, part of the expected squares behind the
    scales.
    """
    n, k = prior.n_items, prior.n_raters
    natural, slopes = (np.empty(n), np.empty(k)), (np.zeros(n), np.zeros(k))
    bias, tie = to_natural(theta, prior, natural)
    # slopes enter the observed information alone: their expectation is zero
    if kind.observed:
        pair_log_p(cells, natural, (bias, tie), slopes)
    raw = np.zeros((n + k + 2, n + k + 2))
    add_information(cells, natural, (bias, tie), kind.observed, raw)
    # indices of the free coordinates: in theta (own), and in the raw matrix (there)
    own = np.r_[np.arange(n + of_raters(prior)), [p for p in prior.at[2:] if p != NONE]].astype(int)
    there = np.r_[: n + of_raters(prior), [n + k + m for m in (0, 1) if prior.at[2 + m] != NONE]]
    there = there.astype(int)
    slope, bend = _chain_rule(prior, natural, slopes)
    # J' I J + diag(bend); d tie / d log tie = tie
    scale = np.r_[slope, 1.0, tie][there]
    raw = raw[np.ix_(there, there)] * scale[:, None] * scale
    raw[np.diag_indices(len(bend))] += bend
    # rater coordinates enter as r_k - mean r
    if prior.form not in (SHARED, BOX):
        raters = slice(n, n + k)
        raw[raters] -= raw[raters].mean(axis=0)
        raw[:, raters] -= raw[:, raters].mean(axis=1, keepdims=True)
    information = np.zeros((len(theta), len(theta)))
    information[np.ix_(own, own)] = raw
    _add_priors(information, theta, prior, kind.coupled, spread)
    return information


def _chain_rule(
    prior: PairPrior, natural: tuple[np.ndarray, np.ndarray], slopes: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian of qualities and reliabilities, and the diagonal of the second-order terms.

    Shapes: Jacobian (item + rater,), diagonal; second-order terms (item + coordinate of raters,).
    """
    (quality, rho), (of_quality, of_rho) = natural, slopes
    n, k = prior.n_items, prior.n_raters
    slope, bend = np.ones(n + k), np.zeros(n + of_raters(prior))
    if prior.form == LOG:
        # rho = e^r: its first and second derivatives are rho
        slope[n:] = rho
        bend[n:] = -of_rho * rho
    if prior.form == BOX:
        width = prior.high - prior.low
        share = np.r_[quality, (rho - prior.low) / width]
        # F' = F (1 - F), F'' = F' (1 - 2 F)
        density = share * (1 - share)
        slope = density * np.r_[np.ones(n), np.full(k, width)]
        # the uniform prior, as a logistic law of the coordinate, has the information 2 share (1 - share)
        bend = 2 * density - np.r_[of_quality, of_rho] * slope * (1 - 2 * share)
    return slope, bend


def _add_priors(
    information: np.ndarray,
    theta: np.ndarray,
    prior: PairPrior,
    coupled: bool,
    spread: tuple[float, float],
) -> None:
    """Add the information in the priors, in place."""
    blocks = (
        (0, prior.n_items, prior.quality_scale),
        (prior.n_items, of_raters(prior), prior.reliability_scale),
    )
    for place, (low, size, (mean, sd)), trace in zip(prior.at[:2], blocks, spread, strict=True):
        if prior.form == BOX or not size:
            continue
        own = slice(low, low + size)
        precision = np.exp(-2 * (theta[place] if place != NONE else mean))
        # precision (I - 1 1' / n) + 1 1' / n
        information[own, own] += precision * np.eye(size) + (1 - precision) / size
        if place != NONE:
            deviation = theta[own] - theta[own].mean()
            squares = deviation @ deviation + trace
            # -d2 / dtau2 of -S e^(-2 tau) / 2 - (n - 1) tau, and the Normal prior of tau
            information[place, place] += 2 * squares * precision + 1 / sd**2
            if coupled:
                information[own, place] = information[place, own] = -2 * deviation * precision
    for place, (_, sd) in zip(prior.at[2:], (prior.left_bias, prior.tie), strict=True):
        if place != NONE:
            information[place, place] += 1 / sd**2

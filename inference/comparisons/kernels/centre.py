"""Laplace approximation of the posterior of comparisons: centre, information matrix, second mode.

Qualities, reliabilities, left bias and tie are maximised by damped Fisher scoring; the two scales by EM steps,

    0 = (S + tr Sigma) e^(-2 tau) - (N - 1) - (tau - m) / s^2,      S = |q - mean q|^2,  Sigma their covariance,

because at the joint mode of qualities and their scale all qualities may be equal. At the centre the observed
information replaces the expected one.
"""

from itertools import product, starmap
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ....models.distributions.paired_comparisons_kernels import THRESHOLD, THURSTONE
from .hmc import Laplace, mirror
from .likelihood import PairCells
from .posterior import (
    BOX,
    LOG,
    NONE,
    SHARED,
    InformationKind,
    PairPrior,
    anchored_density,
    anchored_information,
    n_coordinates,
    n_rater_coordinates,
    to_natural,
)

PROBIT = 1.7  # logit(Phi(x)) is nearly 1.7 x
ITERATIONS = 200
DECREMENT = 1e-5  # nats; stop when the next step is predicted to gain less
SCALE_STEP = 1e-3
LARGEST_DAMPING = 1e9
MAX_EVIDENCE_GAP = 7.0  # nats; largest difference in log evidence of a second mode
OPEN_SHARE = 0.1  # a scale is open if a larger share of the squares behind it is posterior variance
MAX_PRIOR_SDS = 2.0  # prior sds between a scale and its prior mean, at most: with few votes EM diverges


class LaplaceFit(NamedTuple):
    """Laplace approximation of a posterior, with diagnostics."""

    laplace: Laplace  # centre, Cholesky factor of the information, its inverse
    kind: InformationKind  # observed and coupled, unless that is not positive definite
    iterations: int  # of the maximisation
    open_scales: bool  # whether a scale is poorly identified (see OPEN_SHARE)
    second_mode: Laplace | None  # of similar evidence, found from the mirror image of the first


def fit_laplace(cells: PairCells, prior: PairPrior) -> LaplaceFit:
    """Return the Laplace approximation, in the coordinates of `anchored_log_p`."""
    with threadpool_limits(limits=1):  # threads do not pay for a few hundred rows
        centre, evidence = _fit_from(_start(cells, prior), cells, prior)
        if prior.form in (SHARED, BOX):  # no mirror image in these forms
            return centre
        image = np.empty(len(centre.laplace.centre))
        mirror.py_func(prior, centre.laplace.centre, image)  # once, in Python: not worth compiling
        other, its_evidence = _fit_from(image, cells, prior)
    # Mahalanobis distance: below one it is the same mode
    apart = centre.laplace.factor.T @ (other.laplace.centre - centre.laplace.centre)
    if abs(its_evidence - evidence) > MAX_EVIDENCE_GAP or apart @ apart < 1.0:
        return centre
    if its_evidence > evidence:
        centre, other = other, centre
    return centre._replace(second_mode=other.laplace)


def _fit_from(start: np.ndarray, cells: PairCells, prior: PairPrior) -> tuple[LaplaceFit, float]:
    """Maximise from `start`; return the Laplace approximation and its log evidence."""
    theta, spread, iterations = _maximise(start, cells, prior)
    for kind in starmap(InformationKind, product((True, False), repeat=2)):
        information = anchored_information(theta, cells, prior, kind, spread)
        try:
            factor = np.ascontiguousarray(np.linalg.cholesky(information))
        except np.linalg.LinAlgError:
            continue
        laplace = Laplace(theta, factor, np.ascontiguousarray(np.linalg.inv(factor)))
        evidence = anchored_density(theta, cells, prior, np.empty(len(theta)))
        evidence -= np.log(np.diag(factor)).sum()  # log p(centre) - log det L, up to a constant
        return LaplaceFit(laplace, kind, iterations, _has_open_scale(theta, prior, spread), None), evidence
    raise ValueError("the information in the answers and the prior is not positive definite")


def _start(cells: PairCells, prior: PairPrior) -> np.ndarray:
    """Return starting coordinates: weighted least squares of pooled empirical logits."""
    if prior.form == BOX:
        return _start_in_box(cells, prior)
    wins, losses = (
        np.add.reduceat(x + 0.5 * cells.ties, cells.start[:-1], dtype=float) + 0.5
        for x in (cells.wins, cells.losses)
    )
    weight = wins * losses / (wins + losses)
    normal = cells.law.code in (THURSTONE, THRESHOLD)
    # inverse-variance weights; normal equations (laplacian) q = pull
    logit = np.log(wins / losses) / (PROBIT if normal else 1.0)
    n = prior.n_items
    laplacian, pull = np.eye(n) * np.exp(-2 * prior.quality_scale[0]), np.zeros(n)
    for i, j, sign in (
        (cells.first, cells.first, 1), (cells.second, cells.second, 1),
        (cells.first, cells.second, -1), (cells.second, cells.first, -1),
    ):  # fmt: skip
        np.add.at(laplacian, (i, j), sign * weight)
    np.add.at(pull, cells.first, weight * logit)
    np.add.at(pull, cells.second, -weight * logit)
    theta = np.zeros(n_coordinates(prior))
    theta[:n] = np.linalg.solve(laplacian, pull)
    theta[:n] -= theta[:n].mean()
    laws = (prior.quality_scale, prior.reliability_scale, prior.left_bias, prior.tie)
    for place, law in zip(prior.at, laws, strict=True):
        if place != NONE:
            theta[place] = law[0]
    theta[len(theta) - prior.effect.shape[1] :] = prior.effect[0]
    return theta


def _start_in_box(cells: PairCells, prior: PairPrior) -> np.ndarray:
    """Map the centre of the model without a box into the box; other starts may end in a lower mode."""
    n, k = prior.n_items, prior.n_raters
    rest = [place for place in prior.at[2:] if place != NONE]
    # this model has two scales more, so bias and tie are two places further on
    at = (n + k, n + k + 1, *(p + 2 if p != NONE else NONE for p in prior.at[2:]))
    free = prior._replace(form=LOG, at=at, quality_scale=(0.0, 1.0), reliability_scale=(0.0, 1.0))
    theta = _maximise(_start(cells, free), cells, free)[0]
    quality, rho = np.empty(n), np.empty(k)
    to_natural(theta, free, (quality, rho, np.empty(prior.effect.shape[1])))
    width = prior.high - prior.low
    scale = np.ptp(quality) / 0.97 or 1.0  # 1 if all qualities are equal
    inside = 0.5 + (quality - (quality.max() + quality.min()) / 2) / scale
    share = np.clip((rho * scale - prior.low) / width, 0.02, 0.98)
    own = [np.log(p / (1 - p)) for p in (inside, share)]
    return np.concatenate([*own, theta[[p + 2 for p in rest]], theta[len(theta) - prior.effect.shape[1] :]])


def _has_open_scale(theta: np.ndarray, prior: PairPrior, spread: tuple[float, float]) -> bool:
    """Return whether posterior variance is more than the share `OPEN_SHARE` of the squares behind a scale."""
    spans = ((0, prior.n_items), (prior.n_items, prior.n_raters))
    for place, (low, size), trace in zip(prior.at[:2], spans, spread, strict=True):
        if place != NONE:
            squares = size * theta[low : low + size].var()
            if trace > OPEN_SHARE * (trace + squares):
                return True
    return False


def _maximise(
    theta: np.ndarray, cells: PairCells, prior: PairPrior
) -> tuple[np.ndarray, tuple[float, float], int]:
    """Return the centre, the traces of the covariances of q and r, and the number of iterations."""
    free = np.ones(len(theta), bool)
    free[[place for place in prior.at[:2] if place != NONE]] = False
    gradient, spread, damping = np.empty(len(theta)), (0.0, 0.0), 1e-3
    value = anchored_density(theta, cells, prior, gradient)
    iterations, gain, moved = 0, np.inf, np.inf
    while (gain >= DECREMENT or moved >= SCALE_STEP) and iterations < ITERATIONS:
        iterations += 1
        information = anchored_information(theta, cells, prior, InformationKind(False, False), spread)
        information = information[np.ix_(free, free)]
        theta, value, gain, damping = _step(
            (theta, value, gradient), information, free, (cells, prior), damping
        )
        spread = _traces(information, prior)
        theta, moved = _scale_steps(theta, prior, spread)
        value = anchored_density(theta, cells, prior, gradient)
    return theta, spread, iterations


def _step(
    state: tuple[np.ndarray, float, np.ndarray],
    information: np.ndarray,
    free: np.ndarray,
    model: tuple[PairCells, PairPrior],
    damping: float,
) -> tuple[np.ndarray, float, float, float]:
    """Take one damped step that does not lower log p; return point, log p, predicted gain, next damping."""
    theta, value, gradient = state
    slope, trial_gradient = gradient[free], np.empty(len(theta))
    diagonal = np.diag(information)
    while damping < LARGEST_DAMPING:
        try:
            # Levenberg-Marquardt: (I + damping diag I) step = gradient
            step = np.linalg.solve(information + np.diag(damping * diagonal), slope)
        except np.linalg.LinAlgError:
            damping = max(8 * damping, 1e-8)
            continue
        trial = theta.copy()
        trial[free] += step
        log_p = anchored_density(trial, *model, trial_gradient)
        if log_p > value - 1e-7:
            return trial, log_p, float(slope @ step), max(damping / 10, 1e-12)
        damping = max(8 * damping, 1e-8)
    return theta, value, 0.0, 1e-3


def _traces(information: np.ndarray, prior: PairPrior) -> tuple[float, float]:
    """Return the traces of the covariances of qualities and rater coordinates about their means."""
    if prior.form == BOX:
        return 0.0, 0.0
    covariance = np.linalg.inv(information)
    n, k = prior.n_items, n_rater_coordinates(prior)
    blocks = (covariance[:n, :n], covariance[n : n + k, n : n + k])
    traces = [float(np.trace(b) - b.sum() / len(b)) if len(b) else 0.0 for b in blocks]
    return traces[0], traces[1]


def _scale_steps(
    theta: np.ndarray, prior: PairPrior, spread: tuple[float, float]
) -> tuple[np.ndarray, float]:
    """Take the EM steps of tau and lam; return the coordinates and the longest step."""
    theta, longest = theta.copy(), 0.0
    n, k = prior.n_items, prior.n_raters
    own = ((0, n, prior.quality_scale), (n, k, prior.reliability_scale))
    for place, (low, size, (mean, sd)), trace in zip(prior.at[:2], own, spread, strict=True):
        if place == NONE:
            continue
        squares = size * theta[low : low + size].var() + trace
        t = float(theta[place])
        low_end, high_end = mean - MAX_PRIOR_SDS * sd, mean + MAX_PRIOR_SDS * sd
        for _ in range(50):
            pull = squares * np.exp(-2 * t)
            # (S + tr Sigma) e^(-2 t) - (n - 1) - (t - m) / s^2 = 0, by Newton
            slope = pull - (size - 1) - (t - mean) / sd**2
            step = min(max(slope / (2 * pull + 1 / sd**2), -1.0), 1.0)
            before, t = t, min(max(t + step, low_end), high_end)
            if t == before:
                break
        longest = max(longest, abs(t - theta[place]))
        theta[place] = t
    return theta, longest

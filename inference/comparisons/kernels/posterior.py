"""Log posterior of qualities and reliabilities, in coordinates that fix their common scale.

Answers determine only the products rho_k (q_i - q_j), which q -> c q + m, rho -> rho / c leave unchanged. The
coordinates are

    LOG      rho_k = exp(r_k - mean r)         geometric mean one
    SIGNED   rho_k = 1 + r_k - mean r          arithmetic mean one; raters below zero prefer the worse
    SHARED   rho_k = 1                         no coordinate
    BOX      rho_k = low + (high - low) F(r_k),  q_i = F(v_i), both uniform

with F the logistic function and, except in the box,

    q - mean q | tau ~ ZeroSumNormal(e^tau),     r - mean r | lam ~ ZeroSumNormal(e^lam),
    tau, lam ~ Normal, or known.

The means of q and r do not enter the likelihood. The root of their number times each mean is Normal(0, 1),
and the means are dropped from the draws: every coordinate is unconstrained. The left bias, the log of the
tie parameter and the effects of covariates of votes follow, if any.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import FAST, copy_into, mean_of
from .likelihood import PairCells, add_information, pair_log_p

SHARED, LOG, SIGNED, BOX = range(4)
NONE = -1  # place of a coordinate that a model does not have


class PairPrior(NamedTuple):
    """Priors, and the places of the coordinates."""

    n_items: int  # the first coordinates are those of the items
    n_raters: int  # then come those of the raters, unless form is SHARED
    form: int  # SHARED, LOG, SIGNED or BOX
    at: tuple[int, int, int, int]  # places of tau, lam, left bias, log tie, or NONE
    # mean and sd of tau; without a place, mean is its known value
    quality_scale: tuple[float, float]
    reliability_scale: tuple[float, float]  # mean and sd of lam, likewise
    left_bias: tuple[float, float]  # mean and sd
    tie: tuple[float, float]  # mean and sd of the log
    low: float  # reliabilities in a box
    high: float  # reliabilities in a box
    # mean and sd of the effects of covariates (2, covariate): the last coordinates
    effect: np.ndarray = np.empty((2, 0))


@inner_njit(**FAST)
def _logistic(x):
    return 1.0 / (1.0 + math.exp(-x))


@inner_njit(**FAST)
def _log_logistic_density(x):
    """Return the log density of the standard logistic law, log F'(x)."""
    return -abs(x) - 2.0 * math.log1p(math.exp(-abs(x)))


@cached_njit(nogil=True, **FAST)
def to_natural(
    theta: np.ndarray, prior: PairPrior, natural: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """Overwrite natural: quality (item,), reliability (rater,), effects (covariate,) at theta.

    Returns left bias and tie parameter (or 0 and 1).
    """
    (quality, rho, effect), n = natural, prior.n_items
    copy_into(effect, theta[len(theta) - len(effect) :])
    if prior.form == BOX:
        for i in range(n):
            quality[i] = _logistic(theta[i])
    else:
        mean = mean_of(theta[:n])
        for i in range(n):
            quality[i] = theta[i] - mean
    if prior.form == SHARED:
        rho[:] = 1.0
    elif prior.form == BOX:
        for k in range(prior.n_raters):
            rho[k] = prior.low + (prior.high - prior.low) * _logistic(theta[n + k])
    else:
        mean = mean_of(theta[n : n + prior.n_raters])
        for k in range(prior.n_raters):
            r = theta[n + k] - mean
            rho[k] = math.exp(r) if prior.form == LOG else 1.0 + r
    bias = theta[prior.at[2]] if prior.at[2] != NONE else 0.0
    return bias, math.exp(theta[prior.at[3]]) if prior.at[3] != NONE else 1.0


@inner_njit(**FAST)
def _normal_prior(theta, gradient, place, law):
    """Add the gradient of a Normal log density at one coordinate; return the density up to a constant."""
    if place == NONE:
        return 0.0
    z = (theta[place] - law[0]) / law[1]
    gradient[place] -= z / law[1]
    return -0.5 * z * z


@inner_njit(**FAST)
def _zero_sum_prior(theta, gradient, span, scale):
    """Add the gradient of a ZeroSumNormal on deviations and a Normal on their mean; return the log density.

    `span` is (first coordinate, number); `scale` is (place of the log scale or NONE, its value if known).
    """
    (low, n), (place, known) = span, scale
    log_scale = theta[place] if place != NONE else known
    precision = math.exp(-2.0 * log_scale)
    mean, squares = mean_of(theta[low : low + n]), 0.0
    for i in range(low, low + n):
        deviation = theta[i] - mean
        squares += deviation * deviation
        gradient[i] -= deviation * precision + mean
    if place != NONE:
        gradient[place] += squares * precision - (n - 1)
    # -S e^(-2 tau) / 2 - (n - 1) tau - n mean^2 / 2
    return -0.5 * squares * precision - (n - 1) * log_scale - 0.5 * n * mean * mean


@inner_njit(**FAST)
def anchored_log_p(theta: np.ndarray, cells: PairCells, prior: PairPrior, gradient: np.ndarray) -> float:
    """Return the log posterior density of theta (coordinate,), up to a constant; overwrite its gradient (coordinate,)."""
    n, k = prior.n_items, prior.n_raters
    n_effects = prior.effect.shape[1]
    natural = (np.empty(n), np.empty(k), np.empty(n_effects))
    slopes = (np.empty(n), np.empty(k), np.empty(n_effects))
    bias, tie = to_natural(theta, prior, natural)
    log_p, of_bias, of_tie = pair_log_p(cells, natural, (bias, tie), slopes)
    (quality, rho, _), (of_quality, of_rho, of_effect) = natural, slopes
    gradient[:] = 0.0
    if prior.form == BOX:
        for i in range(n):
            # dq / dv = q (1 - q); the logistic density of v has slope 1 - 2 q
            q = quality[i]
            gradient[i] = of_quality[i] * q * (1.0 - q) + 1.0 - 2.0 * q
            log_p += _log_logistic_density(theta[i])
        width = prior.high - prior.low
        for r in range(k):
            p = (rho[r] - prior.low) / width
            gradient[n + r] = of_rho[r] * width * p * (1.0 - p) + 1.0 - 2.0 * p
            log_p += _log_logistic_density(theta[n + r])
    else:
        copy_into(gradient, of_quality)  # sums to zero: the mean drops out
        log_p += _zero_sum_prior(theta, gradient, (np.int64(0), n), (prior.at[0], prior.quality_scale[0]))
        if prior.form != SHARED:
            if prior.form == LOG:
                # d / dr = rho d / drho
                for r in range(k):
                    of_rho[r] *= rho[r]
            mean = mean_of(of_rho)
            for r in range(k):
                gradient[n + r] = of_rho[r] - mean
            log_p += _zero_sum_prior(theta, gradient, (n, k), (prior.at[1], prior.reliability_scale[0]))
        log_p += _normal_prior(theta, gradient, prior.at[0], prior.quality_scale)
        log_p += _normal_prior(theta, gradient, prior.at[1], prior.reliability_scale)
    if prior.at[2] != NONE:
        gradient[prior.at[2]] += of_bias
        log_p += _normal_prior(theta, gradient, prior.at[2], prior.left_bias)
    if prior.at[3] != NONE:
        gradient[prior.at[3]] += of_tie * tie  # d / dlog tie = tie d / dtie
        log_p += _normal_prior(theta, gradient, prior.at[3], prior.tie)
    first = len(theta) - n_effects
    for p in range(n_effects):
        gradient[first + p] += of_effect[p]
        log_p += _normal_prior(theta, gradient, first + p, (prior.effect[0, p], prior.effect[1, p]))
    return log_p


# --- Information matrix of the coordinates of `anchored_log_p`: answers by the chain rule, plus priors ---


class InformationKind(NamedTuple):
    """Kind of information matrix."""

    observed: bool  # observed information, otherwise expected (Fisher)
    coupled: bool  # keep the cross terms between a scale and the coordinates that it scales


def n_rater_coordinates(prior: PairPrior) -> int:
    """Return the number of coordinates of raters, 0 where reliability is shared."""
    return 0 if prior.form == SHARED else prior.n_raters


def n_coordinates(prior: PairPrior) -> int:
    """Return the number of coordinates."""
    own = sum(place != NONE for place in prior.at) + prior.effect.shape[1]
    return prior.n_items + n_rater_coordinates(prior) + own


class NaturalInformation(NamedTuple):
    """Arrays for the information about quality (item,), reliability (rater,), bias, tie parameter and effects (covariate,)."""

    natural: tuple[np.ndarray, np.ndarray, np.ndarray]  # overwritten with quality, reliability and effects
    # overwritten, if observed, with the slopes of the log likelihood in these
    slopes: tuple[np.ndarray, np.ndarray, np.ndarray]
    information: np.ndarray  # added to, see `add_information`; empty if it is not wanted


@inner_njit(**FAST)
def _add_natural_information(theta, cells, prior, observed, wanted):
    """Fill a `NaturalInformation`; return the tie parameter."""
    natural, slopes, information = wanted
    shared = to_natural(theta, prior, natural)
    if observed:
        pair_log_p(cells, natural, shared, slopes)
    add_information(cells, natural, shared, observed, information)
    return shared[1]


@cached_njit(nogil=True, **FAST)
def _pass_over_answers(theta, cells, prior, gradient, observed, wanted):
    """Fill a `NaturalInformation` and return the tie parameter, or without one fill the gradient and return log p.

    One function of both, as each that Python calls would compile the passes over the answers again.
    """
    if len(wanted.information) > 0:
        return _add_natural_information(theta, cells, prior, observed, wanted)
    return anchored_log_p(theta, cells, prior, gradient)


_EMPTY = (np.empty(0), np.empty(0), np.empty(0))
NONE_WANTED = NaturalInformation(_EMPTY, _EMPTY, np.empty((0, 0)))


def anchored_density(theta: np.ndarray, cells: PairCells, prior: PairPrior, gradient: np.ndarray) -> float:
    """Return `anchored_log_p`, called from Python."""
    return _pass_over_answers(theta, cells, prior, gradient, False, NONE_WANTED)


def anchored_information(
    theta: np.ndarray,
    cells: PairCells,
    prior: PairPrior,
    kind: InformationKind,
    spread: tuple[float, float] = (0.0, 0.0),
) -> np.ndarray:
    """Return minus the Hessian of the log posterior, or its expectation over answers.

    Shapes: theta (coordinate,); result (coordinate, coordinate), symmetric. `spread` holds the traces of the
    covariances of qualities and rater coordinates about their means, for expected squares behind the scales.
    """
    n, k = prior.n_items, prior.n_raters
    sizes = (n, k, prior.effect.shape[1])
    natural, slopes = ((np.zeros(n), np.zeros(k), np.zeros(sizes[2])) for _ in range(2))
    raw = np.zeros((sum(sizes) + 2, sum(sizes) + 2))
    wanted = NaturalInformation(natural, slopes, raw)
    # slopes enter the observed information alone: their expectation is zero
    tie = _pass_over_answers(theta, cells, prior, np.empty(0), bool(kind.observed), wanted)
    # indices of the free coordinates: in theta (own), and in the raw matrix (there)
    effects = np.arange(prior.effect.shape[1])
    shared = [p for p in prior.at[2:] if p != NONE]
    own = np.r_[: n + n_rater_coordinates(prior), shared, len(theta) - len(effects) + effects].astype(int)
    shared = [n + k + m for m in (0, 1) if prior.at[2 + m] != NONE]
    there = np.r_[: n + n_rater_coordinates(prior), shared, n + k + 2 + effects].astype(int)
    slope, bend = _chain_rule(prior, natural, slopes)
    # J' I J + diag(bend); d tie / d log tie = tie
    scale = np.r_[slope, 1.0, tie, np.ones(len(effects))][there]
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
    prior: PairPrior, natural: tuple[np.ndarray, ...], slopes: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian of qualities and reliabilities (item + rater,), diagonal, and the second-order terms, diagonal."""
    (quality, rho, _), (of_quality, of_rho, _) = natural, slopes
    n, k = prior.n_items, prior.n_raters
    slope, bend = np.ones(n + k), np.zeros(n + n_rater_coordinates(prior))
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
    information: np.ndarray, theta: np.ndarray, prior: PairPrior, coupled: bool, spread: tuple[float, float]
) -> None:
    """Add the information in the priors, in place."""
    blocks = (
        (0, prior.n_items, prior.quality_scale),
        (prior.n_items, n_rater_coordinates(prior), prior.reliability_scale),
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
    effects = len(theta) - prior.effect.shape[1] + np.arange(prior.effect.shape[1])
    information[effects, effects] += 1 / prior.effect[1] ** 2

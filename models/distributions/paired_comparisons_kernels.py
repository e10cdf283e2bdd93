"""One pass over all comparisons: log likelihood of every annotation and its slopes.

    x_a = rho_k (q_left - q_right) + b_k             rater k of annotation a

====================  ======================================================================
law                   p(first), p(second), p(tie)
====================  ======================================================================
BRADLEY_TERRY         F(x), F(-x)                   with F(x) = 1 / (1 + e^-x)
DAVIDSON ties         e^(x/2) / D, e^(-x/2) / D, nu / D   with D the sum of the numerators
THURSTONE (case V)    Phi(x), Phi(-x)
THRESHOLD ties        Phi(x - t), Phi(-x - t), the rest
====================  ======================================================================

The answers of one rater on one pair are counts: a for the first, b for the second, c ties. Each law has two functions
without branches, so that loops vectorise, and exact in the far tails, by erfcx or powers of e^-|x|:

``counts(x, a, b, c, tie) -> (log_p, slope, tie_slope)``: log likelihood without the multinomial coefficient,
and its derivatives with respect to x and to the tie parameter (nu or t);
``information(x, tie) -> (xx, x_tie, tie_tie)``: Fisher information in one answer.

The gradient takes two passes: `log_p` leaves the slopes of every annotation in x and in the tie parameter, `gradient`
sums them by item and rater. References: see `PairedVotes`.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from ...posterior.links import LOGISTIC, PROBIT, require_link
from .compiling import cached_njit, inner_njit
from .vector_math import EXACT, erfcx, exp, log


@inner_njit(**EXACT)
def _logistic_parts(x):
    """Return F(x), F(-x) and e^-|x|."""
    t = exp(-abs(x))
    likely = 1.0 / (1.0 + t)
    unlikely = t * likely
    return (likely if x > 0.0 else unlikely), (unlikely if x > 0.0 else likely), t


@inner_njit(**EXACT)
def logistic_counts(x, a, b, c, tie):
    """Bradley-Terry: log likelihood of counts and its slopes."""
    p, q, t = _logistic_parts(x)
    # log F(x) = min(x, 0) - log(1 + e^-|x|); slope a F(-x) - b F(x)
    return a * min(x, 0.0) - b * max(x, 0.0) - (a + b) * log_1p(t), a * q - b * p, 0.0


@inner_njit(**EXACT)
def log_1p(t):
    """Return log(1 + t) for 0 <= t <= 1 as 2 artanh(t / (2 + t)); exact for the smallest t."""
    s = t / (2.0 + t)
    z = s * s
    p = 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return 2.0 * s * p


@inner_njit(**EXACT)
def logistic_information(x, tie):
    """Bradley-Terry: Fisher information F(x) F(-x)."""
    p, q, _ = _logistic_parts(x)
    return p * q, 0.0, 0.0


@inner_njit(**EXACT)
def logistic_score(x, a, b):
    """Bradley-Terry: derivative, minus second derivative and Fisher information of a log F(x) + b log F(-x).

    The last two are equal.
    """
    p, q, _ = _logistic_parts(x)
    information = (a + b) * p * q
    return a * q - b * p, information, information


@inner_njit(**EXACT)
def _davidson_parts(x, tie):
    """Return p(first), p(second), p(tie) / nu, and D e^(-|x| / 2)."""
    e = exp(-0.5 * abs(x))
    d = 1.0 + e * e + tie * e
    likely, unlikely = 1.0 / d, e * e / d
    return (likely if x > 0.0 else unlikely), (unlikely if x > 0.0 else likely), e / d, d


@inner_njit(**EXACT)
def davidson_counts(x, a, b, c, tie):
    """Davidson: log likelihood of counts and its slopes."""
    p, q, share, d = _davidson_parts(x, tie)
    # Davidson (1970), equation 2.1, numerators and D multiplied by e^(-|x| / 2)
    n, half = a + b + c, 0.5 * tie * share
    linear = a * min(x, 0.0) - b * max(x, 0.0) + c * (log(tie) - 0.5 * abs(x))
    slope = a * (q + half) - b * (p + half) - 0.5 * c * (p - q)
    return linear - n * log(d), slope, c / tie - n * share


@inner_njit(**EXACT)
def davidson_information(x, tie):
    """Davidson: Fisher information in x and nu.

    With P the three probabilities: P1 P2 + P3 (1 - P3) / 4, -(P1 - P2) P3 / 2 nu, and P3 (1 - P3) / nu^2.
    """
    p, q, share, _ = _davidson_parts(x, tie)
    return p * q + 0.25 * tie * share * (p + q), -0.5 * (p - q) * share, share * (p + q) / tie


# --- Normal likelihoods of one comparison: Thurstone, threshold ties ---

SQRT_HALF, DENSITY_AT_0 = 0.7071067811865476, 0.3989422804014327


@inner_njit(**EXACT)
def _normal_parts(x):
    """Return Phi(-|x|) e^(x^2 / 2), Phi(|x|), and the slopes phi / Phi at -|x| and at |x|."""
    u = abs(x)
    bell = exp(-0.5 * u * u)
    tail = 0.5 * erfcx(u * SQRT_HALF)
    body = 1.0 - tail * bell
    return tail, body, DENSITY_AT_0 / tail, DENSITY_AT_0 * bell / body


@inner_njit(**EXACT)
def normal_counts(x, a, b, c, tie):
    """Thurstone: log likelihood of counts and its slopes."""
    tail, body, steep, flat = _normal_parts(x)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    slope = likely * flat - unlikely * steep
    log_p = likely * log(body) + unlikely * (log(tail) - 0.5 * x * x)
    return log_p, (slope if x > 0.0 else -slope), 0.0


@inner_njit(**EXACT)
def normal_information(x, tie):
    """Thurstone: Fisher information phi^2 / (Phi (1 - Phi)), the product of the two slopes."""
    _, _, steep, flat = _normal_parts(x)
    return steep * flat, 0.0, 0.0


@inner_njit(**EXACT)
def normal_score(x, a, b):
    """Thurstone: derivative, minus second derivative and information of a log Phi(x) + b log Phi(-x)."""
    _, _, steep, flat = _normal_parts(x)
    u = abs(x)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    slope = likely * flat - unlikely * steep
    observed = likely * flat * (flat + u) + unlikely * steep * (steep - u)
    return (slope if x > 0.0 else -slope), observed, (a + b) * steep * flat


@inner_njit(**EXACT)
def _threshold_parts(x, t):
    """Return the quantities that the three outcomes share at u = |x|, with scale factors taken out.

    ``far`` = u - t. If it is positive a tie is unlikely and ``middle``, its probability, lacks the factor
    e^(-far^2 / 2); else ``near``, the favourite's probability, lacks it. ``tail`` is the probability of the
    other side over e^(-(u + t)^2 / 2).
    """
    u = abs(x)
    far = u - t
    bell = exp(-0.5 * far * far)
    inner = 0.5 * erfcx(abs(far) * SQRT_HALF)
    tail = 0.5 * erfcx((u + t) * SQRT_HALF)
    y = 2.0 * u * t
    ratio = exp(-y)  # of the normal densities at u + t and u - t
    small = y * (1.0 - y / 2.0 * (1.0 - y / 3.0 * (1.0 - y / 4.0 * (1.0 - y / 5.0 * (1.0 - y / 6.0)))))
    gap = small if y < 0.02 else 1.0 - ratio
    near = 1.0 - inner * bell if far > 0.0 else inner
    wide = inner - tail * ratio if far > 0.0 else 1.0 - bell * (inner + tail * ratio)
    # narrow ties: Phi(u + t) - Phi(u - t) as a series in t, where the difference would cancel
    t2, u2 = t * t, u * u
    series = 1.0 + t2 * ((u2 - 1.0) / 6.0 + t2 * (u2 * (u2 - 6.0) + 3.0) / 120.0)
    narrow = 2.0 * t * DENSITY_AT_0 * series * exp(0.5 * t2 - u * t if far > 0.0 else -0.5 * u2)
    middle = narrow if t * (1.0 + u) < 0.02 else wide
    return far, bell, near, middle, tail, ratio, gap


@inner_njit(**EXACT)
def _threshold_slopes(x, t, a, b, c):
    """Return the slopes in x and t, and the counts of the favourite and of the other side."""
    far, bell, near, middle, tail, ratio, gap = _threshold_parts(x, t)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    rise = likely * DENSITY_AT_0 * (bell if far > 0.0 else 1.0) / near
    fall = unlikely * DENSITY_AT_0 / tail
    weight = c * DENSITY_AT_0 * (1.0 if far > 0.0 else bell) / middle
    slope = rise - fall - weight * gap
    return (slope if x > 0.0 else -slope), weight * (1.0 + ratio) - rise - fall, likely, unlikely


@inner_njit(**EXACT)
def threshold_counts(x, a, b, c, tie):
    """Threshold ties: log likelihood of counts and its slopes."""
    far, _, near, middle, tail, _, _ = _threshold_parts(x, tie)
    slope, tie_slope, likely, unlikely = _threshold_slopes(x, tie, a, b, c)
    high = abs(x) + tie
    scaled = c if far > 0.0 else likely
    linear = -0.5 * (scaled * far * far + unlikely * high * high)
    return linear + likely * log(near) + c * log(middle) + unlikely * log(tail), slope, tie_slope


@inner_njit(**EXACT)
def threshold_information(x, tie):
    """Threshold ties: Fisher information in x and t.

    Sum over outcomes of products of the derivatives of p, divided by p.
    """
    far, bell, near, middle, tail, ratio, gap = _threshold_parts(x, tie)
    favourite = bell * (bell if far > 0.0 else 1.0) / near
    tied = bell * (1.0 if far > 0.0 else bell) / middle
    other = bell * ratio / tail
    square = DENSITY_AT_0 * DENSITY_AT_0
    cross = square * (other - favourite - tied * gap * (1.0 + ratio))
    return (
        square * (favourite + other + tied * gap * gap),
        (cross if x > 0.0 else -cross),
        square * (favourite + other + tied * (1.0 + ratio) * (1.0 + ratio)),
    )


# --- Likelihoods of one comparison by a rater of reliability rho, at distance x = rho (q_i - q_j) + bias ---

BRADLEY_TERRY, THURSTONE, DAVIDSON, THRESHOLD = range(4)


def law_code(link: str, ties: bool) -> int:
    """Return the constant of this module for a link (logistic or normal), with or without ties."""
    require_link(link)
    return {
        (LOGISTIC, False): BRADLEY_TERRY,
        (LOGISTIC, True): DAVIDSON,
        (PROBIT, False): THURSTONE,
        (PROBIT, True): THRESHOLD,
    }[link, ties]


# --- The laws, each a type of its own, so that the functions of the law at hand alone are compiled ---


class BradleyTerry(NamedTuple):
    """Bradley-Terry law, without ties."""

    code: int = BRADLEY_TERRY


class Thurstone(NamedTuple):
    """Thurstone's law, without ties."""

    code: int = THURSTONE


class Davidson(NamedTuple):
    """Bradley-Terry law with Davidson's ties."""

    code: int = DAVIDSON


class Threshold(NamedTuple):
    """Thurstone's law with ties below a threshold."""

    code: int = THRESHOLD


Law = BradleyTerry | Thurstone | Davidson | Threshold
LAWS = (BradleyTerry(), Thurstone(), Davidson(), Threshold())  # by `law_code`
FUNCTIONS = {
    BradleyTerry: (logistic_counts, logistic_information),
    Thurstone: (normal_counts, normal_information),
    Davidson: (davidson_counts, davidson_information),
    Threshold: (threshold_counts, threshold_information),
}


def log_p_of_counts(
    law: Law, x: float, a: float, b: float, c: float, tie: float
) -> tuple[float, float, float]:
    """Return log p of counts and its slopes in x and the tie parameter."""
    return FUNCTIONS[type(law)][0](x, a, b, c, tie)


def information_in_answer(law: Law, x: float, tie: float) -> tuple[float, float, float]:
    """Return the Fisher information of one answer in x and the tie parameter: xx, xt, tt."""
    return FUNCTIONS[type(law)][1](x, tie)


# numba chooses the functions of a law by its type, whose Python class is `instance_class`


@overload(log_p_of_counts, inline="always")
def _compiled_counts(law, x, a, b, c, tie):
    counts = FUNCTIONS[law.instance_class][0]
    return lambda law, x, a, b, c, tie: counts(x, a, b, c, tie)


@overload(information_in_answer, inline="always")
def _compiled_information(law, x, tie):
    information = FUNCTIONS[law.instance_class][1]
    return lambda law, x, tie: information(x, tie)


# --- One pass over all comparisons: log likelihood of every annotation and its slopes ---


class Strengths(NamedTuple):
    """Parameters of the likelihood, as compiled code reads them."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,): factor of the difference of qualities
    left_bias: np.ndarray  # (rater,): advantage of the left side
    tie: np.ndarray  # (rater,): tie parameter, unused without ties


class PairCodes(NamedTuple):
    """Items and rater of each annotation, as codes."""

    left: np.ndarray  # int (annotation,): item
    right: np.ndarray  # int (annotation,): item
    rater: np.ndarray  # int (annotation,)


class PairSweeps(NamedTuple):
    """Compiled passes of one law.

    Attributes
    ----------
    log_p : callable
        ``log_p(strengths, codes, counts, found)`` overwrites the three arrays (annotation,) of ``found``: log
        likelihood of the counts (annotation, outcome) without the multinomial coefficient, slope in x, slope
        in tie.
    gradient : callable
        ``gradient(strengths, codes, slopes, sums)`` overwrites the four arrays of ``sums``, a `Strengths`, with
        the gradient; ``slopes`` are slope in x, slope in tie and weight, each (annotation,).
    draw : callable
        ``draw(rng, strengths, codes, total, counts)`` overwrites the counts (annotation, outcome) with
        replicates of ``total`` answers each.
    """

    log_p: Callable
    gradient: Callable
    draw: Callable


@cache
def pair_sweeps(link: str, n_outcomes: int) -> PairSweeps:
    """Compile the passes of a link with two outcomes, or three with ties."""
    ties = n_outcomes == 3
    law = LAWS[law_code(link, ties)]

    @cached_njit(nogil=True, error_model="numpy", fastmath=False)
    def log_p(strengths, codes, counts, found):
        quality, reliability, left_bias, tie = strengths
        left, right, rater = codes
        log_p, slope, tie_slope = found
        for a in range(len(left)):
            k = rater[a]
            x = reliability[k] * (quality[left[a]] - quality[right[a]]) + left_bias[k]
            tied = float(counts[a, 2]) if ties else 0.0
            log_p[a], slope[a], tie_slope[a] = log_p_of_counts(
                law, x, float(counts[a, 0]), float(counts[a, 1]), tied, tie[k]
            )

    @cached_njit(nogil=True, error_model="numpy", fastmath=False)
    def gradient(strengths, codes, slopes, sums):
        quality, reliability = strengths.quality, strengths.reliability
        left, right, rater = codes
        slope, tie_slope, weight = slopes
        for total in sums:
            total[:] = 0.0
        of_quality, of_reliability, of_bias, of_tie = sums
        for a in range(len(left)):
            i, j, k = left[a], right[a], rater[a]
            # dx/dq_i = rho_k, dx/dq_j = -rho_k, dx/drho_k = q_i - q_j, dx/db_k = 1
            s = weight[a] * slope[a]
            of_quality[i] += s * reliability[k]
            of_quality[j] -= s * reliability[k]
            of_reliability[k] += s * (quality[i] - quality[j])
            of_bias[k] += s
            of_tie[k] += weight[a] * tie_slope[a]

    @cached_njit(nogil=True, error_model="numpy", fastmath=False)
    def draw(rng, strengths, codes, total, counts):
        quality, reliability, left_bias, tie = strengths
        left, right, rater = codes
        for a in range(len(left)):
            k = rater[a]
            x = reliability[k] * (quality[left[a]] - quality[right[a]]) + left_bias[k]
            # multinomial by binomials
            remaining, mass = total[a], 1.0
            for o in range(n_outcomes - 1):
                one, other = (1.0, 0.0) if o == 0 else (0.0, 1.0)
                p = math.exp(log_p_of_counts(law, x, one, other, 0.0, tie[k])[0])
                counts[a, o] = rng.binomial(remaining, min(1.0, p / mass)) if p > 0.0 else 0
                remaining -= counts[a, o]
                mass -= p
            counts[a, n_outcomes - 1] = remaining

    return PairSweeps(log_p, gradient, draw)

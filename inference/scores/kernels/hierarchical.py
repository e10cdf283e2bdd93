"""Gibbs conditionals of hierarchical scores, y_a ~ Normal(mu_i + b_k, sigma2_k).

items | raters
    with t_k = 1 / sigma2_k, W_i the sum of t_k over the scores of item i, r_i the mean of y - b_k with these
    weights: first the mean m of the population, then its spread tau, with the locations integrated out,
    r_i ~ Normal(m, tau^2 + 1 / W_i); then mu_i
items | raters, with features x of the items
    r_i ~ Normal(m + x_i w, tau^2 + 1 / W_i): first the scale s of the effects with m and w integrated out, then w and m,
    then tau and mu_i as above (`draw_regression`)
raters | items
    with mu_i - m held, r_k the mean of y - (mu_i - m) over the n_k scores of rater k: first m and the group
    biases beta (sum zero), then the spread omega, with the biases integrated out,
    r_k ~ Normal(m + beta_g, omega^2 + sigma2_k / n_k); then b_k; the locations follow m
variances
    1 / sigma2_k ~ Gamma(nu + n_k / 2, (nu + 1) v_g + S_k / 2), then v_g (generalised inverse Gaussian), then nu
slopes, where y_a ~ Normal(m0 + s_k (mu_i - m0) + b_k, sigma2_k)
    the spread of the slopes with the slopes integrated out, then s_k; the raters keep the mean m, which then moves
    with all that it shifts, m + d, mu_i + d, b_k - s_k d, by the law of d (`draw_slopes`)

The mean is drawn in either half together with what it shifts, so that locations and biases do not follow it
by turns: the collapsed sampler of Papaspiliopoulos, Roberts and Zanella (2020), doi:10.1093/biomet/asz058.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import FAST, copy_into, log
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import (
    load_stream,
    standard_exponential,
    standard_gamma,
    standard_normal,
    store_stream,
    uniform,
)

RECURRED = 12.0  # from here on the asymptotic series are exact to the last digits
SCORINGS = 4
ROUNDED = 1e-13  # share of the largest eigenvalue below which there is rounding only
DOUBLINGS, SHRINKS = 64, 300  # reached only if a density is NaN


@inner_njit(error_model="numpy")
def digamma(x: float) -> float:
    """Return the derivative of log Gamma at a positive number."""
    below = 0.0
    while x < RECURRED:
        below -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = 1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132))))
    return below + math.log(x) - 0.5 / x - y * series


@inner_njit(error_model="numpy")
def trigamma(x: float) -> float:
    """Return the second derivative of log Gamma at a positive number."""
    below = 0.0
    while x < RECURRED:
        below += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    series = 1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * (5 / 66))))
    return below + 1.0 / x + 0.5 * y + y / x * series


@inner_njit(**FAST)
def spread_log_p(spread: float, weight: np.ndarray, away: np.ndarray, narrow: float) -> float:
    """Return the log density of a spread, up to a constant; the sign of the spread does not matter.

    s ~ HalfNormal(A), given noisy deviations d_k ~ Normal(0, s^2 + 1 / w_k) from the mean:

        log p(s) = -s^2 / (2 A^2) - sum_k [log(1 + w_k s^2) + w_k d_k^2 / (1 + w_k s^2)] / 2

    It may have two modes, and is flat at zero, where the density of log s would have an infinite tail: so s itself
    is sampled, on either side of zero, and its sign is dropped.

    Shapes: weight (member,), w, zero for an unobserved member; away (member,), d. `narrow` is 1 / A^2.
    """
    between = spread * spread
    total = 0.0
    for k in range(len(weight)):
        grown = 1.0 + weight[k] * between
        total += log(grown) + weight[k] * away[k] * away[k] / grown
    return -0.5 * (narrow * between + total)


@inner_njit(**FAST)
def _slice_width(weight, away, narrow):
    """Return about three standard deviations of a spread, by Fisher scoring of its square."""
    widest = 3.0 / math.sqrt(narrow)
    square, information = 1.0 / narrow, 0.0
    for _ in range(SCORINGS):
        information, score = 0.0, 0.0
        for k in range(len(weight)):
            precision = weight[k] / (1.0 + weight[k] * square)
            information += precision * precision
            score += precision * (precision * away[k] * away[k] - 1.0)
        if not information > 0.0:  # no observed member
            return widest
        square = max(square + score / information, 0.0)
    reach = 1.5 * math.sqrt(2.0 / information)
    return min(math.sqrt(square + reach) - math.sqrt(max(square - reach, 0.0)), widest)


@inner_njit(error_model="numpy")
def draw_spread(rng: np.ndarray, weight: np.ndarray, away: np.ndarray, narrow: float, spread: float) -> float:
    """Slice-sample a spread by doubling and shrinkage, as in `spread_log_p`; the present one stays where the density is NaN.

    Reference: Neal (2003), Slice sampling, Annals of Statistics 31(3), doi:10.1214/aos/1056562461.
    """
    law = (weight, away, narrow)
    level = spread_log_p(spread, *law) - standard_exponential(rng)
    width = _slice_width(*law)
    left = spread - width * uniform(rng)
    right = left + width
    low, high = spread_log_p(left, *law), spread_log_p(right, *law)
    # doubling (Neal 2003, figure 4)
    for _ in range(DOUBLINGS):
        if not (low > level or high > level):
            break
        if uniform(rng) < 0.5:
            left -= right - left
            low = spread_log_p(left, *law)
        else:
            right += right - left
            high = spread_log_p(right, *law)
    whole = (left, right)
    # shrinkage (figure 5)
    for _ in range(SHRINKS):
        y = left + (right - left) * uniform(rng)
        if spread_log_p(y, *law) >= level and _leads_back(y, spread, whole, (level, width), law):
            return abs(y)
        if y < spread:
            left = y
        else:
            right = y
    return spread


@inner_njit(error_model="numpy")
def _leads_back(y, spread, whole, slice_, law):
    """Run the acceptance test of doubling: could y have led to the same interval? (Neal 2003, figure 6)."""
    left, right = whole
    level, width = slice_
    apart = False
    for _ in range(DOUBLINGS):
        if not right - left > 1.1 * width:
            break
        middle = 0.5 * (left + right)
        apart = apart or ((spread < middle) != (y < middle))
        if y < middle:
            right = middle
        else:
            left = middle
        if apart and level >= spread_log_p(left, *law) and level >= spread_log_p(right, *law):
            return False
    return True


@inner_njit(error_model="numpy")
def _shape_density(x, parameters):
    """Return the log density of a log shape, with slope and curvature; parameters n, L - d, c.

    a ~ Gamma(c, d), given n precisions t_k ~ Gamma(a, (a + 1) v_k), L = sum_k log(t_k v_k) - t_k v_k, x = log a:

        log p(x) = n (a log(a + 1) - lgamma(a)) + a (L - d) + c x

    Concave, as L <= -n and a (log(a + 1) + a / (a + 1) - digamma(a)) - a falls with a, from 1 to 1/2: with b = a + 1
    it is 1 - (1 - 1/b) (1 - b (log b - digamma(b))), and b (log b - digamma(b)) falls with b (Anderson and Qiu 1997).
    """
    n, slope, power = parameters
    a = math.exp(x)
    part = a / (a + 1.0)
    value = n * (a * math.log1p(a) - math.lgamma(a)) + a * slope + power * x  # log p(x)
    first = n * (math.log1p(a) + part - digamma(a)) + slope  # with respect to a
    second = n * (part * (1.0 + 1.0 / (a + 1.0)) - a * trigamma(a))  # times a
    return value, a * first + power, a * (first + second)


draw_log_shape = log_concave_sampler(_shape_density)


@inner_njit(error_model="numpy")
def _mode_density(x, parameters):
    """Return the log density of a log mode, with slope and curvature; parameters n a - c, (a + 1) T, d.

    v ~ InverseGamma(c, d), given the shape a and n such precisions of sum T, x = log v (generalised inverse Gaussian):

        log p(x) = (n a - c) x - (a + 1) T exp(x) - d exp(-x)
    """
    power, above, below = parameters
    up, down = above * math.exp(x), below * math.exp(-x)
    return power * x - up - down, power - up + down, -up - down


draw_log_mode = log_concave_sampler(_mode_density)

# --- Gibbs conditionals of hierarchical scores, y_a ~ Normal(mu_i + b_k, sigma2_k) ---


class RaterScores(NamedTuple):
    """Scores, one by one."""

    item: np.ndarray  # int64 (score,)
    rater: np.ndarray  # int64 (score,)
    score: np.ndarray  # float (score,)
    group: np.ndarray  # int64 (rater,), 0 if all are of one population
    n_items: int  # including items without scores
    features: np.ndarray  # float (item, feature), x; no columns without features
    sloped: bool = False  # whether raters have slopes


class ScoreHyper(NamedTuple):
    """Constants of the priors."""

    mean: float  # m ~ Normal(mean, mean_sd)
    mean_sd: float
    location_scale: float  # tau ~ HalfNormal
    bias_scale: float  # omega ~ HalfNormal
    group_sd: float  # beta ~ ZeroSumNormal
    usual_shape: float  # v ~ InverseGamma(usual_shape, usual_rate)
    usual_rate: float
    shape_shape: float  # nu ~ Gamma(shape_shape, shape_rate)
    shape_rate: float
    effect_scale: float  # s ~ HalfNormal
    slope_scale: float = 1.0  # spread of the slopes ~ HalfNormal


class ScoreState(NamedTuple):
    """State of a chain, overwritten in place."""

    location: np.ndarray  # (item,), mu
    bias: np.ndarray  # (rater,), b
    variance: np.ndarray  # (rater,), sigma2
    group_bias: np.ndarray  # (group,), beta
    usual: np.ndarray  # (group,), v
    population: np.ndarray  # (4,): m, tau, omega, nu
    effect: np.ndarray  # (feature,), w
    effect_scale: np.ndarray  # (1,), s; empty without features
    slope: np.ndarray = np.empty(0)  # (rater,), s_k; empty if all are one
    slope_spread: np.ndarray = np.empty(0)  # (1,), or empty


MEAN, LOCATION_SPREAD, BIAS_SPREAD, SHAPE = range(4)  # places in `population`


@inner_njit(error_model="numpy")
def _draw_mean(rng, seen, hyper, state):
    """Draw the mean of the population of items with the locations integrated out, without features."""
    weight, total = seen
    between = state.population[LOCATION_SPREAD] ** 2
    known = 1.0 / hyper.mean_sd**2
    pull = hyper.mean * known
    for i in range(len(weight)):
        # m: r_i ~ Normal(m, tau^2 + 1 / W_i)
        shrunk = 1.0 / (1.0 + weight[i] * between)
        known += weight[i] * shrunk
        pull += total[i] * shrunk
    return pull / known + standard_normal(rng) / math.sqrt(known)


@inner_njit(error_model="numpy")
def draw_regression(rng, seen, hyper, state):
    """Draw scale and effects of the features and return the mean, with the locations integrated out.

        r_i ~ Normal(m + x_i w, 1 / c_i),   1 / c_i = tau^2 + 1 / W_i,   m ~ Normal(m0, .),   w_f ~ Normal(0, s^2)

    With m integrated out w has the precision G = V diag(l) V' from the data, and V'w the independent estimates d_k ~
    Normal(0, s^2 + 1 / l_k) about zero: s is drawn as the spread of a population of which they are the members, then V'w,
    then m given w.

    Shapes: in `seen` features (item, feature), weight W (item,), total W r (item,).
    """
    features, weight, total = seen
    between = state.population[LOCATION_SPREAD] ** 2
    n = len(state.effect)
    known, pull = 1.0 / hyper.mean_sd**2, 0.0  # of m - m0
    joint, slope, gram = np.zeros(n), np.zeros(n), np.zeros((n, n))
    for i in range(len(weight)):
        shrunk = 1.0 / (1.0 + weight[i] * between)
        own = weight[i] * shrunk  # c_i
        apart = shrunk * (total[i] - weight[i] * hyper.mean)  # c_i (r_i - m0)
        known += own
        pull += apart
        _add_products(features[i], own, gram)
        for f in range(n):
            joint[f] += own * features[i, f]
            slope[f] += apart * features[i, f]
    for f in range(n):
        slope[f] -= joint[f] * pull / known
        for g in range(f + 1):
            gram[f, g] -= joint[f] * joint[g] / known
            gram[g, f] = gram[f, g]
    # the chain is no longer finite, and none of its draws can be used
    if not math.isfinite(gram.sum()):
        return state.population[MEAN]
    information, axes = np.linalg.eigh(gram)
    # l_k, d_k; zero of combinations of columns that are the same for all
    seen_along, estimate = np.zeros(n), np.zeros(n)
    for k in range(n):
        if information[k] > ROUNDED * information[n - 1]:
            seen_along[k] = information[k]
            for f in range(n):
                estimate[k] += axes[f, k] * slope[f]
            estimate[k] /= information[k]
    scale = draw_spread(rng, seen_along, estimate, 1.0 / hyper.effect_scale**2, state.effect_scale[0])
    state.effect_scale[0] = scale
    state.effect[:] = 0.0
    for k in range(n):
        along = _deviation(rng, seen_along[k], estimate[k], scale)
        for f in range(n):
            state.effect[f] += axes[f, k] * along
    for f in range(n):
        pull -= joint[f] * state.effect[f]
    return hyper.mean + pull / known + standard_normal(rng) / math.sqrt(known)


@inner_njit(**FAST)
def _add_products(row, weight, gram):
    """Add the weighted products of the features of an item to the lower triangle of their matrix (feature, feature)."""
    for f in range(len(row)):
        scaled = weight * row[f]
        for g in range(f + 1):
            gram[f, g] += scaled * row[g]


@inner_njit(error_model="numpy")
def draw_items(rng, scores, hyper, state):
    """Draw mean and spread of the population of items with the locations integrated out, then the locations."""
    weight, total = np.zeros(len(state.location)), np.zeros(len(state.location))
    precision = np.empty(len(state.variance))
    for k in range(len(precision)):
        precision[k] = 1.0 / state.variance[k]
    for a in range(len(scores.score)):
        k = scores.rater[a]
        own = state.slope[k] if len(state.slope) > 0 else 1.0
        apart = scores.score[a] - state.bias[k] - hyper.mean * (1.0 - own)
        weight[scores.item[a]] += precision[k] * own * own  # W_i
        total[scores.item[a]] += precision[k] * own * apart
    centre = np.empty(len(weight))  # m + x_i w
    if len(state.effect) > 0:
        mean = draw_regression(rng, (scores.features, weight, total), hyper, state)
        for i in range(len(weight)):
            centre[i] = mean
            for f in range(len(state.effect)):
                centre[i] += scores.features[i, f] * state.effect[f]
    else:
        mean = _draw_mean(rng, (weight, total), hyper, state)
        for i in range(len(weight)):
            centre[i] = mean
    away = np.zeros(len(weight))
    for i in range(len(weight)):
        if weight[i] > 0.0:
            away[i] = total[i] / weight[i] - centre[i]
    spread = state.population[LOCATION_SPREAD]
    spread = draw_spread(rng, weight, away, 1.0 / hyper.location_scale**2, spread)
    for i in range(len(weight)):
        state.location[i] = centre[i] + _deviation(rng, weight[i], away[i], spread)
    state.population[MEAN] = mean
    state.population[LOCATION_SPREAD] = spread


@inner_njit(error_model="numpy")
def _deviation(rng, weight, away, spread):
    """Draw a member's deviation from the mean of its population, given a noisy one; the spread may be tiny."""
    free = spread * spread / (1.0 + weight * spread * spread)
    return weight * away * free + standard_normal(rng) * math.sqrt(free)


@inner_njit(error_model="numpy")
def draw_raters(rng, scores, hyper, state):
    """Draw mean, group biases and bias spread with the biases integrated out; then biases; then variances."""
    n_raters = len(state.bias)
    before = state.population[MEAN]
    count, first, second = np.zeros(n_raters), np.zeros(n_raters), np.zeros(n_raters)
    for a in range(len(scores.score)):
        k = scores.rater[a]
        seen = state.location[scores.item[a]]
        if len(state.slope) > 0:
            seen = hyper.mean + state.slope[k] * (seen - hyper.mean)
        residual = scores.score[a] - seen - state.bias[k]
        count[k] += 1.0
        first[k] += residual
        second[k] += residual * residual
    _draw_group_biases(rng, scores.group, hyper, state, (count, first))
    shift = state.population[MEAN] - before
    weight, away = np.empty(n_raters), np.empty(n_raters)
    for k in range(n_raters):
        weight[k] = count[k] / state.variance[k]
        residual = first[k] / max(count[k], 1.0)
        away[k] = residual + state.bias[k] - shift - state.group_bias[scores.group[k]]
    spread = state.population[BIAS_SPREAD]
    spread = draw_spread(rng, weight, away, 1.0 / hyper.bias_scale**2, spread)
    state.population[BIAS_SPREAD] = spread
    for i in range(len(state.location)):
        state.location[i] += shift
    for k in range(n_raters):
        bias, beta = state.bias[k], state.group_bias[scores.group[k]]
        state.bias[k] = beta + _deviation(rng, weight[k], away[k], spread)
        moved = state.bias[k] - bias + shift  # change of mu_i + b_k
        squares = second[k] - 2.0 * moved * first[k] + count[k] * moved * moved  # S_k
        nu = state.population[SHAPE]
        # 1 / sigma2_k ~ Gamma(nu + n_k / 2, (nu + 1) v_g + S_k / 2)
        rate = (nu + 1.0) * state.usual[scores.group[k]] + 0.5 * squares
        state.variance[k] = rate / _gamma(rng, nu + 0.5 * count[k])


@inner_njit(error_model="numpy")
def _draw_group_biases(rng, group, hyper, state, residuals):
    """Draw the mean of the population and the biases of the groups, whose sum is zero."""
    count, first = residuals
    n_groups = len(state.group_bias)
    between = state.population[BIAS_SPREAD] ** 2
    weight, total = np.zeros(n_groups), np.zeros(n_groups)
    for k in range(len(count)):
        # m, beta: r_k ~ Normal(m + beta_g, omega^2 + sigma2_k / n_k)
        own = count[k] / (state.variance[k] + count[k] * between)
        weight[group[k]] += own
        residual = first[k] / max(count[k], 1.0)
        total[group[k]] += own * (residual + state.bias[k] + state.population[MEAN])
    free = np.empty(n_groups)  # variance of each group's bias given the mean
    slope, centre, room, known, pull = 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(n_groups):
        free[g] = 1.0 / (weight[g] + 1.0 / hyper.group_sd**2)
        slope += free[g] * weight[g]
        centre += free[g] * total[g]
        room += free[g]
        known += weight[g] - weight[g] * weight[g] * free[g]
        pull += total[g] - weight[g] * total[g] * free[g]
    known += 1.0 / hyper.mean_sd**2
    pull += hyper.mean / hyper.mean_sd**2
    known += slope * slope / room  # information about the mean in the constraint sum beta = 0
    pull += slope * centre / room
    mean = state.population[MEAN]  # which moves with the slopes, if there are any
    if len(state.slope) == 0:
        mean = pull / known + standard_normal(rng) / math.sqrt(known)
    excess = 0.0
    for g in range(n_groups):
        noise = standard_normal(rng) * math.sqrt(free[g])
        state.group_bias[g] = free[g] * (total[g] - weight[g] * mean) + noise
        excess += state.group_bias[g]
    for g in range(n_groups):
        state.group_bias[g] -= free[g] * (excess / room)
    state.population[MEAN] = mean


@inner_njit(error_model="numpy")
def draw_slopes(rng, scores, hyper, state):
    """Draw the spread of the slopes with the slopes integrated out, the slopes, and a shift of all locations and biases.

    The shift d of m and mu_i, with b_k - s_k d, leaves every score as likely:

        p(d) ~ Normal(m + d; m0, .) prod_k Normal(b_k - s_k d; beta_g, omega^2)
    """
    n = len(state.slope)
    weight, away = np.zeros(n), np.zeros(n)
    for a in range(len(scores.score)):
        k = scores.rater[a]
        apart = state.location[scores.item[a]] - hyper.mean
        weight[k] += apart * apart
        away[k] += apart * (scores.score[a] - hyper.mean - state.bias[k] - apart)
    for k in range(n):
        away[k] = away[k] / weight[k] if weight[k] > 0.0 else 0.0  # s_k - 1, estimated with this precision
        weight[k] /= state.variance[k]
    spread = draw_spread(rng, weight, away, 1.0 / hyper.slope_scale**2, state.slope_spread[0])
    state.slope_spread[0] = spread
    between = state.population[BIAS_SPREAD] ** 2
    known = between / hyper.mean_sd**2  # of d, times omega^2
    pull = (hyper.mean - state.population[MEAN]) * known
    for k in range(n):
        own = 1.0 + _deviation(rng, weight[k], away[k], spread)
        state.slope[k] = own
        known += own * own
        pull += own * (state.bias[k] - state.group_bias[scores.group[k]])
    shift = pull / known + standard_normal(rng) * math.sqrt(between / known)
    state.population[MEAN] += shift
    for i in range(len(state.location)):
        state.location[i] += shift
    for k in range(n):
        state.bias[k] -= state.slope[k] * shift


@inner_njit(error_model="numpy")
def draw_populations(rng, scores, hyper, state):
    """Draw the usual variances, and the shape of the law of the variances."""
    n_raters, n_groups = len(state.bias), len(state.usual)
    nu = state.population[SHAPE]
    members, precision = np.zeros(n_groups), np.zeros(n_groups)
    log_precision = 0.0
    for k in range(n_raters):
        members[scores.group[k]] += 1.0
        precision[scores.group[k]] += 1.0 / state.variance[k]
        log_precision += math.log(1.0 / state.variance[k])
    # the chain is no longer finite, and none of its draws can be used
    if not math.isfinite(log_precision):
        return
    fit = log_precision
    for g in range(n_groups):
        # v_g: generalised inverse Gaussian
        given = (nu * members[g] - hyper.usual_shape, (nu + 1.0) * precision[g], hyper.usual_rate)
        log_usual = draw_log_mode(rng, given, math.log(state.usual[g]))
        state.usual[g] = math.exp(log_usual)
        fit += members[g] * log_usual - state.usual[g] * precision[g]
    # nu: see `_shape_density`
    given = (float(n_raters), fit - hyper.shape_rate, hyper.shape_shape)
    state.population[SHAPE] = math.exp(draw_log_shape(rng, given, math.log(nu)))


@inner_njit(error_model="numpy")
def _gamma(rng, shape):
    """Draw a Gamma(shape, 1) variable, for any positive shape."""
    if shape < 1.0:
        return standard_gamma(rng, shape + 1.0) * math.exp(-standard_exponential(rng) / shape)
    return standard_gamma(rng, shape)


# --- Gibbs chains of hierarchical scores ---


class ScoreDraws(NamedTuple):
    """Output arrays of a chain."""

    location: np.ndarray  # (draw, item)
    bias: np.ndarray  # (draw, rater)
    variance: np.ndarray  # (draw, rater)
    group_bias: np.ndarray  # (draw, group)
    usual: np.ndarray  # (draw, group), usual variance
    population: np.ndarray  # (draw, 4): mean and sd of locations, sd of biases, shape of variances
    effect: np.ndarray  # (draw, feature)
    effect_scale: np.ndarray  # (draw, 1), or (draw, 0) without features
    slope: np.ndarray = np.empty((0, 0))  # (draw, rater), or (draw, 0) without slopes
    slope_spread: np.ndarray = np.empty((0, 0))  # (draw, 1), likewise


@cached_njit(nogil=True, error_model="numpy")
def sample_scores(
    rng: np.ndarray,
    scores: RaterScores,
    hyper: ScoreHyper,
    schedule: tuple[int, int],
    state_and_draws: tuple[ScoreState, ScoreDraws],
) -> None:
    """Run one Gibbs chain on from its state, in place; `schedule` is (warm-up sweeps, sweeps per stored draw)."""
    state, draws = state_and_draws
    sweeps = schedule[0]
    for d in range(len(draws.population)):
        sweeps += schedule[1]
        for _ in range(sweeps):
            draw_items(rng, scores, hyper, state)
            draw_raters(rng, scores, hyper, state)
            if len(state.slope) > 0:
                draw_slopes(rng, scores, hyper, state)
            draw_populations(rng, scores, hyper, state)
        sweeps = 0
        copy_into(draws.location[d], state.location)
        copy_into(draws.bias[d], state.bias)
        copy_into(draws.variance[d], state.variance)
        copy_into(draws.group_bias[d], state.group_bias)
        copy_into(draws.usual[d], state.usual)
        copy_into(draws.population[d], state.population)
        copy_into(draws.effect[d], state.effect)
        copy_into(draws.effect_scale[d], state.effect_scale)
        if len(state.slope) > 0:
            copy_into(draws.slope[d], state.slope)
            copy_into(draws.slope_spread[d], state.slope_spread)


# --- Locations of some items, given all draws of what items share ---


class ItemScores(NamedTuple):
    """Scores grouped by item, and the features of the items."""

    start: np.ndarray  # int64 (item + 1,): scores of item i are start[i]:start[i + 1]
    rater: np.ndarray  # int64 (score,)
    score: np.ndarray  # float (score,)
    features: np.ndarray  # float (item, feature)


class SharedDraws(NamedTuple):
    """Draws of one chain of what the locations depend on."""

    population: np.ndarray  # (draw, 4)
    bias: np.ndarray  # (rater, draw)
    precision: np.ndarray  # (rater, draw), 1 / sigma2
    effect: np.ndarray  # (draw, feature)


@cached_njit(nogil=True, error_model="numpy")
def draw_locations(
    streams: np.ndarray, scores: ItemScores, shared: SharedDraws, location: np.ndarray
) -> None:
    """Draw the locations of items given m, w, tau, biases and variances, the conditional of `draw_items`.

    Given these the items are independent, so that such locations with them are draws of the joint posterior.
    Shapes: streams uint64 (4, item), advanced in place; location (draw, item), overwritten.
    """
    n_draws = len(location)
    weight, total = np.empty(n_draws), np.empty(n_draws)
    rng = np.empty(4, np.uint64)
    for i in range(len(scores.start) - 1):
        weight[:] = 0.0
        total[:] = 0.0
        for a in range(scores.start[i], scores.start[i + 1]):
            k = scores.rater[a]
            for d in range(n_draws):
                weight[d] += shared.precision[k, d]  # W_i
                total[d] += shared.precision[k, d] * (scores.score[a] - shared.bias[k, d])
        load_stream(streams, i, rng)
        for d in range(n_draws):
            centre = shared.population[d, MEAN]  # m + x_i w
            for f in range(shared.effect.shape[1]):
                centre += scores.features[i, f] * shared.effect[d, f]
            away = total[d] / weight[d] - centre if weight[d] > 0.0 else 0.0
            spread = shared.population[d, LOCATION_SPREAD]
            location[d, i] = centre + _deviation(rng, weight[d], away, spread)
        store_stream(streams, i, rng)

"""Gibbs chains of the ordinal model: locations of the items, thresholds and scales of the raters and of their population.

A label l of rater k to an item at x is between two thresholds, with g the thresholds of the population less its centre:

    p(l | x) = F(u) - F(v),    u = (c_k + g_l - x) / s_k,    v = (c_k + g_{l-1} - x) / s_k,    F the logistic function
    log p = log F(u) + log F(-v) + log(1 - exp(v - u)),      d log p / dx = -(1 - F(u) - F(v)) / s_k

so that it is log-concave in x and in c_k. A gold label is one of the typical rater, with c and s of the population. A sweep:

    x_i | ...               log-concave, by rejection
    c_k | ...               log-concave, by rejection
    log s_k | ...           slice
    m, log s | ...          normal, with gold labels by rejection and slice
    tau, sigma | ...        slices; then given (c_k - m) / tau, log(s_k / s) / sigma, where raters hardly differ
    log e_l | ...           slices
    x, c, m + d             normal: the answers do not depend on d
    x, c, m, e, s, tau e^t  slice, the same: they move slowly given the locations

Every stored draw has the sums over nodes of the locations: p(typical label | parameters, answers), E(x | ...), log p(answers).

References
----------
Liu and Sabatti (2000), Generalised Gibbs sampler, Biometrika 87, doi:10.1093/biomet/87.2.353 (moves d and t). Yu and Meng (2011),
To center or not to center, JCGS 20, doi:10.1198/jcgs.2011.203main (both parametrisations of the spreads).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import FAST, exp, log
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import standard_normal
from ...kernels.slice_sampling import adapted_width, slice_sampler

CENTRE, LOG_SCALE, SHIFT_SPREAD, SCALE_SPREAD = 0, 1, 2, 3  # of the population
STRETCH = 4  # a further move
FAR = 1e200  # threshold beyond the last label
NARROWEST, WIDEST = 1e-4, 8.0  # slices


class OrdinalAnswers(NamedTuple):
    """Answers by item and by rater; gold labels are those of the last rater, the typical one."""

    start: np.ndarray  # (item + 1,)
    who: np.ndarray  # (answer,), rater
    place: np.ndarray  # (answer,), of the label on the scale
    rater_start: np.ndarray  # (rater + 2,)
    item: np.ndarray  # (answer,), by rater
    rater_place: np.ndarray  # (answer,), by rater
    number: np.ndarray  # (rater + 1, label), answers
    gold: np.ndarray  # (item,), place of the gold label, or -1


class OrdinalPrior(NamedTuple):
    """Priors, and nodes of the location."""

    mean: np.ndarray  # (2,), of centre and log scale
    sd: np.ndarray  # (2,)
    spread: np.ndarray  # (2,), scales of the half-normal spreads
    increment: np.ndarray  # (increment,), mean of the log increments
    increment_sd: np.ndarray  # (increment,)
    point: np.ndarray  # (node,)
    log_weight: np.ndarray  # (node,)
    order: np.ndarray  # (label,): the category of each place


class OrdinalState(NamedTuple):
    """State of a chain, overwritten."""

    location: np.ndarray  # (item,)
    rater_centre: np.ndarray  # (rater,)
    rater_log_scale: np.ndarray  # (rater,)
    population: np.ndarray  # (4,)
    log_increment: np.ndarray  # (increment,)
    rater_width: np.ndarray  # (rater,), of slices
    increment_width: np.ndarray  # (increment,)
    width: np.ndarray  # (2, 5), of the population: given raters, and with them


class OrdinalDraws(NamedTuple):
    """Output arrays of a chain; those of items may have none."""

    rater_centre: np.ndarray  # (draw, rater)
    rater_log_scale: np.ndarray  # (draw, rater)
    population: np.ndarray  # (draw, 4)
    log_increment: np.ndarray  # (draw, increment)
    prevalence: np.ndarray  # (draw, category)
    plausibility: np.ndarray  # (draw, item, category)
    location: np.ndarray  # (draw, item)
    log_p: np.ndarray  # (draw, item)


class Thresholds(NamedTuple):
    """Workspace: thresholds of each label less the centre, raters, and locations by rater."""

    upper: np.ndarray  # (label,)
    lower: np.ndarray  # (label,)
    centre: np.ndarray  # (rater + 1,)
    per_scale: np.ndarray  # (rater + 1,)
    seen: np.ndarray  # (answer,), location of the item of each answer by rater


# --- Densities ---


@inner_njit(error_model="numpy")
def _set_thresholds(log_increment, upper, lower):
    """Overwrite the thresholds of the labels (label,), whose mean is zero."""
    n = len(upper)
    reached, mean = 0.0, 0.0
    upper[0] = 0.0
    for k in range(len(log_increment)):
        reached += math.exp(log_increment[k])
        upper[k + 1] = reached
        mean += reached
    mean /= n - 1
    lower[0] = -FAR
    for k in range(n - 1):
        upper[k] -= mean
        lower[k + 1] = upper[k]
    upper[n - 1] = FAR


@inner_njit(**FAST)
def _tails(seen, place, span, bounds, centre, per_scale):
    """Return the sum of log F(u) + log F(-v) over answers of a rater; span: first and last; bounds: upper and lower (label,)."""
    (first, last), (upper, lower), total = span, bounds, 0.0
    for at in range(first, last):
        x = centre - seen[at]
        u, v = (x + upper[place[at]]) * per_scale, (x + lower[place[at]]) * per_scale
        total += min(u, 0.0) - max(v, 0.0) - log((1.0 + exp(-abs(u))) * (1.0 + exp(-abs(v))))
    return total


@inner_njit(error_model="numpy")
def _between(number, bounds, per_scale):
    """Return the sum of log(1 - exp(v - u)) over the answers of a rater; number (label,)."""
    upper, lower, total = bounds[0], bounds[1], 0.0
    for place in range(1, len(number) - 1):
        if number[place] > 0:
            total += number[place] * math.log(-math.expm1((lower[place] - upper[place]) * per_scale))
    return total


@inner_njit(error_model="numpy")
def _log_p(data, seen, k, bounds, centre, log_scale):
    """Return the log likelihood of the answers of rater k."""
    per_scale = math.exp(-log_scale)
    span = (data.rater_start[k], data.rater_start[k + 1])
    return _tails(seen, data.rater_place, span, bounds, centre, per_scale) + _between(
        data.number[k], bounds, per_scale
    )


@inner_njit(**FAST)
def _centre_density(x, parameters):
    """Log density of the centre of a rater, with slope and curvature."""
    seen, place, span, bounds, per_scale, mean, sd = parameters
    (first, last), (upper, lower) = span, bounds
    value, slope, curvature = 0.0, 0.0, 0.0
    for at in range(first, last):
        own = x - seen[at]
        u, v = (own + upper[place[at]]) * per_scale, (own + lower[place[at]]) * per_scale
        eu, ev = exp(-abs(u)), exp(-abs(v))
        pu, pv = 1.0 / (1.0 + eu), 1.0 / (1.0 + ev)
        value += min(u, 0.0) - max(v, 0.0) - log((1.0 + eu) * (1.0 + ev))
        slope += 1.0 - (pu if u > 0.0 else eu * pu) - (pv if v > 0.0 else ev * pv)
        curvature -= eu * pu * pu + ev * pv * pv
    away = (x - mean) / sd
    return (
        value - 0.5 * away * away,
        slope * per_scale - away / sd,
        curvature * per_scale * per_scale - 1.0 / (sd * sd),
    )


@inner_njit(**FAST)
def _location_density(x, parameters):
    """Log density of the location of an item, with slope and curvature."""
    who, place, first, last, upper, lower, centre, per_scale = parameters
    value, slope, curvature, product = -0.5 * x * x, -x, -1.0, 1.0
    for at in range(first, last):
        k = who[at]
        own, steep = centre[k] - x, per_scale[k]
        u, v = (own + upper[place[at]]) * steep, (own + lower[place[at]]) * steep
        eu, ev = exp(-abs(u)), exp(-abs(v))
        pu, pv = 1.0 / (1.0 + eu), 1.0 / (1.0 + ev)
        value += min(u, 0.0) - max(v, 0.0)
        product *= pu * pv
        if product < 1e-200:
            value += log(product)
            product = 1.0
        slope -= steep * (1.0 - (pu if u > 0.0 else eu * pu) - (pv if v > 0.0 else ev * pv))
        curvature -= steep * steep * (eu * pu * pu + ev * pv * pv)
    return value + log(product), slope, curvature


_draw_centre = log_concave_sampler(_centre_density)
_draw_location = log_concave_sampler(_location_density)


@inner_njit(error_model="numpy")
def _scale_density(x, parameters):
    """Log density of the log scale of rater k."""
    data, seen, k, bounds, centre, mean, sd = parameters
    if not -40.0 < x < 40.0:
        return -np.inf
    return _log_p(data, seen, k, bounds, centre, x) - 0.5 * ((x - mean) / sd) ** 2


@inner_njit(error_model="numpy")
def _spread_density(x, parameters):
    """Log density of the log of a spread, given the squared distances of n raters from their population."""
    squares, n, scale = parameters
    spread = math.exp(x)
    if not 1e-12 < spread < 1e6:
        return -np.inf
    return (1.0 - n) * x - 0.5 * squares / (spread * spread) - 0.5 * (spread / scale) ** 2


@inner_njit(error_model="numpy")
def _moved_density(x, parameters):
    """Log density of the log of a spread that takes the distances of the raters with it."""
    which, data, prior, state, workspace = parameters
    population, bounds = state.population, (workspace.upper, workspace.lower)
    spread = math.exp(x)
    if not 1e-12 < spread < 1e6:
        return -np.inf
    log_p = x - 0.5 * (spread / prior.spread[which - SHIFT_SPREAD]) ** 2
    ratio = spread / population[which]
    for k in range(len(state.rater_centre)):
        centre, log_scale = state.rater_centre[k], state.rater_log_scale[k]
        if which == SHIFT_SPREAD:
            centre = population[CENTRE] + ratio * (centre - population[CENTRE])
        else:
            log_scale = population[LOG_SCALE] + ratio * (log_scale - population[LOG_SCALE])
        log_p += _log_p(data, workspace.seen, k, bounds, centre, log_scale)
    return log_p


@inner_njit(error_model="numpy")
def _increment_density(x, parameters):
    """Log density of a log increment."""
    at, data, prior, state, workspace, trial = parameters
    trial[2][at] = x
    _set_thresholds(trial[2], trial[0], trial[1])
    if not -40.0 < x < 40.0:
        return -np.inf
    log_p = -0.5 * ((x - prior.increment[at]) / prior.increment_sd[at]) ** 2
    for k in range(len(state.rater_centre)):
        own = state.rater_centre[k], state.rater_log_scale[k]
        log_p += _log_p(data, workspace.seen, k, (trial[0], trial[1]), own[0], own[1])
    typical = len(state.rater_centre)
    own = state.population[CENTRE], state.population[LOG_SCALE]
    return log_p + _log_p(data, workspace.seen, typical, (trial[0], trial[1]), own[0], own[1])


@inner_njit(error_model="numpy")
def _stretched_density(x, parameters):
    """Log density of a stretch e^x of the scale of the locations, with all that is measured on it."""
    squares, n_items, prior, population, log_increment = parameters
    stretch = math.exp(x)
    if not 1e-6 < stretch < 1e6:
        return -np.inf
    log_p = (n_items + 2.0) * x - 0.5 * squares * stretch * stretch
    log_p -= 0.5 * ((population[CENTRE] * stretch - prior.mean[0]) / prior.sd[0]) ** 2
    log_p -= 0.5 * ((population[LOG_SCALE] + x - prior.mean[1]) / prior.sd[1]) ** 2
    log_p -= 0.5 * (population[SHIFT_SPREAD] * stretch / prior.spread[0]) ** 2
    for k in range(len(log_increment)):
        log_p -= 0.5 * ((log_increment[k] + x - prior.increment[k]) / prior.increment_sd[k]) ** 2
    return log_p


_slice_scale = slice_sampler(_scale_density)
_slice_spread = slice_sampler(_spread_density)
_slice_moved = slice_sampler(_moved_density)
_slice_increment = slice_sampler(_increment_density)
_slice_stretch = slice_sampler(_stretched_density)


# --- Steps of a sweep ---


@inner_njit(error_model="numpy")
def _follow(widths, at, moved, warm):
    """Adapt the width of a slice in the warm-up."""
    if warm:
        widths[at] = adapted_width(widths[at], moved, NARROWEST, WIDEST)


@inner_njit(error_model="numpy")
def _draw_locations(rng, data, state, workspace):
    """Draw the location of every item, and overwrite those seen by each rater."""
    n = len(state.rater_centre)
    for k in range(n):
        workspace.centre[k] = state.rater_centre[k]
        workspace.per_scale[k] = math.exp(-state.rater_log_scale[k])
    workspace.centre[n] = state.population[CENTRE]
    workspace.per_scale[n] = math.exp(-state.population[LOG_SCALE])
    upper, lower, centre, per_scale = workspace.upper, workspace.lower, workspace.centre, workspace.per_scale
    for i in range(len(state.location)):
        own = (data.who, data.place, data.start[i], data.start[i + 1], upper, lower, centre, per_scale)
        state.location[i] = _draw_location(rng, own, state.location[i])
    for at in range(len(data.item)):
        workspace.seen[at] = state.location[data.item[at]]


@inner_njit(error_model="numpy")
def _draw_raters(rng, data, state, workspace, warm):
    """Draw centre and scale of every rater."""
    population, bounds = state.population, (workspace.upper, workspace.lower)
    for k in range(len(state.rater_centre)):
        span = (data.rater_start[k], data.rater_start[k + 1])
        per_scale = math.exp(-state.rater_log_scale[k])
        prior = population[CENTRE], population[SHIFT_SPREAD]
        own = (workspace.seen, data.rater_place, span, bounds, per_scale, prior[0], prior[1])
        state.rater_centre[k] = _draw_centre(rng, own, state.rater_centre[k])
        before = state.rater_log_scale[k]
        prior = population[LOG_SCALE], population[SCALE_SPREAD]
        of_scale = (data, workspace.seen, k, bounds, state.rater_centre[k], prior[0], prior[1])
        state.rater_log_scale[k] = _slice_scale(rng, of_scale, before, state.rater_width[k])
        _follow(state.rater_width, k, state.rater_log_scale[k] - before, warm)


@inner_njit(error_model="numpy")
def _draw_mean(rng, which, data, prior, state, workspace, warm):
    """Draw centre or log scale of the population given those of the raters, and the gold labels."""
    own = state.rater_centre if which == CENTRE else state.rater_log_scale
    spread = state.population[SHIFT_SPREAD + which]
    precision = 1.0 / prior.sd[which] ** 2 + len(own) / spread**2
    mean = prior.mean[which] / prior.sd[which] ** 2
    for k in range(len(own)):
        mean += own[k] / spread**2
    mean, sd, k = mean / precision, 1.0 / math.sqrt(precision), len(own)
    if data.rater_start[k] == data.rater_start[k + 1]:
        state.population[which] = mean + sd * standard_normal(rng)
        return
    before, bounds = state.population[which], (workspace.upper, workspace.lower)
    if which == CENTRE:
        span = (data.rater_start[k], data.rater_start[k + 1])
        per_scale = math.exp(-state.population[LOG_SCALE])
        of_centre = (workspace.seen, data.rater_place, span, bounds, per_scale, mean, sd)
        state.population[CENTRE] = _draw_centre(rng, of_centre, before)
        return
    of_scale = (data, workspace.seen, k, bounds, state.population[CENTRE], mean, sd)
    state.population[LOG_SCALE] = _slice_scale(rng, of_scale, before, state.width[0, LOG_SCALE])
    _follow(state.width[0], LOG_SCALE, state.population[LOG_SCALE] - before, warm)


@inner_njit(error_model="numpy")
def _draw_spread(rng, which, data, prior, state, workspace, warm):
    """Draw the spread of the centres or of the log scales: given the raters, then with them."""
    population = state.population
    own = state.rater_centre if which == SHIFT_SPREAD else state.rater_log_scale
    mean, squares = population[which - SHIFT_SPREAD], 0.0
    for k in range(len(own)):
        squares += (own[k] - mean) ** 2
    before = math.log(population[which])
    given = (squares, len(own), prior.spread[which - SHIFT_SPREAD])
    x = _slice_spread(rng, given, before, state.width[0, which])
    population[which] = math.exp(x)
    _follow(state.width[0], which, x - before, warm)
    before = x
    x = _slice_moved(rng, (which, data, prior, state, workspace), before, state.width[1, which])
    ratio = math.exp(x - before)
    for k in range(len(own)):
        own[k] = mean + ratio * (own[k] - mean)
    population[which] = math.exp(x)
    _follow(state.width[1], which, x - before, warm)


@inner_njit(error_model="numpy")
def _move_all(rng, prior, state, workspace, warm):
    """Shift, then stretch the scale of the locations with all that is measured on it."""
    location, population = state.location, state.population
    total, squares = 0.0, 0.0
    for i in range(len(location)):
        total += location[i]
    precision = len(location) + 1.0 / prior.sd[0] ** 2
    mean = -(total + (population[CENTRE] - prior.mean[0]) / prior.sd[0] ** 2) / precision
    shift = mean + standard_normal(rng) / math.sqrt(precision)
    population[CENTRE] += shift
    for i in range(len(location)):
        location[i] += shift
        squares += location[i] * location[i]
    given = (squares, len(location), prior, population, state.log_increment)
    x = _slice_stretch(rng, given, 0.0, state.width[0, STRETCH])
    _follow(state.width[0], STRETCH, x, warm)
    stretch = math.exp(x)
    for i in range(len(location)):
        location[i] *= stretch
    for k in range(len(state.rater_centre)):
        state.rater_centre[k] = (state.rater_centre[k] + shift) * stretch
        state.rater_log_scale[k] += x
    for k in range(len(state.log_increment)):
        state.log_increment[k] += x
    population[CENTRE] *= stretch
    population[LOG_SCALE] += x
    population[SHIFT_SPREAD] *= stretch
    _set_thresholds(state.log_increment, workspace.upper, workspace.lower)


# --- Sums over the nodes of the locations ---


@inner_njit(**FAST)
def _fill_table(point, bounds, centre, per_scale, table):
    """Overwrite the log probability of each label of a rater at each node (label, node)."""
    upper, lower = bounds
    n = len(upper)
    for place in range(n):
        gap = 0.0
        if 0 < place < n - 1:
            gap = math.log(-math.expm1((lower[place] - upper[place]) * per_scale))
        for q in range(len(point)):
            x = centre - point[q]
            u, v = (x + upper[place]) * per_scale, (x + lower[place]) * per_scale
            table[place, q] = (
                gap + min(u, 0.0) - max(v, 0.0) - log((1.0 + exp(-abs(u))) * (1.0 + exp(-abs(v))))
            )


@inner_njit(**FAST)
def _weigh_nodes(table, codes, row):
    """Overwrite the weights of the nodes of an item, which sum to one, given the log prior in row (node,); return log p."""
    for c in codes:
        for q in range(len(row)):
            row[q] += table[c, q]
    largest = -np.inf
    for q in range(len(row)):
        largest = max(largest, row[q])
    total = 0.0
    for q in range(len(row)):
        row[q] = exp(row[q] - largest)
        total += row[q]
    for q in range(len(row)):
        row[q] /= total
    return largest + math.log(total)


@inner_njit(**FAST)
def _dot(a, b):
    """Return the inner product of two arrays (n,)."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@inner_njit(error_model="numpy")
def _store_draw(d, data, prior, state, workspace, table, draws):
    """Store a draw; table (rater + 1, label, node) is overwritten."""
    n_raters, (n, n_nodes) = len(state.rater_centre), table.shape[1:]
    draws.rater_centre[d] = state.rater_centre
    draws.rater_log_scale[d] = state.rater_log_scale
    draws.population[d] = state.population
    draws.log_increment[d] = state.log_increment
    bounds, row, typical = (workspace.upper, workspace.lower), np.empty(n_nodes), np.empty((n, n_nodes))
    own = state.population[CENTRE], math.exp(-state.population[LOG_SCALE])
    _fill_table(prior.point, bounds, own[0], own[1], table[n_raters])
    for place in range(n):
        draws.prevalence[d, prior.order[place]] = 0.0
        for q in range(n_nodes):
            typical[place, q] = math.exp(table[n_raters, place, q])
            draws.prevalence[d, prior.order[place]] += typical[place, q] * math.exp(prior.log_weight[q])
    if not draws.log_p.shape[1]:
        return
    for k in range(n_raters):
        own = state.rater_centre[k], math.exp(-state.rater_log_scale[k])
        _fill_table(prior.point, bounds, own[0], own[1], table[k])
    code = data.who * n + data.place
    by_code = table.reshape((n_raters + 1) * n, n_nodes)
    for i in range(len(data.gold)):
        for q in range(n_nodes):
            row[q] = prior.log_weight[q]
        draws.log_p[d, i] = _weigh_nodes(by_code, code[data.start[i] : data.start[i + 1]], row)
        draws.location[d, i] = _dot(row, prior.point)
        for place in range(n):
            if data.gold[i] < 0:
                draws.plausibility[d, i, prior.order[place]] = _dot(row, typical[place])
            else:
                draws.plausibility[d, i, prior.order[place]] = 1.0 if place == data.gold[i] else 0.0


# --- The chain ---


@cached_njit(nogil=True, error_model="numpy")
def sample_ordinal(
    rng: np.ndarray,
    data: OrdinalAnswers,
    prior: OrdinalPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[OrdinalState, OrdinalDraws],
) -> None:
    """Run one chain on from its state, in place; schedule: (warm-up, sweeps per draw)."""
    (warm_up, thin), (state, draws) = schedule, state_and_draws
    n_raters, n = len(state.rater_centre), data.number.shape[1]
    workspace = Thresholds(
        np.empty(n), np.empty(n), np.empty(n_raters + 1), np.empty(n_raters + 1), np.empty(len(data.item))
    )
    trial = (np.empty(n), np.empty(n), np.empty(n - 2))
    table = np.empty((n_raters + 1, n, len(prior.point)))
    _set_thresholds(state.log_increment, workspace.upper, workspace.lower)
    for d in range(len(draws.population)):
        sweeps = thin + (warm_up if d == 0 else 0)
        for sweep in range(sweeps):
            warm = d == 0 and sweep < warm_up
            _draw_locations(rng, data, state, workspace)
            _draw_raters(rng, data, state, workspace, warm)
            for which in (CENTRE, LOG_SCALE):
                _draw_mean(rng, which, data, prior, state, workspace, warm)
                _draw_spread(rng, SHIFT_SPREAD + which, data, prior, state, workspace, warm)
            for at in range(n - 2):
                before = state.log_increment[at]
                for k in range(n - 2):
                    trial[2][k] = state.log_increment[k]
                own = (at, data, prior, state, workspace, trial)
                x = _slice_increment(rng, own, before, state.increment_width[at])
                state.log_increment[at] = x
                _follow(state.increment_width, at, x - before, warm)
            _move_all(rng, prior, state, workspace, warm)
        _store_draw(d, data, prior, state, workspace, table, draws)

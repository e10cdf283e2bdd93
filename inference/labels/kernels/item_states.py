"""Gibbs sweep of a mixture of item states; items with equal label counts are drawn together.

    m_p items have the counts n_p; a_pj of them are in state j

    a_p | w, theta      Multinomial(m_p, r_p),   r_pj proportional to w_j prod_c theta_jc ^ n_pc
    w | a               Dirichlet(alpha + sum_p a_pj)
    theta_j | a         Dirichlet(beta + sum_p a_pj n_p)

The states are exchangeable under the prior; stored draws list them by the probability of the last category.
Functions of the set of states, such as the law of the counts or a power curve, do not depend on this order.

References
----------
Diebolt and Robert (1994), Estimation of finite mixture distributions through Bayesian sampling, JRSS B 56(2),
doi:10.1111/j.2517-6161.1994.tb01985.x.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import copy_into, log_add
from ...kernels.random_streams import (
    exp_normalise,
    load_stream,
    log_standard_gamma,
    split_count,
    store_stream,
    uniform,
)


class DirichletItems(NamedTuple):
    """Dirichlet laws of items."""

    concentration: np.ndarray  # (item, category), of the posterior
    counts: np.ndarray  # (item, category), labels, each at power one
    alpha: np.ndarray  # (item, category), of the prior


class DirichletDraws(NamedTuple):
    """Output arrays."""

    plausibility: np.ndarray  # (draw, item, category)
    log_p: np.ndarray  # (draw, item), log likelihood of the item's labels
    log_prior: np.ndarray  # (draw, item), log prior density


@cached_njit(nogil=True, error_model="numpy")
def draw_dirichlet_items(streams: np.ndarray, items: DirichletItems, draws: DirichletDraws) -> None:
    """Draw plausibilities of a block of items with their densities; streams uint64 (4, item) and `draws` change in place.

    p_i ~ Dirichlet(alpha + gamma n_i), normalised in logs: a concentration of .001 gives tiny plausibilities, not 0 / 0.
    """
    n_items, n = items.concentration.shape
    rng, log_share = np.empty(4, np.uint64), np.empty(n)
    for i in range(n_items):
        load_stream(streams, i, rng)
        # log Gamma(sum of alpha) - sum of log Gamma(alpha_k)
        normaliser, total = 0.0, 0.0
        for k in range(n):
            normaliser -= math.lgamma(items.alpha[i, k])
            total += items.alpha[i, k]
        normaliser += math.lgamma(total)
        for d in range(len(draws.log_p)):
            log_total = -np.inf
            for k in range(n):
                log_share[k] = log_standard_gamma(rng, items.concentration[i, k])
                log_total = log_add(log_total, log_share[k])
            log_p, log_prior = 0.0, normaliser
            for k in range(n):
                log_share[k] -= log_total
                draws.plausibility[d, i, k] = math.exp(log_share[k])
                # log p += n_k log p_k;  log prior += (alpha_k - 1) log p_k
                log_p += items.counts[i, k] * log_share[k]
                log_prior += (items.alpha[i, k] - 1.0) * log_share[k]
            draws.log_p[d, i] = log_p
            draws.log_prior[d, i] = log_prior
        store_stream(streams, i, rng)


# --- Label probabilities of items given the states ---


@cached_njit(nogil=True, error_model="numpy")
def draw_item_plausibility(
    rng: np.ndarray,
    patterns: np.ndarray,
    pattern: np.ndarray,
    states: tuple[np.ndarray, np.ndarray, np.ndarray],
    plausibility: np.ndarray,
) -> None:
    """Draw the label probabilities of all items, once for each draw of the mixture.

        z_i | n_i, w, theta, rho       p(z_i = j) proportional to w_j p(n_i | theta_j, rho_j)
        q_i | z_i, n_i, theta, rho     Dirichlet((1 / rho_z - 1) theta_z + n_i), and theta_z where rho_z is zero

    Shapes: rng uint64 (item, 4), advanced in place; patterns int64 (pattern, category), distinct label
    counts; pattern int64 (item,); states: weight (draw, state), probability (draw, state, category), spread
    (draw, state); plausibility (draw, item, category), overwritten.
    """
    weight, probability, spread = states
    n_states, n = probability.shape[1:]
    size, most = np.zeros(len(patterns), np.int64), 0
    for p in range(len(patterns)):
        for c in range(n):
            size[p] += patterns[p, c]
        most = max(most, size[p])
    reached, own = np.empty((len(patterns), n_states)), np.empty(n)
    named, given = np.empty((n_states, n, most + 1)), np.empty((n_states, most + 1))
    for d in range(len(weight)):
        _tabulate(probability[d], spread[d], named, given)
        _reach_states(patterns, size, weight[d], (named, given), reached)
        for i in range(len(pattern)):
            # z_i, by inversion
            u, state = uniform(rng[i]), 0
            while state < n_states - 1 and u >= reached[pattern[i], state]:
                state += 1
            copy_into(own, probability[d, state])
            if spread[d, state] > 0.0:
                _draw_within(rng[i], spread[d, state], patterns[pattern[i]], own)
            for c in range(n):
                plausibility[d, i, c] = own[c]


@inner_njit(error_model="numpy", inline="always")
def _tabulate(probability, spread, named, given):
    """Tabulate sums over u = 0, 1, ... of log(theta + u t) and log(1 + u t), for t = rho / (1 - rho).

    Shapes: named (state, category, number of terms), given (state, number of terms), both overwritten.
    """
    smallest = np.finfo(np.float64).tiny  # replaces underflowed probabilities
    for j in range(len(spread)):
        step = spread[j] / (1.0 - spread[j])
        given[j, 0] = 0.0
        named[j, :, 0] = 0.0
        for u in range(given.shape[1] - 1):
            given[j, u + 1] = given[j, u] + math.log1p(u * step)
            for c in range(named.shape[1]):
                rise = math.log(max(probability[j, c] + u * step, smallest))
                named[j, c, u + 1] = named[j, c, u] + rise


@inner_njit(error_model="numpy", inline="always")
def _reach_states(patterns, size, weight, tables, reached):
    """Overwrite `reached` (pattern, state) with the cumulative state probabilities given the counts; size (pattern,)."""
    named, given = tables
    smallest = np.finfo(np.float64).tiny
    for p in range(len(patterns)):
        share = reached[p]
        for j in range(len(weight)):
            # log w_j + log p(n | theta_j, rho_j), a Dirichlet-multinomial
            share[j] = math.log(max(weight[j], smallest)) - given[j, size[p]]
            for c in range(patterns.shape[1]):
                share[j] += named[j, c, patterns[p, c]]
        exp_normalise(share)
        for j in range(1, len(share)):
            share[j] += share[j - 1]


@inner_njit(error_model="numpy", inline="always")
def _draw_within(rng, spread, counts, own):
    """Draw an item's probabilities from Dirichlet((1 / rho - 1) theta + n) into own (category,), which holds theta."""
    size = 1.0 / spread - 1.0
    for c in range(len(own)):
        own[c] = log_standard_gamma(rng, size * own[c] + counts[c])
    exp_normalise(own)


# --- Gibbs sweep of the states ---


class CountPatterns(NamedTuple):
    """Distinct label counts, and the number of items that have them."""

    counts: np.ndarray  # float64 (pattern, category), whole numbers
    items: np.ndarray  # int64 (pattern,)


class StatePrior(NamedTuple):
    """Dirichlet concentrations of the mixture."""

    weight: np.ndarray  # (state,)
    probability: np.ndarray  # (state, category)


class StateDraws(NamedTuple):
    """Output arrays of a chain."""

    weight: np.ndarray  # (draw, state)
    probability: np.ndarray  # (draw, state, category)


def begin_item_states(rng: np.ndarray, prior: StatePrior, state: tuple[np.ndarray, np.ndarray]) -> None:
    """Draw log weights (state,) and log probabilities (state, category) from their prior, in place: a sweep without items."""
    shape = prior.probability.shape
    none = CountPatterns(np.empty((0, shape[1])), np.empty(0, np.int64))
    draws = StateDraws(np.empty((1, shape[0])), np.empty((1, *shape)))
    continue_item_states(rng, none, prior, (0, 1), (state, draws))


@cached_njit(nogil=True, error_model="numpy")
def continue_item_states(
    rng: np.ndarray,
    patterns: CountPatterns,
    prior: StatePrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[tuple[np.ndarray, np.ndarray], StateDraws],
) -> None:
    """Run one chain on from its log weights (state,) and probabilities, in place; schedule: (warm-up, sweeps per draw)."""
    (sweeps, thin), ((log_weight, log_probability), draws) = schedule, state_and_draws
    n_states, n = prior.probability.shape
    items, labels = np.zeros(n_states), np.zeros((n_states, n))
    for d in range(len(draws.weight)):
        sweeps += thin
        for _ in range(sweeps):
            _allocate(rng, patterns, (log_weight, log_probability), (items, labels))
            _draw_states(rng, prior, (items, labels), (log_weight, log_probability))
        sweeps = 0
        # exchangeable states: stored by the probability of the last category
        for j in range(n_states):
            place, last = 0, log_probability[j, n - 1]
            for k in range(n_states):
                other = log_probability[k, n - 1]
                if other < last or (other == last and k < j):
                    place += 1
            draws.weight[d, place] = math.exp(log_weight[j])
            for c in range(n):
                draws.probability[d, place, c] = math.exp(log_probability[j, c])


@inner_njit(error_model="numpy", inline="always")
def _allocate(rng, patterns, states, allocated):
    """Draw a_p for every pattern; overwrite the items (state,) and labels (state, category) of the states."""
    log_weight, log_probability = states
    items, labels = allocated
    n_states, n = labels.shape
    share, parts = np.empty(n_states), np.empty(n_states, np.int64)
    items[:] = 0.0
    labels[:] = 0.0
    for p in range(len(patterns.items)):
        for j in range(n_states):
            share[j] = log_weight[j]
            for c in range(n):
                if patterns.counts[p, c] > 0.0:
                    share[j] += patterns.counts[p, c] * log_probability[j, c]
        exp_normalise(share)  # r_p
        split_count(rng, patterns.items[p], share, parts)  # a_p ~ Multinomial(m_p, r_p)
        for j in range(n_states):
            items[j] += parts[j]
            for c in range(n):
                labels[j, c] += parts[j] * patterns.counts[p, c]


@inner_njit(error_model="numpy", inline="always")
def _draw_states(rng, prior, allocated, states):
    """Draw log weights and log probabilities of the states given their items and labels."""
    log_weight, log_probability = states
    items, labels = allocated
    _draw_log_dirichlet(rng, prior.weight, items, log_weight)
    for j in range(len(items)):
        _draw_log_dirichlet(rng, prior.probability[j], labels[j], log_probability[j])


@inner_njit(error_model="numpy")
def _draw_log_dirichlet(rng, prior, counts, log_p):
    """Draw log Dirichlet variables; concentrations near zero give tiny probabilities, not 0 / 0."""
    largest = -np.inf
    for k in range(len(log_p)):
        log_p[k] = log_standard_gamma(rng, prior[k] + counts[k])
        largest = max(largest, log_p[k])
    total = 0.0
    for k in range(len(log_p)):
        total += math.exp(log_p[k] - largest)
    normaliser = largest + math.log(total)
    for k in range(len(log_p)):
        log_p[k] -= normaliser

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

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from .binomial import split_count
from .gamma import log_standard_gamma

__all__ = [
    "CountPatterns",
    "StateDraws",
    "StatePrior",
    "begin_item_states",
    "continue_item_states",
    "sample_item_states",
]


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


@kept(nogil=True, error_model="numpy")
def sample_item_states(
    rng: np.ndarray,
    patterns: CountPatterns,
    prior: StatePrior,
    schedule: tuple[int, int],
    draws: StateDraws,
) -> None:
    """Run one Gibbs chain from a draw of the prior; `schedule` is (warm-up sweeps, sweeps per stored draw)."""
    state = (np.empty(prior.weight.shape), np.empty(prior.probability.shape))
    begin_item_states(rng, prior, state)
    continue_item_states(rng, patterns, prior, schedule, (state, draws))


@kept(nogil=True, error_model="numpy")
def begin_item_states(
    rng: np.ndarray, prior: StatePrior, state: tuple[np.ndarray, np.ndarray]
) -> None:
    """Draw log weights (state,) and log probabilities (state, category) from their prior, in place."""
    items, labels = np.zeros(prior.weight.shape), np.zeros(prior.probability.shape)
    _draw_states(rng, prior, (items, labels), state)


@kept(nogil=True, error_model="numpy")
def continue_item_states(
    rng: np.ndarray,
    patterns: CountPatterns,
    prior: StatePrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[tuple[np.ndarray, np.ndarray], StateDraws],
) -> None:
    """Run one Gibbs chain on from its state, which is overwritten.

    Shapes: state: log weights (state,), log probabilities (state, category). `schedule` is (warm-up sweeps,
    sweeps per stored draw).
    """
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
        order = np.argsort(log_probability[:, n - 1], kind="mergesort")
        for place in range(n_states):
            draws.weight[d, place] = math.exp(log_weight[order[place]])
            for c in range(n):
                draws.probability[d, place, c] = math.exp(log_probability[order[place], c])


@nb.njit(error_model="numpy")
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
        share[:] = np.exp(share - share.max())
        share /= share.sum()  # r_p
        split_count(rng, patterns.items[p], share, parts)  # a_p ~ Multinomial(m_p, r_p)
        for j in range(n_states):
            items[j] += parts[j]
            for c in range(n):
                labels[j, c] += parts[j] * patterns.counts[p, c]


@nb.njit(error_model="numpy")
def _draw_states(rng, prior, allocated, states):
    """Draw log weights and log probabilities of the states given their items and labels."""
    log_weight, log_probability = states
    items, labels = allocated
    _draw_log_dirichlet(rng, prior.weight, items, log_weight)
    for j in range(len(items)):
        _draw_log_dirichlet(rng, prior.probability[j], labels[j], log_probability[j])


@nb.njit(error_model="numpy", inline="always")
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

"""Gibbs sweep of a mixture of item states, by patterns: items with the same label counts are drawn together.

    m_p items have the counts n_p; a_pj of them are in state j

    a_p | w, theta      Multinomial(m_p, r_p),   r_pj proportional to w_j prod_c theta_jc ^ n_pc
    w | a               Dirichlet(alpha + sum_p a_pj)
    theta_j | a         Dirichlet(beta + sum_p a_pj n_p)

The states have no names: all are alike to the prior, and so the stored draws list them in the order of their probabilities of the
last category (of the one before where these are equal). What depends on the set of states alone - the law of the counts, a power
curve - does not notice.

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
    """Distinct label counts of items, and how many items have them.

    Attributes
    ----------
    counts : ndarray of float64, shape (pattern, category)
        Whole numbers.
    items : ndarray of int64, shape (pattern,)
        How many items have these counts.
    """

    counts: np.ndarray
    items: np.ndarray


class StatePrior(NamedTuple):
    """Dirichlet concentrations: of the weights, shape (state,), and of each state's probabilities, shape (state, category)."""

    weight: np.ndarray
    probability: np.ndarray


class StateDraws(NamedTuple):
    """Where a chain stores its draws.

    Attributes
    ----------
    weight : ndarray, shape (draw, state)
        Shares of the states.
    probability : ndarray, shape (draw, state, category)
        Probability of each label in each state.
    """

    weight: np.ndarray
    probability: np.ndarray


@kept(nogil=True, error_model="numpy")
def sample_item_states(
    rng: np.ndarray,
    patterns: CountPatterns,
    prior: StatePrior,
    schedule: tuple[int, int],
    draws: StateDraws,
) -> None:
    """Run one chain from a draw of the prior.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    patterns : CountPatterns
        The data.
    prior : StatePrior
        Priors.
    schedule : tuple of int
        Sweeps before the first stored draw, and sweeps per stored draw.
    draws : StateDraws
        Where the draws go.
    """
    state = (np.empty(prior.weight.shape), np.empty(prior.probability.shape))
    begin_item_states(rng, prior, state)
    continue_item_states(rng, patterns, prior, schedule, (state, draws))


@kept(nogil=True, error_model="numpy")
def begin_item_states(
    rng: np.ndarray, prior: StatePrior, state: tuple[np.ndarray, np.ndarray]
) -> None:
    """Draw weights and probabilities from their prior.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    prior : StatePrior
        Priors.
    state : tuple of ndarray, shapes (state,) and (state, category)
        Overwritten with the logs of weights and probabilities.
    """
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
    """Run one chain on from where it stands.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    patterns : CountPatterns
        The data.
    prior : StatePrior
        Priors.
    schedule : tuple of int
        Sweeps before the first stored draw, and sweeps per stored draw.
    state_and_draws : tuple of tuple of ndarray, shapes (state,) and (state, category), and StateDraws
        Logs of weights and probabilities, changed in place, and where the draws go.
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
        order = np.argsort(log_probability[:, n - 1], kind="mergesort")
        for place in range(n_states):
            draws.weight[d, place] = math.exp(log_weight[order[place]])
            for c in range(n):
                draws.probability[d, place, c] = math.exp(log_probability[order[place], c])


@nb.njit(error_model="numpy")
def _allocate(rng, patterns, states, allocated):
    """Draw how many items of every pattern are in each state, and add up the items and labels of the states."""
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
        share /= share.sum()
        split_count(rng, patterns.items[p], share, parts)
        for j in range(n_states):
            items[j] += parts[j]
            for c in range(n):
                labels[j, c] += parts[j] * patterns.counts[p, c]


@nb.njit(error_model="numpy")
def _draw_states(rng, prior, allocated, states):
    """Draw weights and probabilities of the states, in logs, given their items and labels."""
    log_weight, log_probability = states
    items, labels = allocated
    _draw_log_dirichlet(rng, prior.weight, items, log_weight)
    for j in range(len(items)):
        _draw_log_dirichlet(rng, prior.probability[j], labels[j], log_probability[j])


@nb.njit(error_model="numpy", inline="always")
def _draw_log_dirichlet(rng, prior, counts, log_p):
    """Draw the logs of Dirichlet variables; concentrations near zero give tiny ones, not 0 / 0."""
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

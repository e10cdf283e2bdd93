"""The state of every item, drawn for each draw of a mixture of item states, and the item's own probabilities of the labels.

    z_i | n_i, w, theta, rho       p(z_i = j) proportional to w_j p(n_i | theta_j, rho_j)
    q_i | z_i, n_i, theta, rho     Dirichlet((1 / rho_z - 1) theta_z + n_i), and theta_z where rho_z is zero

Items with the same counts share the probabilities of their states, and every item has a stream of its own.
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from .gamma import log_standard_gamma
from .random_stream import uniform

__all__ = ["draw_item_plausibility"]


@kept(nogil=True, error_model="numpy")
def draw_item_plausibility(
    rng: np.ndarray,
    patterns: np.ndarray,
    pattern: np.ndarray,
    states: tuple[np.ndarray, np.ndarray, np.ndarray],
    plausibility: np.ndarray,
) -> None:
    """Draw the probabilities of all items, once for each draw of the mixture.

    Parameters
    ----------
    rng : ndarray of uint64, shape (item, 4)
        Streams of the items, advanced in place.
    patterns : ndarray of int64, shape (pattern, category)
        Distinct label counts.
    pattern : ndarray of int64, shape (item,)
        Which of them each item has.
    states : tuple of ndarray, shapes (draw, state), (draw, state, category) and (draw, state)
        Weight, probability and spread of the states.
    plausibility : ndarray, shape (draw, item, category)
        Where the draws go.
    """
    weight, probability, spread = states
    n_states, n = probability.shape[1:]
    most = 0
    for p in range(len(patterns)):
        most = max(most, patterns[p].sum())
    reached, own = np.empty((len(patterns), n_states)), np.empty(n)
    named, given = np.empty((n_states, n, most + 1)), np.empty((n_states, most + 1))
    for d in range(len(weight)):
        _tabulate(probability[d], spread[d], named, given)
        _reach_states(patterns, weight[d], (named, given), reached)
        for i in range(len(pattern)):
            u, state = uniform(rng[i]), 0
            while state < n_states - 1 and u >= reached[pattern[i], state]:
                state += 1
            own[:] = probability[d, state]
            if spread[d, state] > 0.0:
                _draw_within(rng[i], spread[d, state], patterns[pattern[i]], own)
            for c in range(n):
                plausibility[d, i, c] = own[c]


@nb.njit(error_model="numpy")
def _tabulate(probability, spread, named, given):
    """Sum the logs of theta + u t and of 1 + u t over u below 0, 1, 2, ..., for t = rho / (1 - rho)."""
    smallest = np.finfo(np.float64).tiny  # what was too small for a double
    for j in range(len(spread)):
        step = spread[j] / (1.0 - spread[j])
        given[j, 0] = 0.0
        named[j, :, 0] = 0.0
        for u in range(given.shape[1] - 1):
            given[j, u + 1] = given[j, u] + math.log1p(u * step)
            for c in range(named.shape[1]):
                rise = math.log(max(probability[j, c] + u * step, smallest))
                named[j, c, u + 1] = named[j, c, u] + rise


@nb.njit(error_model="numpy")
def _reach_states(patterns, weight, tables, reached):
    """Return the probability of a state up to each, given the counts of every pattern."""
    named, given = tables
    smallest = np.finfo(np.float64).tiny
    for p in range(len(patterns)):
        share = reached[p]
        for j in range(len(weight)):
            share[j] = math.log(max(weight[j], smallest)) - given[j, patterns[p].sum()]
            for c in range(patterns.shape[1]):
                share[j] += named[j, c, patterns[p, c]]
        share[:] = np.exp(share - share.max())
        share[:] = np.cumsum(share / share.sum())


@nb.njit(error_model="numpy")
def _draw_within(rng, spread, counts, own):
    """Draw an item's probabilities from its state's Dirichlet law, given its counts; `own` is the state's mean."""
    size, largest = 1.0 / spread - 1.0, -np.inf
    for c in range(len(own)):
        own[c] = log_standard_gamma(rng, size * own[c] + counts[c])
        largest = max(largest, own[c])
    own[:] = np.exp(own - largest)
    own[:] = own / own.sum()

"""State and label probabilities of every item, for each draw of a mixture of item states.

    z_i | n_i, w, theta, rho       p(z_i = j) proportional to w_j p(n_i | theta_j, rho_j)
    q_i | z_i, n_i, theta, rho     Dirichlet((1 / rho_z - 1) theta_z + n_i), and theta_z where rho_z is zero

Items with equal counts share the probabilities of their states; every item has its own stream.
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
    """Draw the label probabilities of all items, once for each draw of the mixture.

    Shapes: rng uint64 (item, 4), advanced in place; patterns int64 (pattern, category), distinct label
    counts; pattern int64 (item,); states: weight (draw, state), probability (draw, state, category), spread
    (draw, state); plausibility (draw, item, category), overwritten.
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
            # z_i, by inversion
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


@nb.njit(error_model="numpy")
def _reach_states(patterns, weight, tables, reached):
    """Overwrite `reached` (pattern, state) with the cumulative state probabilities given the counts."""
    named, given = tables
    smallest = np.finfo(np.float64).tiny
    for p in range(len(patterns)):
        share = reached[p]
        for j in range(len(weight)):
            # log w_j + log p(n | theta_j, rho_j), a Dirichlet-multinomial
            share[j] = math.log(max(weight[j], smallest)) - given[j, patterns[p].sum()]
            for c in range(patterns.shape[1]):
                share[j] += named[j, c, patterns[p, c]]
        share[:] = np.exp(share - share.max())
        share[:] = np.cumsum(share / share.sum())


@nb.njit(error_model="numpy")
def _draw_within(rng, spread, counts, own):
    """Draw an item's probabilities from Dirichlet((1 / rho - 1) theta + n).

    Shapes: own (category,), the state's mean theta, overwritten.
    """
    size, largest = 1.0 / spread - 1.0, -np.inf
    for c in range(len(own)):
        own[c] = log_standard_gamma(rng, size * own[c] + counts[c])
        largest = max(largest, own[c])
    own[:] = np.exp(own - largest)
    own[:] = own / own.sum()

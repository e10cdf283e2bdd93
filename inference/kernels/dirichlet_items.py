"""Independent draws of the plausibilities of items from their Dirichlet posterior, each item by a stream of its own.

    p_i ~ Dirichlet(alpha + gamma n_i)

Draws are normalised in logs, so that a concentration of .001 gives tiny plausibilities, not 0 / 0.
"""

import math
from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept
from .gamma import log_add, log_standard_gamma

__all__ = ["DirichletDraws", "DirichletItems", "draw_dirichlet_items"]


class DirichletItems(NamedTuple):
    """Laws of items.

    Attributes
    ----------
    concentration : ndarray, shape (item, category)
        Of the posterior.
    counts : ndarray, shape (item, category)
        Labels, each at power one.
    alpha : ndarray, shape (item, category)
        Concentration of the prior.
    """

    concentration: np.ndarray
    counts: np.ndarray
    alpha: np.ndarray


class DirichletDraws(NamedTuple):
    """Where the draws go.

    Attributes
    ----------
    plausibility : ndarray, shape (draw, item, category)
        The draws.
    log_p, log_prior : ndarray, shape (draw, item)
        Log likelihood of the labels of each item, and log prior density.
    """

    plausibility: np.ndarray
    log_p: np.ndarray
    log_prior: np.ndarray


@kept(nogil=True, error_model="numpy")
def draw_dirichlet_items(streams: np.ndarray, items: DirichletItems, draws: DirichletDraws) -> None:
    """Draw a block of items.

    Parameters
    ----------
    streams : ndarray of uint64, shape (4, item)
        Stream of each item, advanced in place.
    items : DirichletItems
        Laws of the items.
    draws : DirichletDraws
        Overwritten.
    """
    n_items, n = items.concentration.shape
    rng, log_share = np.empty(4, np.uint64), np.empty(n)
    for i in range(n_items):
        rng[:] = streams[:, i]
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
                log_p += items.counts[i, k] * log_share[k]
                log_prior += (items.alpha[i, k] - 1.0) * log_share[k]
            draws.log_p[d, i] = log_p
            draws.log_prior[d, i] = log_prior
        streams[:, i] = rng

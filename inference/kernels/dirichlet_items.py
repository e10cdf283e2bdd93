"""Independent draws of item plausibilities from their Dirichlet posterior, each item with its own stream.

    p_i ~ Dirichlet(alpha + gamma n_i)

Draws are normalised in logs: a concentration of .001 gives tiny plausibilities, not 0 / 0.
"""

import math
from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept
from .gamma import log_add, log_standard_gamma

__all__ = ["DirichletDraws", "DirichletItems", "draw_dirichlet_items"]


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


@kept(nogil=True, error_model="numpy")
def draw_dirichlet_items(streams: np.ndarray, items: DirichletItems, draws: DirichletDraws) -> None:
    """Draw the plausibilities of a block of items, with log likelihood and log prior density.

    Shapes: streams uint64 (4, item), advanced in place. `draws` is overwritten.
    """
    n_items, n = items.concentration.shape
    rng, log_share = np.empty(4, np.uint64), np.empty(n)
    for i in range(n_items):
        rng[:] = streams[:, i]
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
        streams[:, i] = rng

"""Moves of a scale together with all that it scales: what the answers say little about can then go far at once.

    deviations -> c deviations,     tau -> tau + log c,     log c ~ Normal(0, size^2)

leaves the prior of the deviations given their scale as it is, so that the move is accepted by the likelihood and the prior of the
scale alone. With few votes qualities and their scale are so dependent that moving them one after the other gets nowhere.

References
----------
Yu and Meng (2011), To center or not to center: that is not the question, JCGS 20(3), doi:10.1198/jcgs.2011.203main.
"""

import math

import numba as nb

from ...models.distributions.vector_math import FAST
from .anchored_posterior import NONE, anchored_log_p
from .random_stream import standard_normal, uniform

__all__ = ["draw_scales"]

LEAST_SIZE, MOST_SIZE = 0.03, 1.5


@nb.njit(**FAST)
def draw_scales(rng, cells, prior, theta, log_p, work):
    """Try one move of each scale in place; return whether any was accepted, and log p.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    cells : PairCells
        The answers.
    prior : PairPrior
        Priors.
    theta : ndarray, shape (coordinate,)
        Coordinates, changed in place.
    log_p : float
        Log density there.
    work : tuple of two ndarray, shape (coordinate,)
        Coordinates and gradient that are tried.
    """
    trial, gradient = work
    moved = False
    for which in range(2):
        place = prior.at[which]
        if place == NONE:
            continue
        low, n = (0, prior.n_items) if which == 0 else (prior.n_items, prior.n_raters)
        size = LEAST_SIZE * (MOST_SIZE / LEAST_SIZE) ** uniform(rng)
        log_c = size * standard_normal(rng)
        c, mean = math.exp(log_c), theta[low : low + n].mean()
        trial[:] = theta
        for i in range(low, low + n):
            trial[i] = mean + c * (theta[i] - mean)
        trial[place] += log_c
        tried = anchored_log_p(trial, cells, prior, gradient)
        change = tried - log_p + (n - 1) * log_c
        if change > -1e300 and math.log(uniform(rng)) < change:  # a NaN is refused, too
            theta[:] = trial
            log_p, moved = tried, True
    return moved, log_p

"""Joint Metropolis moves of a scale and all that it scales, for scales on which the answers say little.

    deviations -> c deviations,     tau -> tau + log c,     log c ~ Normal(0, size^2)

leaves the prior of the deviations given their scale unchanged, so that the acceptance ratio is that of the
likelihood and the prior of the scale alone. With few votes qualities and their scale are so dependent that
moving them in turn mixes poorly.

References
----------
Yu and Meng (2011), To center or not to center: that is not the question, JCGS 20(3),
doi:10.1198/jcgs.2011.203main.
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
    """Propose one move of each scale in place; return whether any was accepted, and log p.

    Shapes: theta (coordinate,), work: two arrays (coordinate,), overwritten. `log_p` is that of theta.
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
        change = tried - log_p + (n - 1) * log_c  # Jacobian c^(n - 1)
        if change > -1e300 and math.log(uniform(rng)) < change:  # a NaN is rejected, too
            theta[:] = trial
            log_p, moved = tried, True
    return moved, log_p

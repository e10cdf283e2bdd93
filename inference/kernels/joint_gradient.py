"""Gradient of the log likelihood of comparisons in all distances of pairs and all reliabilities."""

import numpy as np

from ...models.distributions.compiling import kept
from ...models.distributions.pair_links import logistic_score, normal_score
from ...models.distributions.vector_math import FAST

__all__ = ["joint_gradient"]


@kept(nogil=True, **FAST)
def joint_gradient(thurstone, votes, distance, reliability):
    """Differentiate the sum of a log F(x) + b log F(-x), x = rho_k d_e, in distances and reliabilities.

    Shapes: distance (pair,), reliability (rater,); derivatives likewise. `votes` are grouped by pair; F is
    the normal cdf if `thurstone`, otherwise the logistic function.
    """
    by_distance, by_reliability = np.zeros(len(distance)), np.zeros(len(reliability))
    residual = np.empty(np.diff(votes.start).max())
    for e in range(len(distance)):
        first, n = votes.start[e], votes.start[e + 1] - votes.start[e]
        for c in range(n):
            residual[c] = reliability[votes.other[first + c]] * distance[e]
        a, b = votes.wins[first : first + n], votes.losses[first : first + n]
        if thurstone:
            for c in range(n):
                residual[c] = normal_score(residual[c], a[c], b[c])[0]
        else:
            for c in range(n):
                residual[c] = logistic_score(residual[c], a[c], b[c])[0]
        for c in range(n):
            k = votes.other[first + c]
            by_distance[e] += reliability[k] * residual[c]  # sum_k rho_k l'(x)
            by_reliability[k] += distance[e] * residual[c]  # sum_e d_e l'(x)
    return by_distance, by_reliability

"""Normal scores of items under a normal-inverse-gamma prior: moments, and the posterior in closed form.

    sigma2 ~ InverseGamma(a0, b0),    mu | sigma2 ~ Normal(m0, sigma2 / k0),    y ~ Normal(mu, sigma2)

Given n scores of mean y and sum of squares S about it:

    kn = k0 + n,    mn = (k0 m0 + n y) / kn,    an = a0 + n / 2,    bn = b0 + S / 2 + k0 n (y - m0)^2 / (2 kn)

References
----------
Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3.
"""

from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept

__all__ = ["NormalItems", "ScoreMoments", "posterior_items", "score_moments"]


class ScoreMoments(NamedTuple):
    """Sufficient statistics of the scores of items."""

    count: np.ndarray  # (item,), number of scores
    mean: np.ndarray  # (item,), 0 without scores
    squares: np.ndarray  # (item,), sum of squares about the mean


class NormalItems(NamedTuple):
    """Normal-inverse-gamma laws of items."""

    mean: np.ndarray  # (item,), m
    mean_weight: np.ndarray  # (item,), k
    shape: np.ndarray  # (item,), a
    rate: np.ndarray  # (item,), b


@kept(error_model="numpy")
def score_moments(item: np.ndarray, score: np.ndarray, n_items: int) -> ScoreMoments:
    """Return the moments of every item's scores, in two passes, without cancellation.

    Shapes: item int, score (score,).
    """
    count, mean, squares = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    for a in range(len(item)):
        count[item[a]] += 1.0
        mean[item[a]] += score[a]
    for i in range(n_items):
        mean[i] /= max(count[i], 1.0)
    for a in range(len(item)):
        deviation = score[a] - mean[item[a]]
        squares[item[a]] += deviation * deviation
    return ScoreMoments(count, mean, squares)


def posterior_items(prior: NormalItems, moments: ScoreMoments) -> NormalItems:
    """Return the posterior of every item."""
    n, away = moments.count, moments.mean - prior.mean
    weight = prior.mean_weight + n
    shrunk = prior.mean_weight * (n / weight)
    return NormalItems(
        prior.mean + n / weight * away,  # mn
        weight,  # kn
        prior.shape + 0.5 * n,  # an
        prior.rate + 0.5 * (moments.squares + shrunk * away**2),  # bn
    )

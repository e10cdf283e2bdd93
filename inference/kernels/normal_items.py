"""Normal scores of items under a normal-inverse-gamma prior: what the scores say, and the posterior in closed form.

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
    """What the scores of items say.

    Attributes
    ----------
    count, mean, squares : ndarray of float, shape (item,)
        Number of scores, their mean (0 where there are none), and the sum of squares about it.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


class NormalItems(NamedTuple):
    """Normal-inverse-gamma laws of items.

    Attributes
    ----------
    mean, mean_weight, shape, rate : ndarray of float, shape (item,)
        m, k, a and b.
    """

    mean: np.ndarray
    mean_weight: np.ndarray
    shape: np.ndarray
    rate: np.ndarray


@kept(error_model="numpy")
def score_moments(item: np.ndarray, score: np.ndarray, n_items: int) -> ScoreMoments:
    """Sum the scores of each item up, in two passes, so that nothing cancels.

    Parameters
    ----------
    item : ndarray of int, shape (score,)
        Whose each score is.
    score : ndarray of float, shape (score,)
        The scores.
    n_items : int
        Number of items.

    Returns
    -------
    ScoreMoments
        Moments of every item.
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
    """Return the posterior of every item.

    Parameters
    ----------
    prior : NormalItems
        Its prior.
    moments : ScoreMoments
        Its scores.

    Returns
    -------
    NormalItems
        Its posterior.
    """
    n, away = moments.count, moments.mean - prior.mean
    weight = prior.mean_weight + n
    shrunk = prior.mean_weight * (n / weight)
    return NormalItems(
        prior.mean + n / weight * away,
        weight,
        prior.shape + 0.5 * n,
        prior.rate + 0.5 * (moments.squares + shrunk * away**2),
    )

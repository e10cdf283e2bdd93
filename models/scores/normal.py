"""Normal scores: the scores of an item are normal draws; raters are all alike.

Generative law, for item i and each score a of item i:

    sigma2_i ~ InverseGamma(a0, b0)
    mu_i     ~ Normal(m0, sigma2_i / k0)
    y_a      ~ Normal(mu_i, sigma2_i)

====================  ====================  =================================
symbol                variable              dims
====================  ====================  =================================
mu                    location              item
sigma2                variance              item
sigma                 scale                 item
y                     observed_score        annotation
m0, k0, a0, b0        mean=, mean_weight=,  arguments
                      shape=, rate=
====================  ====================  =================================

The posterior is exact: with n scores of mean y and sum of squares S about it,

    kn = k0 + n,    mn = (k0 m0 + n y) / kn,    an = a0 + n / 2,    bn = b0 + S / 2 + k0 n (y - m0)^2 / (2 kn)

take the places of k0, m0, a0 and b0.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix A, arXiv:2307.02191 (a
footnote there has sigma2 ~ Gamma, which is not conjugate: it is the inverse gamma that is). Murphy (2007), Conjugate Bayesian
analysis of the Gaussian distribution, section 3.
"""

from typing import Any

import pymc as pm
import pytensor.tensor as pt

from ..data.recipes import recorded
from ..data.scores import Scores
from ..distributions.item_scores import ItemScores
from .observed import keep_bounds, observed_scores, score_prior

__all__ = ["normal_scores"]


@recorded
def normal_scores(
    scores: Scores,
    *,
    mean: Any = None,
    mean_weight: Any = 0.25,
    shape: Any = 2.0,
    rate: Any = None,
) -> pm.Model:
    """Build the model of normal scores.

    Parameters
    ----------
    scores : Scores
        The annotations; the raters may be anonymous.
    mean : float or array_like, optional
        Prior mean m0 of the locations, one number or one for each item. By default the middle of the bounds, or, where there are
        none, the mean of all scores.
    mean_weight : float or array_like, default .25
        How many scores k0 the prior mean is worth.
    shape : float or array_like, default 2
        Shape a0 of the Gamma law of 1 / variance; the prior is worth 2 a0 scores.
    rate : float or array_like, optional
        Rate b0 of that Gamma law; b0 / (a0 - 1) is the prior mean of the variance. By default a variance is expected such that
        the bounds are six standard deviations apart, or, where there are none, half the variance of all scores.

    Returns
    -------
    pymc.Model
        Variables ``location``, ``variance``, ``scale`` and ``observed_score``, pointwise by item; a score that was given n times
        is n annotations.

    Raises
    ------
    ValueError
        If a prior is not positive and finite, or is left to scores without bounds that are all equal.
    DataError
        If there are no scores.

    Warns
    -----
    DataWarning
        If no item has two scores: how far those of an item are apart is the prior's word.

    Notes
    -----
    Without bounds the default prior looks at the data: two numbers, the mean and variance of all scores, are taken from them, and
    the prior is worth a quarter of a score on the location and four scores on the variance. To estimate all four numbers, take
    ``normal_scores(scores, **inference.normal_scores_prior(scores))``.

    Leave-one-out over items has no meaning here that importance sampling could find: without its own scores nothing is known of
    an item, and the Pareto k of `arviz.loo` says so. `inference.normal_scores_posterior` has the log marginal likelihood of each
    item, which is its leave-one-out density under a fixed prior.
    """
    prior = score_prior(scores, mean, mean_weight, shape, rate)
    coords, item, _, score = observed_scores(scores)
    with pm.Model(coords=coords) as model:
        code = pm.Data("annotation_item", item, dims="annotation")
        keep_bounds(scores)
        variance = pm.InverseGamma("variance", prior.shape, prior.rate, dims="item")
        location = pm.Normal(
            "location", prior.mean, pt.sqrt(variance / prior.mean_weight), dims="item"
        )
        pm.Deterministic("scale", pt.sqrt(variance), dims="item")
        ItemScores("observed_score", location, variance, code, observed=score, dims="annotation")
    return model

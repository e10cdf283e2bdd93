"""Normal model of scores: the scores of an item are normal draws; raters are exchangeable."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt

from .._catalog import Spec, recorded
from .._hierarchy import annotation_model
from ..data.scores import Scores
from ..distributions.item_scores import ItemScores
from .observed import observed_scores, register_bounds, score_prior

__all__ = ["normal_scores"]


@recorded
def normal_scores(
    scores: Scores, *, mean: Any = None, mean_weight: Any = 0.25, shape: Any = 2.0, rate: Any = None
) -> pm.Model:
    """Build the normal model of scores: the scores of an item are normal draws; raters are exchangeable.

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

    The posterior is exact: n scores of mean y and sum of squares S about it replace k0, m0, a0 and b0 by

        kn = k0 + n,    mn = (k0 m0 + n y) / kn,    an = a0 + n / 2,    bn = b0 + S / 2 + k0 n (y - m0)^2 / (2 kn)

    Parameters
    ----------
    scores : Scores
        Scores; the raters may be anonymous.
    mean : float or array_like, shape (item,), optional
        Prior mean m0 of the locations; by default the middle of the bounds or, without them, the mean score.
    mean_weight : float or array_like, shape (item,), default .25
        Weight k0 of the prior mean, in scores.
    shape : float or array_like, shape (item,), default 2
        Shape a0 of the Gamma prior of 1 / variance; the prior is worth 2 a0 scores.
    rate : float or array_like, shape (item,), optional
        Rate b0 of that Gamma prior; the prior mean of the variance, b0 / (a0 - 1), is by default that of
        bounds six standard deviations apart or, without bounds, half the variance of all scores.

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_score`` is pointwise by item, and a score
        given n times is n annotations.

    Raises
    ------
    ValueError
        If a prior is not positive and finite, or equal scores without bounds leave no default.
    DataError
        If there are no scores.

    Warns
    -----
    DataWarning
        If no item has two scores: the posterior of the spread of an item's scores repeats the prior.

    Notes
    -----
    The default prior is worth a quarter of a score on the location and four scores on the variance. To
    estimate all four numbers, use ``normal_scores(scores, **papers.normal_scores_prior(scores))``.

    `arviz.loo` over items fails (large Pareto k): without its scores an item has only its prior. Its
    leave-one-out density is the log marginal likelihood of `papers.normal_scores_posterior`.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> scores = models.simulators.scores(items=5, raters=3, random_seed=1).data
    >>> model = models.normal_scores(scores)
    >>> fit = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> fit.posterior["location"].dims
    ('chain', 'draw', 'item')

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix
    A, arXiv:2307.02191 (a footnote there has sigma2 ~ Gamma, which is not conjugate; the inverse gamma is).
    Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3.
    """
    prior = score_prior(scores, mean, mean_weight, shape, rate)
    coords, item, _, score = observed_scores(scores)
    with annotation_model(coords) as model:
        code = pm.Data("annotation_item", item, dims="annotation")
        register_bounds(scores)
        variance = pm.InverseGamma("variance", prior.shape, prior.rate, dims="item")
        location = pm.Normal("location", prior.mean, pt.sqrt(variance / prior.mean_weight), dims="item")
        pm.Deterministic("scale", pt.sqrt(variance), dims="item")
        ItemScores("observed_score", location, variance, code, observed=score, dims="annotation")
    return model


SPEC = Spec(
    name="normal_scores",
    data="scores",
    summary="Scores of an item as normal draws about its location; raters are alike",
    methods=("exact", "nuts"),
    reference="Stutz et al. 2025, arXiv:2307.02191, appendix A",
    independent_items=True,
    raters_alike=True,
    studies={"no names of raters, or very many items": ""},
    assumes=(
        "The scores of an item scatter normally about its location, with a spread of its own; raters are "
        "alike, and items do not inform each other."
    ),
    needs="Scores; no names. One score an item gives the prior's spread.",
    fails=(
        "Raters are strict or lax: their biases are taken for noise. Few scores an item: the prior of the "
        "spread matters."
    ),
    remedy=(
        "normal_scores learns the spread of an item from its own scores, so that few scores leave much of "
        "it to the prior (rate=); hierarchical_scores learns the spread from all scores."
    ),
)

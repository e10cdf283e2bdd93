"""Hierarchical scores: raters have a bias and a scale of their own, items a location; both come from populations.

Generative law, for item i, rater k and each score a of rater k of item i:

    m         ~ Normal(m0, (4 s0)^2)                         location of the population of items
    tau       ~ HalfNormal(2 s0)                             spread of the items
    mu_i      ~ Normal(m, tau^2)
    omega     ~ HalfNormal(s0)                               spread of the biases
    b_k       ~ Normal(0, omega^2)
    nu        ~ Gamma(2, 1/4)                                how alike the scales are
    v         ~ InverseGamma(2, s0^2 / 2)                    usual variance
    sigma2_k  ~ InverseGamma(nu, (nu + 1) v)                 of which v is the mode
    y_a       ~ Normal(mu_i + b_k, sigma2_k)

and where raters are of groups g(k), such as people and language models, each group has its own bias and usual variance:

    beta      ~ ZeroSumNormal(s0)                            bias of every group, with the sum zero
    b_k       ~ Normal(beta_g(k), omega^2)
    v_g       ~ InverseGamma(2, s0^2 / 2)
    sigma2_k  ~ InverseGamma(nu, (nu + 1) v_g(k))

====================  ====================  =================================
symbol                variable              dims
====================  ====================  =================================
mu                    location              item
b                     rater_bias            rater
sigma2                rater_variance        rater
sigma                 rater_scale           rater
m                     location_mean         one number
tau                   location_spread       one number
omega                 bias_spread           one number
beta                  group_bias            group_of_raters
v                     usual_variance        one number, or group_of_raters
nu                    variance_shape        one number
y                     observed_score        annotation
m0, s0                mean=, spread=        arguments
====================  ====================  =================================

A common shift of all locations against all biases leaves the likelihood as it is. The biases are therefore centred in their
population, not among the raters at hand: a location is the score of the item by the population of raters (groups of equal
weight), and its uncertainty has a common part, of variance omega^2 / K or so, that no number of items takes away.

The posterior is proper whatever the scores, also where all are equal: by its law a variance is hardly ever far below v, nor v far
below s0^2. A Gamma law of v, or the rate nu v, would let the variances of scores that agree fall to nothing.

References
----------
Papaspiliopoulos, Roberts and Zanella (2020), Scalable inference for crossed random effects models, Biometrika 107(1),
doi:10.1093/biomet/asz058 (the sampler). Gelman (2006), Prior distributions for variance parameters in hierarchical models,
Bayesian Analysis 1(3), doi:10.1214/06-BA117A (half-normal spreads).
"""

from typing import cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.rater_groups import check_attributes, rater_groups
from ..data.recipes import recorded
from ..data.scores import Scores
from .observed import keep_bounds, known_scorers, observed_scores, score_scale
from .standardised import Standardised

__all__ = ["hierarchical_scores"]


@recorded
def hierarchical_scores(
    scores: Scores,
    *,
    group: str | None = None,
    mean: float | None = None,
    spread: float | None = None,
) -> pm.Model:
    """Build the hierarchical model of scores.

    Parameters
    ----------
    scores : Scores
        The annotations, of raters who are told apart.
    group : str, optional
        Attribute of the raters that names their group, such as ``"kind"``. Without it they are of one population.
    mean : float, optional
        Where scores usually are, m0. By default the middle of the bounds, or, where there are none, the mean of all scores.
    spread : float, optional
        How far the scores of an item are usually apart, s0, the unit of all priors. By default a sixth of the distance of the
        bounds, or, where there are none, the root of half the variance of all scores.

    Returns
    -------
    pymc.Model
        Variables ``location``, ``rater_bias``, ``rater_variance``, ``rater_scale``, those of the populations as above, and
        ``observed_score``, pointwise by annotation; a score that a rater gave n times is n annotations.

    Raises
    ------
    ValueError
        If the raters are anonymous, a prior is not positive and finite, or is left to scores without bounds that are all equal.
    DataError
        If there are no scores, or no such attribute.

    Warns
    -----
    DataWarning
        If no item has two scores: how far those of an item are apart is the prior's word.

    Notes
    -----
    Without bounds the priors take two numbers from the data, the mean and variance of all scores; they are wide on that scale.

    Prefer the Gibbs sampler, which draws each spread with the variables that it spreads summed out. NUTS moves locations and
    biases in units of their populations (`Standardised`), as their spreads may be near zero.
    """
    middle, unit = score_scale(known_scorers(scores, "hierarchical_scores"), mean, spread)
    check_attributes(scores.rater_attributes, ("bias", "scale", "variance"))
    coords, item, rater, score = observed_scores(scores)
    of_rater = None
    if group is not None:
        groups, of_rater = rater_groups(scores.raters, scores.rater_attributes, group)
        coords["group_of_raters"] = groups
        if len(groups) < 2:
            raise ValueError(f"group={group!r}: all raters are {groups[0].item()!r}; leave it out")
    with pm.Model(coords=coords) as model:
        code = pm.Data("annotation_item", item, dims="annotation")
        who = pm.Data("annotation_rater", rater, dims="annotation")
        keep_bounds(scores)
        location = _locations(middle, unit)
        bias, variance = _raters(unit, of_rater)
        scale = pm.Deterministic("rater_scale", pt.sqrt(variance), dims="rater")
        pm.Normal(
            "observed_score",
            location[code] + bias[who],
            cast(TensorVariable, scale)[who],
            observed=score,
            dims="annotation",
        )
    return model


def _locations(middle: float, unit: float) -> TensorVariable:
    """Register the population of items, and return their locations."""
    mean = pm.Normal("location_mean", middle, 4.0 * unit)
    spread = pm.HalfNormal("location_spread", 2.0 * unit)
    return pm.Normal("location", mean, spread, dims="item", transform=Standardised())


def _raters(unit: float, of_rater: np.ndarray | None) -> tuple[TensorVariable, TensorVariable]:
    """Register the population of raters, or their groups, and return their biases and variances."""
    spread = pm.HalfNormal("bias_spread", unit)
    shape = pm.Gamma("variance_shape", 2.0, 0.25)
    law = (np.float64(2.0), 0.5 * unit**2)
    if of_rater is None:
        mean, usual = 0.0, pm.InverseGamma("usual_variance", *law)
    else:
        of_group = pm.ZeroSumNormal("group_bias", sigma=unit, dims="group_of_raters")
        usual_of_group = pm.InverseGamma("usual_variance", *law, dims="group_of_raters")
        mean, usual = of_group[of_rater], usual_of_group[of_rater]
    bias = pm.Normal("rater_bias", mean, spread, dims="rater", transform=Standardised())
    variance = pm.InverseGamma("rater_variance", shape, (shape + 1.0) * usual, dims="rater")
    return bias, variance

"""Tempered Plackett-Luce model of partial rankings: worths are raised to the reliability of the rater."""

from collections.abc import Mapping
from typing import Literal

import pymc as pm
import pytensor.tensor as pt

from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, is_expression
from ..data.rankings import PartialRankings
from .observed import CandidateLayout, Unranked, annotation_reliability, observe_rankings, worth_prior

__all__ = ["tempered_plackett_luce"]


@recorded
def tempered_plackett_luce(
    rankings: PartialRankings,
    *,
    concentration: Number | None = None,
    reliability: Number | Mapping[str | int, Number] = 1.0,
    unranked: Unranked = "pooled",
    candidates: Literal["ranked", "all"] = "ranked",
) -> pm.Model:
    """Build the tempered Plackett-Luce model: reliability is a power of the worths, not of the likelihood.

    Generative law, for item i, category k and annotation a of item i:

        lambda_ik ~ Gamma(alpha, 1)
        b_a       ~ PartialRanking(lambda_i ** gamma_a)

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    lambda                worth                 candidate, or item, category
    lambda / sum lambda   plausibility          candidate, or item, category
    b                     observed_ranking      annotation, place
    gamma                 reliability           scalar, or annotation
    alpha                 concentration=        argument
    ====================  ====================  =================================

    At gamma = 1 this is `plackett_luce`. Elsewhere no Gibbs conditional is a Gamma, so that NUTS samples it;
    and as the power of a sum is not the sum of powers, OTHER acts as one category with the worth of the pool.
    ``candidates="all"`` tempers each category.

    Parameters
    ----------
    rankings : PartialRankings
        Partial rankings of categories, with ties.
    concentration : float or random variable, optional
        Prior concentration alpha of every category; 1 / K by default.
    reliability : float, random variable, or mapping of rater to those, default 1
        Power gamma of the worths, for all raters or for each.
    unranked : {"pooled", "single", "dropped"}, default "pooled"
        Prior of OTHER, as in `plackett_luce`; OTHER is tempered as one category.
    candidates : {"ranked", "all"}, default "ranked"
        Flat candidates with OTHER, or every category of every item, as in `plackett_luce`.

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_ranking`` is pointwise by annotation.

    Raises
    ------
    ValueError
        If a prior is not positive, a rater is unknown, or `unranked` does not fit `candidates`.

    Examples
    --------
    >>> from raterzoo import models
    >>> rankings = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1).data
    >>> model = models.tempered_plackett_luce(rankings, reliability=2)
    >>> float(model["reliability"].get_value())
    2.0

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, section 2.3.3 and appendix B, arXiv:2307.02191v2.
    """
    layout = CandidateLayout.of(rankings, concentration, unranked, candidates)
    power = annotation_reliability(rankings, reliability, of_likelihood=False)
    with annotation_model(layout.coords) as model:
        log_worth = worth_prior(layout)
        sharpness = power
        if not is_expression(power):
            sharpness = pm.Data("reliability", power, dims="annotation" if power.ndim else None)
        observe_rankings(layout, log_worth * pt.expand_dims(sharpness, -1), None)
    return model


SPEC = Spec(
    name="tempered_plackett_luce",
    data="rankings",
    summary="Plackett-Luce whose worths are raised to the reliability of the rater",
    methods=("nuts",),
    reference="Stutz et al. 2025, arXiv:2307.02191, appendix B",
    options=("reliability", "concentration", "unranked"),
    raters_alike=True,
    studies={"a power of the worths": ""},
    assumes=(
        "As plackett_luce, with the worths raised to the power of the reliability, which may be unknown."
    ),
    needs="As plackett_luce; for unknown reliabilities raters with many rankings.",
    fails="Many never-ranked categories: OTHER acts as one category. The cost of NUTS.",
)

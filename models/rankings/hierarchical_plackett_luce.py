"""Plackett-Luce model of partial rankings by raters whose reliabilities are learnt, from a population of raters."""

from typing import Literal, cast

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_number
from ..data.rankings import PartialRankings
from .observed import CandidateLayout, Unranked, observe_rankings, positive, worth_prior

__all__ = ["hierarchical_plackett_luce"]


@recorded
def hierarchical_plackett_luce(
    rankings: PartialRankings,
    *,
    concentration: Number = 1.0,
    spread: Number = 1.0,
    unranked: Unranked | None = None,
    candidates: Literal["ranked", "all"] = "ranked",
) -> pm.Model:
    """Build the hierarchical Plackett-Luce model: every rater has a reliability, a power of the worths.

    Generative law, for item i, category k, rater r and annotation a, by rater r(a), of item i:

        lambda_ik ~ Gamma(alpha, 1)
        sigma     ~ HalfNormal(s)                        spread of the log reliabilities
        z         ~ ZeroSumNormal(1)
        gamma_r   = exp(sigma z_r)                       geometric mean 1 over the raters
        b_a       ~ PartialRanking(lambda_i ** gamma_r(a))

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    lambda                worth                 candidate, or item, category
    lambda / sum lambda   plausibility          candidate, or item, category
    gamma                 reliability           rater
    sigma                 population_spread     scalar
    z                     rater_deviation       rater
    b                     observed_ranking      annotation, place
    alpha                 concentration=        argument
    s                     spread=               argument
    ====================  ====================  =================================

    A rater of reliability 0 ranks at random, one of reliability 1 as `plackett_luce` has it, and one of a large
    reliability in the order of the worths. The law of a ranking sums to one for every reliability, so that reliabilities
    can be learnt. The power of a likelihood, ``plackett_luce(reliability=)``, does not: it would be zero for all.

    Who agrees with whom tells the ratios of the reliabilities. Their common level is a convention, as in `bradley_terry`:
    the law has products of reliability and log worth only, and a power of a Gamma of small shape is nearly a Gamma of
    another, so that level and concentration would compete. The concentration of `plackett_luce`, 1 / K, is so far from what
    rankings of hundreds of categories show that reliabilities make up for it: some go to 0, others beyond all bounds. Hence
    another default. With a geometric mean of one the plausibility is that of a
    typical rater's first choice, and raters who are alike are those of `plackett_luce`. A rater with few rankings borrows
    strength from the others; one who ranked nothing that others ranked keeps nearly the prior, as in `hierarchical_dawid_skene`.
    By default the ratio of two raters' reliabilities is between 1/6 and 6 with a prior probability of .9.

    As in `tempered_plackett_luce`, OTHER acts as one category with the worth of the pool; ``candidates="all"`` has a power of
    each category.

    Parameters
    ----------
    rankings : PartialRankings
        Partial rankings of categories, with ties, by raters who rank several items. Where raters are numbered anew for
        every item, the same number on two items would count as one rater.
    concentration : float or random variable, default 1
        Prior concentration alpha of every category, not 1 / K as in `plackett_luce`.
    spread : float or random variable, default 1
        Scale s of the prior of the spread sigma of the log reliabilities.
    unranked : {"single", "pooled", "dropped"}, optional
        Prior of OTHER, as in `plackett_luce`: "single" by default, and "pooled" with ``candidates="all"``.
    candidates : {"ranked", "all"}, default "ranked"
        Flat candidates with OTHER, or every category of every item, as in `plackett_luce`.

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_ranking`` is pointwise by annotation.

    Raises
    ------
    ValueError
        If no item has rankings of two raters, a prior is not positive, or `unranked` does not fit `candidates`.

    Notes
    -----
    ``az.summary`` of a tree with ``candidates="ranked"`` needs ``var_names=``, such as ``["reliability"]``: xarray does not stack
    variables along candidates, which have categories, with others.

    Examples
    --------
    >>> from raterzoo import models
    >>> rankings = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1).data
    >>> model = models.hierarchical_plackett_luce(rankings)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['population_spread', 'rater_deviation', 'worth']

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, appendix B, arXiv:2307.02191: worths raised to a given reliability. Its population of raters is that
    of Paun et al. (2018), Comparing Bayesian models of annotation, section 3.3, doi:10.1162/tacl_a_00040.
    """
    unranked = unranked or ("pooled" if candidates == "all" else "single")
    layout = CandidateLayout.of(rankings, concentration, unranked, candidates)
    scale = prior_number("spread", spread, positive)
    _require_shared_items(rankings)
    with annotation_model(layout.coords) as model:
        log_worth = worth_prior(layout)
        sd = pm.HalfNormal("population_spread", scale)
        deviation = pm.ZeroSumNormal("rater_deviation", sigma=1.0, dims="rater")
        power = pm.Deterministic("reliability", pt.exp(sd * deviation), dims="rater")
        of_annotation = cast(TensorVariable, power)[rankings.annotation_rater]
        observe_rankings(layout, log_worth * pt.expand_dims(of_annotation, -1), None)
    return model


def _require_shared_items(rankings: PartialRankings) -> None:
    """Raise unless some item has rankings of two raters: else nothing tells a reliable rater from another."""
    if not len(rankings) > len(rankings.items):
        raise ValueError(
            f"none of the {len(rankings.items):,} items has rankings of two raters, so that nothing tells how reliable a rater "
            "is; add rankings of the same items by others, or use plackett_luce, which takes raters to be alike"
        )


SPEC = Spec(
    name="hierarchical_plackett_luce",
    data="rankings",
    summary=(
        "Plackett-Luce whose worths are raised to a reliability of each rater, learnt, from a population "
        "of raters"
    ),
    methods=("gibbs", "nuts"),
    reference=(
        "Stutz et al. 2025, arXiv:2307.02191, appendix B; raters: Paun et al. 2018, "
        "doi:10.1162/tacl_a_00040, section 3.3"
    ),
    options=("concentration", "unranked"),
    nuts_options={"target_accept": 0.9},  # spread and deviations, level of reliability and worths
    studies={"raters of unequal reliability, which is learnt": ""},
    assumes=(
        "As tempered_plackett_luce, with a reliability of each rater that is learnt, from a population of "
        "raters whose geometric mean is one."
    ),
    needs="Named raters who rank the same items, several items each.",
    fails=(
        "Raters numbered anew for every item, whose reliabilities are those of places in a list. The "
        "concentration of plackett_luce, 1 / K."
    ),
)

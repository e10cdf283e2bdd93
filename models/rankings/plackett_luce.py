"""Plackett-Luce model of partial rankings with ties."""

from collections.abc import Mapping
from typing import Any, Literal

import pymc as pm

from .._arguments import PREDICTIONS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model
from .._prior_arguments import PUBLIC_MEAN
from .._prior_predictions import prediction_prior
from ..data.rankings import PartialRankings
from .observed import (
    CandidateLayout,
    Unranked,
    annotation_reliability,
    effective_reliability,
    observe_rankings,
    worth_prior,
)

__all__ = ["plackett_luce"]


@recorded
@documented(predictions=PREDICTIONS)
def plackett_luce(
    rankings: PartialRankings,
    *,
    concentration: Number | None = None,
    reliability: float | Mapping[str | int, float] | Literal["effective"] = 1,
    vote_correlation: float = PUBLIC_MEAN,
    unranked: Unranked = "pooled",
    candidates: Literal["ranked", "all"] = "ranked",
    prior_predictions: Any = None,
    classifier: str | None = None,
    prediction_scale: Number = 10.0,
) -> pm.Model:
    """Build the Plackett-Luce model: raters draw categories one by one, in proportion to their worth.

    Generative law, for item i, category k and annotation a of item i:

        lambda_ik ~ Gamma(alpha + kappa f_ik, 1)           kappa = 0 without predictions
        kappa     ~ HalfNormal(s)
        b_a       ~ PartialRanking(lambda_i) ** r_a        (a tied block sums over all orders of its members)

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    lambda                worth                 candidate, or item, category
    lambda / sum lambda   plausibility          candidate, or item, category
    b                     observed_ranking      annotation, place
    r (paper: gamma)      reliability           scalar, or annotation
    kappa                 prediction_strength   scalar
    f                     prior_predictions     classifier, as lambda
    alpha                 concentration=        argument
    s                     prediction_scale=     argument
    ====================  ====================  =================================

    The rate of the Gamma prior cancels in the plausibility, which is Dirichlet(alpha) a priori. A sum of
    Gammas is a Gamma: the K - m categories that no rater of the item ranked enter the likelihood only through
    their total worth, which has shape (K - m) alpha. Pooling them in one candidate, OTHER, is therefore
    exact.

    Where the rankings say what each rater was shown, each is a ranking of that set: its law sums over the worths of the
    categories shown alone, and OTHER has the categories that no rater of the item was shown, with their prior.

    With predictions f of a classifier, which sum to one for an item, the plausibility is Dirichlet(alpha + kappa f_i) a
    priori: a strength kappa of ten weighs like ten draws of a category. All items together tell kappa, and that of
    a classifier that knows nothing is near zero. Given kappa the worths are as before, and OTHER has the sum of the f of its
    members, which its members do not share evenly: metrics leave it out (``other="exclude"``), unless `candidates` is "all". A
    posterior that has seen a classifier must not judge it; see `PartialRankings.with_predictions`.

    The Gibbs update printed in appendix B counts a category in all blocks of an annotation but the last, and adds its
    arrival times in all of them: no conditional of the model. Here each ranked category counts, and the times end with the
    last ranked block.

    Parameters
    ----------
    rankings : PartialRankings
        Partial rankings of categories, with ties.
    concentration : float or random variable, optional
        Prior concentration alpha of every category. The default, 1 / K, gives each item a total concentration
        of 1.
    reliability : float, mapping of rater to float, or "effective", default 1
        Power of an annotation's likelihood, as if it had been given that many times. "effective": the n rankings of an
        item count by their effective number, each as 1 / (1 + (n - 1) rho), as votes in `correlated_votes`.
    vote_correlation : float, default .35
        Correlation rho of the rankings of an item, from 0 to 1, for "effective". The default is the mean of 14 public
        studies of labels with known truth, between which it has a standard deviation of .2; there are none of rankings.
        Look at several: ``inference.sweep(lambda rho: plackett_luce(rankings, reliability="effective",
        vote_correlation=rho), [0.1, 0.35, 0.6])``.
    unranked : {"pooled", "single", "dropped"}, default "pooled"
        Categories that no rater of the item ranked: "pooled" exactly; a "single" pseudo-category of shape
        alpha (another prior, that of the authors' code); or "dropped". In each case categories that another rater of the
        item ranked are below all that a rater named, unless the rankings say what was shown, ``from_table(..., shown=...)``.
    candidates : {"ranked", "all"}, default "ranked"
        "ranked": a flat dim of the categories that some rater of the item ranked, or was shown, with OTHER; "all": every
        category of every item, dense. The posterior is the same; prior and posterior predictive need "all".
    {predictions}

    Returns
    -------
    pymc.Model
        Variables of the table; with "effective" the constant ``vote_correlation``, too. Powers that are no whole numbers
        are drawn by NUTS. The log likelihood of ``observed_ranking`` is pointwise by annotation.

    Raises
    ------
    ValueError
        If a prior is not positive, a rater is unknown, the correlation is not from 0 to 1 or given without "effective",
        `unranked` does not fit `candidates`, or predictions are no probabilities of the items and categories of the rankings.

    Examples
    --------
    >>> from raterzoo import models
    >>> rankings = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1).data
    >>> model = models.plackett_luce(rankings)
    >>> model.named_vars_to_dims["plausibility"]
    ('candidate',)
    >>> models.plackett_luce(rankings, candidates="all").named_vars_to_dims["plausibility"]
    ('item', 'category')

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, section 2.3.3 and appendix B, arXiv:2307.02191v2. Kish (1965), Survey Sampling, section 8.2. Caron and
    Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
    doi:10.1080/10618600.2012.638220.
    """
    layout = CandidateLayout.of(rankings, concentration, unranked, candidates)
    is_effective = isinstance(reliability, str)
    if not is_effective and vote_correlation != PUBLIC_MEAN:
        raise ValueError(
            f'vote_correlation={vote_correlation!r} is of reliability="effective": pass that, or leave it out'
        )
    power = (
        effective_reliability(rankings, reliability, vote_correlation)
        if is_effective
        else annotation_reliability(rankings, reliability)
    )
    ids = (rankings.items, rankings.categories)
    predicted = prediction_prior(prior_predictions, ids, classifier, prediction_scale)
    with annotation_model(layout.coords | (predicted.coords if predicted else {})) as model:
        log_worth = worth_prior(layout, predicted)
        observe_rankings(layout, log_worth, power)
        if is_effective:
            pm.Data("vote_correlation", float(vote_correlation))
    return model


SPEC = Spec(
    name="plackett_luce",
    data="rankings",
    summary="Partial rankings with ties, drawn category by category in proportion to worth",
    methods=("gibbs", "nuts"),
    reference=(
        "Stutz et al. 2025, arXiv:2307.02191v2, section 2.3.3; Caron and Doucet 2012, "
        "doi:10.1080/10618600.2012.638220"
    ),
    options=("reliability", "concentration", "unranked", "prior_predictions", "classifier"),
    independent_items=True,
    effective_reliability=True,
    raters_alike=True,
    studies={"differential diagnoses, or any lists of categories, with or without ties": ""},
    assumes=(
        "Raters name categories one by one, each with probability in proportion to its worth among those "
        "left; ties are unresolved orders. Raters are independent draws from the worths."
    ),
    needs=(
        "Items with rankings; one rater is enough, with a wide posterior. Reliability says how much a "
        "rater counts; it cannot be learnt here."
    ),
    fails=(
        "Raters of an item agree more or less than worths say, and the reliability is far from right: "
        "look at several."
    ),
)

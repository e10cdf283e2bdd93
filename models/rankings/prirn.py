"""PrIRN, probabilistic inverse rank normalisation: a Dirichlet around inverse-rank scores."""

from typing import Literal

import numpy as np
import pymc as pm

from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, is_expression, prior_number, refuse_expression
from ..data.container import require_container
from ..data.rankings import PartialRankings, inverse_rank_scores
from .named_sets import refuse_shown_sets, warn_of_named_sets
from .observed import (
    OTHER_CODE,
    allowed,
    flat_worth,
    positive,
    ranked_candidates,
    register_annotations,
    register_other,
)

__all__ = ["prirn"]


@recorded
def prirn(
    rankings: PartialRankings,
    *,
    reliability: Number = 30,
    tie_weight: Literal["split", "full"] = "split",
    smoothing: float = 0.0,
) -> pm.Model:
    """Build PrIRN (probabilistic inverse rank normalisation): a Dirichlet around inverse-rank scores.

    Sampling law, for item i and category k (no likelihood: the annotations enter through the concentration):

        lambda_ik ~ Gamma(gamma IRN_ik + epsilon, 1)

    ====================  ====================  ==========
    symbol                variable              dims
    ====================  ====================  ==========
    lambda                worth                 candidate
    lambda / sum lambda   plausibility          candidate
    IRN                   (eq. 3-5)             candidate
    gamma                 reliability=          argument
    epsilon               smoothing=            argument
    ====================  ====================  ==========

    The plausibility of an item is Dirichlet(gamma IRN_i + epsilon) on the categories that some rater ranked;
    with smoothing the never-ranked ones share OTHER, whose shape is the exact sum (K - m) epsilon.

    Parameters
    ----------
    rankings : PartialRankings
        Partial rankings of categories, with ties.
    reliability : float or random variable, default 30
        Total concentration gamma of an item: the larger, the more the raters are trusted.
    tie_weight : {"split", "full"}, default "split"
        Whether tied categories share the weight of their block (eq. 3), or each take it whole (the authors'
        code).
    smoothing : float, default 0
        Concentration epsilon added to every category of the closed set.

    Returns
    -------
    pymc.Model
        Variables ``worth`` and ``plausibility``; nothing is observed, so there is neither log likelihood nor
        predictive distribution.

    Raises
    ------
    ValueError
        If `reliability` is not positive, `smoothing` is negative, or `tie_weight` is unknown; if raters were shown some of the
        categories only, which an inverse rank does not tell.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> rankings = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1).data
    >>> model = models.prirn(rankings)
    >>> fit = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> fit.posterior["plausibility"].dims
    ('chain', 'draw', 'candidate')

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, section 2.3.2 and eq. 3-5, arXiv:2307.02191v2.
    """
    require_container(rankings, PartialRankings)
    refuse_shown_sets(rankings, "prirn")
    warn_of_named_sets(rankings)
    allowed("tie_weight", tie_weight, ("split", "full"))
    refuse_expression("smoothing", smoothing, "at zero the model has no candidate OTHER")
    gamma = prior_number("reliability", reliability, positive)
    if not isinstance(smoothing, int | float) or not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing={smoothing!r} must be zero or a positive finite number")
    candidates = ranked_candidates(rankings, other=smoothing > 0)
    named = candidates.category != OTHER_CODE
    # gamma IRN + epsilon, and (K - m) epsilon for OTHER
    members = np.where(named, 1, candidates.other_size[candidates.item])
    score = np.zeros(len(members))
    score[named] = inverse_rank_scores(rankings, tie_weight)
    shape = smoothing * members + gamma * score
    coords = {"candidate": np.arange(len(score)), "item": rankings.items}
    with annotation_model(coords | {"rater": rankings.raters, "category": rankings.categories}) as model:
        register_annotations(rankings)
        register_other(candidates, smoothing or np.nan)
        if not is_expression(gamma):
            pm.Data("reliability", gamma)
        flat_worth(candidates, shape)
    return model


SPEC = Spec(
    name="prirn",
    data="rankings",
    summary="Dirichlet around the inverse-rank scores of the raters (no likelihood)",
    methods=("exact",),
    reference="Stutz et al. 2025, arXiv:2307.02191v2, section 2.3.2",
    options=("reliability", "tie_weight"),
    independent_items=True,
    raters_alike=True,
    studies={"a quick posterior of a given width, about an average of inverse ranks": ""},
    assumes=(
        "No law of the answers: the plausibilities scatter about inverse-rank scores, as narrowly as the "
        "reliability says."
    ),
    needs="As plackett_luce.",
    fails="The width is your choice alone, not learnt from the rankings; there are no predictive checks.",
)

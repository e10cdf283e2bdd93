"""Bradley-Terry model of comparisons: logistic law, raters of unequal reliability, Davidson ties."""

from collections.abc import Collection
from typing import Any, Literal

import pymc as pm

from ...posterior.links import LOGISTIC
from .._arguments import VOTES, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number
from ..data.comparisons import Comparisons
from ..data.raters import Groups
from .observed import LeftSide, Outcomes, Strength, require_votes, votes_model
from .priors import Reliability, strength_prior
from .taste import taste_prior

__all__ = ["bradley_terry"]


@recorded
@documented(arguments=VOTES.replace("TIES", "davidson"))
def bradley_terry(
    pairs: Comparisons,
    *,
    reliability: Reliability = "hierarchical",
    signed: bool = False,
    ties: Literal["auto", "davidson", "none"] = "auto",
    left_side: LeftSide | None = None,
    left_bias: bool = False,
    covariates: Any = None,
    vote_covariates: Any = None,
    quality_scale: Number | None = None,
    reliability_scale: Number | None = None,
    reliability_range: tuple[float, float] | None = None,
    groups: Groups = None,
    independent: str | Collection[Any] = (),
    taste_scale: Number | None = None,
    strength: Strength = "auto",
) -> pm.Model:
    """Build the Bradley-Terry model: the log odds of winning are reliability times difference of qualities.

    Generative law, for the answers of rater k to items i (on the left) and j:

        sigma    ~ LogNormal(log 2, 1)                       lambda ~ LogNormal(log .7, .5)
        q        ~ ZeroSumNormal(sigma)                      log rho ~ ZeroSumNormal(lambda)
        x        = rho_k (q_i - q_j) + b_k                   b_k = 0, or b_k = b ~ Normal(0, 1) for all raters, or
        b_k      = beta + omega d_k,  d ~ ZeroSumNormal(1)   beta ~ Normal(0, 1), omega ~ LogNormal(0, 1)
        p(left) : p(right) : p(tie) = e^(x/2) : e^(-x/2) : nu        nu ~ LogNormal(0, 1), or 0

    and where the raters k of group g share a taste (``groups=``), which independent ones lack:

        x        = rho_k (q_i + delta_gi - q_j - delta_gj) + b_k
        delta_g  ~ ZeroSumNormal(tau_g)                      tau_g ~ HalfNormal(1)

    and with covariates of vote a, left minus right (``vote_covariates=``):

        x_a      = rho_k (q_i - q_j) + b_k + z_a theta       theta ~ Normal(0, 1)

    and of votes that say by how much (``strength=``), as "A>>B", "A>B", "A=B" do, by cut points that are symmetric about zero:

        p(left by strength s or more) = F(x - t_s),  p(right by s or more) = F(-x - t_s),  the rest are ties
        t_0 ~ LogNormal(0, 1), or 0 without ties             t_s - t_(s-1) ~ LogNormal(0, 1);  F(x) = 1 / (1 + e^-x)

    of which, by default, who won counts fully and strength by a weight that is learnt, as raters may choose it by habit:

        p(strength s or more | left won) = F(w x - t_s) / F(w x - t_0)      w ~ Beta(1/2, 1/2), or 1 ("cut_points"); right: -x

    ====================  ======================  =================================
    symbol                variable                dims
    ====================  ======================  =================================
    q                     quality                 item
    rho                   reliability             rater
    sigma                 quality_scale           scalar
    lambda                reliability_scale       scalar
    log rho               log_reliability         rater
    rho - 1 (signed)      reliability_deviation   rater
    nu                    tie                     scalar
    b                     left_bias               scalar, or rater
    beta                  left_bias_mean          scalar
    omega                 left_bias_scale         scalar
    d                     left_bias_deviation     rater
    gamma                 coefficient             covariate
    r                     residual                item
    X, centred            item_covariate          item, covariate
    delta                 taste                   group_of_raters, item
    tau                   taste_scale             group_of_raters
    delta / tau           taste_deviation         group_of_raters, item
    theta                 vote_effect             vote_covariate
    z                     vote_covariate_value    annotation, vote_covariate
    t_0                   tie                     scalar
    t_s - t_(s-1)         step                    strength
    t_s                   cut_point               strength
    w                     strength_weight         scalar
    counts of answers     observed_winner         annotation, outcome
    ====================  ======================  =================================

    One annotation holds one rater's answers to one ordered pair. With covariates q = X gamma + r, where r, not
    q, is ZeroSumNormal. The likelihood identifies the products of reliabilities and differences of qualities;
    the scale is set by reliabilities of geometric mean one (arithmetic, if signed), and `inference.in_units`
    changes it.

    {arguments}

    Examples
    --------
    >>> from raterzoo import models
    >>> votes = models.simulators.comparisons(items=6, raters=3, degree=2, random_seed=1).data
    >>> model = models.bradley_terry(votes)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['log_reliability', 'quality', 'quality_scale', 'reliability_scale']

    References
    ----------
    Bradley and Terry (1952), Rank analysis of incomplete block designs: I. The method of paired comparisons,
    Biometrika 39, doi:10.1093/biomet/39.3-4.324. Davidson (1970), On extending the Bradley-Terry model to
    accommodate ties in paired comparison experiments, JASA 65, equation 2.1,
    doi:10.1080/01621459.1970.10481082. Agresti (1992), Analysis of ordinal paired comparison data, Applied
    Statistics 41, doi:10.2307/2347562, and Tutz (1986), Bradley-Terry-Luce models with an ordered response,
    Journal of Mathematical Psychology 30, doi:10.1016/0022-2496(86)90034-9 (cut points). Nordio,
    Tarable and Leonardi, Ranking a set of objects using heterogeneous workers: QUITE an easy problem, section 6
    (reliabilities; its prior is ``reliability_range=(1, 20)``).
    """
    require_votes(pairs)
    taste = taste_prior(pairs, groups, independent, taste_scale, reliability_range)
    scales = (quality_scale, reliability_scale)
    prior = strength_prior(pairs, reliability, signed, scales, reliability_range, covariates)
    asked = Outcomes(ties, "davidson", strength, left_side, left_bias, vote_covariates)
    return votes_model(pairs, prior, LOGISTIC, taste, asked)


SPEC = Spec(
    name="bradley_terry",
    data="comparisons",
    summary="Comparisons won by a logistic law of quality, with raters of unequal reliability and ties",
    methods=("hmc", "nuts"),
    reference="Bradley and Terry 1952, doi:10.1093/biomet/39.3-4.324; ties: Davidson 1970",
    ties=("auto", "davidson", "none"),
    nuts_thinning=2,  # with a taste that judges share, reliability and scale lie along a ridge
    studies={
        "a leaderboard, with or without ties and names of raters": "",
        "answers that win by length or style rather than quality": (
            "with `vote_covariates` ([how](start/votes.md#answers-that-win-by-length))"
        ),
        "people beside language models as judges": "with `groups` ([how](shared_tastes.md))",
        "votes that say by how much, such as A>>B": "with `strength` ([how](recipes/strength_of_preference.md))",
        "systems that are updated, so that qualities move": "as a random walk of your own ([how](recipes/votes_in_time.md))",
    },
    assumes=(
        "Items have a quality on one scale; the log odds of winning are the difference of qualities times "
        "the rater's reliability. Ties and a preferred side can be part of it."
    ),
    needs=(
        "Votes that connect all items. With named raters reliabilities are learnt; anonymous votes count "
        "alike."
    ),
    fails=(
        "One scale does not explain the votes (cycles); judges share a taste and it is not said (groups=)."
    ),
)

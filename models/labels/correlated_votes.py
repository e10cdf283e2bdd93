"""Dawid-Skene model of labels whose votes on an item are correlated: the truth by their effective number."""

from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable

from .._arguments import PRIOR_LOGITS, RATERS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, is_expression, prior_pair
from .._item_features import prior_of_truth
from .._prior_arguments import default_confusion, effective_power, positive_pair
from ..data.labels import Labels, expand_answers
from ..distributions.truth import truth_probability
from .known_raters import confusion_of_raters, coords_of_history
from .observed import coords_of, prevalence_prior, register_answers, require_identified_raters
from .population import POPULATION, coords_of_population, learnt_concentrations, population_of
from .vote_correlation import CorrelationEvidence, correlation_evidence

__all__ = ["correlated_votes"]


@recorded
@documented(prior_logits=PRIOR_LOGITS, raters=RATERS)
def correlated_votes(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = POPULATION,
    raters: Any = None,
    vote_correlation: Literal["public"] | tuple[Number, Number] = "public",
    prior_logits: Any = None,
) -> pm.Model:
    """Build a Dawid-Skene model that counts correlated votes on an item by their effective number.

    Raters find the same items hard and make the same errors, and `dawid_skene`, which believes that they err
    independently, is too certain: on 14 public studies with known truth it claimed .96 and was right in .87. Here
    the n answers to an item count as n / (1 + (n - 1) rho) independent ones:

        p        ~ Dirichlet(alpha)
        u, s     ~ Beta(2, 1), LogNormal(log 8, 1)
        pi_kj    ~ Dirichlet(s (u e_j + (1 - u) / K))   for every rater k and true category j of K
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_a      ~ Categorical(pi_k,T_i)
        rho      ~ Beta(a, b)
        p(T_i = j | y, p, pi, rho)  proportional to  (p_j prod_a pi_kj[y_a]) ^ (1 / (1 + (n_i - 1) rho))

    Prevalence and confusion have the posterior of `dawid_skene` with this prior: only the truth is inferred at the effective
    number of votes (a cut posterior). The log odds of a draw are those of `dawid_skene` divided by the design effect:
    correlation tells how sure a label is, not which it is, and the prevalence, learnt from the same votes, shares
    their errors.

    The prior of the matrices is learnt from all raters: u is how much more often than by chance raters of the population are
    right, and s the number of answers a row that this knowledge is worth; raters with few answers are taken for typical ones.
    Classifiers (`Labels.with_predictions`) have a population of their own.

    With ``vote_correlation="public"`` rho is uniform, or with probability 1/2 it is 0: raters are independent. Residuals that
    raters of an item share, beyond those of simulated independent raters, show about .2 (1 - 3 / n) of rho; these constants are
    from 14 public studies. Residuals and the gold items of the study update the prior before sampling, and (a, b) have
    mean and variance of the result. Errors that all raters share leave no residual; gold items show them: 50, drawn at random,
    make the claims of a study precise.

    ====================  ========================  =================================
    symbol                variable                  dims
    ====================  ========================  =================================
    p                     prevalence                category
    u, s                  population_skill, ...     population
    pi                    confusion                 rater, category, answer
    rho                   vote_correlation          none
    p(T | y, p, pi, rho)  plausibility              item, category
    p(T | y, p, pi, 0)    independent_plausibility  item, category
    y                     observed_label            annotation
    alpha                 ..._concentration=        argument
    (a, b)                vote_correlation=         argument
    ====================  ========================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration
        As for `dawid_skene`.
    confusion_concentration : "population", float or array_like, default "population"
        Concentrations of the rows, as for `dawid_skene`, whose fixed prior is None; with few answers a rater claims then are
        too low, and with many too high, as the constants of the correlation were chosen with populations.
    {raters}
    vote_correlation : "public" or pair of float or random variable, default "public"
        Beta prior (a, b) of the correlation of two votes on an item, as it is, or that of public studies,
        updated by this one.
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item, at power one. With
        "public" the constants ``residual_correlation`` with its standard error ``residual_correlation_error``, these two
        of simulated independent raters (``expected_...``), and ``independent_probability``, the posterior probability of
        independent raters, too.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a concentration is not positive.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Notes
    -----
    The power is no law of the answers: replicates (prior and posterior predictive) and the log likelihood are those of
    `dawid_skene` with the same prior of the matrices; `arviz.loo` and `arviz.compare` cannot tell the two.
    `raterzoo.evaluation.log_score` of known truth does.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="dawid_skene", items=20, random_seed=1).data
    >>> model = models.correlated_votes(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['confusion', 'population_skill', 'population_strength', 'prevalence', 'vote_correlation']
    >>> model.named_vars_to_dims["plausibility"]
    ('item', 'category')

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), section 2, doi:10.2307/2346806. Kish (1965), Survey Sampling, section 8.2 (design effect). Plummer
    (2015), Cuts in Bayesian graphical models, Statistics and Computing 25, doi:10.1007/s11222-014-9503-z.
    """
    coords = coords_of(require_identified_raters(labels, "correlated_votes"))
    coords |= coords_of_population(labels, confusion_concentration) | coords_of_history(raters)
    found, pair = None, vote_correlation
    if isinstance(vote_correlation, str):
        if vote_correlation != "public":
            raise ValueError(
                f"vote_correlation={vote_correlation!r} must be 'public', or a pair of positive numbers: the Beta prior"
            )
        found = evidence_of_correlation(labels, prevalence_concentration, confusion_concentration)
        pair = (found.a, found.b)
    a, b = prior_pair("vote_correlation", cast(Any, pair), (), positive_pair)
    with annotation_model(coords) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        confusion = confusion_of_raters(labels, confusion_concentration, raters)[0]
        correlation = pm.Beta("vote_correlation", a, b)
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        observed = register_answers(labels, prior, confusion)
        independent = truth_probability(observed)
        pm.Deterministic("independent_plausibility", independent, dims=("item", "category"))
        effective = _plausibility(prior, confusion, correlation, labels)
        pm.Deterministic("plausibility", effective, dims=("item", "category"))
        if found is not None:
            _register_evidence(found)
    return model


def evidence_of_correlation(labels: Labels, alpha: Any = 1.0, beta: Any = POPULATION) -> CorrelationEvidence:
    """Return what a study says of the correlation of its votes, given concentrations of prevalence and confusion.

    Those of the confusion are learnt or given; random variables are replaced by the default.
    """
    n = len(labels.categories)
    alpha = np.broadcast_to(1.0 if is_expression(alpha) else alpha, n).astype(float)
    if (population := population_of(beta)) is not None:
        return correlation_evidence(labels, alpha, learnt_concentrations(labels, population, alpha))
    if beta is None or is_expression(beta):
        beta = default_confusion(labels)
    beta = np.broadcast_to(beta, (len(labels.raters), n, n)).astype(float)
    return correlation_evidence(labels, alpha, beta)


def _register_evidence(found: CorrelationEvidence) -> None:
    """Register what the study says of the correlation, for reports."""
    pm.Data("residual_correlation", found.residual)
    pm.Data("residual_correlation_error", found.error)
    pm.Data("expected_residual_correlation", found.expected)
    pm.Data("expected_residual_correlation_error", found.expected_error)
    pm.Data("independent_probability", found.independent)


def _plausibility(
    prior: TensorVariable, confusion: TensorVariable, correlation: TensorVariable, labels: Labels
) -> TensorVariable:
    """Return p(true category | answers) of each item at its effective number of votes.

    Shapes: prior (category,) or (item, category), confusion (rater, category, answer); result (item, category).
    """
    codes = expand_answers(labels)
    item, rater, label = map(pt.as_tensor_variable, codes)  # an index of NumPy is read entry by entry
    n, gold = len(labels.categories), labels.gold
    number = np.bincount(codes[0], minlength=len(gold))
    log_p = pt.zeros((len(gold), n))[item].inc(cast(Any, pt.log(confusion))[rater, :, label])
    power = effective_power(number, cast(Any, correlation))[:, None]
    free = softmax(power * (cast(Any, pt.log(prior)) + log_p), axis=1)
    return cast(TensorVariable, pt.where((gold < 0)[:, None], free, np.eye(n)[gold]))


SPEC = Spec(
    name="correlated_votes",
    data="labels",
    summary="Dawid-Skene whose answers to an item count by their effective number: raters err together",
    methods=("gibbs", "nuts"),
    reference="Dawid and Skene 1979, doi:10.2307/2346806; Kish 1965, section 8.2",
    options=("raters",),
    marks=("vote_correlation", "independent_plausibility"),
    shared_errors="average",
    studies={"nothing special; or raters who find the same items hard": ""},
    assumes=(
        "Raters of one population; prevalence as in Dawid-Skene; but the n answers to an item count as n / (1 + (n - 1) "
        "rho) independent ones. The prior of rho is that of public studies with known truth, updated by "
        "the residuals that raters share and by gold items."
    ),
    needs="Named raters; several answers to most items. 50 gold items, drawn at random, make its claims precise.",
    fails=(
        "The raters mistake whole categories together, and there is no gold: it then claims too much. Not "
        "if they merely find the same items hard, which it is made for."
    ),
)

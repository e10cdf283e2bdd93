"""Dispatch: the sampler for each model, by the structure of its graph."""

from collections.abc import Callable
from dataclasses import dataclass

import pymc as pm
from pytensor.graph.traversal import ancestors

from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.item_scores import ItemScoresRV
from ..models.distributions.marginal_labels import MarginalLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.paired_comparisons import PairedComparisonsRV
from .comparison_routes import begin_hmc
from .count_routes import begin_counted_labels
from .kernels.confusion import COIN, COINS, SPAM
from .label_routes import begin_labels_gibbs
from .plan import Draws
from .ranking_routes import begin_gibbs, begin_independent
from .runs import Found, Run
from .score_routes import begin_hierarchical_scores, begin_scores
from .state_routes import begin_item_states_gibbs
from .steps.comparison_reading import read_comparisons
from .steps.label_reading import constant_prior, read_counted_labels, read_labels
from .steps.rater_score_reading import read_rater_scores
from .steps.reading import NotConjugate, gamma_parameters, read_rankings
from .steps.score_reading import read_item_scores
from .steps.state_reading import read_item_states

__all__ = ["Route", "begin_run", "route_of"]

BY_NUTS = {  # the first of these variables in a label model determines its name
    "threshold": "ordinal",
    "effect_mean": "item_difficulty",
    "effect_spread": "logistic_random_effects",
    "population_mean": "hierarchical_dawid_skene",
    "competence": "mace",
    "expected_difficulty": "glad",
}


@dataclass(frozen=True)
class Route:
    """Sampler of a model: its name, the method, the reason, and the function that sets the sampler up."""

    name: str
    method: str
    reason: str
    begin: Callable[[pm.Model, Draws, Found | None], Run] | None  # None: NUTS


def route_of(model: pm.Model) -> Route:
    """Recognise a model by its graph; return the fastest sampler whose draws are exact for its posterior."""
    if _is_independent(model):
        reason = "nothing is observed and the worths are independent Gammas"
        return Route("prirn", "exact", reason, begin_independent)
    if any(isinstance(rv.owner.op, MarginalLabelsRV) for rv in model.observed_RVs):
        return _route_of_labels(model)
    if any(isinstance(rv.owner.op, CountedLabelsRV) for rv in model.observed_RVs):
        return _route_of_counts(model)
    if any(isinstance(rv.owner.op, MixedCountsRV) for rv in model.observed_RVs):
        return _route_of_states(model)
    if any(isinstance(rv.owner.op, PairedComparisonsRV) for rv in model.observed_RVs):
        return _route_of_comparisons(model)
    if any(isinstance(rv.owner.op, ItemScoresRV) for rv in model.observed_RVs):
        return _route_of_item_scores(model)
    if {"rater_bias", "rater_variance"} <= set(model.named_vars):
        return _route_of_rater_scores(model)
    try:
        likelihood = read_rankings(model)
        gamma_parameters(likelihood.worth)
        if len(model.free_RVs) > 1:
            raise NotConjugate(
                "the model has free variables besides the worths; use WorthGibbs as a step of pm.sample"
            )
    except NotConjugate as refusal:
        return _by_nuts(_name_of_rankings(model), refusal)
    reason = "Gamma worths behind partial rankings with whole reliabilities are conjugate"
    return Route("plackett_luce", "gibbs", reason, begin_gibbs)


def begin_run(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the model's own sampler before its first draw; `found` restores the tuning of an earlier start."""
    begin = route_of(model).begin
    if begin is None:
        raise ValueError("the model has no sampler of its own")
    return begin(model, plan, found)


def _by_nuts(name: str, refusal: NotConjugate) -> Route:
    """Route to NUTS, with the reason why no faster sampler fits."""
    return Route(name, "nuts", str(refusal), None)


def _route_of_labels(model: pm.Model) -> Route:
    """Route of a label model, by the prior of its confusion matrices."""
    try:
        structure = read_labels(model)
        constant_prior(model, structure)
    except NotConjugate as refusal:
        ours = (name for mark, name in BY_NUTS.items() if mark in model.named_vars)
        return _by_nuts(next(ours, "pm.Model"), refusal)
    own = "dawid_skene" if structure.skills[0].type.ndim == 3 else "multinomial"
    name = {COIN: "one_coin", COINS: "class_conditional", SPAM: "mace"}.get(structure.kind, own)
    reason = "given the true categories, prevalence and confusion are conjugate"
    return Route(name, "gibbs", reason, begin_labels_gibbs)


def _route_of_counts(model: pm.Model) -> Route:
    """Route of a model of label counts."""
    try:
        read_counted_labels(model)
    except NotConjugate as refusal:
        return _by_nuts("pm.Model", refusal)
    reason = "counts of labels and a Dirichlet prior are conjugate"
    return Route("dirichlet", "exact", reason, begin_counted_labels)


def _route_of_states(model: pm.Model) -> Route:
    """Route of a mixture of item states."""
    try:
        read_item_states(model)
    except NotConjugate as refusal:
        return _by_nuts("item_states", refusal)
    reason = "given the states of the items, their weights and probabilities are conjugate"
    return Route("item_states", "gibbs", reason, begin_item_states_gibbs)


def _route_of_comparisons(model: pm.Model) -> Route:
    """Route of a comparison model."""
    ours = (rv.owner.op for rv in model.observed_RVs)
    op = next(op for op in ours if isinstance(op, PairedComparisonsRV))
    try:
        read_comparisons(model)
    except NotConjugate as refusal:
        return _by_nuts(op.link, refusal)
    reason = "qualities and reliabilities of comparisons are nearly normal about their centre"
    return Route(op.link, "hmc", reason, begin_hmc)


def _route_of_item_scores(model: pm.Model) -> Route:
    """Route of a model of item scores without raters."""
    try:
        read_item_scores(model)
    except NotConjugate as refusal:
        return _by_nuts("pm.Model", refusal)
    reason = "normal scores and a normal-inverse-gamma prior are conjugate"
    return Route("normal_scores", "exact", reason, begin_scores)


def _route_of_rater_scores(model: pm.Model) -> Route:
    """Route of a model of scores with raters."""
    try:
        read_rater_scores(model)
    except NotConjugate as refusal:
        return _by_nuts("pm.Model", refusal)
    reason = "given the rest, locations, biases and variances of hierarchical scores are conjugate"
    return Route("hierarchical_scores", "gibbs", reason, begin_hierarchical_scores)


def _is_independent(model: pm.Model) -> bool:
    """Whether the only random variable is a Gamma ``worth`` of flat candidates with constant parameters."""
    if model.observed_RVs or model.potentials or [rv.name for rv in model.free_RVs] != ["worth"]:
        return False
    if "candidate_item" not in model.named_vars:
        return False
    try:
        gamma_parameters(model.free_RVs[0])
    except (NotConjugate, ValueError):
        return False
    return True


def _name_of_rankings(model: pm.Model) -> str:
    """Name of a ranking model: tempered if the reliability scales the worths, not the power of the likelihood."""
    ours = {"reliability", "observed_ranking", "worth", "other_size"} <= set(model.named_vars)
    if not ours or [rv.name for rv in model.free_RVs] != ["worth"]:
        return "pm.Model"
    observed = model["observed_ranking"]
    log_worth, *_ = observed.owner.op.dist_params(observed.owner)
    tempered = model["reliability"] in ancestors([log_worth])
    return "tempered_plackett_luce" if tempered else "plackett_luce"

"""Dispatch: the sampler for each model, by the structure of its graph."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data
from pytensor.graph.traversal import ancestors

from ..models._catalog import Spec, catalog, entry_of
from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.item_scores import ItemScoresRV
from ..models.distributions.marginal_labels import MarginalLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.paired_comparisons import PairedComparisonsRV
from ..models.distributions.partial_ranking import PartialRankingRV
from ..models.distributions.shared_guesses import SharedGuessesRV
from .comparisons.hmc import begin_hmc
from .comparisons.recognition import read_comparisons
from .labels.correlated_votes import begin_correlated_votes, has_correlated_votes, read_correlated_votes
from .labels.dirichlet import begin_counted_labels
from .labels.ebcc import begin_subtypes_gibbs, sort_subtypes
from .labels.gibbs import begin_labels_gibbs
from .labels.item_states import begin_item_states_gibbs, sort_states
from .labels.kernels.gibbs import ABILITIES, COMPETENCE, ONE_ABILITY
from .labels.predicted import begin_predicted_counts, read_predicted_counts
from .labels.recognition import (
    LabelStructure,
    constant_prior,
    read_counted_labels,
    read_item_states,
    read_labels,
    read_subtypes,
)
from .labels.shared_guess import begin_shared_guess, constant_guess_prior, read_shared_guess
from .rankings.gibbs import begin_gibbs, begin_independent
from .rankings.hierarchical import (
    begin_rater_reliabilities,
    has_rater_reliabilities,
    read_rater_reliabilities,
)
from .rankings.predicted import begin_predicted_worths, read_predicted_worths
from .rankings.recognition import gamma_parameters, read_rankings
from .runs.compiled_models import compilation_of_densities, compilation_of_nuts
from .runs.model_graph import NotConjugate, constant_value, graph_lock, refuse_further, refuse_part
from .runs.prior_predictions import has_prediction_strength
from .runs.run import Draws, Run, Tuning
from .scores.hierarchical import begin_hierarchical_scores
from .scores.normal import begin_scores, scores_by_item
from .scores.recognition import read_item_scores, read_rater_scores


def draw_with_nuts(model: pm.Model, plan: Draws, options: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Draw by `pymc.sample`, thin to the requested number of draws, and return the groups of `finished_groups`."""
    every = nuts_thinning(model, plan)
    asked = {} if plan.tune is None else {"tune": plan.tune}
    by_jax = options.get("nuts_sampler") in ("numpyro", "blackjax")
    tree = pm.sample(
        draws=plan.draws * every,
        chains=plan.chains,
        cores=plan.cores,
        random_seed=plan.seed,
        progressbar=plan.progressbar,
        model=freeze_dims_and_data(model) if by_jax else model,  # the laws in JAX require constant data
        **asked,
        **nuts_options(model, options) | compilation_of_nuts(model, options),
    )
    return finished_groups(model, thinned(tree, every), plan)


def finished_groups(model: pm.Model, tree: xr.DataTree, plan: Draws) -> dict[str, xr.Dataset]:
    """Add log densities (likelihood at power one); use the dims and the order of the compiled samplers."""
    if plan.densities and model.observed_RVs:
        compiled: dict[str, Any] = {"progressbar": False, "compile_kwargs": compilation_of_densities()}
        pm.compute_log_likelihood(tree, model=model, **compiled)
        pm.stats.compute_log_prior(tree, model=model, **compiled)
    groups = {name: tree[name].to_dataset() for name in tree.children}
    if "log_likelihood" in groups:
        pointwise, powers = groups["log_likelihood"], _likelihood_powers(model)
        groups["log_likelihood"] = pointwise.assign({name: pointwise[name] / powers[name] for name in powers})
    if _observes(model, MixedCountsRV) and "state_probability" in groups["posterior"]:
        groups = sort_states(groups)
    if _observes(model, MarginalLabelsRV) and "subtype_weight" in groups["posterior"]:
        groups = sort_subtypes(groups)
    if _observes(model, ItemScoresRV) and len(model.observed_RVs) == 1:
        groups = scores_by_item(model, groups)
    return {name: groups[name] for name in groups if name not in ("constant_data", "observed_data")}


# of `sample`, besides those of `pymc.sample`
OWN_OPTIONS = {"method", "thin", "dtype", "store", "log_likelihood"}
NUTS_OPTIONS = {
    "nuts",
    "target_accept",
    "max_treedepth",
    "early_max_treedepth",
    "step_scale",
    "scaling",
    "Emax",
}


def check_nuts_options(options: Iterable[str]) -> None:
    """Raise TypeError, with the nearest name, for an option that is misspelt: neither one of `pymc.sample` nor of NUTS."""
    known = NUTS_OPTIONS | set(signature(pm.sample).parameters)
    for name in sorted(set(options) - known):
        near = ["random_seed"] if name == "seed" else get_close_matches(name, OWN_OPTIONS | known, 1)
        if near:
            raise TypeError(f"sample has no option {name!r}; did you mean {near[0]!r}?")


def nuts_options(model: pm.Model, asked: dict[str, Any]) -> dict[str, Any]:
    """Options of `pymc.sample`: the user's, over the model's defaults unless the user chose the steps."""
    entry = catalog_entry(model)
    if entry is None or {"nuts", "step"} & asked.keys():
        return asked
    return {**entry.nuts_options, **asked}


def nuts_thinning(model: pm.Model, plan: Draws) -> int:
    """Return the number of NUTS draws per kept draw: as requested, or the default of the model."""
    entry = catalog_entry(model)
    default = 1 if entry is None else entry.nuts_thinning
    return default if plan.thin == "pilot" else int(plan.thin)


def catalog_entry(model: pm.Model) -> Spec | None:
    """Entry of a model: that of its builder, or for a label model changed since, by the marks among its variables."""
    entry = entry_of(model)
    if entry is not None or not (_observes(model, MarginalLabelsRV) or _observes(model, SharedGuessesRV)):
        return entry
    marked = (e for e in catalog.values() if e.marks and set(e.marks) <= set(model.named_vars))
    return max(marked, key=lambda e: len(e.marks), default=None)


def _observes(model: pm.Model, law: type) -> bool:
    """Whether an observed variable of the model has this random variable as its law."""
    return any(isinstance(rv.owner.op, law) for rv in model.observed_RVs)


def thinned(tree: xr.DataTree, every: int) -> xr.DataTree:
    """Keep every `every`-th draw, divergent if any since the one before was; E-BFMI is that of the kept draws."""
    if every == 1:
        return tree
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    for name, whole in groups.items():
        if "draw" not in whole.dims or name.startswith("warmup"):
            continue
        kept = whole.isel(draw=slice(every - 1, None, every))
        if "diverging" in whole:
            diverged = whole["diverging"].coarsen(draw=every).max()
            kept["diverging"] = kept["diverging"].copy(data=diverged.astype(bool))
        groups[name] = kept.assign_coords(draw=np.arange(kept.sizes["draw"]))
    groups["sample_stats"] = groups["sample_stats"].assign(thinning=np.int64(every))
    return xr.DataTree.from_dict(groups)


def _likelihood_powers(model: pm.Model) -> dict[str, np.ndarray]:
    """Power of the likelihood (reliability) of each observed variable whose law has one that is not random."""
    powers = {}
    for rv in model.observed_RVs:
        if isinstance(rv.owner.op, PartialRankingRV | CountedLabelsRV):
            with suppress(NotConjugate):
                powers[str(rv.name)] = constant_value(rv.owner.op.dist_params(rv.owner)[2], "reliability")
    return powers


@dataclass(frozen=True)
class Route:
    """Sampler of a model: its name, the method, the reason, and the function that sets the sampler up."""

    name: str
    method: str
    reason: str
    begin: Callable[[pm.Model, Draws, Tuning | None], Run] | None  # None: NUTS
    items_share: str = ""  # what all items share, in a model whose items are independent otherwise


def route_of(model: pm.Model) -> Route:
    """Return the fastest exact sampler of a model, by its graph; raise ValueError for a part of it that depends on the rest."""
    refuse_part(model)
    if prefixed := [rv.name for rv in model.free_RVs if "::" in str(rv.name)]:
        reason = (
            f"{prefixed[0]!r} has the prefix of a named model, and the compiled samplers write plain names"
        )
        return Route(_name_of(model), "nuts", reason, None)
    if (independent := _independent_worths(model)) is not None:
        reason = "nothing is observed and the worths are independent Gammas"
        return Route("prirn", "exact", reason, partial(begin_independent, independent))
    if _observes(model, MarginalLabelsRV) and has_correlated_votes(model):
        reason = "given the true categories, prevalence and confusion are conjugate, and the correlation has its prior"
        own = read_correlated_votes, begin_correlated_votes
        return _route(model, "correlated_votes", "gibbs", reason, *own, "correlated_votes")
    if _observes(model, MarginalLabelsRV):
        return _route_of_labels(model)
    if _observes(model, SharedGuessesRV):
        reason = "given the true categories, the guesses and the copies, all parameters are conjugate"
        return _route(model, "shared_guess", "gibbs", reason, _read_guesses, begin_shared_guess)
    if has_prediction_strength(model) and _observes(model, CountedLabelsRV):
        reason = "given the strength of the predictions, counts of labels and a Dirichlet prior are conjugate"
        own = read_predicted_counts, begin_predicted_counts
        return _of_strength(_route(model, "dirichlet", "gibbs", reason, *own))
    if has_prediction_strength(model) and _observes(model, PartialRankingRV):
        reason = "given the strength of the predictions, Gamma worths behind partial rankings are conjugate"
        own = read_predicted_worths, begin_predicted_worths
        return _of_strength(_route(model, "plackett_luce", "gibbs", reason, *own))
    if _observes(model, CountedLabelsRV):
        reason = "counts of labels and a Dirichlet prior are conjugate"
        return _route(model, "dirichlet", "exact", reason, read_counted_labels, begin_counted_labels)
    if _observes(model, MixedCountsRV):
        reason = "given the states of the items, their weights and probabilities are conjugate"
        own = read_item_states, begin_item_states_gibbs
        return _route(model, "item_states", "gibbs", reason, *own, "item_states")
    if _observes(model, PairedComparisonsRV):
        ours = (rv.owner.op for rv in model.observed_RVs)
        link = next(op.link for op in ours if isinstance(op, PairedComparisonsRV))
        reason = "qualities and reliabilities of comparisons are nearly normal about their centre"
        return _route(model, link, "hmc", reason, read_comparisons, begin_hmc, link)
    if _observes(model, ItemScoresRV):
        reason = "normal scores and a normal-inverse-gamma prior are conjugate"
        return _route(model, "normal_scores", "exact", reason, read_item_scores, begin_scores)
    if {"rater_bias", "rater_variance"} <= set(model.named_vars):
        reason = "given the rest, locations, biases and variances of hierarchical scores are conjugate"
        return _route(
            model, "hierarchical_scores", "gibbs", reason, read_rater_scores, begin_hierarchical_scores
        )
    if _observes(model, PartialRankingRV) and has_rater_reliabilities(model):
        reason = "given the races behind the rankings, each log worth has a log-concave density, and reliabilities a slice"
        own = read_rater_reliabilities, begin_rater_reliabilities
        name = "hierarchical_plackett_luce"
        return _route(model, name, "gibbs", reason, *own, name)
    try:
        if not model.observed_RVs and "candidate_item" in model.named_vars:
            refuse_further(model, [rv for rv in model.free_RVs if rv.name == "worth"])
        likelihood = read_rankings(model)
        prior = gamma_parameters(likelihood.worth)
        refuse_further(model, [likelihood.worth], "; use WorthGibbs as a step of pm.sample")
    except NotConjugate as refusal:
        return Route(_name_of_rankings(model), "nuts", str(refusal), None)
    reason = "Gamma worths behind partial rankings with whole reliabilities are conjugate"
    return Route("plackett_luce", "gibbs", reason, partial(begin_gibbs, likelihood, prior))


def begin_run(model: pm.Model, plan: Draws, found: Tuning | None = None, route: Route | None = None) -> Run:
    """Set up the model's own sampler before its first draw; `found` restores the tuning; `route` may be known."""
    with graph_lock:
        begin = (route or route_of(model)).begin
    if begin is None:
        raise ValueError("the model has no sampler of its own")
    return begin(model, plan, found)


def _route(
    model: pm.Model,
    name: str,
    method: str,
    reason: str,
    read: Callable[[pm.Model], Any],
    begin: Callable[..., Run],
    name_with_nuts: str | None = None,
) -> Route:
    """Route to the sampler of a law, or to NUTS (by default under the model's name in the catalog) if `read` refuses."""
    try:
        structure = read(model)
    except NotConjugate as refusal:
        return Route(name_with_nuts or _name_of(model), "nuts", str(refusal), None)
    return Route(name, method, reason, partial(begin, structure))


def _of_strength(route: Route) -> Route:
    """Return the route of a model whose items share the strength of predictions."""
    return replace(route, items_share="the strength of the prior predictions")


def _read_guesses(model: pm.Model) -> tuple[Any, Any]:
    """Read a shared-guess model and its priors, or raise NotConjugate."""
    structure = read_shared_guess(model)
    return structure, constant_guess_prior(model, structure)


def _name_of(model: pm.Model) -> str:
    """Name of a model in the catalog, or "pm.Model"."""
    entry = catalog_entry(model)
    return "pm.Model" if entry is None else entry.name


def _route_of_labels(model: pm.Model) -> Route:
    """Route of a label model, by the prior of its confusion matrices."""
    if "subtype_weight" in model.named_vars:
        reason = "given the categories and subtypes of the items, their weights and confusion matrices are conjugate"
        return _route(model, "ebcc", "gibbs", reason, read_subtypes, begin_subtypes_gibbs)
    try:
        structure = read_labels(model)
        prior = constant_prior(model, structure)
    except NotConjugate as refusal:
        return Route(_name_of(model), "nuts", str(refusal), None)
    entry = entry_of(model)
    name = _name_of_law(structure) if entry is None else entry.name
    reason = "given the true categories, prevalence and confusion are conjugate"
    return Route(name, "gibbs", reason, partial(begin_labels_gibbs, structure, prior))


def _name_of_law(structure: LabelStructure) -> str:
    """Name of the model with these confusion matrices, for a model that no builder of the catalog made."""
    if structure.kind == COMPETENCE:
        return "mace"
    if structure.kind == ONE_ABILITY:
        return "one_coin"
    if structure.kind == ABILITIES:
        return "class_conditional"
    return "dawid_skene" if structure.skills[0].type.ndim == 3 else "multinomial"


def _independent_worths(model: pm.Model) -> tuple[np.ndarray, np.ndarray] | None:
    """Shapes and rates of the only random variable, a Gamma ``worth`` of flat candidates; None of other models."""
    if model.observed_RVs or model.potentials or [rv.name for rv in model.free_RVs] != ["worth"]:
        return None
    if "candidate_item" not in model.named_vars:
        return None
    try:
        return gamma_parameters(model.free_RVs[0])
    except (NotConjugate, ValueError):
        return None


def _name_of_rankings(model: pm.Model) -> str:
    """Name of a ranking model: tempered if the reliability scales the worths, not the power of the likelihood."""
    if (entry := entry_of(model)) is not None:
        return entry.name
    ours = {"reliability", "observed_ranking", "worth", "other_size"} <= set(model.named_vars)
    if not ours or [rv.name for rv in model.free_RVs] != ["worth"]:
        return "pm.Model"
    observed = model["observed_ranking"]
    log_worth, *_ = observed.owner.op.dist_params(observed.owner)
    tempered = model["reliability"] in ancestors([log_worth])
    return "tempered_plackett_luce" if tempered else "plackett_luce"

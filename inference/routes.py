"""The table law -> sampler, and what each sampler leaves in a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.traversal import ancestors
from rich.progress import Progress

from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.marginal_labels import MarginalLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.paired_comparisons import PairedComparisonsRV
from ..models.distributions.partial_ranking import PartialRankingRV
from .comparison_routes import draw_with_hmc
from .densities import ranking_log_likelihood, worth_log_prior
from .groups import as_dataset
from .kernels.annotations import distinct_annotations
from .kernels.confusion import COIN, COINS
from .kernels.posterior import worth_posterior
from .label_routes import draw_counted_labels, draw_labels_with_gibbs
from .plan import Draws
from .state_chains import draw_states_with_gibbs, in_order
from .steps.comparison_reading import read_comparisons
from .steps.label_reading import constant_prior, read_counted_labels, read_labels
from .steps.reading import (
    NotConjugate,
    RankingLikelihood,
    gamma_parameters,
    lengths,
    number,
    read_rankings,
)
from .steps.state_reading import read_item_states
from .worth_chains import (
    ChainPlan,
    draw_log_worths,
    draw_prior_log_worths,
    item_keys,
    pilot_thinning,
    plausibilities,
)

__all__ = ["Route", "draw_with_nuts", "route_of"]

MOST_MEMORY = 4 * 2**30  # bytes of the draws of NUTS, which are kept twice
SWEEPS_BEFORE = 200  # default warm-up of Gibbs


@dataclass(frozen=True)
class Route:
    """How a model is drawn: its name, the method, the sentence that says why, and the sampler."""

    name: str
    method: str
    reason: str
    draw: Callable[[pm.Model, Draws], dict[str, xr.Dataset]]


def route_of(model: pm.Model) -> Route:
    """Recognise a model by its graph.

    Parameters
    ----------
    model : pymc.Model
        Any model.

    Returns
    -------
    Route
        The fastest sampler that is exact for it.
    """
    if _is_independent(model):
        reason = "nothing is observed and the worths are independent Gammas"
        return Route("prirn", "exact", reason, draw_independently)
    if any(isinstance(rv.owner.op, MarginalLabelsRV) for rv in model.observed_RVs):
        return _route_of_labels(model)
    if any(isinstance(rv.owner.op, CountedLabelsRV) for rv in model.observed_RVs):
        return _route_of_counts(model)
    if any(isinstance(rv.owner.op, MixedCountsRV) for rv in model.observed_RVs):
        return _route_of_states(model)
    if any(isinstance(rv.owner.op, PairedComparisonsRV) for rv in model.observed_RVs):
        return _route_of_comparisons(model)
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
    return Route("plackett_luce", "gibbs", reason, draw_with_gibbs)


def _by_nuts(name: str, refusal: NotConjugate) -> Route:
    """Return the route of a model that has no sampler of its own, and why."""
    return Route(name, "nuts", str(refusal), lambda model, plan: draw_with_nuts(model, plan, {}))


def _route_of_labels(model: pm.Model) -> Route:
    """Tell the label models apart by what is drawn of their confusion matrices."""
    try:
        structure = read_labels(model)
        constant_prior(model, structure)
    except NotConjugate as refusal:
        hierarchical = "population_mean" in model.named_vars
        name = "hierarchical_dawid_skene" if hierarchical else "pm.Model"
        return _by_nuts(name, refusal)
    own = "dawid_skene" if structure.skill.type.ndim == 3 else "multinomial"
    name = {COIN: "one_coin", COINS: "class_conditional"}.get(structure.kind, own)
    reason = "given the true categories, prevalence and confusion are conjugate"
    return Route(name, "gibbs", reason, draw_labels_with_gibbs)


def _route_of_counts(model: pm.Model) -> Route:
    try:
        read_counted_labels(model)
    except NotConjugate as refusal:
        return _by_nuts("pm.Model", refusal)
    reason = "counts of labels and a Dirichlet prior are conjugate"
    return Route("dirichlet", "exact", reason, draw_counted_labels)


def _route_of_states(model: pm.Model) -> Route:
    try:
        read_item_states(model)
    except NotConjugate as refusal:
        return _by_nuts("item_states", refusal)
    reason = "given the states of the items, their weights and probabilities are conjugate"
    return Route("item_states", "gibbs", reason, draw_states_with_gibbs)


def _route_of_comparisons(model: pm.Model) -> Route:
    ours = (rv.owner.op for rv in model.observed_RVs)
    op = next(op for op in ours if isinstance(op, PairedComparisonsRV))
    try:
        read_comparisons(model)
    except NotConjugate as refusal:
        return _by_nuts(op.link, refusal)
    reason = "qualities and reliabilities of comparisons are nearly normal about their centre"
    return Route(op.link, "hmc", reason, draw_with_hmc)


def _is_independent(model: pm.Model) -> bool:
    """Tell whether the only random variable is a Gamma ``worth`` of flat candidates with constant parameters."""
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
    """Tell our models apart by where their reliability is: in the worths the raters go by, or the power of the law."""
    ours = {"reliability", "observed_ranking", "worth", "other_size"} <= set(model.named_vars)
    if not ours or [rv.name for rv in model.free_RVs] != ["worth"]:
        return "pm.Model"
    observed = model["observed_ranking"]
    log_worth, *_ = observed.owner.op.dist_params(observed.owner)
    tempered = model["reliability"] in ancestors([log_worth])
    return "tempered_plackett_luce" if tempered else "plackett_luce"


def draw_independently(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw independent worths."""
    shape, rate = gamma_parameters(model["worth"])
    start = np.searchsorted(
        model["candidate_item"].get_value(), np.arange(len(model.coords["item"] or ()) + 1)
    )
    chains = ChainPlan(plan.chains, plan.draws, 0, plan.seed, plan.cores, plan.dtype)
    keys = item_keys(np.asarray(model.coords["item"]))
    log_worth = draw_prior_log_worths(shape, rate, start, keys, chains)
    return _posterior_groups(model, log_worth, start)


def draw_with_gibbs(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw worths by the compiled Gibbs loop."""
    likelihood = read_rankings(model)
    shape, rate = gamma_parameters(likelihood.worth)
    annotations = distinct_annotations(
        likelihood.block, likelihood.candidate, likelihood.reliability, len(shape)
    )
    start = annotations.candidate_start
    posterior = worth_posterior(annotations, shape, rate)
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    chains = ChainPlan(plan.chains, plan.draws, tune, plan.seed, plan.cores, plan.dtype)
    keys = item_keys(np.asarray(model.coords.get("item", range(len(start) - 1))))
    thinning = pilot_thinning(posterior, keys, chains) if plan.thin == "pilot" else plan.thin
    with Progress(disable=not plan.progressbar, transient=True) as progress:
        task = progress.add_task("Gibbs sweeps", total=plan.chains * len(keys))
        log_worth = draw_log_worths(
            posterior, keys, thinning, chains, lambda done: progress.advance(task, done)
        )
    groups = _densities(model, likelihood, log_worth, plan) if plan.densities else {}
    stats = xr.Dataset(
        {"thinning": ("item", np.broadcast_to(thinning, len(keys)).astype(np.int64))}
    )
    return _posterior_groups(model, log_worth, start) | {"sample_stats": stats} | groups


def _densities(
    model: pm.Model, likelihood: RankingLikelihood, log_worth: np.ndarray, plan: Draws
) -> dict[str, xr.Dataset]:
    """Return the groups of pointwise densities of the draws."""
    pointwise = ranking_log_likelihood(
        log_worth, likelihood.candidate, likelihood.block, plan.cores
    )
    prior = worth_log_prior(log_worth, *gamma_parameters(likelihood.worth), plan.cores)
    name = likelihood.worth.name
    dims = ("chain", "draw")
    observed = model.observed_RVs[0].name
    by_annotation = xr.DataArray(pointwise, dims=(*dims, model.named_vars_to_dims[observed][0]))
    shaped = prior.reshape(*prior.shape[:2], *lengths(likelihood.worth))
    return {
        "log_likelihood": _counted(xr.Dataset({observed: by_annotation})),
        "log_prior": as_dataset(model, {str(name): shaped}, dims),
    }


def _posterior_groups(
    model: pm.Model, log_worth: np.ndarray, start: np.ndarray
) -> dict[str, xr.Dataset]:
    """Return the posterior of worths and plausibilities; `log_worth` is overwritten."""
    plausibility = plausibilities(log_worth, start)
    with np.errstate(under="ignore"):
        worth = np.exp(log_worth)
    shape = (*log_worth.shape[:2], *lengths(model["worth"]))
    arrays = {"worth": worth.reshape(shape), "plausibility": plausibility.reshape(shape)}
    return {"posterior": as_dataset(model, arrays, ("chain", "draw"))}


def _counted(group: xr.Dataset) -> xr.Dataset:
    """Give every dim of a group its numbers as coordinates."""
    return group.assign_coords({dim: np.arange(n) for dim, n in group.sizes.items()})


def draw_with_nuts(model: pm.Model, plan: Draws, options: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Draw by `pymc.sample`, and bring the pointwise log likelihood to power one."""
    _refuse_beyond_memory(model, plan)
    asked = {} if plan.tune is None else {"tune": plan.tune}
    tree = pm.sample(
        draws=plan.draws,
        chains=plan.chains,
        cores=plan.cores,
        random_seed=plan.seed,
        progressbar=plan.progressbar,
        model=model,
        **asked,
        **options,
    )
    if plan.densities and model.observed_RVs:
        pm.compute_log_likelihood(tree, model=model, progressbar=False)
        pm.stats.compute_log_prior(tree, model=model, progressbar=False)
    groups = {name: tree[name].to_dataset() for name in tree.children}
    power = _likelihood_power(model)
    if "log_likelihood" in groups and power is not None:
        groups["log_likelihood"] = groups["log_likelihood"] / power
    if any(isinstance(rv.owner.op, MixedCountsRV) for rv in model.observed_RVs):
        groups = in_order(groups)
    return {name: groups[name] for name in groups if name not in ("constant_data", "observed_data")}


def _refuse_beyond_memory(model: pm.Model, plan: Draws) -> None:
    """Raise unless the draws themselves would fit into memory."""
    sizes = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    drawn = [*model.free_RVs, *model.deterministics]
    dims = [model.named_vars_to_dims.get(str(rv.name)) or () for rv in drawn]
    numbers = sum(int(np.prod([sizes.get(str(d), 1) for d in own])) for own in dims)
    size = 8 * numbers * plan.chains * plan.draws
    if size > MOST_MEMORY:
        raise ValueError(
            f"{plan.chains} x {plan.draws:,} draws of {numbers:,} numbers are {size / 2**30:,.0f} GiB; ask for fewer draws, "
            "or use a point estimate of raterzoo.inference (of comparisons, quite or bradley_terry_mle)"
        )


def _likelihood_power(model: pm.Model) -> np.ndarray | None:
    """Return the power of the observed likelihood, if its law has one."""
    for rv in model.observed_RVs:
        if isinstance(rv.owner.op, PartialRankingRV | CountedLabelsRV):
            return number(rv.owner.op.dist_params(rv.owner)[2], "reliability")
    return None

"""How models of rankings are drawn: worths without data exactly, behind partial rankings by the compiled Gibbs loop."""

import numpy as np
import pymc as pm
import xarray as xr
from rich.progress import Progress

from .densities import ranking_log_likelihood, worth_log_prior
from .groups import as_dataset
from .kernels.annotations import distinct_annotations
from .kernels.posterior import worth_posterior
from .plan import Draws
from .steps.reading import RankingLikelihood, gamma_parameters, lengths, read_rankings
from .worth_chains import (
    ChainPlan,
    draw_log_worths,
    draw_prior_log_worths,
    item_keys,
    pilot_thinning,
    plausibilities,
)

__all__ = ["draw_independently", "draw_with_gibbs"]

SWEEPS_BEFORE = 200  # default warm-up of Gibbs


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

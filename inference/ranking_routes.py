"""Samplers of ranking models: independent draws without data, the compiled Gibbs loop with partial rankings."""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from rich.progress import Progress

from .densities import ranking_log_likelihood, worth_log_prior
from .groups import as_dataset
from .kernels.annotations import distinct_annotations
from .kernels.posterior import worth_posterior
from .plan import Draws
from .prior_worths import draw_prior_log_worths, streams_of_items
from .runs import Found, Run
from .steps.reading import RankingLikelihood, gamma_parameters, lengths, read_rankings
from .worth_chains import (
    ChainPlan,
    begin_worths,
    continue_worths,
    item_keys,
    pilot_thinning,
    plausibilities,
)

__all__ = ["begin_gibbs", "begin_independent"]

SWEEPS_BEFORE = 200  # default warm-up of Gibbs


def begin_independent(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up independent draws of worths from their prior."""
    law = gamma_parameters(model["worth"])
    start = np.searchsorted(
        model["candidate_item"].get_value(), np.arange(len(model.coords["item"] or ()) + 1)
    )
    keys = item_keys(np.asarray(model.coords["item"]))
    streams = streams_of_items(keys, plan.chains, plan.seed)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        chains = ChainPlan(plan.chains, n, 0, plan.seed, plan.cores, plan.dtype)
        log_worth = draw_prior_log_worths(law, start, streams, chains)
        return _posterior_groups(model, log_worth, start)

    return Run({}, {"stream": streams}, draw)


def begin_gibbs(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the compiled Gibbs loop of worths; `found` restores the thinning (item,)."""
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
    if found is None:
        thin = pilot_thinning(posterior, keys, chains) if plan.thin == "pilot" else plan.thin
        found = {"thinning": np.broadcast_to(thin, len(keys)).astype(np.int64)}
    thinning, state = found["thinning"], begin_worths(posterior, keys, chains)
    stats = xr.Dataset({"thinning": ("item", thinning)})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(chains, draws=n, tune=0 if drawn else tune)
        with Progress(disable=not plan.progressbar, transient=True) as progress:
            task = progress.add_task("Gibbs sweeps", total=plan.chains * len(keys))
            log_worth = continue_worths(
                posterior, thinning, now, state, lambda done: progress.advance(task, done)
            )
        groups = _densities(model, likelihood, log_worth, plan) if plan.densities else {}
        return _posterior_groups(model, log_worth, start) | {"sample_stats": stats} | groups

    return Run(found, state, draw)


def _densities(
    model: pm.Model, likelihood: RankingLikelihood, log_worth: np.ndarray, plan: Draws
) -> dict[str, xr.Dataset]:
    """Return the groups of pointwise log densities of the draws. Shapes: log_worth (chain, draw, candidate)."""
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
    """Posterior of worths and plausibilities.

    Shapes: log_worth (chain, draw, candidate), overwritten in place; start (item + 1,).
    """
    plausibility = plausibilities(log_worth, start)
    with np.errstate(under="ignore"):
        worth = np.exp(log_worth)
    shape = (*log_worth.shape[:2], *lengths(model["worth"]))
    arrays = {"worth": worth.reshape(shape), "plausibility": plausibility.reshape(shape)}
    return {"posterior": as_dataset(model, arrays, ("chain", "draw"))}


def _counted(group: xr.Dataset) -> xr.Dataset:
    """Assign the coordinate 0, 1, 2, ... to every dim of a group."""
    return group.assign_coords({dim: np.arange(n) for dim, n in group.sizes.items()})

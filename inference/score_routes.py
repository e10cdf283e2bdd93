"""How score models are drawn: exactly, or by the compiled Gibbs loop."""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.maker import function
from pytensor.graph.traversal import ancestors

from ..models.distributions.item_scores import ItemScoresRV
from .groups import as_dataset
from .kernels.normal_items import posterior_items, score_moments
from .plan import Draws
from .score_chains import ChainLength, draw_hierarchy, draw_normal_posterior, score_pilot
from .score_densities import hierarchy_log_likelihood, hierarchy_log_prior
from .score_storage import storage_of_items
from .steps.rater_score_reading import read_rater_scores
from .steps.score_reading import ItemScoresModel, read_item_scores
from .worth_chains import item_keys

__all__ = ["draw_hierarchical_scores", "draw_scores_exactly", "scores_by_item"]

SAMPLE = ("chain", "draw")
SWEEPS_BEFORE = 200  # default warm-up


def draw_scores_exactly(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw locations and variances from their exact posterior."""
    law = read_item_scores(model)
    n_items = len(law.prior.mean)
    items = np.asarray(model.coords.get("item", range(n_items)))
    moments = score_moments(law.item, law.score, n_items)
    posterior = posterior_items(law.prior, moments)
    dtype = storage_of_items(posterior, plan.chains * plan.draws, plan.dtype, items)
    plan = replace(plan, dtype=dtype)
    drawn = draw_normal_posterior(law.prior, moments, item_keys(items), plan)
    location, variance = str(law.location.name), str(law.variance.name)
    arrays = {location: drawn.location, variance: drawn.variance}
    arrays |= {name: drawn.scale for name in _scales(model, law)}
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if plan.densities:
        by_variable = {location: drawn.location_prior, variance: drawn.variance_prior}
        observed = str(model.observed_RVs[0].name)
        by_item = (*SAMPLE, "item")
        coords = groups["posterior"].coords
        groups["log_likelihood"] = xr.Dataset({observed: (by_item, drawn.log_p)}, coords)
        groups["log_prior"] = as_dataset(model, by_variable, SAMPLE)
    return groups


def _scales(model: pm.Model, law: ItemScoresModel) -> list[str]:
    """Return the names of the deterministics that are the root of the variance."""
    trial = np.random.default_rng(0).uniform(0.5, 2.0, law.prior.mean.shape)
    found = []
    for variable in model.deterministics:
        behind = set(ancestors([variable]))
        if [rv for rv in model.free_RVs if rv in behind] != [law.variance]:
            continue
        value = np.asarray(function([law.variance], variable, mode="FAST_COMPILE")(trial))
        if value.shape == trial.shape and np.allclose(value, np.sqrt(trial), rtol=1e-12, atol=0):
            found.append(str(variable.name))
    return found


def draw_hierarchical_scores(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw items, raters and their populations by the compiled Gibbs loop."""
    law = read_rater_scores(model)
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    length = ChainLength(plan.chains, plan.draws, tune, 1, plan.seed, plan.cores, plan.dtype)
    thin = score_pilot(law.scores, law.hyper, length) if plan.thin == "pilot" else int(plan.thin)
    drawn = draw_hierarchy(law.scores, law.hyper, replace(length, thin=thin))
    mean, spread, bias_spread, shape = np.moveaxis(drawn.population, -1, 0)
    arrays = {
        "location_mean": mean,
        "location_spread": spread,
        "location": drawn.location,
        "bias_spread": bias_spread,
        "variance_shape": shape,
        "usual_variance": drawn.usual if law.grouped else drawn.usual[..., 0],
        "rater_bias": drawn.bias,
        "rater_variance": drawn.variance,
    } | ({"group_bias": drawn.group_bias} if law.grouped else {})
    groups = {
        "posterior": as_dataset(model, arrays, SAMPLE),
        "sample_stats": xr.Dataset({"thinning": np.int64(thin)}),
    }
    if plan.densities:
        observed = str(model.observed_RVs[0].name)
        log_p = hierarchy_log_likelihood(law.scores, drawn)
        groups["log_likelihood"] = as_dataset(model, {observed: log_p}, SAMPLE)
        prior = hierarchy_log_prior(law.hyper, law.scores.group, arrays)
        of_groups = {"group_bias": (SAMPLE, prior.pop("group_bias"))} if law.grouped else {}
        groups["log_prior"] = as_dataset(model, prior, SAMPLE).assign(of_groups)
    return groups


def scores_by_item(model: pm.Model, groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Name the dim of a log likelihood that is pointwise by item, while the scores are by annotation.

    Parameters
    ----------
    model : pymc.Model
        The model.
    groups : dict of str to Dataset
        Of a tree that PyMC has made.

    Returns
    -------
    dict of str to Dataset
        The same, with ``log_likelihood`` by item.
    """
    if "log_likelihood" not in groups:
        return groups
    (observed,) = (rv for rv in model.observed_RVs if isinstance(rv.owner.op, ItemScoresRV))
    pointwise = groups["log_likelihood"][str(observed.name)].drop_vars(
        "annotation", errors="ignore"
    )
    named = pointwise.rename({pointwise.dims[-1]: "item"})
    if (items := model.coords.get("item")) is not None:
        named = named.assign_coords(item=np.asarray(items))
    return groups | {"log_likelihood": named.to_dataset(name=str(observed.name))}

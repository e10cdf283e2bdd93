"""Samplers of score models: independent draws, or the compiled Gibbs loop."""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.maker import function
from pytensor.graph.traversal import ancestors

from ..models.distributions.item_scores import ItemScoresRV
from .groups import as_dataset
from .kernels.normal_draws import NormalDraws
from .kernels.normal_items import posterior_items, score_moments
from .kernels.score_chain import ScoreDraws
from .plan import Draws
from .prior_worths import streams_of_items
from .runs import Found, NotHeld, Run
from .score_chains import (
    BEYOND,
    ChainLength,
    begin_hierarchy,
    continue_hierarchy,
    continue_normal_posterior,
    score_pilot,
)
from .score_densities import hierarchy_log_likelihood, hierarchy_log_prior
from .score_storage import LARGEST, storage_of_items
from .steps.rater_score_reading import RaterScoresModel, read_rater_scores
from .steps.score_reading import ItemScoresModel, read_item_scores
from .worth_chains import item_keys

__all__ = ["begin_hierarchical_scores", "begin_scores", "scores_by_item"]

SAMPLE = ("chain", "draw")
SWEEPS_BEFORE = 200  # default warm-up


def begin_scores(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up independent draws of locations and variances from their normal-inverse-gamma posterior."""
    law = read_item_scores(model)
    n_items = len(law.prior.mean)
    items = np.asarray(model.coords.get("item", range(n_items)))
    moments = score_moments(law.item, law.score, n_items)
    posterior = posterior_items(law.prior, moments)
    dtype = storage_of_items(posterior, plan.chains * plan.draws, plan.dtype, items)
    streams = streams_of_items(item_keys(items), plan.chains, plan.seed)
    scales = _scales(model, law)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(plan, draws=n, dtype=dtype)
        draws = continue_normal_posterior(law.prior, moments, streams, now)
        return _groups_of_items(model, law, scales, draws)

    return Run({}, {"stream": streams}, draw)


def _groups_of_items(
    model: pm.Model, law: ItemScoresModel, scales: list[str], drawn: NormalDraws
) -> dict[str, xr.Dataset]:
    """Convert draws to those of the model's variables, with log densities if there are any."""
    location, variance = str(law.location.name), str(law.variance.name)
    arrays = {location: drawn.location, variance: drawn.variance}
    arrays |= {name: drawn.scale for name in scales}
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if drawn.log_p.size:
        by_variable = {location: drawn.location_prior, variance: drawn.variance_prior}
        observed = str(model.observed_RVs[0].name)
        by_item = (*SAMPLE, "item")
        coords = groups["posterior"].coords
        groups["log_likelihood"] = xr.Dataset({observed: (by_item, drawn.log_p)}, coords)
        groups["log_prior"] = as_dataset(model, by_variable, SAMPLE)
    return groups


def _scales(model: pm.Model, law: ItemScoresModel) -> list[str]:
    """Names of the deterministics that are the square root of the variance, tested at a random point."""
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


def begin_hierarchical_scores(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the compiled Gibbs loop of items, raters and populations; `found` restores the tuning."""
    law = read_rater_scores(model)
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    length = ChainLength(plan.chains, plan.draws, tune, 1, plan.seed, plan.cores, plan.dtype)
    if found is None:
        thin, single = plan.thin, False
        if thin == "pilot" or plan.dtype == "float32":
            asked, single = score_pilot(law.scores, law.hyper, length)
            thin = asked if thin == "pilot" else thin
        found = {"thinning": np.array(thin), "single": np.array(single)}
    dtype = plan.dtype if found["single"] else "float64"
    length = replace(length, thin=int(found["thinning"]), dtype=dtype)
    state = begin_hierarchy(law.scores, law.hyper, length)
    stats = xr.Dataset({"thinning": np.int64(length.thin)})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(length, draws=n, tune=0 if drawn else tune)
        draws = continue_hierarchy(law.scores, law.hyper, now, state)
        _check_numbers(draws)
        return _groups_of_raters(model, law, draws, plan) | {"sample_stats": stats}

    return Run(found, state, draw)


def _check_numbers(draws: ScoreDraws) -> None:
    """Raise if draws are not finite, or too small for their storage."""
    dtype = str(draws.location.dtype)
    finite = all(np.isfinite(array).all() for array in draws)
    if not finite or min(draws.variance.min(), draws.usual.min()) <= 1 / LARGEST[dtype]:
        raise NotHeld(dtype) if dtype == "float32" else ValueError(BEYOND)


def _groups_of_raters(
    model: pm.Model, law: RaterScoresModel, drawn: ScoreDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
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
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if plan.densities:
        observed = str(model.observed_RVs[0].name)
        log_p = hierarchy_log_likelihood(law.scores, drawn)
        groups["log_likelihood"] = as_dataset(model, {observed: log_p}, SAMPLE)
        prior = hierarchy_log_prior(law.hyper, law.scores.group, arrays)
        of_groups = {"group_bias": (SAMPLE, prior.pop("group_bias"))} if law.grouped else {}
        groups["log_prior"] = as_dataset(model, prior, SAMPLE).assign(of_groups)
    return groups


def scores_by_item(model: pm.Model, groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Name the last dim of a log likelihood by item, which PyMC takes for annotations, in groups of PyMC."""
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

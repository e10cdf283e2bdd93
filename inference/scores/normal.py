"""Samplers of score models: independent draws, or the compiled Gibbs loop."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.traversal import ancestors

from ...models.distributions.item_scores import ItemScoresRV
from ...models.scores.normal import SPEC as NORMAL_SCORES
from ...posterior.schema import SAMPLE
from ..runs.model_graph import evaluator, is_equal
from ..runs.run import Draws, ItemBlocks, Run, Sampler, Tuning, in_threads, item_keys, streams_of_items
from ..runs.trees import as_dataset
from .kernels.normal import (
    NormalDraws,
    NormalItems,
    ScoreMoments,
    draw_normal_items,
    posterior_items,
    score_moments,
)
from .precision import Storage, storage_of_items
from .recognition import ItemScoresModel, read_item_scores

BLOCK = 1024  # items in one unit of work, drawn in lockstep
SWEEPS_BEFORE = 200  # default warm-up


def continue_normal_posterior(
    prior: NormalItems, moments: ScoreMoments, streams: np.ndarray, plan: Draws
) -> NormalDraws:
    """Draw locations and variances of items on from the state of their random streams.

    The unit of work is a chain of a block of items; each item has its own stream, and so depends on no other.
    Shapes: streams uint64 (chain, 4, item), advanced in place; returns `NormalDraws` with leading dims
    (chain, draw), of which the densities have no draws unless the plan asks for them.
    """
    posterior = posterior_items(prior, moments)
    n_items = streams.shape[-1]
    shapes = [(plan.chains, plan.draws, n_items)] * 3
    shapes += [(plan.chains, plan.draws if plan.densities else 0, n_items)] * 3
    draws = NormalDraws(*(np.empty(shape, plan.dtype) for shape in shapes))

    def run(chain: int, first: int) -> None:
        own = slice(first, first + BLOCK)
        laws = (NormalItems(*(p[own] for p in law)) for law in (posterior, prior))
        observed = ScoreMoments(*(m[own] for m in moments))
        block = np.ascontiguousarray(streams[chain, :, own])  # layout of the kernel
        draw_normal_items(block, *laws, observed, NormalDraws(*(array[chain, :, own] for array in draws)))
        streams[chain, :, own] = block

    in_threads(run, product(range(plan.chains), range(0, n_items, BLOCK)), plan.cores)
    return draws


def begin_scores(law: ItemScoresModel, model: pm.Model, plan: Draws, tuning: Tuning | None = None) -> Run:
    """Set up independent draws of locations and variances from their normal-inverse-gamma posterior."""
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

    def by_items(n: int, advance: Callable[[int], None]) -> ItemBlocks:
        del advance  # nothing is drawn before the items are
        now = replace(plan, draws=n, dtype=dtype)

        def of(which: slice, kept: slice) -> dict[str, dict[str, xr.Variable]]:
            own = NormalItems(*(p[which] for p in law.prior)), ScoreMoments(*(m[which] for m in moments))
            draws = continue_normal_posterior(*own, streams[:, :, which], now)
            return _variables_of_items(model, law, scales, draws, kept)

        return ItemBlocks({}, {"item": np.arange(n_items + 1)}, of)

    return Run({}, {"stream": streams}, draw, by_items=by_items)


def _variables_of_items(
    model: pm.Model, law: ItemScoresModel, scales: list[str], drawn: NormalDraws, kept: slice
) -> dict[str, dict[str, xr.Variable]]:
    """Convert draws of some items to those of the model's variables, with log densities at the draws that are kept."""
    location, variance, dims = str(law.location.name), str(law.variance.name), (*SAMPLE, "item")
    arrays = {location: drawn.location, variance: drawn.variance} | dict.fromkeys(scales, drawn.scale)
    groups = {"posterior": {name: xr.Variable(dims, values) for name, values in arrays.items()}}
    if drawn.log_p.size:
        likelihood = {str(model.observed_RVs[0].name): drawn.log_p}
        prior = {location: drawn.location_prior, variance: drawn.variance_prior}
        for group, densities in (("log_likelihood", likelihood), ("log_prior", prior)):
            groups[group] = {name: xr.Variable(dims, values[:, kept]) for name, values in densities.items()}
    return groups


def _groups_of_items(
    model: pm.Model, law: ItemScoresModel, scales: list[str], drawn: NormalDraws
) -> dict[str, xr.Dataset]:
    """Convert draws to those of the model's variables, with log densities if there are any."""
    location, variance = str(law.location.name), str(law.variance.name)
    arrays = {location: drawn.location, variance: drawn.variance} | dict.fromkeys(scales, drawn.scale)
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if drawn.log_p.size:
        by_variable = {location: drawn.location_prior, variance: drawn.variance_prior}
        log_p = {str(model.observed_RVs[0].name): ((*SAMPLE, "item"), drawn.log_p)}
        groups["log_likelihood"] = xr.Dataset(log_p, groups["posterior"].coords)
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
        value = np.asarray(evaluator([law.variance], variable)(trial))
        if value.shape == trial.shape and is_equal(value, np.sqrt(trial)):
            found.append(str(variable.name))
    return found


def scores_by_item(model: pm.Model, groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Name the last dim of a log likelihood by item, which PyMC takes for annotations, in groups of PyMC."""
    if "log_likelihood" not in groups or len(model.observed_RVs) != 1:
        return groups
    (observed,) = model.observed_RVs
    pointwise = groups["log_likelihood"][str(observed.name)].drop_vars("annotation", errors="ignore")
    named = pointwise.rename({pointwise.dims[-1]: "item"})
    if (items := model.coords.get("item")) is not None:
        named = named.assign_coords(item=np.asarray(items))
    return groups | {"log_likelihood": named.to_dataset(name=str(observed.name))}


def _numbers_by_item(model: pm.Model) -> dict[str, tuple[str, np.ndarray]]:
    """Return the parameters of the prior of each item."""
    prior = read_item_scores(model).prior._asdict()
    return {name: ("item", array) for name, array in prior.items()}


def _storage(model: pm.Model, draws: int, dtype: Storage) -> Storage:
    """Return `dtype`, or double precision if single would lose digits of the draws."""
    law = read_item_scores(model)
    posterior = posterior_items(law.prior, score_moments(law.item, law.score, len(law.prior.mean)))
    items = np.asarray(model.coords.get("item", range(len(law.prior.mean))))
    return storage_of_items(posterior, draws, dtype, items)


SAMPLER = Sampler(
    law=ItemScoresRV,
    read=read_item_scores,
    begin=begin_scores,
    reason="normal scores and a normal-inverse-gamma prior are conjugate",
    method="exact",
    name=NORMAL_SCORES.name,
    numbers_by_item=_numbers_by_item,
    storage=_storage,
    finish=scores_by_item,
)

"""Sampler of EBCC: the compiled Gibbs loop; and the order of the subtypes, for draws of any sampler."""

import numpy as np
import pymc as pm
import xarray as xr

from ...models.distributions.marginal_labels import RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.ebcc import SPEC as EBCC
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, begun, in_threads, thinned
from ..runs.trees import groups_by_item
from .gibbs import BLOCK, dirichlet_log_density, in_portions
from .kernels.ebcc import SubtypeDraws, SubtypePrior, sample_subtypes
from .kernels.em import drawn_near_vote
from .recognition import SubtypeLaw, read_subtypes

SWEEPS_BEFORE = 300  # default warm-up


def draw_subtypes(answers: Answers, prior: SubtypePrior, plan: ChainPlan) -> SubtypeDraws:
    """Run all chains from their start; returns as `continue_subtypes`."""
    return continue_subtypes(answers, prior, plan, begin_subtypes(answers, prior, plan))


def begin_subtypes(answers: Answers, prior: SubtypePrior, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Start near the majority vote, in subtypes at random: stream (chain, word), state of every item (chain, item)."""
    n, n_subtypes = prior.weight.shape

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        category = drawn_near_vote(answers, n, rng)
        return {"state": category * n_subtypes + rng.integers(0, n_subtypes, len(category))}

    return begun(plan, begin)


def continue_subtypes(
    answers: Answers, prior: SubtypePrior, plan: ChainPlan, state: dict[str, np.ndarray]
) -> SubtypeDraws:
    """Run all chains on from their state, in place; returns `SubtypeDraws` (chain, draw, ...), subtypes sorted."""
    n_items, n_categories, size = len(answers.gold_category), len(prior.prevalence), (plan.chains, plan.draws)
    shapes = (prior.prevalence.shape, prior.weight.shape, prior.confusion.shape)
    shapes = (*shapes, (n_items, n_categories), (n_items,))
    draws = SubtypeDraws(*(np.empty((*size, *shape), plan.dtype) for shape in shapes))
    block = min(plan.draws, max(1, BLOCK // (n_items * n_categories + prior.confusion.size)))

    def run(chain: int) -> None:
        # in double precision, rounded block by block to that of storage
        for first in range(0, plan.draws, block):
            places = [array[chain, first : first + block] for array in draws]
            buffer = SubtypeDraws(*(np.empty(place.shape) for place in places))
            schedule = (0 if first else plan.tune, plan.thin)
            own = (state["state"][chain], buffer)
            sample_subtypes(state["stream"][chain], answers, prior, schedule, own)
            for place, array in zip(places, sorted_subtypes(buffer), strict=True):
                place[...] = array

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws


def sorted_subtypes(drawn: SubtypeDraws) -> SubtypeDraws:
    """Sort the subtypes of every category by their weight, the largest first, in each draw of one chain."""
    order = _order_of(drawn.weight)
    table = drawn.table.reshape(*drawn.table.shape[:2], *drawn.weight.shape[1:])
    table = np.take_along_axis(table, order[:, None], axis=-1)
    weight = np.take_along_axis(drawn.weight, order, axis=-1)
    return drawn._replace(weight=weight, table=table.reshape(drawn.table.shape))


def sort_subtypes(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Sort the subtypes of ``posterior`` and ``log_prior`` in each draw, as the compiled loop does, if they are drawn."""
    if "subtype_weight" not in groups["posterior"]:
        return groups
    weight = groups["posterior"]["subtype_weight"].transpose(..., "subtype").drop_vars("subtype")
    order = weight.copy(data=_order_of(weight.to_numpy()))
    return groups | {
        group: groups[group].map(lambda v: _permuted(v, order), keep_attrs=True)
        for group in ("posterior", "log_prior")
        if group in groups
    }


def _order_of(weight: np.ndarray) -> np.ndarray:
    """Return the order of the subtypes by falling weight; of equal ones the first is first. Shapes: (..., subtype)."""
    return np.argsort(-weight, axis=-1, kind="stable")


def _permuted(variable: xr.DataArray, order: xr.DataArray) -> xr.DataArray:
    """Permute the subtypes of every draw and category; the coordinate stays. Shapes: order (chain, draw, category, subtype)."""
    if "subtype" not in variable.dims:
        return variable
    where = order.broadcast_like(variable.drop_vars("subtype"), exclude=["subtype"])
    where = where.transpose(*variable.dims)
    moved = np.take_along_axis(variable.to_numpy(), where.to_numpy(), axis=variable.dims.index("subtype"))
    return variable.copy(data=moved)


# --- The sampler as a run ---


def begin_subtypes_gibbs(law: SubtypeLaw, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled Gibbs loop of a law of `read_subtypes`; `found` restores the thinning."""
    answers, prior = law.answers, law.prior

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = draw_subtypes(answers, prior, trial)
        return np.concatenate([x.reshape(trial.chains, trial.draws, -1) for x in draws[:3]], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_subtypes(answers, prior, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_subtypes(answers, prior, chains.part(drawn, n), state)
        return _groups(model, law, draws, plan) | stats

    return Run(found, state, draw)


def _groups(model: pm.Model, law: SubtypeLaw, drawn: SubtypeDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    confusion = law.by_subtype(drawn.table)
    arrays = dict(zip(law.names, (drawn.prevalence, drawn.weight, confusion), strict=True))
    if "confusion" in model.named_vars:
        arrays["confusion"] = np.einsum("...jm,...kjml->...kjl", drawn.weight, confusion)
    arrays["plausibility"] = drawn.plausibility
    values = drawn.prevalence, drawn.weight, confusion
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(law, values))


def _log_prior(law: SubtypeLaw, drawn: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """Log prior density of prevalence, weights and confusion matrices (chain, draw, ...), with their batch dims."""
    concentrations = (law.prior.prevalence, law.prior.weight, law.by_subtype(law.prior.confusion))
    return {
        name: in_portions(lambda draws, p=values, a=alpha: dirichlet_log_density(p[:, draws], a), values)
        for name, values, alpha in zip(law.names, drawn, concentrations, strict=True)
    }


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=("subtype_weight",),
    read=read_subtypes,
    begin=begin_subtypes_gibbs,
    reason="given the categories and subtypes of the items, their weights and confusion matrices are conjugate",
    name=EBCC.name,
    finish=lambda _, groups: sort_subtypes(groups),
)

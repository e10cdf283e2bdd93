"""Multi-threaded Gibbs chains of hierarchical Plackett-Luce: worths of all items and reliabilities of all raters."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import xarray as xr
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.tensor.random.basic import GammaRV, HalfNormalRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.partial_ranking import PartialRankingRV
from ...models.distributions.partial_ranking_kernels import rankings_log_p
from ...models.rankings.hierarchical_plackett_luce import SPEC as HIERARCHICAL_PLACKETT_LUCE
from ...posterior.schema import SAMPLE
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    evaluator,
    is_equal,
    only_observed,
    refuse_further,
    shape_of,
)
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, begun, in_threads, run_chains, thinned
from ..runs.trees import as_dataset, row_dim
from .gibbs import SWEEPS_BEFORE, plausibilities, worth_log_prior
from .kernels.hierarchical import RaterDraws, RaterRankings, RaterState, sample_raters
from .kernels.race import WorthPosterior
from .recognition import distinct_annotations, gamma_parameters, item_starts

SPREAD, DEVIATION = "population_spread", "rater_deviation"
LAWS: dict[str, type] = {"worth": GammaRV, SPREAD: HalfNormalRV, DEVIATION: ZeroSumNormalRV}
"""Free variables of `models.hierarchical_plackett_luce`, and their laws."""

LOG_2_PI, LOG_2_OVER_PI = np.log(2 * np.pi), np.log(2 / np.pi)
MOST_THINNING = 16


@dataclass(frozen=True, eq=False)
class RaterLaw:
    """Observed rankings of a model by raters with a reliability each, and the numbers of its priors."""

    candidate: np.ndarray  # int (annotation, place), index into the raveled worths
    block: np.ndarray  # int (annotation, place), observed block numbers
    rater: np.ndarray  # int64 (annotation,)
    n_raters: int
    shape: np.ndarray  # (candidate,), of the worths' Gamma priors, whose rates are 1
    scale: float  # of the spread's HalfNormal prior
    start: np.ndarray | None  # int64 (item + 1,), first candidate of each item, as in `RankingLikelihood`


def read_rater_reliabilities(model: pm.Model) -> RaterLaw:
    """Read the law of `models.hierarchical_plackett_luce`, checked at random values; NotConjugate for other models."""
    observed = only_observed(model, PartialRankingRV)
    free = {str(rv.name): rv for rv in model.free_RVs}
    refuse_further(model, [rv for name, rv in free.items() if name in LAWS])
    for name, law in LAWS.items():
        if name not in free or not isinstance(free[name].owner.op, law):
            raise NotConjugate(f"{name!r} is not a free {law.__name__.removesuffix('RV')} random variable")
    log_worth, _, power = observed.owner.op.dist_params(observed.owner)
    if (constant_value(power, "the power of the likelihood") != 1).any():
        raise NotConjugate("the likelihood of a ranking has a power")
    candidate, rater = _codes(free, log_worth)
    shape, rate = gamma_parameters(free["worth"])
    if (rate != 1).any():
        raise NotConjugate("the rates of the worths are not 1")
    block = constant_value(model.rvs_to_values[observed], "the observed rankings")
    n_raters = shape_of(free[DEVIATION])[0]
    start = item_starts(model, free["worth"])
    return RaterLaw(candidate, block, rater, n_raters, shape, _scale_of_spread(free), start)


def _codes(free: dict[str, TensorVariable], log_worth: TensorVariable) -> tuple[np.ndarray, np.ndarray]:
    """Return candidate of each place and rater of each annotation, or raise unless the law is worth ** reliability."""
    names, shapes = [*LAWS], {name: shape_of(free[name]) for name in LAWS}
    compiled = evaluator([free[name] for name in names], log_worth)

    def at(worth: np.ndarray, spread: float, deviation: np.ndarray) -> np.ndarray:
        return np.asarray(compiled(worth.reshape(shapes["worth"]), np.array(spread), deviation))

    n, (n_raters,) = int(np.prod(shapes["worth"])), shapes[DEVIATION]
    numbers = 1.0 + np.arange(max(n, n_raters))
    found = np.exp(at(numbers[:n], 1.0, np.zeros(n_raters))) - 1.0
    power = at(np.full(n, np.e), 1.0, np.log(numbers[:n_raters]))[:, 0] - 1.0
    candidate = np.clip(np.rint(np.nan_to_num(found)), 0, n - 1).astype(np.int64)
    rater = np.clip(np.rint(np.nan_to_num(power)), 0, n_raters - 1).astype(np.int64)
    rng = np.random.default_rng(0)
    worth, deviation = rng.uniform(0.5, 2.0, n), rng.uniform(-1.0, 1.0, n_raters)
    expected = np.log(worth)[candidate] * np.exp(0.7 * deviation)[rater][:, None]
    if not is_equal(at(worth, 0.7, deviation), expected, 1e-6, 1e-12):
        raise NotConjugate("the rankings do not depend on worth ** reliability of the rater")
    return candidate, rater


def _scale_of_spread(free: dict[str, TensorVariable]) -> float:
    """Return the scale of the HalfNormal prior of the spread; raise if it is random or the deviations have another than 1."""
    place, scale = (
        constant_value(p, f"a parameter of {SPREAD!r}")
        for p in free[SPREAD].owner.op.dist_params(free[SPREAD].owner)
    )
    if place != 0:
        raise NotConjugate(f"the HalfNormal prior of {SPREAD!r} has a location other than 0")
    deviation = free[DEVIATION]
    unit, _ = deviation.owner.op.dist_params(deviation.owner)
    if (constant_value(unit, f"the scale of {DEVIATION!r}") != 1).any():
        raise NotConjugate(f"the scale of {DEVIATION!r} is not 1")
    return float(scale)


def rater_rankings(law: RaterLaw) -> tuple[RaterRankings, WorthPosterior]:
    """Lay out the annotations for the kernel, and each once more as an item of its own, whose race it is."""
    block, n = np.ascontiguousarray(law.block), len(law.shape)
    merged = distinct_annotations(block, law.candidate, 1.0, n, law.start)
    width = (block >= 0).sum(axis=1).astype(np.int64)
    item = np.searchsorted(merged.candidate_start, law.candidate[:, 0], side="right") - 1
    if (np.diff(item) < 0).any():
        raise NotConjugate("the annotations are not in the order of the items")
    first = merged.candidate_start[item]
    own = np.append(0, np.cumsum(width))
    alone = distinct_annotations(block, own[:-1, None] + np.arange(block.shape[1]), 1.0, int(own[-1]))
    races = WorthPosterior(*alone, np.ones(own[-1]), np.zeros(own[-1]))
    by_rater = np.argsort(law.rater, kind="stable")
    rankings = RaterRankings(
        candidate_start=merged.candidate_start,
        annotation_start=np.searchsorted(item, np.arange(len(merged.candidate_start))).astype(np.int64),
        rater=law.rater,
        first=first,
        width=width,
        shown=(law.candidate - first[:, None])[block >= 0].astype(np.int64),
        n_ranked=np.add.reduceat(alone.wins, own[:-1]).astype(np.int64),
        leader=merged.leader,
        settled=merged.settled,
        rater_start=np.searchsorted(law.rater[by_rater], np.arange(law.n_raters + 1)).astype(np.int64),
        by_rater=by_rater.astype(np.int64),
        shape=law.shape.astype(np.float64),
        total_shape=np.add.reduceat(law.shape.astype(np.float64), merged.candidate_start[:-1]),
        scale=np.array([law.scale]),
    )
    return rankings, races


Layout = tuple[RaterRankings, WorthPosterior]


def draw_raters(layout: Layout, plan: ChainPlan) -> RaterDraws:
    """Run all chains, one thread each, from their start; return `RaterDraws` with leading dims (chain, draw)."""
    return continue_raters(layout, plan, begin_raters(layout, plan))


def begin_raters(layout: Layout, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain at random: stream (chain, word), `RaterState` with a leading dim chain."""
    rankings, _ = layout
    n_raters, shape = len(rankings.rater_start) - 1, rankings.shape

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        # log Gamma(a) = log Gamma(a + 1) + log(U) / a does not underflow
        log_worth = np.log(rng.gamma(shape + 1.0)) + np.log1p(-rng.random(len(shape))) / shape
        spread = rankings.scale * rng.uniform(0.1, 1.0)
        deviation = rng.standard_normal(n_raters)
        log_reliability = spread * (deviation - deviation.mean())
        widths = np.ones(1 + n_raters), np.full(len(shape), 4.0)
        return RaterState(log_worth, log_reliability, spread, *widths)._asdict()

    return begun(plan, begin)


def continue_raters(layout: Layout, plan: ChainPlan, state: dict[str, np.ndarray]) -> RaterDraws:
    """Run all chains on from their state, in place; return `RaterDraws` with leading dims (chain, draw)."""
    size = (plan.chains, plan.draws)
    draws = RaterDraws(
        np.empty((*size, state["log_worth"].shape[1]), plan.dtype),
        np.empty((*size, state["log_reliability"].shape[1])),
        np.empty(size),
    )

    def sample(chain: int, places: RaterDraws, sweeps: tuple[int, int]) -> None:
        own = RaterState(*(state[name][chain] for name in RaterState._fields))
        sample_raters(state["stream"][chain], *layout, sweeps, (own, places))

    return run_chains(draws, plan, 64, sample)


def rater_values(draws: RaterDraws) -> dict[str, np.ndarray]:
    """Return the free variables but the worths, and the reliabilities, by name; leading dims stay."""
    deviation = draws.log_reliability / draws.spread[..., None]
    return {SPREAD: draws.spread, DEVIATION: deviation, "reliability": np.exp(draws.log_reliability)}


# --- The run of a model ---


def begin_rater_reliabilities(
    law: RaterLaw, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop of worths and reliabilities; `found` restores the thinning."""
    layout = rater_rankings(law)

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = draw_raters(layout, trial)
        return np.concatenate([draws.log_reliability, draws.spread[..., None]], axis=-1)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters, most=MOST_THINNING)
    state = begin_raters(layout, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_raters(layout, chains.part(drawn, n), state)
        groups = _densities(model, law, draws, plan) if plan.densities else {}
        return {"posterior": _posterior(model, law, draws, layout)} | stats | groups

    return Run(found, state, draw)


def _posterior(model: pm.Model, law: RaterLaw, draws: RaterDraws, layout: Layout) -> xr.Dataset:
    """Return the draws by the names of the model's variables."""
    shape = (*draws.log_worth.shape[:2], *shape_of(model["worth"]))
    plausibility = plausibilities(draws.log_worth, layout[0].candidate_start)
    with np.errstate(under="ignore"):
        worth = np.exp(draws.log_worth)
    arrays = {"worth": worth.reshape(shape), "plausibility": plausibility.reshape(shape)}
    return as_dataset(model, arrays | rater_values(draws), SAMPLE)


def _densities(model: pm.Model, law: RaterLaw, draws: RaterDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Return the groups of pointwise log densities of the draws."""
    values, observed = rater_values(draws), str(model.observed_RVs[0].name)
    log_p = rater_log_likelihood(law, draws.log_worth, values["reliability"], plan.cores)
    worth = worth_log_prior(draws.log_worth, law.shape, np.ones_like(law.shape), plan.cores)
    prior = {"worth": worth.reshape(*worth.shape[:2], *shape_of(model["worth"]))}
    prior[SPREAD] = 0.5 * LOG_2_OVER_PI - np.log(law.scale) - 0.5 * (values[SPREAD] / law.scale) ** 2
    all_dims = (*SAMPLE, row_dim(model))
    coords = {dim: np.arange(n) for dim, n in zip(all_dims, log_p.shape, strict=True)}
    return {
        "log_likelihood": xr.Dataset({observed: (all_dims, log_p)}, coords),
        "log_prior": as_dataset(model, prior, SAMPLE).assign(
            {DEVIATION: (SAMPLE, zero_sum_log_density(values[DEVIATION]))}
        ),
    }


def rater_log_likelihood(
    law: RaterLaw, log_worth: np.ndarray, reliability: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Log probability (chain, draw, annotation) of the rankings; log_worth (..., candidate), reliability (..., rater)."""
    block = np.ascontiguousarray(law.block)
    log_p = np.empty((*log_worth.shape[:2], len(block)), log_worth.dtype)

    def fill(chain: int, first: int) -> None:
        row, gradient = np.empty(len(block)), np.empty(block.shape)
        for d in range(first, min(first + 64, log_worth.shape[1])):
            worths = log_worth[chain, d].astype(np.float64)[law.candidate]
            rankings_log_p(worths * reliability[chain, d][law.rater][:, None], block, row, gradient)
            log_p[chain, d] = row

    parts = ((chain, d) for chain in range(log_p.shape[0]) for d in range(0, log_p.shape[1], 64))
    in_threads(fill, parts, threads)
    return log_p


def zero_sum_log_density(deviation: np.ndarray) -> np.ndarray:
    """Log density (...) of ZeroSumNormal(1) deviations (..., rater), of one degree of freedom less than raters."""
    free = deviation.shape[-1] - 1
    return -0.5 * ((deviation**2).sum(axis=-1) + free * LOG_2_PI)


SAMPLER = Sampler(
    law=PartialRankingRV,
    variables=(*LAWS, "reliability"),
    read=read_rater_reliabilities,
    begin=begin_rater_reliabilities,
    reason="given the races behind the rankings, each log worth has a log-concave density, and reliabilities a slice",
    name=HIERARCHICAL_PLACKETT_LUCE.name,
    names_refused=True,
)

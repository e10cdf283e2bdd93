"""Multi-threaded Gibbs chains of Plackett-Luce with the probabilities of a classifier in the prior of the worths."""

from dataclasses import dataclass, replace

import numpy as np
import pymc as pm
import xarray as xr

from ...models.distributions.partial_ranking import PartialRankingRV
from ...models.rankings.plackett_luce import SPEC as PLACKETT_LUCE
from ...posterior.schema import SAMPLE
from ..runs.model_graph import NotConjugate, refuse_further, shape_of
from ..runs.prior_predictions import (
    SHARED_STRENGTH,
    STRENGTH,
    affine_in_strength,
    read_strength,
    strength_log_prior,
)
from ..runs.run import (
    LARGEST_THINNING,
    ChainPlan,
    Draws,
    Run,
    Sampler,
    Tuning,
    begun,
    pilot,
    run_chains,
    sweeps_for_each_draw,
)
from ..runs.trees import as_dataset, row_dim
from .gibbs import SWEEPS_BEFORE, plausibilities, ranking_log_likelihood, worth_log_prior
from .kernels.predicted import StrengthDraws, StrengthPrior, StrengthState, sample_strengths
from .kernels.race import WorthPosterior
from .recognition import RankingLikelihood, distinct_annotations, read_rankings, worth_posterior


@dataclass(frozen=True, eq=False)
class PredictedWorths:
    """Observed rankings of a model, and the Gamma prior of its worths by the strength."""

    likelihood: RankingLikelihood
    prior: StrengthPrior
    rate: np.ndarray  # (candidate,)


def read_predicted_worths(model: pm.Model) -> PredictedWorths:
    """Read `models.plackett_luce` with predictions from the graph; NotConjugate for other models."""
    likelihood, (strength, scale) = read_rankings(model), read_strength(model)
    worth = likelihood.worth
    refuse_further(model, [worth, strength], "; use WorthGibbs as a step of pm.sample")
    parameters, shape = worth.owner.op.dist_params(worth.owner), shape_of(worth)
    base, slope, (unit,) = affine_in_strength(strength, parameters, shape)
    if (unit != 1).any():
        raise NotConjugate("the rates of the worths are not 1")
    prior = StrengthPrior(base.ravel(), slope.ravel(), scale)
    return PredictedWorths(likelihood, prior, np.ones(base.size))


def posterior_of(law: PredictedWorths) -> WorthPosterior:
    """Lay out the rankings for the kernel, with the shapes of strength zero."""
    own = law.likelihood
    merged = distinct_annotations(own.block, own.candidate, own.reliability, len(law.rate), own.start)
    return worth_posterior(merged, law.prior.base, law.rate)


# --- Chains ---


def begin_strengths(law: PredictedWorths, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Begin every chain at a prior draw, of a strength below its scale: stream (chain, word), state with a leading chain."""

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        strength = law.prior.scale * rng.uniform(0.1, 1.0, 1)
        shape = law.prior.base + strength * law.prior.slope
        # log Gamma(a) = log Gamma(a + 1) + log(U) / a does not underflow
        log_worth = np.log(rng.gamma(shape + 1.0)) + np.log1p(-rng.random(len(shape))) / shape
        return StrengthState(log_worth, strength, np.full(2, law.prior.scale))._asdict()

    return begun(plan, begin)


def continue_strengths(
    law: PredictedWorths, repeats: np.ndarray, plan: ChainPlan, state: dict[str, np.ndarray]
) -> StrengthDraws:
    """Run all chains on from their state, in place; leading dims (chain, draw).

    Shapes: repeats int64 (item,), sweeps of each item for each move of the strength.
    """
    posterior, size = posterior_of(law), (plan.chains, plan.draws)
    draws = StrengthDraws(np.empty((*size, len(law.rate)), plan.dtype), np.empty(size))

    told = [posterior._replace(shape=posterior.shape.copy()) for _ in range(plan.chains)]

    def sample(chain: int, places: StrengthDraws, sweeps: tuple[int, int]) -> None:
        own = StrengthState(*(state[name][chain] for name in StrengthState._fields))
        schedule = (*sweeps, repeats)
        sample_strengths(state["stream"][chain], told[chain], law.prior, schedule, (own, places))

    return run_chains(draws, plan, 64, sample)


def draw_strengths(law: PredictedWorths, repeats: np.ndarray | int, plan: ChainPlan) -> StrengthDraws:
    """Run all chains from their start."""
    n_items = len(posterior_of(law).candidate_start) - 1
    each = np.broadcast_to(np.asarray(repeats, np.int64), n_items).copy()
    return continue_strengths(law, each, plan, begin_strengths(law, plan))


def pilot_repeats(law: PredictedWorths, plan: ChainPlan) -> tuple[np.ndarray, int]:
    """Return sweeps of each item for each move of the strength, int64 (item,), and moves for each kept draw, by a pilot run."""
    start, of_strength = posterior_of(law).candidate_start, []

    def draw(chains: ChainPlan) -> np.ndarray:
        drawn = draw_strengths(law, 1, chains)
        of_strength.append(drawn.strength[..., None])
        return plausibilities(drawn.log_worth, start)

    repeats = pilot(draw, plan, first=start[:-1])
    kept = plan.chains * plan.draws
    rounds = int(sweeps_for_each_draw(of_strength[0], kept, plan.threads, most=LARGEST_THINNING)[0])
    return np.maximum(1, -(-repeats // rounds)), rounds


# --- The run of a model ---


def begin_predicted_worths(
    law: PredictedWorths, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop of worths and strength; `found` restores the thinning."""
    chains, start = plan.chain(SWEEPS_BEFORE), posterior_of(law).candidate_start
    if found is None:
        each = np.ones(len(start) - 1, np.int64)
        repeats, rounds = pilot_repeats(law, chains) if plan.thin == "pilot" else (each, plan.thin)
        found = {"repeats": repeats, "rounds": np.array(rounds, np.int64), "thinning": repeats * rounds}
    chains, repeats = replace(chains, thin=int(found["rounds"])), np.ascontiguousarray(found["repeats"])
    state = begin_strengths(law, chains)
    stats = xr.Dataset({"thinning": ("item", np.asarray(found["thinning"]))})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_strengths(law, repeats, chains.part(drawn, n), state)
        groups = _densities(model, law, draws, plan) if plan.densities else {}
        return {"posterior": _posterior(model, draws, start), "sample_stats": stats} | groups

    return Run(found, state, draw)


def _posterior(model: pm.Model, draws: StrengthDraws, start: np.ndarray) -> xr.Dataset:
    """Return the draws by the names of the model's variables."""
    shape = (*draws.log_worth.shape[:2], *shape_of(model["worth"]))
    plausibility = plausibilities(draws.log_worth, start)
    with np.errstate(under="ignore"):
        worth = np.exp(draws.log_worth)
    arrays = {
        "worth": worth.reshape(shape),
        "plausibility": plausibility.reshape(shape),
        STRENGTH: draws.strength,
    }
    return as_dataset(model, arrays, SAMPLE)


def _densities(
    model: pm.Model, law: PredictedWorths, draws: StrengthDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Return the groups of pointwise log densities of the draws."""
    own, observed = law.likelihood, str(model.observed_RVs[0].name)
    log_p = ranking_log_likelihood(draws.log_worth, own.candidate, own.block, plan.cores)
    prior = predicted_log_prior(law, draws).reshape(*log_p.shape[:2], *shape_of(own.worth))
    all_dims = (*SAMPLE, row_dim(model))
    coords = {dim: np.arange(n) for dim, n in zip(all_dims, log_p.shape, strict=True)}
    arrays = {str(own.worth.name): prior, STRENGTH: strength_log_prior(draws.strength, law.prior.scale)}
    return {
        "log_likelihood": xr.Dataset({observed: (all_dims, log_p)}, coords),
        "log_prior": as_dataset(model, arrays, SAMPLE),
    }


def predicted_log_prior(law: PredictedWorths, draws: StrengthDraws) -> np.ndarray:
    """Return the log prior density of the worths given the strength (chain, draw, candidate)."""
    log_p = np.empty(draws.log_worth.shape, draws.log_worth.dtype)
    for at in np.ndindex(draws.strength.shape):
        shape = law.prior.base + draws.strength[at] * law.prior.slope
        log_p[at] = worth_log_prior(draws.log_worth[at][None, None], shape, law.rate, 1)[0, 0]
    return log_p


SAMPLER = Sampler(
    law=PartialRankingRV,
    free=(STRENGTH,),
    read=read_predicted_worths,
    begin=begin_predicted_worths,
    reason="given the strength of the predictions, Gamma worths behind partial rankings are conjugate",
    name=PLACKETT_LUCE.name,
    items_share=SHARED_STRENGTH,
)

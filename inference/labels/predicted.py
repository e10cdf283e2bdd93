"""Sampler of label counts with the probabilities of a classifier in the prior: chains of their strength, draws given it."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pymc as pm
import xarray as xr

from ...models.distributions.counted_labels import CountedLabelsRV
from ...models.labels.dirichlet import SPEC as DIRICHLET
from ...posterior.schema import SAMPLE
from ..runs.model_graph import NotConjugate, constant_value, only_observed, refuse_further, shape_of
from ..runs.prior_predictions import (
    SHARED_STRENGTH,
    STRENGTH,
    affine_in_strength,
    read_strength,
    strength_log_prior,
)
from ..runs.run import (
    ChainPlan,
    Draws,
    Run,
    Sampler,
    Tuning,
    begun,
    in_threads,
    item_keys,
    streams_of_items,
    thinned,
)
from ..runs.trees import as_dataset
from .dirichlet import BLOCK
from .kernels.item_states import DirichletDraws
from .kernels.predicted import PredictedItems, draw_predicted_items, sample_strength

MOVES_BEFORE = 200  # default warm-up


@dataclass(frozen=True, eq=False)
class PredictedCounts:
    """Observed counts of a model, and the Dirichlet prior of its plausibilities by the strength."""

    items: PredictedItems
    scale: float  # of the half-normal prior of the strength
    name: str  # of the plausibilities

    @property
    def telling(self) -> PredictedItems:
        """Items with labels and a prediction: no other tells the strength."""
        told = (self.items.counts.sum(axis=1) > 0) & (self.items.slope.sum(axis=1) > 0)
        return PredictedItems(*(np.ascontiguousarray(array[told]) for array in self.items))


def read_predicted_counts(model: pm.Model) -> PredictedCounts:
    """Read `models.dirichlet` with predictions from the graph; NotConjugate for other models."""
    observed, (strength, scale) = only_observed(model, CountedLabelsRV), read_strength(model)
    plausibility, _, reliability = observed.owner.op.dist_params(observed.owner)
    if plausibility not in model.free_RVs:
        raise NotConjugate("the plausibilities are not a free random variable of the model")
    refuse_further(model, [plausibility, strength])
    parameters = plausibility.owner.op.dist_params(plausibility.owner)
    base, slope, _ = affine_in_strength(strength, parameters, shape_of(plausibility))
    counts = constant_value(model.rvs_to_values[observed], "the observed counts").astype(np.float64)
    power = constant_value(reliability, "reliability").astype(np.float64)
    items = PredictedItems(base, slope, counts, np.broadcast_to(power, len(counts)).copy())
    return PredictedCounts(items, scale, str(plausibility.name))


# --- Chains ---


def begin_strength(law: PredictedCounts, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Begin every chain below the scale of the prior: stream (chain, word), strength and width of the slice (chain, 2)."""
    state = begun(plan, lambda rng: {"strength": np.array([law.scale * rng.uniform(0.1, 1.0), law.scale])})
    return {"strength_stream": state["stream"], "strength": state["strength"]}


def continue_strength(law: PredictedCounts, plan: ChainPlan, state: dict[str, np.ndarray]) -> np.ndarray:
    """Run the chains of the strength on from their state, in place; returns (chain, draw)."""
    telling, draws = law.telling, np.empty((plan.chains, plan.draws))

    def run(chain: int) -> None:
        own = (state["strength"][chain], draws[chain])
        sample_strength(state["strength_stream"][chain], telling, law.scale, (plan.tune, plan.thin), own)

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws


def draw_items(
    law: PredictedCounts, streams: np.ndarray, strength: np.ndarray, plan: ChainPlan
) -> DirichletDraws:
    """Draw all items given the strength (chain, draw), multi-threaded; streams (chain, 4, item) are advanced in place."""
    size = (*strength.shape, len(law.items.counts))
    shapes = ((*size, law.items.counts.shape[1]), size, size)
    draws = DirichletDraws(*(np.empty(shape, plan.dtype) for shape in shapes))

    def run(chain: int, first: int) -> None:
        own = slice(first, first + BLOCK)
        block = PredictedItems(*(array[own] for array in law.items))
        out = DirichletDraws(*(array[chain, :, own] for array in draws))
        draw_predicted_items(streams[chain, :, own], block, strength[chain], out)

    in_threads(run, product(range(plan.chains), range(0, size[2], BLOCK)), plan.threads)
    return draws


# --- The run of a model ---


def begin_predicted_counts(
    law: PredictedCounts, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up chains of the strength, and of each item draws given it; `found` restores the thinning."""

    def strengths(trial: ChainPlan) -> np.ndarray:
        return continue_strength(law, trial, begin_strength(law, trial))[..., None]

    found, chains, stats = thinned(found, plan, plan.chain(MOVES_BEFORE), strengths)
    items = np.asarray(model.coords.get("item", range(len(law.items.counts))))
    state = begin_strength(law, chains)
    state["stream"] = streams_of_items(item_keys(items), chains.chains, chains.seed)
    observed = str(model.observed_RVs[0].name)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        strength = continue_strength(law, chains.part(drawn, n), state)
        draws = draw_items(law, state["stream"], strength, chains)
        arrays = {law.name: draws.plausibility, STRENGTH: strength}
        groups = {"posterior": as_dataset(model, arrays, SAMPLE), **stats}
        if plan.densities:
            by_item = (*SAMPLE, "item")
            groups["log_likelihood"] = xr.Dataset({observed: (by_item, draws.log_p)})
            prior = strength_log_prior(strength, law.scale)
            groups["log_prior"] = xr.Dataset(
                {law.name: (by_item, draws.log_prior), STRENGTH: (SAMPLE, prior)}
            )
        return groups

    return Run(found, state, draw)


SAMPLER = Sampler(
    law=CountedLabelsRV,
    free=(STRENGTH,),
    read=read_predicted_counts,
    begin=begin_predicted_counts,
    reason="given the strength of the predictions, counts of labels and a Dirichlet prior are conjugate",
    name=DIRICHLET.name,
    items_share=SHARED_STRENGTH,
)

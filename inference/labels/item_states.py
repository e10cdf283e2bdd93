"""Sampler of item-state mixtures: the compiled Gibbs loop, then draws of the items given their states."""

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln, logsumexp, xlogy

from ...models.distributions.mixed_counts import MixedCountsRV
from ...models.labels.item_states import SPEC as ITEM_STATES
from ...posterior.schema import SAMPLE
from ..runs.model_graph import constant_value
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, in_threads, item_keys, stream, thinned
from ..runs.trees import as_dataset
from .kernels.item_states import (
    CountPatterns,
    StateDraws,
    StatePrior,
    begin_item_states,
    continue_item_states,
    draw_item_plausibility,
)
from .recognition import read_item_states

PILOT_DRAWS, LARGEST_THINNING = 1000, 100  # states mix slowly, and their draws are cheap


def draw_states(patterns: CountPatterns, prior: StatePrior, plan: ChainPlan) -> StateDraws:
    """Run all chains from their start; returns `StateDraws` with leading dims (chain, draw)."""
    return continue_states(patterns, prior, plan, begin_states(prior, plan))


def begin_states(prior: StatePrior, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Begin at prior draws: stream (chain, word), log_weight (chain, state), log_probability (chain, state, category)."""
    seeds = (np.random.SeedSequence(plan.seed, spawn_key=(chain,)) for chain in range(plan.chains))
    state = {
        "stream": np.stack([stream(seed) for seed in seeds]),
        "log_weight": np.empty((plan.chains, *prior.weight.shape)),
        "log_probability": np.empty((plan.chains, *prior.probability.shape)),
    }
    for rng, *own in zip(*state.values(), strict=True):
        begin_item_states(rng, prior, tuple(own))
    return state


def continue_states(
    patterns: CountPatterns, prior: StatePrior, plan: ChainPlan, state: dict[str, np.ndarray]
) -> StateDraws:
    """Run all chains on from their state, overwritten in place; returns `StateDraws` (chain, draw, ...)."""
    size, shape = (plan.chains, plan.draws), prior.probability.shape
    draws = StateDraws(np.empty((*size, shape[0])), np.empty((*size, *shape)))

    def run(chain: int) -> None:
        rng, *own = (array[chain] for array in state.values())
        place = (tuple(own), StateDraws(*(array[chain] for array in draws)))
        continue_item_states(rng, patterns, prior, (plan.tune, plan.thin), place)

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws


def sort_states(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Sort states of ``posterior`` and ``log_prior`` by their probability of the last category in each draw, as compiled."""
    if "state_probability" not in groups["posterior"]:
        return groups
    last = groups["posterior"]["state_probability"].isel(category=-1, drop=True)
    last = last.transpose("chain", "draw", "state").drop_vars("state")
    order = last.copy(data=np.argsort(last.to_numpy(), axis=-1, kind="stable"))
    return groups | {
        group: groups[group].map(lambda v: _permuted(v, order), keep_attrs=True)
        for group in ("posterior", "log_prior")
        if group in groups
    }


def _permuted(variable: xr.DataArray, order: xr.DataArray) -> xr.DataArray:
    """Permute the states of every draw of a variable; the coordinate stays. Shapes: order (chain, draw, state)."""
    state = next((dim for dim in variable.dims if "state" in str(dim)), None)
    if state is None:
        return variable
    at = order.rename(state=state)
    places = {dim: xr.DataArray(np.arange(at.sizes[dim]), dims=dim) for dim in ("chain", "draw")}
    moved = variable.drop_vars([state], errors="ignore").isel(places | {state: at})
    return moved.transpose(*variable.dims).assign_coords(variable.coords)


# --- Draws of the plausibility of items: each item is in one state in every draw ---


def streams_of_drawn_items(model: pm.Model, plan: Draws) -> np.ndarray | None:
    """Random stream of every item, by its id, uint64 (chain, item, word); None without ``drawn_of_item``."""
    if "plausibility" not in (model.coords.get("drawn_of_item") or ()):
        return None
    keys = [int(key) for key in item_keys(np.asarray(model.coords["item"]))]
    streams = np.empty((plan.chains, len(keys), 4), np.uint64)
    for chain, item in np.ndindex(streams.shape[:2]):
        streams[chain, item] = stream(np.random.SeedSequence(plan.seed, spawn_key=(chain, keys[item])))
    return streams


def with_items_drawn(
    model: pm.Model, posterior: xr.Dataset, plan: Draws, streams: np.ndarray | None = None
) -> xr.Dataset:
    """Add draws of ``plausibility`` (chain, draw, item, category), if the model lists it in ``drawn_of_item``.

    It is the probability vector of the item's state, which is drawn given the item's counts; for a state with
    spread, a draw from its Dirichlet posterior. The draws do not depend on the number of threads.
    Shapes: streams, by default those of `streams_of_drawn_items`, (chain, item, word), advanced in place.
    """
    streams = streams_of_drawn_items(model, plan) if streams is None else streams
    if streams is None or "state_weight" not in posterior:  # in a named model, say
        return posterior
    observed = next(rv for rv in model.observed_RVs if isinstance(rv.owner.op, MixedCountsRV))
    counts = constant_value(model.rvs_to_values[observed], "the observed counts").astype(np.int64)
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    states = _states(posterior)
    shape = (*states[0].shape[:2], *counts.shape)
    plausibility = np.empty(shape, posterior["state_probability"].dtype)

    def run(chain: int) -> None:
        own = tuple(array[chain] for array in states)
        draw_item_plausibility(streams[chain], patterns, pattern.astype(np.int64), own, plausibility[chain])

    in_threads(run, zip(range(len(plausibility))), plan.cores or len(plausibility))
    dims = ("chain", "draw", "item", "category")
    return posterior.assign(plausibility=(dims, plausibility)).assign_coords(
        item=np.asarray(model.coords["item"])
    )


def _states(posterior: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, probability and spread (0 if absent) of the states (chain, draw, state, ...), in double precision."""
    weight, probability = posterior["state_weight"], posterior["state_probability"]
    spread = posterior.get("state_spread", xr.zeros_like(weight))
    weight, probability, spread = (
        np.ascontiguousarray(array.transpose("chain", "draw", "state", ...).to_numpy(), np.float64)
        for array in (weight, probability, spread)
    )
    return weight, probability, spread


# --- The sampler as a run ---

SWEEPS_BEFORE = 1000  # default warm-up: a sweep of a dozen patterns takes microseconds


def begin_item_states_gibbs(
    law: tuple[np.ndarray, StatePrior], model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop of the law of `read_item_states`; `found` restores the thinning."""
    counts, prior = law
    distinct, pattern, items = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    patterns = CountPatterns(distinct.astype(np.float64), items.astype(np.int64))
    # kernels are compiled for each memory layout
    compiled_prior = StatePrior(*map(np.ascontiguousarray, prior))

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = draw_states(patterns, compiled_prior, trial)
        return np.concatenate([array.reshape(trial.chains, trial.draws, -1) for array in draws], axis=2)

    options = {"draws": PILOT_DRAWS, "most": LARGEST_THINNING}
    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters, **options)
    state, streams = begin_states(compiled_prior, chains), streams_of_drawn_items(model, plan)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_states(patterns, compiled_prior, chains.part(drawn, n), state)
        groups = _groups(model, (patterns, pattern, prior), draws, plan)
        groups["posterior"] = with_items_drawn(model, groups["posterior"], plan, streams)
        return groups | stats

    return Run(found, state if streams is None else state | {"item_stream": streams}, draw)


def _groups(
    model: pm.Model, law: tuple[CountPatterns, np.ndarray, StatePrior], drawn: StateDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    (patterns, pattern, prior), (weight, probability) = law, drawn
    arrays = {"state_weight": weight.astype(plan.dtype), "state_probability": probability.astype(plan.dtype)}
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if plan.densities:
        name = str(model.observed_RVs[0].name)
        log_p = _pointwise(weight, probability, patterns.counts, plan.dtype)
        groups["log_likelihood"] = xr.Dataset({name: ((*SAMPLE, "item"), log_p[:, :, pattern])})
        log_prior = {
            "state_weight": (SAMPLE, _log_dirichlet(weight, prior.weight)),
            "state_probability": ((*SAMPLE, "state"), _log_dirichlet(probability, prior.probability)),
        }
        groups["log_prior"] = xr.Dataset(log_prior)
    return groups


def _pointwise(weight: np.ndarray, probability: np.ndarray, counts: np.ndarray, dtype: str) -> np.ndarray:
    """Log likelihood of every distinct vector of counts, chain by chain.

    Shapes: weight (chain, draw, state); probability (chain, draw, state, category); counts (pattern, category);
    returns (chain, draw, pattern).
    """
    log_p = np.empty((*weight.shape[:2], len(counts)), dtype)
    floor = np.finfo(np.float64).tiny  # for probabilities that underflowed
    for chain in range(len(weight)):
        log_each = np.log(np.maximum(probability[chain], floor))
        log_named = np.zeros((*weight.shape[1:], len(counts)))
        # not a matrix product, whose rounding depends on the number of draws
        for c in range(counts.shape[1]):
            log_named += log_each[..., c, None] * counts[:, c]
        joint = np.log(np.maximum(weight[chain], floor))[..., None] + log_named
        # log p(n_i) = log sum_j w_j prod_c theta_jc ^ n_ic
        log_p[chain] = logsumexp(joint, axis=1)
    return log_p


def _log_dirichlet(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Log density of the Dirichlet distribution along the last axis."""
    p = np.maximum(p, np.finfo(p.dtype).tiny)  # for probabilities that underflowed
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return xlogy(alpha - 1, p).sum(axis=-1) + normaliser


SAMPLER = Sampler(
    law=MixedCountsRV,
    read=read_item_states,
    begin=begin_item_states_gibbs,
    reason="given the states of the items, their weights and probabilities are conjugate",
    name=ITEM_STATES.name,
    names_refused=True,
    finish=lambda _, groups: sort_states(groups),
)

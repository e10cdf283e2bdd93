"""Multi-threaded Gibbs chains of item-state mixtures, and the order of the states in every draw."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import xarray as xr

from .kernels.item_states import (
    CountPatterns,
    StateDraws,
    StatePrior,
    begin_item_states,
    continue_item_states,
)
from .kernels.random_stream import stream
from .thinning import PILOT_CHAINS, sweeps_for_each_draw

__all__ = [
    "StatePlan",
    "begin_states",
    "continue_states",
    "draw_states",
    "in_order",
    "state_pilot",
]

PILOT_DRAWS, LARGEST_THINNING = 1000, 100  # states mix slowly, and their draws are cheap


@dataclass(frozen=True)
class StatePlan:
    """Length, seed and threads of the Gibbs chains of an item-state mixture."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # sweeps before the first draw
    thin: int  # sweeps for each kept draw
    seed: int
    threads: int | None = None


def draw_states(patterns: CountPatterns, prior: StatePrior, plan: StatePlan) -> StateDraws:
    """Run all chains from their start; returns `StateDraws` with leading dims (chain, draw)."""
    return continue_states(patterns, prior, plan, begin_states(prior, plan))


def begin_states(prior: StatePrior, plan: StatePlan) -> dict[str, np.ndarray]:
    """Initialise every chain at a draw from the prior.

    Shapes of the returned state: stream (chain, word); log_weight (chain, state); log_probability (chain,
    state, category).
    """
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
    patterns: CountPatterns, prior: StatePrior, plan: StatePlan, state: dict[str, np.ndarray]
) -> StateDraws:
    """Run all chains on from their state, overwritten in place; returns `StateDraws` (chain, draw, ...)."""
    size, shape = (plan.chains, plan.draws), prior.probability.shape
    draws = StateDraws(np.empty((*size, shape[0])), np.empty((*size, *shape)))

    def run(chain: int) -> None:
        rng, *own = (array[chain] for array in state.values())
        place = (tuple(own), StateDraws(*(array[chain] for array in draws)))
        continue_item_states(rng, patterns, prior, (plan.tune, plan.thin), place)

    with ThreadPoolExecutor(plan.threads or plan.chains) as pool:
        list(pool.map(run, range(plan.chains)))
    return draws


def state_pilot(patterns: CountPatterns, prior: StatePrior, plan: StatePlan) -> int:
    """Return the number of sweeps per kept draw, at most 100, by a pilot run.

    4 chains of 1,000 draws after the warm-up of the plan; the smallest ESS among weights and probabilities
    decides, by the rule of `sweeps_for_each_draw`.
    """
    length = (PILOT_CHAINS, PILOT_DRAWS)
    pilot = StatePlan(*length, plan.tune, 1, plan.seed + 1, plan.threads)
    draws = draw_states(patterns, prior, pilot)
    flat = np.concatenate([array.reshape(*length, -1) for array in draws], axis=2)
    kept = plan.chains * plan.draws
    return int(sweeps_for_each_draw(flat, kept, plan.threads, most=LARGEST_THINNING)[0])


def in_order(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Sort the states of every draw by their probability of the last category, as the compiled loop does.

    Applies to all variables of ``posterior`` and ``log_prior`` with states; ``posterior`` holds
    ``state_probability`` (chain, draw, state, category).
    """
    last = groups["posterior"]["state_probability"].isel(category=-1, drop=True)
    last = last.transpose("chain", "draw", "state").drop_vars("state")
    order = last.copy(data=np.argsort(last.to_numpy(), axis=-1, kind="stable"))
    listed = {}
    for group in {"posterior", "log_prior"} & set(groups):
        listed[group] = groups[group].map(lambda v: _listed(v, order), keep_attrs=True)
    return groups | listed


def _listed(variable: xr.DataArray, order: xr.DataArray) -> xr.DataArray:
    """Permute the states of every draw of a variable; the coordinate stays. Shapes: order (chain, draw, state)."""
    state = next((dim for dim in variable.dims if "state" in str(dim)), None)
    if state is None:
        return variable
    at = order.rename(state=state)
    places = {dim: xr.DataArray(np.arange(at.sizes[dim]), dims=dim) for dim in ("chain", "draw")}
    moved = variable.drop_vars([state], errors="ignore").isel(places | {state: at})
    return moved.transpose(*variable.dims).assign_coords(variable.coords)

"""How mixtures of item states are drawn: chains of the compiled Gibbs loop, one thread for each, and the order of the states.

The draws are the same for any number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln, logsumexp, xlogy

from .diagnostics import mixing_of
from .groups import as_dataset
from .kernels.item_states import CountPatterns, StateDraws, StatePrior, sample_item_states
from .kernels.random_stream import stream
from .plan import Draws
from .steps.state_reading import read_item_states

__all__ = ["StatePlan", "draw_states", "draw_states_with_gibbs", "in_order"]

SWEEPS_BEFORE = 1000  # default warm-up: a sweep of a dozen patterns takes microseconds
PILOT_DRAWS = 1000
LARGEST_THINNING = 100
WANTED_ESS = 1600


@dataclass(frozen=True)
class StatePlan:
    """How long to run: chains, kept draws, sweeps before the first and for each, seed, threads."""

    chains: int
    draws: int
    tune: int
    thin: int
    seed: int
    threads: int | None = None


def draw_states(patterns: CountPatterns, prior: StatePrior, plan: StatePlan) -> StateDraws:
    """Run all chains.

    Parameters
    ----------
    patterns : CountPatterns
        The data.
    prior : StatePrior
        Priors.
    plan : StatePlan
        How long to run.

    Returns
    -------
    StateDraws
        Arrays with a leading dimension of chains.
    """
    size = (plan.chains, plan.draws)
    shape = prior.probability.shape
    draws = StateDraws(np.empty((*size, shape[0])), np.empty((*size, *shape)))

    def run(chain: int) -> None:
        rng = stream(np.random.SeedSequence(plan.seed, spawn_key=(chain,)))
        own = StateDraws(*(array[chain] for array in draws))
        sample_item_states(rng, patterns, prior, (plan.tune, plan.thin), own)

    with ThreadPoolExecutor(plan.threads or plan.chains) as pool:
        list(pool.map(run, range(plan.chains)))
    return draws


def _pilot(patterns: CountPatterns, prior: StatePrior, plan: StatePlan) -> int:
    """Ask a pilot run how many sweeps a kept draw needs.

    The rule is fixed beforehand: 4 chains of 1,000 draws after the warm-up of the plan; if the least effective weight or
    probability has bulk or tail ESS n, runs are thinned by the least whole number that makes the effective size of the planned
    run 1,600, or four fifths of its draws if that is less, at most 100.
    """
    pilot = StatePlan(4, PILOT_DRAWS, plan.tune, 1, plan.seed + 1, plan.threads)
    draws = draw_states(patterns, prior, pilot)
    flat = [array.reshape(4, PILOT_DRAWS, -1) for array in draws]
    _, bulk, tail, _ = mixing_of(np.concatenate(flat, axis=2), plan.threads)
    kept = plan.chains * plan.draws
    per_draw = np.nanmin(np.fmin(bulk, tail)) / (4 * PILOT_DRAWS)
    wanted = min(WANTED_ESS, 0.8 * kept) / kept
    return int(np.clip(np.ceil(wanted / per_draw), 1, LARGEST_THINNING))


def draw_states_with_gibbs(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw weights and probabilities of the states, and what follows from them."""
    counts, prior = read_item_states(model)
    distinct, pattern, items = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    patterns = CountPatterns(distinct.astype(np.float64), items.astype(np.int64))
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    chains = StatePlan(plan.chains, plan.draws, tune, 1, plan.seed, plan.cores)
    thin = _pilot(patterns, prior, chains) if plan.thin == "pilot" else int(plan.thin)
    drawn = draw_states(
        patterns, prior, StatePlan(plan.chains, plan.draws, tune, thin, plan.seed, plan.cores)
    )
    weight, probability = drawn
    arrays = {
        "state_weight": weight.astype(plan.dtype),
        "state_probability": probability.astype(plan.dtype),
    }
    sample = ("chain", "draw")
    groups = {
        "posterior": as_dataset(model, arrays, sample),
        "sample_stats": xr.Dataset({"thinning": np.int64(thin)}),
    }
    if plan.densities:
        name = str(model.observed_RVs[0].name)
        log_p = _pointwise(weight, probability, distinct, plan.dtype)
        groups["log_likelihood"] = xr.Dataset({name: ((*sample, "item"), log_p[:, :, pattern])})
        groups["log_prior"] = xr.Dataset(
            {
                "state_weight": (sample, _log_dirichlet(weight, prior.weight)),
                "state_probability": (
                    (*sample, "state"),
                    _log_dirichlet(probability, prior.probability),
                ),
            }
        )
    return groups


def _pointwise(
    weight: np.ndarray, probability: np.ndarray, counts: np.ndarray, dtype: str
) -> np.ndarray:
    """Return log p(answers) of every pattern, chain by chain."""
    log_p = np.empty((*weight.shape[:2], len(counts)), dtype)
    floor = np.finfo(np.float64).tiny  # what was too small for a double
    for chain in range(len(weight)):
        log_named = np.log(np.maximum(probability[chain], floor)) @ counts.T
        joint = np.log(np.maximum(weight[chain], floor))[..., None] + log_named
        log_p[chain] = logsumexp(joint, axis=1)
    return log_p


def _log_dirichlet(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law along the last axis."""
    p = np.maximum(p, np.finfo(p.dtype).tiny)  # what was too small for a double
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return xlogy(alpha - 1, p).sum(axis=-1) + normaliser


def in_order(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """List the states of every draw by their probability of the last category, as the compiled loop does.

    Parameters
    ----------
    groups : dict of str to Dataset
        With a ``posterior`` that holds ``state_probability`` (chain, draw, state, category).

    Returns
    -------
    dict of str to Dataset
        The same, with everything of ``posterior`` and ``log_prior`` that has states in that order.
    """
    last = groups["posterior"]["state_probability"].isel(category=-1, drop=True)
    last = last.transpose("chain", "draw", "state").drop_vars("state")
    order = last.copy(data=np.argsort(last.to_numpy(), axis=-1, kind="stable"))
    listed = {}
    for group in {"posterior", "log_prior"} & set(groups):
        listed[group] = groups[group].map(lambda v: _listed(v, order), keep_attrs=True)
    return groups | listed


def _listed(variable: xr.DataArray, order: xr.DataArray) -> xr.DataArray:
    """Return a variable with its states in another order; their numbers stay."""
    state = next((dim for dim in variable.dims if "state" in str(dim)), None)
    if state is None:
        return variable
    at = order.rename(state=state)
    places = {dim: xr.DataArray(np.arange(at.sizes[dim]), dims=dim) for dim in ("chain", "draw")}
    moved = variable.drop_vars([state], errors="ignore").isel(places | {state: at})
    return moved.transpose(*variable.dims).assign_coords(variable.coords)

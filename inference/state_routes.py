"""Sampler of item-state mixtures: the compiled Gibbs loop, then draws of the items given their states."""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln, logsumexp, xlogy

from .groups import as_dataset
from .kernels.item_states import CountPatterns, StateDraws, StatePrior
from .plan import Draws
from .runs import Found, Run
from .state_chains import StatePlan, begin_states, continue_states, state_pilot
from .state_plausibility import streams_of_drawn_items, with_items_drawn
from .steps.state_reading import read_item_states

__all__ = ["begin_item_states_gibbs"]

SWEEPS_BEFORE = 1000  # default warm-up: a sweep of a dozen patterns takes microseconds
SAMPLE = ("chain", "draw")


def begin_item_states_gibbs(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the compiled Gibbs loop of weights and probabilities of the states; `found` restores the thinning."""
    counts, prior = read_item_states(model)
    distinct, pattern, items = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    patterns = CountPatterns(distinct.astype(np.float64), items.astype(np.int64))
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    chains = StatePlan(plan.chains, plan.draws, tune, 1, plan.seed, plan.cores)
    if found is None:
        thin = state_pilot(patterns, prior, chains) if plan.thin == "pilot" else int(plan.thin)
        found = {"thinning": np.array(thin)}
    chains = replace(chains, thin=int(found["thinning"]))
    state, streams = begin_states(prior, chains), streams_of_drawn_items(model, plan)
    stats = xr.Dataset({"thinning": np.int64(chains.thin)})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(chains, draws=n, tune=0 if drawn else tune)
        draws = continue_states(patterns, prior, now, state)
        groups = _groups(model, (patterns, pattern, prior), draws, plan)
        groups["posterior"] = with_items_drawn(model, groups["posterior"], plan, streams)
        return groups | {"sample_stats": stats}

    return Run(found, state if streams is None else state | {"item_stream": streams}, draw)


def _groups(
    model: pm.Model,
    law: tuple[CountPatterns, np.ndarray, StatePrior],
    drawn: StateDraws,
    plan: Draws,
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    (patterns, pattern, prior), (weight, probability) = law, drawn
    arrays = {
        "state_weight": weight.astype(plan.dtype),
        "state_probability": probability.astype(plan.dtype),
    }
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if plan.densities:
        name = str(model.observed_RVs[0].name)
        log_p = _pointwise(weight, probability, patterns.counts, plan.dtype)
        groups["log_likelihood"] = xr.Dataset({name: ((*SAMPLE, "item"), log_p[:, :, pattern])})
        of_states = (*SAMPLE, "state")
        of_probability = _log_dirichlet(probability, prior.probability)
        of_weight = _log_dirichlet(weight, prior.weight)
        groups["log_prior"] = xr.Dataset(
            {"state_weight": (SAMPLE, of_weight), "state_probability": (of_states, of_probability)}
        )
    return groups


def _pointwise(
    weight: np.ndarray, probability: np.ndarray, counts: np.ndarray, dtype: str
) -> np.ndarray:
    """Log likelihood of every distinct vector of counts, chain by chain.

    Shapes: weight (chain, draw, state); probability (chain, draw, state, category); counts (pattern,
    category); returns (chain, draw, pattern).
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

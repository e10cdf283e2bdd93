"""Sampler of worths without data: independent draws from their Gamma prior."""

from itertools import product

import numpy as np
import pymc as pm
import xarray as xr

from ...models.rankings.prirn import SPEC as PRIRN
from ..kernels.random_streams import draw_log_gammas
from ..runs.run import ChainPlan, Draws, Run, Tuning, in_threads, item_keys, streams_of_items
from ..runs.samplers import Sampler
from .gibbs import numbers_of_worths, posterior_groups
from .recognition import gamma_parameters

BLOCK = 256  # items per task


def draw_prior_log_worths(
    law: tuple[np.ndarray, np.ndarray], start: np.ndarray, streams: np.ndarray, plan: ChainPlan
) -> np.ndarray:
    """Draw independent log worths of all items from their Gamma priors.

    Shapes: law, shapes and rates (candidate,); start (item + 1,), candidates of item i are start[i]:start[i + 1];
    streams (chain, 4, item), advanced in place; returns (chain, draw, candidate).
    """
    out = np.empty((plan.chains, plan.draws, start[-1]), plan.dtype)
    shape, log_rate = law[0], np.log(law[1])

    def run(chain: int, first: int) -> None:
        bounds = start[first : first + BLOCK + 1]
        own = slice(bounds[0], bounds[-1])
        block = streams[chain, :, first : first + BLOCK]
        draw_log_gammas(block, bounds, shape[own], log_rate[own], out[chain, :, own])

    in_threads(run, product(range(plan.chains), range(0, len(start) - 1, BLOCK)), plan.threads)
    return out


def begin_independent(
    law: tuple[np.ndarray, np.ndarray], model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up independent draws of worths from their prior. Shapes: law, shapes and rates (candidate,)."""
    start = np.searchsorted(
        model["candidate_item"].get_value(), np.arange(len(model.coords["item"] or ()) + 1)
    )
    keys = item_keys(np.asarray(model.coords["item"]))
    streams, chains = streams_of_items(keys, plan.chains, plan.seed), plan.chain(tune=0)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        log_worth = draw_prior_log_worths(law, start, streams, chains.part(drawn, n))
        return posterior_groups(model, log_worth, start)

    return Run({}, {"stream": streams}, draw)


def _is_independent(model: pm.Model) -> bool:
    """Whether the only random variable is a Gamma ``worth`` of flat candidates with constant parameters."""
    if model.observed_RVs or model.potentials or [rv.name for rv in model.free_RVs] != ["worth"]:
        return False
    try:
        gamma_parameters(model.free_RVs[0])
    except ValueError:
        return False
    return "candidate_item" in model.named_vars


def _read(model: pm.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return shapes and rates of the worths."""
    return gamma_parameters(model.free_RVs[0])


SAMPLER = Sampler(
    law=None,
    where=_is_independent,
    read=_read,
    begin=begin_independent,
    reason="nothing is observed and the worths are independent Gammas",
    method="exact",
    name=PRIRN.name,
    numbers_by_item=lambda model: numbers_of_worths(model, _read(model)),
)

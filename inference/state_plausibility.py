"""Draws of the plausibility of items under item-state mixtures: each item is in one state in every draw.

A `pm.Deterministic` cannot be random, so these draws are not a variable of the model: the builder lists them
in the coordinate ``drawn_of_item``, and `sample` makes them after the parameters, with any sampler.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import xarray as xr

from ..models.distributions.mixed_counts import MixedCountsRV
from .kernels.item_plausibility import draw_item_plausibility
from .kernels.random_stream import stream
from .plan import Draws
from .steps.reading import number
from .worth_chains import item_keys

__all__ = ["streams_of_drawn_items", "with_items_drawn"]


def streams_of_drawn_items(model: pm.Model, plan: Draws) -> np.ndarray | None:
    """Random stream of every item of every chain, by the item's id; None without ``drawn_of_item``.

    Shapes: returns uint64 (chain, item, word).
    """
    if "plausibility" not in (model.coords.get("drawn_of_item") or ()):
        return None
    keys = [int(key) for key in item_keys(np.asarray(model.coords["item"]))]
    streams = np.empty((plan.chains, len(keys), 4), np.uint64)
    for chain, item in np.ndindex(streams.shape[:2]):
        seed = np.random.SeedSequence(plan.seed, spawn_key=(chain, keys[item]))
        streams[chain, item] = stream(seed)
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
    if streams is None:
        return posterior
    observed = next(rv for rv in model.observed_RVs if isinstance(rv.owner.op, MixedCountsRV))
    counts = number(model.rvs_to_values[observed], "the observed counts").astype(np.int64)
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    states = _states(posterior)
    shape = (*states[0].shape[:2], *counts.shape)
    plausibility = np.empty(shape, posterior["state_probability"].dtype)

    def run(chain: int) -> None:
        weight, probability, spread = (array[chain] for array in states)
        own, rng = (weight, probability, spread), streams[chain]
        draw_item_plausibility(rng, patterns, pattern.astype(np.int64), own, plausibility[chain])

    with ThreadPoolExecutor(plan.cores or len(plausibility)) as pool:
        list(pool.map(run, range(len(plausibility))))
    dims = ("chain", "draw", "item", "category")
    return posterior.assign(plausibility=(dims, plausibility)).assign_coords(
        item=np.asarray(model.coords["item"])
    )


def _states(posterior: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, probability and spread (0 if absent) of the states (chain, draw, state, ...), in double precision."""
    names, dims = ("state_weight", "state_probability", "state_spread"), ("chain", "draw", "state")
    arrays = [
        posterior[name].transpose(*dims, ...).to_numpy().astype(np.float64)
        for name in names
        if name in posterior
    ]
    if len(arrays) < len(names):
        arrays.append(np.zeros_like(arrays[0]))
    weight, probability, spread = (np.ascontiguousarray(array) for array in arrays)
    return weight, probability, spread

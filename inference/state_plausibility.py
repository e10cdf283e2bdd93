"""The plausibility of item states: in every draw each item is in one state, and has its own probabilities of the labels.

A `pm.Deterministic` cannot be random. What is drawn of the items is therefore no variable of the model: the builder names it in
the coordinate ``drawn_of_item``, and `sample` draws it after the parameters, whatever the sampler.
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
    """Return a stream of every item of every chain, if the model has variables that are drawn of the items.

    Parameters
    ----------
    model : pymc.Model
        Any model.
    plan : Draws
        Chains and seed.

    Returns
    -------
    ndarray of uint64, shape (chain, item, word), or None
        They depend on the item's id, not on its place.
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
    """Add the draws of the items' own variables, if the model has any besides its parameters.

    Parameters
    ----------
    model : pymc.Model
        Any model.
    posterior : Dataset
        Draws of its variables.
    plan : Draws
        Seed and threads; the draws do not depend on the number of threads.
    streams : ndarray, optional
        Where the streams of the items stand, advanced in place; those of `streams_of_drawn_items` by default.

    Returns
    -------
    Dataset
        With ``plausibility`` (chain, draw, item, category) of `models.item_states`: the probabilities of the state that the item
        is in, drawn given its counts; of a state that spreads, a draw from its Dirichlet law.
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
    """Return weight, probability and spread of the states, in double precision."""
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

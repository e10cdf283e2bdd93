"""Certain and uncertain posteriors of a few labels with predicted probabilities, for the tests of metrics."""

import numpy as np
import xarray as xr

from tests.support.evaluation_trees import tree_of

__all__ = ["DRAWS", "ITEMS", "NAMES", "QUIET", "tree_and_predictions"]

ITEMS, DRAWS, NAMES = 25, 12, ["pear", "apple", "fig", "lemon"]  # not in the order of scikit-learn
QUIET = {"progressbar": False, "random_seed": 1}


def drawn(rng, n_draws, n, certain):
    """Return plausibilities whose top labels are all there in every draw, and what they are."""
    p = rng.dirichlet(np.full(n, 0.7), (1, n_draws, ITEMS))
    for label in range(n):
        p[:, :, label] = np.roll(np.sort(p[:, :, label]), label + 1, axis=-1)
    top = p.argmax(axis=-1)
    return (np.eye(n)[top] if certain else p), top


def tree_and_predictions(names, certain, seed=61):
    rng = np.random.default_rng(seed)
    n = len(names)
    p, top = drawn(rng, 1 if certain else DRAWS, n, certain)
    q = np.round(rng.dirichlet(np.ones(n), ITEMS), 2)  # with ties
    q[:, 0] = 1 - q[:, 1:].sum(axis=1)
    q[:, 0] = np.maximum(q[:, 0], 0)
    q /= q.sum(axis=1, keepdims=True)
    coords = {"item": np.arange(ITEMS), "category": names}
    dims, said = ("chain", "draw", "item", "category"), {"truth": "distribution"}
    array = xr.DataArray(p, coords, dims, name="plausibility", attrs=said)
    predictions = xr.DataArray(q, coords, ("item", "category"))
    return tree_of(array.to_dataset()), predictions, np.array(names)[top[0]]

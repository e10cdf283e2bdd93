"""Items of a few kinds, whose raters are alike: what the power curve is over the whole population."""

from itertools import product
from math import comb, log2

import numpy as np
import xarray as xr

__all__ = [
    "PROBABILITY",
    "WEIGHT",
    "asymptote",
    "binary_counts",
    "binary_law",
    "drawn_states",
    "mutual_information",
    "urn_curve",
]

# the running example of the paper: 70 % of the items are positive for 80 % of the raters, and so on
WEIGHT, PROBABILITY = np.array([0.7, 0.1, 0.2]), np.array([0.8, 0.5, 0.1])


def drawn_states(n_items, n_raters, rng):
    """Return the kind and the positive labels of each item."""
    state = rng.choice(3, n_items, p=WEIGHT)
    return state, rng.binomial(n_raters, PROBABILITY[state])


def binary_counts(positive, n_raters):
    counts = np.stack([n_raters - positive, positive], axis=1)
    coords = {"item": np.arange(len(positive)), "category": ["0", "1"]}
    return xr.DataArray(counts, coords, ("item", "category"))


def binary_law(positive):
    """Return predictions, given the probability of the positive label, (item,) or (classifier, item)."""
    law = np.stack([1 - positive, positive], axis=-1)
    coords = {"item": np.arange(law.shape[-2]), "category": ["0", "1"]}
    return xr.DataArray(law, coords, ("classifier", "item", "category")[-law.ndim :])


def told(k):
    """Return for each number of positive labels among k its probability, and that of a further one to be positive."""
    found = []
    for y in range(k + 1):
        chance = WEIGHT * comb(k, y) * PROBABILITY**y * (1 - PROBABILITY) ** (k - y)
        found.append((y, chance.sum(), chance @ PROBABILITY / chance.sum()))
    return found


def urn_curve(combiner, scorer, largest, clip=0.02):
    """Return the curve of infinitely many items."""
    curve = []
    for k in range(largest + 1):
        total = 0.0
        for y, chance, further in told(k):
            share = y / k if k else WEIGHT @ PROBABILITY
            said = {"abc": further, "frequency": share, "plurality": share if k else 0.5}[combiner]
            if scorer == "agreement":
                decided = np.where(said == 0.5, 0.5, float(said > 0.5))
                total += chance * (decided * further + (1 - decided) * (1 - further))
            else:
                p = np.clip(said, clip, 1 - clip)
                total += chance * (further * log2(p) + (1 - further) * log2(1 - p))
        curve.append(total)
    return np.array(curve)


def asymptote():
    """Return the score of who sees the kind of each item."""
    return WEIGHT @ (PROBABILITY * np.log2(PROBABILITY) + (1 - PROBABILITY) * np.log2(1 - PROBABILITY))


def mutual_information(k):
    """Return the bits that k labels in their order tell of a further one, summed over all sequences."""
    total = 0.0
    prior = WEIGHT @ PROBABILITY
    for sequence in product((0, 1), repeat=k):
        y = sum(sequence)
        chance = WEIGHT * PROBABILITY**y * (1 - PROBABILITY) ** (k - y)
        for label, law in ((1, PROBABILITY), (0, 1 - PROBABILITY)):
            joint = chance @ law
            total += joint * log2(joint / chance.sum() / (prior if label else 1 - prior))
    return total

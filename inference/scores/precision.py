"""Storage of draws of scores: single precision where nothing is lost, else double precision, or an error."""

from typing import Literal

import numpy as np
from scipy.special import gammaln

from .kernels.hierarchical import ScoreDraws
from .kernels.normal import NormalItems

Storage = Literal["float32", "float64"]
LEAST_RELATIVE_SD = {"float32": 1e-4, "float64": 1e-13}  # least sd / mean: some 500 float steps
RANGE = 5e-4  # least ratio of range to size of the draws; the range is some 5 standard deviations
LARGEST = {"float32": 1e30, "float64": 1e290}  # largest variance, and inverse of the smallest
UNLIKELY = 1e-6  # probability that any draw exceeds the computed bounds


def storage_of_items(posterior: NormalItems, draws: int, dtype: Storage, items: np.ndarray) -> Storage:
    """Choose the storage of exact draws: `dtype`, or double precision where single precision is too coarse.

    `posterior` is the distribution of the draws, `draws` their number for each item; `items` are ids for the
    message (item,). Raises `ValueError` if even double precision cannot represent the draws of an item.
    """
    shape, log_rate = posterior.shape, np.log(posterior.rate)
    # union bound, with P(Gamma(a) < g) < g ** a / Gamma(a + 1)
    chance = np.log(UNLIKELY / (draws * len(shape)))
    largest = log_rate - (chance + gammaln(shape + 1)) / shape
    largest += np.maximum(-np.log(posterior.mean_weight), 0.0)  # bound the location, too
    smallest = log_rate - np.log(10 * shape - chance)
    extreme = np.maximum(largest, -smallest)
    deviation = np.sqrt(posterior.rate / shape / posterior.mean_weight)
    relative = deviation / np.maximum(np.abs(posterior.mean), deviation)
    overflows = ~((extreme < np.log(LARGEST["float64"])) & (relative > LEAST_RELATIVE_SD["float64"]))
    if overflows.any():
        first = int(overflows.argmax())
        raise ValueError(
            f"double precision does not hold the draws of item {items[first].item()!r}: its location is about "
            f"{posterior.mean[first]:g}, its variance has a posterior of shape {shape[first]:g} and rate "
            f"{posterior.rate[first]:g}; give a larger shape=, or the scores in another unit or from another zero"
        )
    fits = relative.min() > LEAST_RELATIVE_SD["float32"] and extreme.max() < np.log(LARGEST["float32"])
    return dtype if fits else "float64"


def is_representable(draws: ScoreDraws) -> bool:
    """Whether draws (chain, draw, ...) are finite, and their spread exceeds the resolution of their storage."""
    single = draws.location.dtype == np.float32
    for array in draws:
        low, high = array.min(axis=(0, 1)), array.max(axis=(0, 1))
        size = np.maximum(np.abs(low), np.abs(high))
        if not np.isfinite(size).all() or (single and (high - low < RANGE * size).any()):
            return False
    least = 1 / LARGEST[str(draws.location.dtype)]
    return bool(min(draws.variance.min(), draws.usual.min()) > least)

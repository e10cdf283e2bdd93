"""Which floating point numbers hold draws of scores: single precision where nothing is lost, double precision, or none."""

from typing import Literal

import numpy as np
from scipy.special import gammaln

from .kernels.normal_items import NormalItems
from .kernels.score_chain import ScoreDraws

__all__ = ["holds", "storage_of_items"]

Storage = Literal["float32", "float64"]
FINE = {"float32": 1e-4, "float64": 1e-13}  # standard deviation beside the mean: 500 steps
RANGE = 5e-4  # the same of the range of draws, which is some five standard deviations
LARGEST = {"float32": 1e30, "float64": 1e290}  # variance, as is its inverse
UNLIKELY = 1e-6  # chance that one of all draws is larger than what is reckoned with


def storage_of_items(
    posterior: NormalItems, draws: int, dtype: Storage, items: np.ndarray
) -> Storage:
    """Choose the storage of exact draws.

    Parameters
    ----------
    posterior : NormalItems
        Law of the draws.
    draws : int
        Number of draws of each item.
    dtype : str
        What was asked for.
    items : ndarray, shape (item,)
        Ids, for the message.

    Returns
    -------
    str
        The same, or double precision where single precision would not tell the draws of an item apart, or not hold them.

    Raises
    ------
    ValueError
        If no storage holds the draws of an item.
    """
    shape, log_rate = posterior.shape, np.log(posterior.rate)
    # the probability that a Gamma(a) variable is below g is less than g ** a / Gamma(a + 1)
    chance = np.log(UNLIKELY / (draws * len(shape)))
    largest = log_rate - (chance + gammaln(shape + 1)) / shape
    largest += np.maximum(-np.log(posterior.mean_weight), 0.0)  # of the location, too
    smallest = log_rate - np.log(10 * shape - chance)
    extreme = np.maximum(largest, -smallest)
    deviation = np.sqrt(posterior.rate / shape / posterior.mean_weight)
    relative = deviation / np.maximum(np.abs(posterior.mean), deviation)
    beyond = ~((extreme < np.log(LARGEST["float64"])) & (relative > FINE["float64"]))
    if beyond.any():
        first = int(beyond.argmax())
        raise ValueError(
            f"double precision does not hold the draws of item {items[first].item()!r}: its location is about "
            f"{posterior.mean[first]:g}, its variance has a posterior of shape {shape[first]:g} and rate "
            f"{posterior.rate[first]:g}; give a larger shape=, or the scores in another unit or from another zero"
        )
    fits = relative.min() > FINE["float32"] and extreme.max() < np.log(LARGEST["float32"])
    return dtype if fits else "float64"


def holds(draws: ScoreDraws) -> bool:
    """Tell whether draws are numbers, and as far apart as their storage can tell.

    Parameters
    ----------
    draws : ScoreDraws
        With a leading dimension of chains.

    Returns
    -------
    bool
        Whether they are.
    """
    single = draws.location.dtype == np.float32
    for array in draws:
        low, high = array.min(axis=(0, 1)), array.max(axis=(0, 1))
        size = np.maximum(np.abs(low), np.abs(high))
        if not np.isfinite(size).all() or (single and (high - low < RANGE * size).any()):
            return False
    least = 1 / LARGEST[str(draws.location.dtype)]
    return bool(min(draws.variance.min(), draws.usual.min()) > least)

"""Ranks of items by quality in every draw; rank 1 is the best.

Items of exactly equal quality in a draw share a range of ranks: two that are tied for the top each have best
rank 1 and worst rank 2. With distinct qualities, as in continuous posteriors, best and worst rank are equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from .qualities import Qualities, qualities_of, sample_matrix

__all__ = ["RankDraws", "drawn_ranks"]

BLOCK_SIZE = 5_000_000  # ranks in one block


@dataclass(frozen=True)
class RankDraws:
    """Ranks of all items in all draws, from 1 to the number of items."""

    quality: np.ndarray  # (sample, item)
    best: np.ndarray  # (item, sample), int32
    worst: np.ndarray  # (item, sample), int32; the same array as best unless there are exact ties
    item: xr.DataArray  # coordinate

    @property
    def tied(self) -> bool:
        """Whether any draw has an exact tie."""
        return self.worst is not self.best

    def blocks(self, width: int = 1) -> Iterator[slice]:
        """Yield slices of items; the draws of a slice times `width` fit into one block."""
        n, samples = self.best.shape
        step = max(1, BLOCK_SIZE // (samples * width))
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))


def drawn_ranks(tree: Qualities) -> RankDraws:
    """Rank the items in every draw of a posterior; raise if there is no quality, or one is not finite."""
    array = qualities_of(tree)
    quality = sample_matrix(array)
    samples, n = quality.shape
    best = np.empty((n, samples), np.int32)
    worst = None
    step = max(1, BLOCK_SIZE // n)
    for first in range(0, samples, step):
        block = slice(first, min(first + step, samples))
        best[:, block], own_worst = (ranks.T for ranks in _ranks(quality[block]))
        if worst is None and (own_worst != best[:, block]).any():
            worst = best.copy()
        if worst is not None:
            worst[:, block] = own_worst
    return RankDraws(quality, best, best if worst is None else worst, array["item"])


def _ranks(quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of every item (sample, item)."""
    order = np.argsort(-quality, axis=1)
    ordered = np.take_along_axis(quality, order, axis=1)
    place = np.broadcast_to(np.arange(1, quality.shape[1] + 1, dtype=np.int32), quality.shape)
    changes = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((len(quality), 1), bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, changes]), place, 0), axis=1)
    last = np.where(np.hstack([changes, edge]), place, quality.shape[1])[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    best, worst = np.empty_like(first), np.empty_like(last)
    np.put_along_axis(best, order, first, axis=1)
    np.put_along_axis(worst, order, last, axis=1)
    return best, worst

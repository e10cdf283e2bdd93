"""Labels of draws that are drawn once and kept, for what has to see all of them before it scores the first."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from .plausibility import Block

__all__ = ["DrawnBlock", "map_kept"]


@dataclass(frozen=True)
class DrawnBlock(Block):
    """A block without its plausibilities, of which the truth is drawn already.

    Attributes
    ----------
    truth : ndarray of int, shape (sample, item) or (sample, item, position)
        Codes of labels.
    samples : slice
        Which samples.
    rng : numpy.random.Generator
        As drawing the truth left it.
    """

    truth: np.ndarray
    samples: slice
    rng: np.random.Generator

    @classmethod
    def of(
        cls, block: Block, truth: np.ndarray, samples: slice, rng: np.random.Generator
    ) -> "DrawnBlock":
        """Keep the truth of a block."""
        empty = np.empty((0, 0), block.draws.dtype)
        return cls(block.items, block.cells, empty, truth, samples, rng)


def map_kept[Result](
    function: Callable[[Block, slice, np.random.Generator], Result],
    drawn: list[DrawnBlock],
    most_threads: int,
) -> Iterator[Result]:
    """Apply a function of a block, its samples and its generator, as `Plausibility.map_draws` does."""

    def apply(block: DrawnBlock) -> Result:
        return function(block, block.samples, deepcopy(block.rng))

    if most_threads == 1:
        yield from map(apply, drawn)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, most_threads)) as threads:
        yield from threads.map(apply, drawn)

"""Labels of draws that are drawn once and kept in memory, for metrics that need all labels before scoring."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from .plausibility import Block
from .threads import in_threads

__all__ = ["DrawnBlock", "map_kept"]


@dataclass(frozen=True)
class DrawnBlock(Block):
    """Block without plausibilities whose truth has been drawn."""

    truth: np.ndarray  # (sample, item) or (sample, item, position), codes of labels
    samples: slice
    rng: np.random.Generator  # state after drawing the truth

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

    return in_threads(apply, drawn, most=most_threads)

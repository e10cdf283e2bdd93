"""Labels of draws that are drawn once and kept, for what has to see all of them before it scores the first."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from .plausibility import Block
from .threads import in_threads

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

    return in_threads(apply, drawn, most=most_threads)

"""Resumable sampler: chains that can stop after any draw and continue from their state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

__all__ = ["Found", "NotHeld", "Run"]

Found = Mapping[str, np.ndarray]
"""Tuning of a sampler before its first draw, such as the thinning, by name; stored, and not repeated at resume."""


class NotHeld(ValueError):
    """Draws beyond the range of single precision: the run must begin again in double precision."""


@dataclass
class Run:
    """Sampler between two draws.

    The state is complete: nothing of it is recomputed from the rest, which might be rounded differently.
    """

    found: Found  # tuning before the first draw
    state: dict[str, np.ndarray]  # carried from draw to draw, overwritten in place
    draw: Callable[[int, int], dict[str, xr.Dataset]]  # (drawn, n) -> groups of n draws
    drawn: int = 0  # draws so far of each chain

    def advance(self, n: int) -> dict[str, xr.Dataset]:
        """Make `n` further draws of each chain; return their groups.

        The draws do not depend on how many are made at a time. ``sample_stats`` are of the whole run so far.
        """
        groups = self.draw(self.drawn, n)
        self.drawn += n
        return groups

    def restore(self, state: Mapping[str, np.ndarray], drawn: int) -> None:
        """Set the chains to their state after `drawn` draws.

        Raises `ValueError` unless names, shapes and dtypes match.
        """
        ours = {name: (own.shape, own.dtype) for name, own in self.state.items()}
        theirs = {name: (array.shape, array.dtype) for name, array in state.items()}
        if ours != theirs:
            raise ValueError(f"a state of {theirs} is not one of this model, {ours}")
        for name, own in self.state.items():
            own[...] = state[name]
        self.drawn = drawn

"""A run: a sampler that stops after any draw, and goes on as if it had not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

__all__ = ["Found", "NotHeld", "Run"]

Found = Mapping[str, np.ndarray]
"""What a sampler finds out before its first draw, such as the thinning: by name."""


class NotHeld(ValueError):
    """Draws that single precision does not hold: the run has to begin anew in double precision."""


@dataclass
class Run:
    """Chains between two draws.

    Attributes
    ----------
    found : mapping of str to ndarray
        What was found out before the first draw; whoever goes on with the run says so, and it is not sought again.
    state : dict of str to ndarray
        All that the chains carry from one draw to the next, changed in place. Nothing of it is computed from the rest, which
        might be rounded in another way.
    draw : callable
        Takes the number of draws of each chain there are, and how many are wanted; changes the state and returns the groups of
        the new draws.
    drawn : int
        Draws of each chain there are.
    """

    found: Found
    state: dict[str, np.ndarray]
    draw: Callable[[int, int], dict[str, xr.Dataset]]
    drawn: int = 0

    def advance(self, n: int) -> dict[str, xr.Dataset]:
        """Return the groups of `n` further draws of each chain.

        Parameters
        ----------
        n : int
            Any number from 1: the draws do not depend on how many are drawn at a time.

        Returns
        -------
        dict of str to Dataset
            ``posterior`` and, where they are wanted, densities; and ``sample_stats`` of the whole run up to here.
        """
        groups = self.draw(self.drawn, n)
        self.drawn += n
        return groups

    def restore(self, state: Mapping[str, np.ndarray], drawn: int) -> None:
        """Put the chains where they stood after `drawn` draws.

        Parameters
        ----------
        state : mapping of str to ndarray
            The same names, shapes and kinds as the run's own.
        drawn : int
            Draws of each chain there are.

        Raises
        ------
        ValueError
            If it is the state of another run.
        """
        ours = {name: (own.shape, own.dtype) for name, own in self.state.items()}
        theirs = {name: (array.shape, array.dtype) for name, array in state.items()}
        if ours != theirs:
            raise ValueError(f"a state of {theirs} is not one of this model, {ours}")
        for name, own in self.state.items():
            own[...] = state[name]
        self.drawn = drawn

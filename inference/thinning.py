"""How far runs are thinned: a rule that is fixed beforehand, asked of a pilot run."""

import numpy as np

from .diagnostics import mixing_of

__all__ = ["PILOT_CHAINS", "PILOT_DRAWS", "sweeps_for_each_draw"]

PILOT_CHAINS, PILOT_DRAWS = 4, 300
WANTED_ESS = 1600  # leaves room for the R-hat and ESS of the worst of thousands of quantities
LARGEST_THINNING = 64


def sweeps_for_each_draw(
    pilot: np.ndarray,
    kept: int,
    threads: int | None,
    first: np.ndarray | tuple[int, ...] = (0,),
    most: int = LARGEST_THINNING,
) -> np.ndarray:
    """Return how many sweeps a kept draw of each group of quantities needs.

    If the least effective quantity of a group has bulk or tail ESS n in the pilot run, it is thinned by the least whole number
    that makes the effective size of the planned run 1,600, or four fifths of its draws if that is less. What would need more than
    `most` is thinned by that, and `diagnose` tells whether it was enough.

    Parameters
    ----------
    pilot : ndarray, shape (chain, draw, quantity)
        Draws of the pilot run, not thinned.
    kept : int
        Draws of all chains that the planned run keeps.
    threads : int, optional
        Threads.
    first : ndarray of int, shape (group,)
        First quantity of each group; by default all are one.
    most : int
        Largest thinning.

    Returns
    -------
    ndarray of int64, shape (group,)
        Sweeps for each kept draw; 1 where nothing moves.
    """
    _, bulk, tail, _ = mixing_of(pilot, threads)
    least = np.fmin.reduceat(np.fmin(bulk, tail), first)
    per_draw = np.where(np.isnan(least), 1.0, least / (pilot.shape[0] * pilot.shape[1]))
    wanted = min(WANTED_ESS, 0.8 * kept) / kept
    return np.clip(np.ceil(wanted / per_draw), 1, most).astype(np.int64)

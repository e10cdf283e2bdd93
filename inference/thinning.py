"""Thinning of runs, by a fixed rule applied to a pilot run."""

import numpy as np

from .diagnostics import mixing_of

__all__ = ["PILOT_CHAINS", "PILOT_DRAWS", "sweeps_for_each_draw"]

PILOT_CHAINS, PILOT_DRAWS = 4, 300
WANTED_ESS = 1600  # margin over the threshold of 400, for the worst of thousands of quantities
LARGEST_THINNING = 64


def sweeps_for_each_draw(
    pilot: np.ndarray,
    kept: int,
    threads: int | None,
    first: np.ndarray | tuple[int, ...] = (0,),
    most: int = LARGEST_THINNING,
) -> np.ndarray:
    """Return the number of sweeps per kept draw that each group of quantities needs, by the ESS of a pilot run.

    With n the smallest bulk or tail ESS of a group in the pilot run, the thinning is the least whole number
    that raises the effective size of the planned run to 1,600, or to four fifths of its draws if that is
    less; at most `most`. `diagnose` shows whether it sufficed.
    Shapes: pilot, not thinned (chain, draw, quantity); first, first quantity of each group, by default one
    group (group,); returns int64 (group,), 1 where nothing moves. `kept` counts the kept draws of all chains
    of the planned run.
    """
    _, bulk, tail, _ = mixing_of(pilot, threads)
    least = np.fmin.reduceat(np.fmin(bulk, tail), first)
    per_draw = np.where(np.isnan(least), 1.0, least / (pilot.shape[0] * pilot.shape[1]))
    wanted = min(WANTED_ESS, 0.8 * kept) / kept
    return np.clip(np.ceil(wanted / per_draw), 1, most).astype(np.int64)

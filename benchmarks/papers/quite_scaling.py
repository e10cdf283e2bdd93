"""Answers that unweighted least squares needs to rank by epsilon: proposition 1 of Nordio, Tarable and Leonardi (2023).

Equal workers of reliability 4, q ~ U(0, 1), random regular graphs of degree 20, each pair judged by all workers.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from raterzoo import models, papers

RELIABILITY = (4.0, 4.0)
GRID = np.unique(np.geomspace(4, 64, 11).round().astype(int))
"""Answers to a pair."""


def share_misranked(
    items: int, answers: int, epsilons: Sequence[float], runs: int, weighted: bool = False
) -> np.ndarray:
    """Return the share of simulated data sets in which a pair that differs by more than epsilon is misranked, (epsilon,)."""
    wrong = []
    for run in range(runs):
        drawn = models.simulators.comparisons(
            items=items, raters=answers, alpha=1, reliability_range=RELIABILITY,
            random_seed=np.random.default_rng([run, items, answers]),
        )  # fmt: skip
        truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
        found = papers.least_squares(drawn.data, reliability_range=RELIABILITY, weighted=weighted)
        wrong.append(papers.epsilon_quality(found, truth, epsilons).to_numpy())
    return np.mean(wrong, axis=0)


def answers_needed(
    items: int,
    epsilons: Sequence[float],
    runs: int,
    grid: Sequence[int] | np.ndarray = GRID,
    weighted: bool = False,
) -> np.ndarray:
    """Return the answers to a pair at which half of the data sets are misranked, (epsilon,), by interpolation."""
    shares = np.array([share_misranked(items, int(w), epsilons, runs, weighted) for w in grid])
    falling = np.minimum.accumulate(shares, axis=0)  # the share falls, up to noise
    return np.array([np.exp(np.interp(-0.5, -own, np.log(grid))) for own in falling.T])

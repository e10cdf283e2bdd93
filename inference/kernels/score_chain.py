"""Gibbs chains of hierarchical scores."""

from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept
from .score_gibbs import (
    RaterScores,
    ScoreHyper,
    ScoreState,
    draw_items,
    draw_populations,
    draw_raters,
)

__all__ = ["ScoreDraws", "sample_scores"]


class ScoreDraws(NamedTuple):
    """Output arrays of a chain."""

    location: np.ndarray  # (draw, item)
    bias: np.ndarray  # (draw, rater)
    variance: np.ndarray  # (draw, rater)
    group_bias: np.ndarray  # (draw, group)
    usual: np.ndarray  # (draw, group), usual variance
    population: np.ndarray  # (draw, 4): mean and sd of locations, sd of biases, shape of variances


@kept(nogil=True, error_model="numpy")
def sample_scores(
    rng: np.ndarray,
    scores: RaterScores,
    hyper: ScoreHyper,
    schedule: tuple[int, int],
    state_and_draws: tuple[ScoreState, ScoreDraws],
) -> None:
    """Run one Gibbs chain on from its state, which is overwritten.

    `schedule` is (warm-up sweeps, sweeps per stored draw).
    """
    state, draws = state_and_draws
    sweeps = schedule[0]
    for d in range(len(draws.population)):
        sweeps += schedule[1]
        for _ in range(sweeps):
            draw_items(rng, scores, hyper, state)
            draw_raters(rng, scores, hyper, state)
            draw_populations(rng, scores, hyper, state)
        sweeps = 0
        draws.location[d] = state.location
        draws.bias[d] = state.bias
        draws.variance[d] = state.variance
        draws.group_bias[d] = state.group_bias
        draws.usual[d] = state.usual
        draws.population[d] = state.population

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
    """Where a chain stores its draws.

    Attributes
    ----------
    location : ndarray, shape (draw, item)
        Locations.
    bias, variance : ndarray, shape (draw, rater)
        Biases and variances.
    group_bias, usual : ndarray, shape (draw, group)
        Bias and usual variance of each group.
    population : ndarray, shape (draw, 4)
        Mean and spread of the locations, spread of the biases, shape of the variances.
    """

    location: np.ndarray
    bias: np.ndarray
    variance: np.ndarray
    group_bias: np.ndarray
    usual: np.ndarray
    population: np.ndarray


@kept(nogil=True, error_model="numpy")
def sample_scores(
    rng: np.ndarray,
    scores: RaterScores,
    hyper: ScoreHyper,
    schedule: tuple[int, int],
    state_and_draws: tuple[ScoreState, ScoreDraws],
) -> None:
    """Run one chain.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    scores : RaterScores
        The scores.
    hyper : ScoreHyper
        Constants of the priors.
    schedule : tuple of int
        Sweeps before the first stored draw, and sweeps for each stored draw.
    state_and_draws : tuple of ScoreState and ScoreDraws
        Where to start, overwritten, and where the draws go.
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

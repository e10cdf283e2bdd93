"""Gibbs sweep of Plackett-Luce with ties: the worths of one item.

    w_k ~ Gamma(a_k, b_k),    annotations ~ PartialRanking(w) ** multiplicity

With the arrival times of `race` as latent variables the conditionals are

    exposures | w              `race.draw_log_rates`
    w_k | exposures            Gamma(a_k + wins_k, b_k + exposure_k)
    common factor of all but the leader | the rest, without arrival times and total:  `lead`
    c with w = c v | v         Gamma(sum_k a_k, sum_k b_k v_k)    (the likelihood does not depend on c)

The state is log w: at shapes such as 1/419 the worths themselves would underflow.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS
21(1), doi:10.1080/10618600.2012.638220, section 2 (the race) and 5.1 (the total). Stutz et al.
(2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 2.4,
arXiv:2307.02191.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from .borrowing import borrow
from .gamma import log_standard_gamma
from .lead import draw_lead
from .posterior import WorthPosterior
from .race import draw_log_rates
from .race_track import RaceTrack, race_track

__all__ = [
    "Schedule",
    "begin_item",
    "continue_item",
    "sample_item",
    "sweep_items",
    "update_worth",
]


class Schedule(NamedTuple):
    """Length of a chain."""

    tune: int  # sweeps before the first stored draw
    thin: int  # sweeps per stored draw


@nb.njit(error_model="numpy", inline="always")
def update_worth(
    rng: np.ndarray,
    item: int,
    posterior: WorthPosterior,
    log_worth: np.ndarray,
    track: RaceTrack,
) -> None:
    """Run one Gibbs sweep of one item.

    Shapes: log_worth (candidate of the item,), overwritten.
    """
    shape, wins = posterior.shape, posterior.wins
    first = posterior.candidate_start[item]
    draw_log_rates(rng, item, posterior, log_worth, track)
    log_rate = track.log_rate
    for k in range(len(log_worth)):
        # w_k | exposures ~ Gamma(a_k + wins_k, b_k + exposure_k)
        log_draw = log_standard_gamma(rng, float(shape[first + k] + wins[first + k]))
        log_worth[k] = log_draw - log_rate[k]
    if posterior.settled[item]:
        draw_lead(rng, item, posterior, log_worth, track)
    _draw_total(rng, first, posterior, log_worth)


@nb.njit(error_model="numpy", inline="always")
def _draw_total(rng, first, posterior, log_worth):
    """Redraw the common factor of all worths of an item, on which the likelihood does not depend."""
    shape, rate = posterior.shape, posterior.rate
    largest = log_worth[0]
    for k in range(1, len(log_worth)):
        largest = max(largest, log_worth[k])
    total_shape, mean_total = 0.0, 0.0
    for k in range(len(log_worth)):
        total_shape += shape[first + k]
        mean_total += rate[first + k] * math.exp(log_worth[k] - largest)
    # c ~ Gamma(sum_k a_k, sum_k b_k v_k)
    shift = log_standard_gamma(rng, total_shape) - math.log(mean_total) - largest
    for k in range(len(log_worth)):
        log_worth[k] += shift


@kept(nogil=True, error_model="numpy")
def sample_item(
    rng: np.ndarray,
    item: int,
    posterior: WorthPosterior,
    schedule: Schedule,
    draws: np.ndarray,
) -> None:
    """Run one chain of one item, from a draw of its prior.

    Shapes: draws (draw, candidate of the item), overwritten with the log worths after every ``schedule.thin``
    sweeps.
    """
    log_worth = np.empty(draws.shape[1])
    begin_item(rng, item, posterior, log_worth)
    continue_item(rng, item, posterior, schedule, (log_worth, draws))


@kept(nogil=True, error_model="numpy")
def begin_item(
    rng: np.ndarray, item: int, posterior: WorthPosterior, log_worth: np.ndarray
) -> None:
    """Draw the log worths of an item from their prior.

    Shapes: log_worth (candidate of the item,), overwritten.
    """
    first = posterior.candidate_start[item]
    for k in range(len(log_worth)):
        log_draw = log_standard_gamma(rng, float(posterior.shape[first + k]))
        log_worth[k] = log_draw - math.log(posterior.rate[first + k])


@kept(nogil=True, error_model="numpy")
def continue_item(
    rng: np.ndarray,
    item: int,
    posterior: WorthPosterior,
    schedule: Schedule,
    state_and_draws: tuple[np.ndarray, np.ndarray],
) -> None:
    """Run one chain of one item on from its state, the stream and the log worths.

    Shapes: state, log worths (candidate of the item,), overwritten; draws (draw, candidate of the item),
    overwritten.
    """
    state, draws = state_and_draws
    track = race_track(posterior, item, item + 1)
    rng, posterior, lent_track, log_worth = borrow((rng, posterior, track, state))
    for _ in range(schedule.tune):
        update_worth(rng, item, posterior, log_worth, lent_track)
    for d in range(draws.shape[0]):
        for _ in range(schedule.thin):
            update_worth(rng, item, posterior, log_worth, lent_track)
        for k in range(len(log_worth)):
            draws[d, k] = log_worth[k]
    track.worth[0] = state[0]  # keeps the borrowed arrays alive until here


@kept(error_model="numpy")
def sweep_items(rng: np.ndarray, posterior: WorthPosterior, log_worth: np.ndarray) -> None:
    """Run one Gibbs sweep of every item.

    Shapes: log_worth (candidate,), overwritten.
    """
    start = posterior.candidate_start
    track = race_track(posterior, 0, len(start) - 1)
    rng, posterior, lent_track, state = borrow((rng, posterior, track, log_worth))
    for item in range(len(start) - 1):
        update_worth(rng, item, posterior, state[start[item] : start[item + 1]], lent_track)
    track.worth[0] = log_worth[0]  # keeps the borrowed arrays alive until here

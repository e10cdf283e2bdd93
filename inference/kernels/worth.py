"""Gibbs sweep of Plackett-Luce with ties: the worths of one item.

    w_k ~ Gamma(a_k, b_k),    annotations ~ PartialRanking(w) ** multiplicity

With the arrival times of `race` as latent variables the conditionals are

    exposures | w              `race.draw_exposures`
    w_k | exposures            Gamma(a_k + wins_k, b_k + exposure_k)
    c with w = c v | v         Gamma(sum_k a_k, sum_k b_k v_k)      [the likelihood knows no total]

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

from .annotations import DistinctAnnotations
from .log_gamma import log_add, log_standard_gamma
from .race import RaceTrack, draw_exposures

__all__ = ["Schedule", "WorthPrior", "draw_prior_worth", "sample_item", "update_worth"]


class WorthPrior(NamedTuple):
    """Independent Gamma priors of all worths."""

    shape: np.ndarray  # (candidate,)
    log_rate: np.ndarray  # (candidate,)


class Schedule(NamedTuple):
    """Sweeps before the first stored draw, and sweeps per stored draw."""

    tune: int
    thin: int


@nb.njit(cache=True, error_model="numpy")
def update_worth(
    rng: np.random.Generator,
    item: int,
    annotations: DistinctAnnotations,
    prior: WorthPrior,
    log_worth: np.ndarray,
    track: RaceTrack,
) -> None:
    """Make one Gibbs sweep of one item.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    item : int
        The item.
    annotations : DistinctAnnotations
        What the raters of all items said.
    prior : WorthPrior
        Priors of the worths of all items.
    log_worth : ndarray, shape (candidate of the item,)
        Log worths of this item, replaced in place.
    track : RaceTrack
        Work space.
    """
    first = annotations.candidate_start[item]
    draw_exposures(rng, item, annotations, log_worth, track)
    for k in range(len(log_worth)):
        shape = prior.shape[first + k] + annotations.wins[first + k]
        log_rate = log_add(prior.log_rate[first + k], track.exposure[k])
        log_worth[k] = log_standard_gamma(rng, shape) - log_rate
    _update_total(rng, first, prior, log_worth)


@nb.njit(cache=True, error_model="numpy")
def _update_total(rng, first, prior, log_worth):
    """Redraw the common factor of an item's worths."""
    shape, log_total = 0.0, -np.inf
    largest = log_worth.max()
    total = 0.0
    for k in range(len(log_worth)):
        shape += prior.shape[first + k]
        total += math.exp(log_worth[k] - largest + prior.log_rate[first + k])
    log_total = largest + math.log(total)
    log_worth += log_standard_gamma(rng, shape) - log_total


@nb.njit(cache=True, error_model="numpy")
def draw_prior_worth(
    rng: np.random.Generator, first: int, prior: WorthPrior, log_worth: np.ndarray
) -> None:
    """Draw the log worths of one item from their prior, in place; its candidates start at `first`."""
    for k in range(len(log_worth)):
        log_worth[k] = log_standard_gamma(rng, prior.shape[first + k]) - prior.log_rate[first + k]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sample_item(rng, item, annotations, prior, schedule, track, draws):
    """Run one chain of one item from a draw of its prior.

    Parameters
    ----------
    rng : numpy.random.Generator
        Stream of this chain and item.
    item : int
        The item.
    annotations : DistinctAnnotations
        What the raters of all items said.
    prior : WorthPrior
        Priors of the worths of all items.
    schedule : Schedule
        Warm-up and thinning.
    track : RaceTrack
        Work space.
    draws : ndarray, shape (draw, candidate of the item)
        Overwritten with the log worths after every ``schedule.thin`` sweeps.
    """
    log_worth = np.empty(draws.shape[1])
    draw_prior_worth(rng, annotations.candidate_start[item], prior, log_worth)
    for _ in range(schedule.tune):
        update_worth(rng, item, annotations, prior, log_worth, track)
    for d in range(draws.shape[0]):
        for _ in range(schedule.thin):
            update_worth(rng, item, annotations, prior, log_worth, track)
        draws[d] = log_worth

"""Gibbs sweep of Plackett-Luce with the probabilities of a classifier in the prior, and their strength.

    w_k ~ Gamma(a_k, b_k),  a_k = alpha_k + kappa f_k,    kappa ~ HalfNormal(s)

With the races of `race`, which give candidate k the exposure E_k and n_k wins,

    kappa | exposures           slice, worths integrated out:
                                prod_k Gamma(a_k + n_k) / Gamma(a_k)  b_k ^ a_k  (b_k + E_k) ^ -(a_k + n_k)
    w | kappa, exposures        Gamma(a_k + n_k, b_k + E_k), and the moves of `gibbs` given kappa
    kappa | worths, less totals slice, by the Dirichlet density of w / sum w of each item
    totals | kappa              Gamma(sum_k a_k, 1 / mean of b under w / sum w)

The two moves of the strength are partially collapsed in different ways: the first mixes where rankings are few, the second where
they are many. Items that mix slowly are swept several times for each move of the strength, which leaves the joint
posterior invariant. Rates of an item's worths are equal.

References
----------
Caron and Doucet (2012), doi:10.1080/10618600.2012.638220, section 2 (the race). van Dyk and Park (2008), Partially collapsed
Gibbs samplers, JASA 103, doi:10.1198/016214508000000409. Neal (2003), Slice sampling, doi:10.1214/aos/1056562461.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import log_add
from ...kernels.random_streams import log_standard_gamma
from ...kernels.slice_sampling import adapted_width, slice_sampler
from .gibbs import draw_leader_factor, update_worth, without_refcount
from .race import RaceTrack, WorthPosterior, draw_log_rates, race_track

NARROWEST, WIDEST = 1e-6, 1e6  # slices


class StrengthPrior(NamedTuple):
    """Prior of the worths by the strength."""

    base: np.ndarray  # (candidate,), shape without predictions
    slope: np.ndarray  # (candidate,), probability of the classifier
    scale: float  # of the half-normal prior of the strength


class StrengthState(NamedTuple):
    """State of a chain, overwritten in place."""

    log_worth: np.ndarray  # (candidate,)
    strength: np.ndarray  # (1,)
    width: np.ndarray  # (2,); of the slices


class StrengthDraws(NamedTuple):
    """Kept draws of a chain."""

    log_worth: np.ndarray  # (draw, candidate)
    strength: np.ndarray  # (draw,)


@inner_njit(error_model="numpy")
def set_shapes(strength: float, prior: StrengthPrior, posterior: WorthPosterior) -> None:
    """Write the shapes of the worths' priors at a strength."""
    for c in range(len(prior.base)):
        posterior.shape[c] = prior.base[c] + strength * prior.slope[c]


@inner_njit(error_model="numpy")
def _density_given_races(strength, parameters):
    """Return the log density of the strength, up to a constant, given the exposures: log_rate is log(b + E)."""
    prior, posterior, log_rate = parameters
    if strength < 0.0:
        return -np.inf
    value = -0.5 * (strength / prior.scale) ** 2
    for c in range(len(log_rate)):
        if prior.slope[c] > 0.0:
            shape, wins = prior.base[c] + strength * prior.slope[c], posterior.wins[c]
            value += shape * (math.log(posterior.rate[c]) - log_rate[c])
            if wins > 0.0:
                value += math.lgamma(shape + wins) - math.lgamma(shape)
    return value


_move_given_races = slice_sampler(_density_given_races)


@inner_njit(error_model="numpy")
def _density_given_worths(strength, parameters):
    """Return the log density of the strength, up to a constant, given the log plausibilities."""
    prior, start, log_share = parameters
    if strength < 0.0:
        return -np.inf
    value = -0.5 * (strength / prior.scale) ** 2
    for i in range(len(start) - 1):
        total = 0.0
        for c in range(start[i], start[i + 1]):
            shape = prior.base[c] + strength * prior.slope[c]
            total += shape
            if prior.slope[c] > 0.0:
                value += shape * log_share[c] - math.lgamma(shape)
        value += math.lgamma(total)
    return value


_move_given_worths = slice_sampler(_density_given_worths)


@inner_njit(error_model="numpy")
def draw_races(
    rng: np.ndarray, posterior: WorthPosterior, log_worth: np.ndarray, track: RaceTrack, log_rate: np.ndarray
) -> None:
    """Draw the races of all items; log_rate (candidate,), overwritten, is the log of rate plus exposure."""
    start = posterior.candidate_start
    for i in range(len(start) - 1):
        draw_log_rates(rng, i, posterior, log_worth[start[i] : start[i + 1]], track)
        for c in range(start[i], start[i + 1]):
            log_rate[c] = track.log_rate[c - start[i]]


@inner_njit(error_model="numpy")
def draw_worths(
    rng: np.ndarray, posterior: WorthPosterior, log_worth: np.ndarray, track: RaceTrack, log_rate: np.ndarray
) -> None:
    """Draw all worths given the races, and the common factors of those behind a leader."""
    start = posterior.candidate_start
    for c in range(len(log_rate)):
        log_worth[c] = log_standard_gamma(rng, float(posterior.shape[c] + posterior.wins[c])) - log_rate[c]
    for i in range(len(start) - 1):
        if posterior.settled[i]:
            draw_leader_factor(rng, i, posterior, log_worth[start[i] : start[i + 1]], track)


@inner_njit(error_model="numpy")
def normalise(start: np.ndarray, log_worth: np.ndarray, log_share: np.ndarray) -> None:
    """Write the log plausibilities (candidate,)."""
    for i in range(len(start) - 1):
        log_total = -np.inf
        for c in range(start[i], start[i + 1]):
            log_total = log_add(log_total, log_worth[c])
        for c in range(start[i], start[i + 1]):
            log_share[c] = log_worth[c] - log_total


@inner_njit(error_model="numpy")
def draw_totals(
    rng: np.ndarray, posterior: WorthPosterior, log_worth: np.ndarray, log_share: np.ndarray
) -> None:
    """Draw the total worth of every item given its plausibilities."""
    start = posterior.candidate_start
    for i in range(len(start) - 1):
        total_shape = 0.0
        for c in range(start[i], start[i + 1]):
            total_shape += posterior.shape[c]
        log_total = log_standard_gamma(rng, total_shape) - math.log(posterior.rate[start[i]])
        for c in range(start[i], start[i + 1]):
            log_worth[c] = log_share[c] + log_total


@inner_njit(error_model="numpy")
def _sweep(rng, posterior, prior, repeats, state, track, work, adapts):
    """Run one sweep; `adapts` says whether the widths of the slices follow the moves."""
    log_worth, strength, start = state.log_worth, state.strength, posterior.candidate_start
    for i in range(len(start) - 1):
        for _ in range(repeats[i] - 1):
            update_worth(rng, i, posterior, log_worth[start[i] : start[i + 1]], track)
    draw_races(rng, posterior, log_worth, track, work)
    before = strength[0]
    strength[0] = _move_given_races(rng, (prior, posterior, work), before, state.width[0])
    if adapts:
        state.width[0] = adapted_width(state.width[0], strength[0] - before, NARROWEST, WIDEST)
    set_shapes(strength[0], prior, posterior)
    draw_worths(rng, posterior, log_worth, track, work)
    normalise(start, log_worth, work)
    before = strength[0]
    strength[0] = _move_given_worths(rng, (prior, start, work), before, state.width[1])
    if adapts:
        state.width[1] = adapted_width(state.width[1], strength[0] - before, NARROWEST, WIDEST)
    set_shapes(strength[0], prior, posterior)
    draw_totals(rng, posterior, log_worth, work)


@cached_njit(nogil=True, error_model="numpy")
def sample_strengths(
    rng: np.ndarray,
    posterior: WorthPosterior,
    prior: StrengthPrior,
    schedule: tuple[int, int, np.ndarray],
    state_and_draws: tuple[StrengthState, StrengthDraws],
) -> None:
    """Run a chain on from its state into draws.

    `schedule` holds the sweeps of the warm-up, those of each kept draw, and of each item, int64 (item,), those for each move of
    the strength. The shapes of `posterior` are overwritten.
    """
    tune, thin, repeats = schedule
    state, draws = state_and_draws
    track, work = race_track(posterior, 0, len(posterior.candidate_start) - 1), np.empty(len(prior.base))
    set_shapes(state.strength[0], prior, posterior)
    own = without_refcount((rng, posterior, repeats, state, track, work))
    for sweep in range(1, tune + len(draws.strength) * thin + 1):
        _sweep(own[0], own[1], prior, own[2], own[3], own[4], own[5], sweep <= tune)
        d, left = divmod(sweep - tune, thin)
        if left == 0 and d > 0:
            draws.log_worth[d - 1] = state.log_worth
            draws.strength[d - 1] = state.strength[0]
    track.worth[0], work[0] = 0.0, 0.0  # keeps the arrays alive until here

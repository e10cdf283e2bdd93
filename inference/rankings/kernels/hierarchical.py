"""Gibbs sweep of Plackett-Luce with ties and a reliability of every rater.

    w_k ~ Gamma(a_k, 1),  l = log w,    x_r = log gamma_r,  x ~ ZeroSumNormal(sigma),  sigma ~ HalfNormal(s)
    annotations of rater r ~ PartialRanking(w ** gamma_r)

Every annotation has a race of its own, in which candidate k has the rate exp(gamma_r l_k). With the exposures E of `race`, which
end with the last ranked arrival, the conditional of each log worth is log-concave, and is moved by a slice:

    l_k | exposures     (a_k + sum of gamma_r over the annotations that rank k) l_k - exp(l_k) - sum_r E_kr exp(gamma_r l_k)

With the races summed out, but for the orders in which tied candidates arrived,

    the l of all but the leader, shifted together     slice
    x_r + d, then all x centred, and l exp(d / R)     slice: of the rankings only those of rater r notice, as the products of
                                                      reliability and log worth of the other R - 1 raters stay
    sigma, with x / sigma held                        slice, by all rankings
    total of the item's worths                        Gamma(sum_k a_k, sum_k w_k); a shift of l multiplies all rates of a race,
                                                      so that no ranking notices. The moves before are without the totals
    sigma | x                                         slice

Sigma is moved in both parametrisations, as few rankings leave it free in one and many in the other (Yu and Meng 2011). Widths
of slices are set in the warm-up.

References
----------
Caron and Doucet (2012), doi:10.1080/10618600.2012.638220, section 2 (the race). Neal (2003), Slice sampling,
doi:10.1214/aos/1056562461. Liu and Sabatti (2000), Generalised Gibbs sampler, Biometrika 87(2), doi:10.1093/biomet/87.2.353
(moves along a group, with their Jacobian). Yu and Meng (2011), To center or not to center, JCGS 20(3),
doi:10.1198/jcgs.2011.203main.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import log_add
from ...kernels.random_streams import log_standard_gamma, uniform
from ...kernels.slice_sampling import adapted_width, slice_sampler
from .gibbs import without_refcount
from .race import RaceTrack, WorthPosterior, draw_log_rates, race_track

NARROWEST, WIDEST, WIDEST_OF_WORTHS = 1e-4, 8.0, 4096.0
OCTAVES = 7  # widths of the leader's slice: 1/2 to 32


class RaterRankings(NamedTuple):
    """Annotations of items and of raters; priors."""

    candidate_start: np.ndarray  # int64 (item + 1,); first candidate of each item
    annotation_start: np.ndarray  # int64 (item + 1,); annotations of each item
    rater: np.ndarray  # int64 (annotation,)
    first: np.ndarray  # int64 (annotation,); first candidate of the item
    width: np.ndarray  # int64 (annotation,); candidates shown
    # int64 (shown,); candidates shown of all annotations, counted from the first of the item, as races have them
    shown: np.ndarray
    n_ranked: np.ndarray  # int64 (annotation,); candidates that it ranks
    leader: np.ndarray  # int64 (item,); candidate most often in a first block
    settled: np.ndarray  # bool (item,); whether most annotations agree on the leader
    rater_start: np.ndarray  # int64 (rater + 1,); annotations of each rater, in `by_rater`
    by_rater: np.ndarray  # int64 (annotation,); annotations in the order of raters
    shape: np.ndarray  # (candidate,); of the Gamma prior
    total_shape: np.ndarray  # (item,)
    scale: np.ndarray  # (1,); of the spread's HalfNormal prior


class RaterState(NamedTuple):
    """State of a chain, overwritten in place."""

    log_worth: np.ndarray  # (candidate,)
    log_reliability: np.ndarray  # (rater,); of sum zero
    spread: np.ndarray  # (1,)
    width: np.ndarray  # (1 + rater,); of slices: of the spread, and of each rater
    worth_width: np.ndarray  # (candidate,); of slices


class RaterDraws(NamedTuple):
    """Kept draws of a chain."""

    log_worth: np.ndarray  # (draw, candidate)
    log_reliability: np.ndarray  # (draw, rater)
    spread: np.ndarray  # (draw,)


class Space(NamedTuple):
    """Work arrays."""

    # int64 (annotation, place); candidates shown, of the item, as they arrived, those not ranked last
    order: np.ndarray
    tempered: np.ndarray  # (place,); log worths times reliability
    reliability: np.ndarray  # (row,); of the annotations of an item
    offset: np.ndarray  # (place, row); log exposures of an item
    power: np.ndarray  # (place,)
    away: np.ndarray  # (candidate,); log worths less the item's largest
    deviation: np.ndarray  # (rater,)


@inner_njit(error_model="numpy")
def _allocate(rankings, races):
    """Allocate the work arrays."""
    rows, places = 1, 1
    for i in range(len(rankings.candidate_start) - 1):
        rows = max(rows, rankings.annotation_start[i + 1] - rankings.annotation_start[i])
        places = max(places, rankings.candidate_start[i + 1] - rankings.candidate_start[i])
    track = race_track(races, 0, len(races.candidate_start) - 1)
    return track, Space(
        np.empty((len(rankings.rater), places), np.int64),
        np.empty(places),
        np.empty(rows),
        np.empty((places, rows)),
        np.empty(places),
        np.empty(rankings.candidate_start[-1]),
        np.empty(len(rankings.rater_start) - 1),
    )


# --- Worths of an item, given the races of its annotations ---


@inner_njit(error_model="numpy")
def _worth_density(log_worth, parameters):
    """Return the log density of a log worth, up to a constant, given the exposures of its candidate."""
    power, reliability, offset = parameters
    value = power * log_worth - math.exp(log_worth)
    for a in range(len(reliability)):
        value -= math.exp(reliability[a] * log_worth + offset[a])  # E_a exp(gamma_a l)
    return value


_move_log_worth = slice_sampler(_worth_density)


@inner_njit(error_model="numpy")
def _store_order(annotation, races, log_time, shown, order):
    """Write the candidates of an annotation in their order of arrival: block by block, the last block in any order."""
    last = races.block_start[annotation + 1] - 1
    filled = 0
    for b in range(races.block_start[annotation], last + 1):
        first = filled
        for q in range(races.member_start[b], races.member_start[b + 1]):
            k = races.member[q]
            j = filled
            while b < last and j > first and log_time[order[j - 1]] > log_time[k]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = k
            filled += 1
    for j in range(filled):
        order[j] = shown[order[j]]


@inner_njit(error_model="numpy")
def _log_p_of_order(reliability, log_worth, order, n_ranked):
    """Return the log probability that the ranked candidates arrive in this order, before the others."""
    log_racing, log_p = -np.inf, 0.0
    for j in range(len(order) - 1, -1, -1):
        own = reliability * log_worth[order[j]]
        log_racing = log_add(log_racing, own)
        if j < n_ranked:
            log_p += own - log_racing
    return log_p


@inner_njit(error_model="numpy")
def move_worths(
    rng: np.ndarray,
    item: int,
    rankings: RaterRankings,
    races: WorthPosterior,
    state: RaterState,
    track: RaceTrack,
    space: Space,
    adapts: bool,
) -> None:
    """Draw the races of an item's annotations, then move its log worths."""
    first, last = rankings.candidate_start[item], rankings.candidate_start[item + 1]
    log_worth, n = state.log_worth[first:last], last - first
    begin, end = rankings.annotation_start[item], rankings.annotation_start[item + 1]
    reliability, offset, power = space.reliability[: end - begin], space.offset, space.power
    for k in range(n):
        power[k] = rankings.shape[first + k]
    tempered = space.tempered[:n]
    for a in range(begin, end):
        own = math.exp(state.log_reliability[rankings.rater[a]])
        reliability[a - begin] = own
        of_race, width = races.candidate_start[a], rankings.width[a]
        shown = rankings.shown[of_race : of_race + width]
        for j in range(width):
            tempered[j] = own * log_worth[shown[j]]
        draw_log_rates(rng, a, races, tempered[:width], track)
        if width < n:
            for k in range(n):
                offset[k, a - begin] = -np.inf  # who does not race is not exposed
        for j in range(width):
            k = shown[j]
            offset[k, a - begin] = track.log_rate[j]
            power[k] += own * races.wins[of_race + j]
        _store_order(a, races, track.log_rate, shown, space.order[a])
    for k in range(n):
        law = (power[k], reliability, offset[k, : end - begin])
        x, width = log_worth[k], state.worth_width[first + k]
        log_worth[k] = _move_log_worth(rng, law, x, width)
        if adapts:
            state.worth_width[first + k] = adapted_width(width, log_worth[k] - x, NARROWEST, WIDEST_OF_WORTHS)


# --- Moves of several worths, races summed out ---


@inner_njit(error_model="numpy")
def _leader_density(y, parameters):
    """Return the log density of the shift y of all log worths but the leader's, without their total."""
    item, rankings, state, law, space = parameters
    total_shape, power, log_others = law
    first, last = rankings.candidate_start[item], rankings.candidate_start[item + 1]
    lead = first + rankings.leader[item]
    shifted = space.tempered[: last - first]
    for k in range(first, last):
        shifted[k - first] = state.log_worth[k] + (0.0 if k == lead else y)
    value = power * y - total_shape * log_add(state.log_worth[lead], log_others + y)
    for a in range(rankings.annotation_start[item], rankings.annotation_start[item + 1]):
        own = math.exp(state.log_reliability[rankings.rater[a]])
        value += _log_p_of_order(own, shifted, space.order[a, : rankings.width[a]], rankings.n_ranked[a])
    return value


_move_leader = slice_sampler(_leader_density)


@inner_njit(error_model="numpy")
def shift_others(
    rng: np.ndarray, item: int, rankings: RaterRankings, state: RaterState, space: Space
) -> None:
    """Shift all log worths of an item but its leader's: in plain sweeps they follow it slowly if most raters agree on it."""
    first, last = rankings.candidate_start[item], rankings.candidate_start[item + 1]
    lead = first + rankings.leader[item]
    log_others, power = -np.inf, 0.0
    for k in range(first, last):
        if k != lead:
            log_others = log_add(log_others, state.log_worth[k])
            power += rankings.shape[k]
    law = (rankings.total_shape[item], power, log_others)
    width = 2.0 ** (int(OCTAVES * uniform(rng)) - 1)
    shift = _move_leader(rng, (item, rankings, state, law, space), 0.0, width)
    for k in range(first, last):
        if k != lead:
            state.log_worth[k] += shift


@inner_njit(error_model="numpy")
def draw_total(rng: np.ndarray, item: int, rankings: RaterRankings, log_worth: np.ndarray) -> None:
    """Redraw the common factor of all worths of an item, on which the likelihood does not depend."""
    log_total, total_shape = -np.inf, 0.0
    for k in range(rankings.candidate_start[item], rankings.candidate_start[item + 1]):
        log_total = log_add(log_total, log_worth[k])
        total_shape += rankings.shape[k]
    shift = log_standard_gamma(rng, total_shape) - log_total
    for k in range(rankings.candidate_start[item], rankings.candidate_start[item + 1]):
        log_worth[k] += shift


# --- Reliabilities and their population ---


@inner_njit(error_model="numpy")
def _log_p_of_rater(rater, log_reliability, log_worth, rankings, space):
    """Return the log likelihood of the orders of a rater's annotations."""
    reliability, value = math.exp(log_reliability), 0.0
    for q in range(rankings.rater_start[rater], rankings.rater_start[rater + 1]):
        a = rankings.by_rater[q]
        order = space.order[a, : rankings.width[a]]
        value += _log_p_of_order(reliability, log_worth[rankings.first[a] :], order, rankings.n_ranked[a])
    return value


@inner_njit(error_model="numpy")
def _reliability_density(d, parameters):
    """Return the log density of a shift d of one log reliability before it is centred, without the totals of the items."""
    rater, state, rankings, space, linear = parameters
    n_raters, x = len(state.log_reliability), state.log_reliability[rater]
    # the sum of squares of the centred log reliabilities grows by 2 d x + d^2 (1 - 1 / R)
    squares = d * (2.0 * x + d * (1.0 - 1.0 / n_raters))
    value = -0.5 * squares / (state.spread[0] * state.spread[0])
    # all log worths, relative to the item's largest, are multiplied by exp(d / R); the last summand is the Jacobian
    by, start = math.exp(d / n_raters), rankings.candidate_start
    value += linear * by + (start[-1] - len(start) + 1) * d / n_raters
    for i in range(len(start) - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += math.exp(space.away[k] * by)
        value -= rankings.total_shape[i] * math.log(total)
    return value + _log_p_of_rater(rater, x + d, state.log_worth, rankings, space)


_move_reliability = slice_sampler(_reliability_density)


@inner_njit(error_model="numpy")
def move_reliability(
    rng: np.ndarray, rater: int, rankings: RaterRankings, state: RaterState, space: Space
) -> float:
    """Move one log reliability, centre all, and multiply the log worths so that no other rater notices; return the shift."""
    start, shape, n_raters = rankings.candidate_start, rankings.shape, len(state.log_reliability)
    linear = 0.0
    for i in range(len(start) - 1):
        largest = -np.inf
        for k in range(start[i], start[i + 1]):
            largest = max(largest, state.log_worth[k])
        for k in range(start[i], start[i + 1]):
            space.away[k] = state.log_worth[k] - largest
            linear += shape[k] * space.away[k]
    law = (rater, state, rankings, space, linear)
    d = _move_reliability(rng, law, 0.0, state.width[1 + rater])
    by = math.exp(d / n_raters)
    for k in range(len(state.log_worth)):
        state.log_worth[k] = space.away[k] * by
    for r in range(n_raters):
        state.log_reliability[r] -= d / n_raters
    state.log_reliability[rater] += d
    return d


@inner_njit(error_model="numpy")
def _spread_density(x, parameters):
    """Return the log density of log sigma, given the log reliabilities: HalfNormal, with the Jacobian of the log."""
    squares, freedom, scale = parameters
    sigma = math.exp(x)
    return x - 0.5 * (sigma / scale) ** 2 - freedom * x - 0.5 * squares / (sigma * sigma)


_move_spread = slice_sampler(_spread_density)


@inner_njit(error_model="numpy")
def draw_spread(rng: np.ndarray, rankings: RaterRankings, state: RaterState) -> None:
    """Move the spread given the log reliabilities."""
    squares = 0.0
    for r in range(len(state.log_reliability)):
        squares += state.log_reliability[r] * state.log_reliability[r]
    law = (squares, len(state.log_reliability) - 1.0, rankings.scale[0])
    state.spread[0] = math.exp(_move_spread(rng, law, math.log(state.spread[0]), 1.0))


@inner_njit(error_model="numpy")
def _spread_of_all_density(x, parameters):
    """Return the log density of log sigma, given the deviations and the worths."""
    z, log_worth, rankings, space = parameters
    sigma = math.exp(x)
    value = x - 0.5 * (sigma / rankings.scale[0]) ** 2
    for r in range(len(z)):
        value += _log_p_of_rater(r, sigma * z[r], log_worth, rankings, space)
    return value


_move_spread_of_all = slice_sampler(_spread_of_all_density)


@inner_njit(error_model="numpy")
def move_spread_and_raters(
    rng: np.ndarray, rankings: RaterRankings, state: RaterState, space: Space
) -> float:
    """Move the spread while the deviations z stay and the reliabilities follow; return the distance moved in its log."""
    for r in range(len(space.deviation)):
        space.deviation[r] = state.log_reliability[r] / state.spread[0]
    law, before = (space.deviation, state.log_worth, rankings, space), math.log(state.spread[0])
    after = _move_spread_of_all(rng, law, before, state.width[0])
    state.spread[0] = math.exp(after)
    for r in range(len(space.deviation)):
        state.log_reliability[r] = state.spread[0] * space.deviation[r]
    return after - before


# --- Sweeps and chains ---


@inner_njit(error_model="numpy")
def _sweep(rng, rankings, races, state, track, space, adapts):
    """Run one sweep; `adapts` says whether the widths of slices follow the moves."""
    n_items, width = len(rankings.candidate_start) - 1, state.width
    for i in range(n_items):
        move_worths(rng, i, rankings, races, state, track, space, adapts)
        if rankings.settled[i]:
            shift_others(rng, i, rankings, state, space)
    for r in range(len(state.log_reliability)):
        moved = move_reliability(rng, r, rankings, state, space)
        if adapts:
            width[1 + r] = adapted_width(width[1 + r], moved, NARROWEST, WIDEST)
    moved = move_spread_and_raters(rng, rankings, state, space)
    if adapts:
        width[0] = adapted_width(width[0], moved, NARROWEST, WIDEST)
    for i in range(n_items):
        draw_total(rng, i, rankings, state.log_worth)
    draw_spread(rng, rankings, state)


@cached_njit(nogil=True, error_model="numpy")
def sample_raters(
    rng: np.ndarray,
    rankings: RaterRankings,
    races: WorthPosterior,
    schedule: tuple[int, int],
    state_and_draws: tuple[RaterState, RaterDraws],
) -> None:
    """Run a chain on from its state into draws; `schedule` holds the sweeps of the warm-up and those of each kept draw.

    `races` has the annotations as items of one annotation each, in the order of `rankings`, with rate 0.
    """
    state, draws = state_and_draws
    tune, thin = schedule
    track, space = _allocate(rankings, races)
    own = without_refcount((rng, rankings, races, state, track, space))
    for sweep in range(1, tune + len(draws.log_worth) * thin + 1):
        _sweep(own[0], own[1], own[2], own[3], own[4], own[5], sweep <= tune)
        d, left = divmod(sweep - tune, thin)
        if left == 0 and d > 0:
            draws.log_worth[d - 1] = state.log_worth
            draws.log_reliability[d - 1] = state.log_reliability
            draws.spread[d - 1] = state.spread[0]
    track.worth[0], space.power[0] = 0.0, 0.0  # keeps the arrays alive until here

"""Gibbs sweep of Plackett-Luce with ties: the worths of one item.

    w_k ~ Gamma(a_k, b_k),    annotations ~ PartialRanking(w) ** multiplicity

With the arrival times of `race` as latent variables the conditionals are

    exposures | w              `race.draw_log_rates`
    w_k | exposures            Gamma(a_k + wins_k, b_k + exposure_k)
    common factor of all but the leader | the rest, without arrival times and total:  `draw_leader_factor`
    c with w = c v | v         Gamma(sum_k a_k, sum_k b_k v_k)    (the likelihood does not depend on c)

The state is log w: at shapes such as 1/419 the worths themselves would underflow.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS
21(1), doi:10.1080/10618600.2012.638220, section 2 (the race) and 5.1 (the total). Stutz et al.
(2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 2.3.3,
arXiv:2307.02191v2.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import exp, log, log_add
from ...kernels.gamma_variables import WordsAhead, draw_gammas
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import log_standard_gamma
from .race import (
    MAX_ORDERED,
    SAFE_LOG_RANGE,
    RaceTrack,
    WorthPosterior,
    draw_log_arrivals,
    draw_log_rates,
    draw_orders,
    largest_of,
    race_track,
    smallest_racing,
    smallest_shown,
)


@intrinsic
def _without_refcount(typing_context, value):
    """Return an array, or a tuple of arrays, without reference count: valid while the caller holds it.

    Atomic counting at every call would take two thirds of the time of a sweep, whose loops have a dozen elements.
    """

    def code(context, builder, signature, arguments):
        return _without_owner(context, builder, value, arguments[0])

    return value(value), code


without_refcount: Any = _without_refcount


def _without_owner(context, builder, kind, value):
    """Clear the reference counter of every array in a compiled value."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    for i, member in enumerate(kind):
        item = builder.extract_value(value, i)
        value = builder.insert_value(value, _without_owner(context, builder, member, item), i)
    return value


# --- Move of the common factor of all worths but the leader's ---


@inner_njit(error_model="numpy")
def draw_leader_factor(
    rng: np.ndarray, item: int, posterior: WorthPosterior, log_worth: np.ndarray, track: RaceTrack
) -> None:
    """Redraw the common factor of all worths of an item but its leader's.

    If most raters agree on the leader, a plain sweep moves this factor by small steps. With arrival times and total
    integrated out and the orders of tied blocks drawn, its log y has the log-concave density

        exp(power y) prod_i (1 + exp(y + d_i)) ** -n_i

    over the waits i in which the leader races: n_i is their number, d_i the log of the others' racing worth over the
    leader's, and one more factor, with n = sum_k a_k, is the prior of the total. `power` is the others' wins and
    prior shapes, less the number of waits in which the leader does not race: after its arrival, or where it was not shown.

    Shapes: log_worth (candidate of the item,), overwritten. Where the other worths alone span more than
    `SAFE_LOG_RANGE` the move is left out; as it cannot change their span, the posterior stays invariant.
    """
    if len(log_worth) == 1:
        return
    wins, leader = posterior.wins, posterior.leader[item]
    first = posterior.candidate_start[item]
    largest = -np.inf
    for k in range(len(log_worth)):
        if k != leader:
            largest = max(largest, log_worth[k])
    if posterior.partly[item]:
        smallest = smallest_shown(log_worth, item, posterior, leader)
    else:
        smallest = smallest_racing(log_worth, wins, first, leader)
    if not largest - smallest < SAFE_LOG_RANGE:
        return
    power, total_shape, mean_total = 0.0, 0.0, 0.0
    for k in range(len(log_worth)):
        track.worth[k] = math.exp(log_worth[k] - largest)
        total_shape += posterior.shape[first + k]
        if k != leader:
            power += wins[first + k] + posterior.shape[first + k]
            mean_total += posterior.rate[first + k] * track.worth[k]
    lead = log_worth[leader] - largest
    track.offset[0] = math.log(mean_total / posterior.rate[first + leader])
    track.count[0] = total_shape  # factor of the prior of the total
    n_waits, left_behind = _list_waits(rng, item, posterior, lead, track)
    for i in range(n_waits):
        track.offset[i] -= lead
    waits = (power - left_behind, track.offset[:n_waits], track.count[:n_waits])
    shift = _draw_log_factor(rng, waits, 0.0)
    for k in range(len(log_worth)):
        if k != leader:
            log_worth[k] += shift


@inner_njit(error_model="numpy")
def _log_density(y, waits):
    """Return the log density of the log factor y, up to a constant, and its derivatives."""
    power, offset, count = waits
    value, slope, curvature = power * y, power, 0.0
    for i in range(len(offset)):
        x = y + offset[i]
        small = math.exp(-abs(x))
        # -n_i log(1 + e^x), x = y + d_i
        value -= count[i] * (max(x, 0.0) + math.log1p(small))
        share = (1.0 if x > 0.0 else small) / (1.0 + small)
        slope -= count[i] * share
        curvature -= count[i] * small / ((1.0 + small) * (1.0 + small))
    return value, slope, curvature


_draw_log_factor = log_concave_sampler(_log_density)


@inner_njit(error_model="numpy")
def _list_waits(rng, item, posterior, lead, track):
    """List the waits with the leader from slot 1 on, first waits merged there; return slots in use, waits without the leader.

    First waits are alike only of annotations that were shown all candidates of the item.
    """
    block_start, member_start = posterior.block_start, posterior.member_start
    member, leader = posterior.member, posterior.leader[item]
    left_behind = 0
    track.offset[1], track.count[1] = 0.0, 0.0
    n_waits, no = np.int64(2), np.bool_(False)  # not literals: functions are compiled for each
    partly = posterior.partly[item]
    for a in range(posterior.annotation_start[item], posterior.annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        copies = posterior.multiplicity[a]
        others, leads = 0.0, no  # racing worth apart from the leader's; whether it races
        for b in range(last, first - 1, -1):
            block = member[member_start[b] : member_start[b + 1]]
            if b < last and len(block) > 1:
                race = (others, leads, lead, leader, copies)
                n_waits, behind = _tied_waits(rng, block, race, n_waits, track)
                left_behind += behind
            for k in block:
                if k == leader:
                    leads = True
                else:
                    others += track.worth[k]
            if b < last and len(block) == 1:
                if not leads:
                    left_behind += copies
                elif b == first and not partly:
                    track.offset[1] = math.log(others)
                    track.count[1] += copies
                else:
                    track.offset[n_waits] = math.log(others)
                    track.count[n_waits] = copies
                    n_waits += 1
    return n_waits, left_behind


@inner_njit(error_model="numpy")
def _tied_waits(rng, block, race, n_waits, track):
    """Draw the orders of a tied block and append its waits with the leader; return as `_list_waits`, for this block."""
    others, leads, lead, leader, copies = race
    n = len(block)
    place = -1  # of the leader in the block
    for j in range(n):
        if block[j] == leader:
            place = j
    if place < 0 and not leads:
        return n_waits, n * copies
    if n > MAX_ORDERED or abs(lead) > SAFE_LOG_RANGE:
        return _tied_waits_by_arrival(rng, block, race, n_waits, track)

    worth = track.member_worth[:n]
    for j in range(n):
        worth[j] = track.worth[block[j]]
    rest = others + (track.worth[leader] if leads else 0.0)
    visits = track.visits
    draw_orders(rng, worth, rest, copies, (track.recursion, track.racing, visits))
    left_behind = 0
    for members in range(1, 1 << n):
        if visits[members] == 0:
            continue
        if not leads and not members >> place & 1:
            left_behind += visits[members]
            continue
        racing = others
        for j in range(n):
            if j != place and members >> j & 1:
                racing += worth[j]
        track.offset[n_waits] = math.log(racing)
        track.count[n_waits] = visits[members]
        n_waits += 1
    return n_waits, left_behind


@inner_njit(error_model="numpy")
def _tied_waits_by_arrival(rng, block, race, n_waits, track):
    """Do the same as `_tied_waits` for a block of any size and a leader of any worth."""
    others, leads, lead, leader, copies = race
    n = len(block)
    log_worth, time = track.member_worth[:n], track.member_time[:n]
    log_rest = math.log(others)
    if leads:
        log_rest = log_add(log_rest, lead)
    for j in range(n):
        log_worth[j] = lead if block[j] == leader else math.log(track.worth[block[j]])
    left_behind = 0
    for _ in range(copies):
        draw_log_arrivals(rng, log_worth, log_rest, time)
        for s in range(n):
            racing, leader_races = others, leads
            for j in range(n):
                if time[j] >= time[s]:
                    if block[j] == leader:
                        leader_races = True
                    else:
                        racing += track.worth[block[j]]
            if leader_races:
                track.offset[n_waits] = math.log(racing)
                track.count[n_waits] = 1.0
                n_waits += 1
            else:
                left_behind += 1
    return n_waits, left_behind


# --- Sweeps and chains ---


class Schedule(NamedTuple):
    """Length of a chain."""

    tune: int  # sweeps before the first stored draw
    thin: int  # sweeps per stored draw
    fresh: bool = False  # first draw the state from the prior


@inner_njit(error_model="numpy", forceinline=True)
def update_worth(
    rng: np.ndarray, item: int, posterior: WorthPosterior, log_worth: np.ndarray, track: RaceTrack
) -> None:
    """Run one Gibbs sweep of one item; log_worth (candidate of the item,) is overwritten."""
    first, n = posterior.candidate_start[item], len(log_worth)
    shape, wins = posterior.shape, posterior.wins
    draw_log_rates(rng, item, posterior, log_worth, track)
    log_rate = track.log_rate
    power, gamma, log_boost = track.power[:n], track.worth[:n], track.exposure[:n]
    for k in range(n):
        # w_k | exposures ~ Gamma(a_k + wins_k, b_k + exposure_k)
        power[k] = float(shape[first + k] + wins[first + k])
    draw_gammas(
        rng, power, gamma, log_boost, WordsAhead(track.uniform, track.bound, track.accepted, track.state)
    )
    for k in range(n):
        log_worth[k] = log(gamma[k]) - (log_rate[k] + log_boost[k])
    if posterior.settled[item]:
        draw_leader_factor(rng, item, posterior, log_worth, track)
    _draw_total(rng, first, posterior, log_worth, track)


@inner_njit(error_model="numpy", forceinline=True)
def _draw_total(rng, first, posterior, log_worth, track):
    """Redraw the common factor of all worths of an item, on which the likelihood does not depend."""
    shape, rate = posterior.shape, posterior.rate[first : first + len(log_worth)]
    largest = largest_of(log_worth)
    total_shape, mean_total, worth = 0.0, 0.0, track.worth
    for k in range(len(log_worth)):
        worth[k] = exp(log_worth[k] - largest)
    for k in range(len(log_worth)):
        total_shape += shape[first + k]
        mean_total += rate[k] * worth[k]
    # c ~ Gamma(sum_k a_k, sum_k b_k v_k)
    shift = log_standard_gamma(rng, total_shape) - math.log(mean_total) - largest
    for k in range(len(log_worth)):
        log_worth[k] += shift


@inner_njit(error_model="numpy")
def _draw_prior(rng, first, posterior, log_worth):
    """Draw the log worths of an item, (candidate of the item,), overwritten, from their prior."""
    for k in range(len(log_worth)):
        log_draw = log_standard_gamma(rng, float(posterior.shape[first + k]))
        log_worth[k] = log_draw - math.log(posterior.rate[first + k])


@cached_njit(nogil=True, error_model="numpy")
def continue_item(
    rng: np.ndarray,
    item: int,
    posterior: WorthPosterior,
    schedule: Schedule,
    state_and_draws: tuple[np.ndarray, np.ndarray],
) -> None:
    """Run one chain of one item on from its state, log worths (candidate of the item,), into draws (draw, candidate)."""
    state, draws = state_and_draws
    track = race_track(posterior, item, item + 1)
    rng, posterior, lent_track, log_worth = without_refcount((rng, posterior, track, state))
    if schedule.fresh:
        _draw_prior(rng, posterior.candidate_start[item], posterior, log_worth)
    for sweep in range(1, schedule.tune + draws.shape[0] * schedule.thin + 1):
        update_worth(rng, item, posterior, log_worth, lent_track)
        d, left = divmod(sweep - schedule.tune, schedule.thin)
        if left == 0 and d > 0:
            for k in range(len(log_worth)):
                draws[d - 1, k] = log_worth[k]
    track.worth[0] = state[0]  # keeps the arrays alive until here


@cached_njit(error_model="numpy")
def sweep_items(rng: np.ndarray, posterior: WorthPosterior, log_worth: np.ndarray) -> None:
    """Run one Gibbs sweep of every item; log_worth (candidate,) is overwritten."""
    start = posterior.candidate_start
    track = race_track(posterior, 0, len(start) - 1)
    rng, posterior, lent_track, state = without_refcount((rng, posterior, track, log_worth))
    for item in range(len(start) - 1):
        update_worth(rng, item, posterior, state[start[item] : start[item + 1]], lent_track)
    track.worth[0] = log_worth[0]  # keeps the arrays alive until here


# --- Plausibilities ---

LEAST_EXPONENT = -700.0  # below, `exp` of `vector_math` is cut off


@cached_njit(nogil=True, error_model="numpy")
def normalise_worths(log_worth: np.ndarray, start: np.ndarray, plausibility: np.ndarray) -> None:
    """Normalise the worths of each item, in double precision.

    Shapes: log_worth and, overwritten, plausibility (draw, candidate); start int64 (item + 1,), first candidates.
    """
    widest = 1
    for i in range(len(start) - 1):
        widest = max(widest, start[i + 1] - start[i])
    away, worth = np.empty(widest), np.empty(widest)
    for d in range(len(log_worth)):
        for i in range(len(start) - 1):
            first, n = start[i], start[i + 1] - start[i]
            largest, smallest = log_worth[d, first], log_worth[d, first]
            for k in range(n):
                x = log_worth[d, first + k]
                largest = x if x > largest else largest
                smallest = x if x < smallest else smallest
            low, high = np.float64(smallest), np.float64(largest)
            for k in range(n):
                away[k] = log_worth[d, first + k] - high
            total = 0.0
            if low - high > LEAST_EXPONENT:
                for k in range(n):
                    worth[k] = exp(away[k])
            else:
                for k in range(n):
                    worth[k] = math.exp(away[k])
            for k in range(n):
                total += worth[k]
            for k in range(n):
                plausibility[d, first + k] = worth[k] / total

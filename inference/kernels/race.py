"""Latent race of Plackett-Luce with ties: exposures of the candidates of an item, given the worths.

In the race behind one annotation every candidate k arrives at an Exponential(w_k) time, the ranked
blocks arrive in the rater's order, and the race is stopped at the last ranked arrival, where the
unranked candidates are censored. Given the worths:

- an untied block {k}, before a rest of total worth Z: the wait is Exponential(w_k + Z), whatever
  the waits before it. The waits of c identical annotations sum to Gamma(c, 1) / (w_k + Z);
- a tied block: `tied_blocks`.

The exposure of a candidate is the time from the start to its arrival, or to the end, summed over
the annotations of the item. Censored times go with the number of annotations that *rank* it
(`wins`); times simulated beyond the end would go with the number of all annotations, and mixing
the two up shifts posterior means by as much as .49.

Worths enter relative to the item's largest, since the likelihood does not depend on the total. Where they
span more than exp(80), or are that far from one, sums and reciprocals are taken in logs: the same law,
without overflow.
"""

import math

import numba as nb
import numpy as np

from .gamma import log_add, log_standard_gamma, standard_gamma
from .posterior import WorthPosterior
from .race_track import RaceTrack
from .tied_blocks import MAX_ORDERED, draw_log_arrivals, draw_orders

__all__ = ["SAFE_LOG_RANGE", "draw_log_rates", "smallest_racing"]

SAFE_LOG_RANGE = 80.0
"""Log range of worths within which R of `MAX_ORDERED` tied candidates stays in range."""


@nb.njit(error_model="numpy", inline="always")
def draw_log_rates(
    rng: np.ndarray,
    item: int,
    posterior: WorthPosterior,
    log_worth: np.ndarray,
    track: RaceTrack,
) -> None:
    """Draw the races of one item; write log(prior rate + exposure) to ``track.log_rate``.

    Shapes: log_worth (candidate of the item,).
    """
    n = len(log_worth)
    rate, log_rate = posterior.rate, track.log_rate
    worth, exposure = track.worth, track.exposure
    first = posterior.candidate_start[item]
    largest = log_worth[0]
    for k in range(1, n):
        largest = max(largest, log_worth[k])
    smallest = smallest_racing(log_worth, posterior.wins, first, -1)
    if abs(largest) < SAFE_LOG_RANGE and largest - smallest < SAFE_LOG_RANGE:
        for k in range(n):
            worth[k] = math.exp(log_worth[k] - largest)
            exposure[k] = 0.0
        _race(rng, item, posterior, track)
        unit = math.exp(largest)
        for k in range(n):
            log_rate[k] = math.log(rate[first + k] * unit + exposure[k]) - largest
    else:
        for k in range(n):
            exposure[k] = -np.inf
        _race_in_logs(rng, item, posterior, log_worth, track)
        for k in range(n):
            log_rate[k] = log_add(math.log(rate[first + k]), exposure[k])


@nb.njit(error_model="numpy", inline="always")
def smallest_racing(log_worth: np.ndarray, wins: np.ndarray, first: int, apart: int) -> float:
    """Return the smallest log worth that a sum over racing candidates can consist of.

    Candidates never ranked race to the end of every race: of these the largest decides. Shapes: log_worth
    (candidate of the item,); wins (candidate,). `first` is the item's first candidate; `apart` is left out,
    -1 for none.
    """
    ranked, unranked = np.inf, -np.inf
    for k in range(len(log_worth)):
        if k != apart:
            if wins[first + k] > 0.0:
                ranked = min(ranked, log_worth[k])
            else:
                unranked = max(unranked, log_worth[k])
    if unranked > -np.inf:
        ranked = min(ranked, unranked)
    return ranked


@nb.njit(error_model="numpy", inline="always")
def _race(rng, item, posterior, track):
    """Add the exposures under the relative worths ``track.worth``."""
    block_start, member_start = posterior.block_start, posterior.member_start
    member, multiplicity = posterior.member, posterior.multiplicity
    worth, exposure, rest = track.worth, track.exposure, track.rest
    for a in range(posterior.annotation_start[item], posterior.annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = 0.0
        for b in range(last, first - 1, -1):
            rest[b - first] = racing  # Z
            for q in range(member_start[b], member_start[b + 1]):
                racing += worth[member[q]]
        elapsed = 0.0
        for b in range(first, last):
            k = member[member_start[b]]
            if member_start[b + 1] - member_start[b] == 1:
                wait = standard_gamma(rng, float(multiplicity[a]))
                # Gamma(c, 1) / (w_k + Z)
                elapsed += wait / (worth[k] + rest[b - first])
                exposure[k] += elapsed
            else:
                block = member[member_start[b] : member_start[b + 1]]
                for j in range(len(block)):
                    exposure[block[j]] += elapsed
                elapsed += _race_tied(rng, block, rest[b - first], multiplicity[a], track)
        for q in range(member_start[last], member_start[last + 1]):
            exposure[member[q]] += elapsed


@nb.njit(error_model="numpy")
def _race_tied(rng, block, rest, copies, track):
    """Draw the arrivals of a tied block, add the members' exposures, and return the duration."""
    n = len(block)
    worth, time, exposure = track.member_worth[:n], track.member_time[:n], track.exposure
    duration = 0.0
    if n > MAX_ORDERED:
        for j in range(n):
            worth[j] = math.log(track.worth[block[j]])
        for _ in range(copies):
            duration += math.exp(draw_log_arrivals(rng, worth, math.log(rest), time))
            for j in range(n):
                exposure[block[j]] += math.exp(time[j])
        return duration
    for j in range(n):
        worth[j] = track.worth[block[j]]
    racing, visits = track.racing, track.visits
    draw_orders(rng, worth, rest, copies, (track.recursion, racing, visits))
    for members in range(1, 1 << n):
        if visits[members] > 0:
            # All members still racing wait together: one Gamma sums the waits of all copies.
            wait = standard_gamma(rng, float(visits[members])) / racing[members]
            duration += wait
            for j in range(n):
                if members >> j & 1:
                    exposure[block[j]] += wait
    return duration


@nb.njit(error_model="numpy")
def _race_in_logs(rng, item, posterior, log_worth, track):
    """Add the exposures, as logs, under worths of any range."""
    block_start, member_start = posterior.block_start, posterior.member_start
    member, multiplicity = posterior.member, posterior.multiplicity
    exposure, rest = track.exposure, track.rest
    for a in range(posterior.annotation_start[item], posterior.annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = -np.inf
        for b in range(last, first - 1, -1):
            rest[b - first] = racing  # log Z
            for q in range(member_start[b], member_start[b + 1]):
                racing = log_add(racing, log_worth[member[q]])
        elapsed = -np.inf
        for b in range(first, last):
            k = member[member_start[b]]
            if member_start[b + 1] - member_start[b] == 1:
                wait = log_standard_gamma(rng, float(multiplicity[a]))
                elapsed = log_add(elapsed, wait - log_add(log_worth[k], rest[b - first]))
                exposure[k] = log_add(exposure[k], elapsed)
            else:
                block = member[member_start[b] : member_start[b + 1]]
                for j in range(len(block)):
                    track.member_worth[j] = log_worth[block[j]]
                    exposure[block[j]] = log_add(exposure[block[j]], elapsed)
                duration = _race_tied_in_logs(rng, block, rest[b - first], multiplicity[a], track)
                elapsed = log_add(elapsed, duration)
        for q in range(member_start[last], member_start[last + 1]):
            exposure[member[q]] = log_add(exposure[member[q]], elapsed)


@nb.njit(error_model="numpy")
def _race_tied_in_logs(rng, block, log_rest, copies, track):
    """Draw the arrivals of a tied block by its horizon, add the log exposures, and return the log duration."""
    n = len(block)
    log_worth, log_time = track.member_worth[:n], track.member_time[:n]
    duration = -np.inf
    for _ in range(copies):
        duration = log_add(duration, draw_log_arrivals(rng, log_worth, log_rest, log_time))
        for j in range(n):
            track.exposure[block[j]] = log_add(track.exposure[block[j]], log_time[j])
    return duration

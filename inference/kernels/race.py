"""Exposures: how long each candidate of an item raced, given the worths.

The race behind one annotation: every candidate k arrives at an Exponential(w_k) time, the ranked
blocks arrive in the rater's order, and the race is stopped at the last ranked arrival, where what
the rater left unranked is censored. Given the worths:

- an untied block {k}, before a rest of total worth Z: the wait is Exponential(w_k + Z), whatever
  the waits before it. The waits of c identical annotations sum to Gamma(c, 1) / (w_k + Z);
- a tied block: `tied_blocks`.

The exposure of a candidate is the time from the start to its arrival, or to the end, summed over
the annotations of the item. Censored times go with the number of annotations that *rank* it
(`wins`); times simulated beyond the end would go with the number of all annotations, and mixing
the two up shifts posterior means by as much as .49.

Worths enter relative to the item's largest, as the likelihood knows no total. Where they span more
than exp(80), sums and reciprocals are taken in logs instead: the same race, never out of range.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from .annotations import DistinctAnnotations
from .gamma import log_add, log_standard_gamma, standard_gamma
from .tied_blocks import MAX_ORDERED, OrderTable, draw_log_arrivals, draw_orders

__all__ = ["SAFE_LOG_RANGE", "RaceTrack", "draw_exposures", "race_track", "smallest_racing"]

SAFE_LOG_RANGE = 80.0
"""Log range of worths within which R of `MAX_ORDERED` tied candidates stays in range."""


class RaceTrack(NamedTuple):
    """Work space for the races of one item at a time."""

    worth: np.ndarray  # (candidate of the item), relative to the largest
    exposure: np.ndarray  # (candidate of the item)
    rest: np.ndarray  # (block of one annotation): total worth, or its log, after the block
    member_worth: np.ndarray  # (member of one block): worths or their logs
    member_time: np.ndarray  # (member of one block): log arrivals
    table: OrderTable
    offset: np.ndarray  # (wait of the item), for `lead`
    count: np.ndarray  # (wait of the item), for `lead`


@nb.njit(error_model="numpy")
def race_track(annotations: DistinctAnnotations, first: int, last: int) -> RaceTrack:
    """Return work space for the items from `first` to before `last`."""
    widest, longest, largest, waits = 1, 1, 1, 0
    for i in range(first, last):
        widest = max(widest, annotations.candidate_start[i + 1] - annotations.candidate_start[i])
        item_waits = 2  # the prior, and the first waits that all annotations have in common
        for a in range(annotations.annotation_start[i], annotations.annotation_start[i + 1]):
            start, stop = annotations.block_start[a], annotations.block_start[a + 1]
            longest = max(longest, stop - start)
            for b in range(start, stop - 1):
                size = annotations.member_start[b + 1] - annotations.member_start[b]
                largest = max(largest, size)
                item_waits += size * annotations.multiplicity[a] if size > 1 else 1
        waits = max(waits, item_waits)
    subsets = 1 << min(largest, MAX_ORDERED)
    return RaceTrack(
        np.empty(widest),
        np.empty(widest),
        np.empty(longest),
        np.empty(widest),
        np.empty(widest),
        (np.empty(subsets), np.empty(subsets), np.empty(subsets, np.int64)),
        np.empty(waits),
        np.empty(waits),
    )


@nb.njit(error_model="numpy")
def draw_exposures(
    rng: np.ndarray,
    item: int,
    annotations: DistinctAnnotations,
    log_worth: np.ndarray,
    track: RaceTrack,
) -> None:
    """Draw the races of one item's annotations; leave the log exposures in ``track.exposure``.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    item : int
        The item.
    annotations : DistinctAnnotations
        What the raters of all items said.
    log_worth : ndarray, shape (candidate of the item,)
        Log worths, on any scale.
    track : RaceTrack
        Work space; the first entries of ``exposure`` are the result, -inf where nothing was ranked.
    """
    n = len(log_worth)
    exposure = track.exposure
    first = annotations.candidate_start[item]
    largest = log_worth.max()
    if largest - smallest_racing(log_worth, annotations.wins, first, -1) > SAFE_LOG_RANGE:
        exposure[:n] = -np.inf
        _race_in_logs(rng, item, annotations, log_worth, track)
        return
    for k in range(n):
        track.worth[k] = math.exp(log_worth[k] - largest)
        exposure[k] = 0.0
    _race(rng, item, annotations, track)
    for k in range(n):
        exposure[k] = math.log(exposure[k]) - largest


@nb.njit(error_model="numpy", inline="always")
def smallest_racing(log_worth: np.ndarray, wins: np.ndarray, first: int, apart: int) -> float:
    """Return the smallest log worth that a sum over racing candidates can consist of.

    Whoever is never ranked races to the end of every race: of those the largest decides.

    Parameters
    ----------
    log_worth : ndarray, shape (candidate of the item,)
        Log worths.
    wins : ndarray, shape (candidate,)
        How often each candidate of all items is ranked.
    first : int
        First candidate of the item.
    apart : int
        A candidate to leave out, or -1.

    Returns
    -------
    float
        Log worth.
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
def _race(rng, item, annotations, track):
    """Add the exposures under the relative worths ``track.worth``."""
    block_start, member_start = annotations.block_start, annotations.member_start
    member, multiplicity = annotations.member, annotations.multiplicity
    worth, exposure, rest = track.worth, track.exposure, track.rest
    for a in range(annotations.annotation_start[item], annotations.annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = 0.0
        for b in range(last, first - 1, -1):
            rest[b - first] = racing
            for q in range(member_start[b], member_start[b + 1]):
                racing += worth[member[q]]
        elapsed = 0.0
        for b in range(first, last):
            k = member[member_start[b]]
            if member_start[b + 1] - member_start[b] == 1:
                wait = standard_gamma(rng, float(multiplicity[a]))
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
    """Race a tied block from its start, add the members' exposures, and return the duration."""
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
    draw_orders(rng, worth, rest, copies, track.table)
    _, racing, visits = track.table
    for members in range(1, 1 << n):
        if visits[members] > 0:
            # Everyone still racing waits together: one Gamma sums the waits of all copies.
            wait = standard_gamma(rng, float(visits[members])) / racing[members]
            duration += wait
            for j in range(n):
                if members >> j & 1:
                    exposure[block[j]] += wait
    return duration


@nb.njit(error_model="numpy")
def _race_in_logs(rng, item, annotations, log_worth, track):
    """Add the exposures, as logs, under worths of any range."""
    block_start, member_start = annotations.block_start, annotations.member_start
    member, multiplicity = annotations.member, annotations.multiplicity
    exposure, rest = track.exposure, track.rest
    for a in range(annotations.annotation_start[item], annotations.annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = -np.inf
        for b in range(last, first - 1, -1):
            rest[b - first] = racing
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
    """Race a tied block by its horizon, add the log exposures, and return the log duration."""
    n = len(block)
    log_worth, log_time = track.member_worth[:n], track.member_time[:n]
    duration = -np.inf
    for _ in range(copies):
        duration = log_add(duration, draw_log_arrivals(rng, log_worth, log_rest, log_time))
        for j in range(n):
            track.exposure[block[j]] = log_add(track.exposure[block[j]], log_time[j])
    return duration

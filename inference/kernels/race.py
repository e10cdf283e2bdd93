"""Exposures: how long each candidate of an item raced, given the worths.

The race behind one annotation: every candidate k arrives at an Exponential(w_k) time, the ranked
blocks arrive in the rater's order, and the race is stopped at the last ranked arrival, where what
the rater left unranked is censored. Given the worths:

- an untied block {k}, before a rest of total worth Z: the wait is Exponential(w_k + Z), whatever
  the waits before it. Identical annotations have one wait in common, Gamma(c, 1) / (w_k + Z) in sum;
- a tied block: `tied_blocks`.

The exposure of a candidate is the time from the start to its arrival, or to the end, summed over
the annotations of the item. Censored times go with the number of *ranked* annotations (`wins`);
times simulated beyond the end would go with the number of all annotations, and mixing the two up
shifts posterior means by as much as .49.

Worths enter relative to the item's largest, as the likelihood knows no total. Where they span more
than exp(80), sums and reciprocals are taken in logs instead: the same race, never out of range.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from .annotations import DistinctAnnotations
from .log_gamma import log_add, log_standard_gamma
from .tied_blocks import MAX_ORDERED, OrderTable, draw_arrivals, draw_log_arrivals

__all__ = ["RaceTrack", "draw_exposures", "race_track"]

SAFE_LOG_RANGE = 80.0
"""Log range of worths within which R of `MAX_ORDERED` tied candidates stays in range."""


class RaceTrack(NamedTuple):
    """Work space for the races of one item at a time."""

    worth: np.ndarray  # (candidate of the item), relative to the largest
    exposure: np.ndarray  # (candidate of the item)
    rest: np.ndarray  # (block of one annotation): total worth, or its log, after the block
    member_worth: np.ndarray  # (member of one block)
    member_time: np.ndarray  # (member of one block)
    table: OrderTable


def race_track(annotations: DistinctAnnotations) -> RaceTrack:
    """Return work space that is large enough for every item of the annotations."""
    widest = int(np.diff(annotations.candidate_start).max())
    longest = int(np.diff(annotations.block_start).max())
    size = 2 ** min(int(np.diff(annotations.member_start).max()), MAX_ORDERED)
    return RaceTrack(
        worth=np.empty(widest),
        exposure=np.empty(widest),
        rest=np.empty(longest),
        member_worth=np.empty(widest),
        member_time=np.empty(widest),
        table=(np.empty(size), np.empty(size), np.empty(size, np.int64)),
    )


@nb.njit(cache=True, error_model="numpy")
def draw_exposures(
    rng: np.random.Generator,
    item: int,
    annotations: DistinctAnnotations,
    log_worth: np.ndarray,
    track: RaceTrack,
) -> None:
    """Draw the races of one item's annotations, and leave the log exposures in ``track.exposure``.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    item : int
        The item.
    annotations : DistinctAnnotations
        What its raters said.
    log_worth : ndarray, shape (candidate of the item,)
        Log worths, on any scale.
    track : RaceTrack
        Work space; its first entries of ``exposure`` are the result, -inf where nobody raced.
    """
    n = len(log_worth)
    first = annotations.candidate_start[item]
    exposure = track.exposure[:n]
    largest = log_worth.max()
    if largest - _smallest(log_worth, annotations.wins[first : first + n]) > SAFE_LOG_RANGE:
        _race_in_logs(rng, item, annotations, log_worth, track)
        return
    for k in range(n):
        track.worth[k] = math.exp(log_worth[k] - largest)
    _race(rng, item, annotations, track)
    for k in range(n):
        exposure[k] = math.log(exposure[k]) - largest


@nb.njit(cache=True)
def _smallest(log_worth, wins):
    """Return the smallest log worth that a sum of racing worths can consist of.

    Whoever is never ranked races to the end of every race: of those the largest decides.
    """
    ranked, unranked = np.inf, -np.inf
    for k in range(len(log_worth)):
        if wins[k] > 0.0:
            ranked = min(ranked, log_worth[k])
        else:
            unranked = max(unranked, log_worth[k])
    return ranked if unranked == -np.inf else min(ranked, unranked)


@nb.njit(cache=True, error_model="numpy")
def _race(rng, item, annotations, track):
    """Fill ``track.exposure`` from the relative worths ``track.worth``."""
    _, annotation_start, multiplicity, block_start, member_start, member, _ = annotations
    worth, exposure, rest = track.worth, track.exposure, track.rest
    exposure[:] = 0.0
    for a in range(annotation_start[item], annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = 0.0
        for b in range(last, first - 1, -1):
            rest[b - first] = racing
            for q in range(member_start[b], member_start[b + 1]):
                racing += worth[member[q]]
        elapsed = 0.0
        for b in range(first, last):
            start, stop = member_start[b], member_start[b + 1]
            if stop - start == 1:
                k = member[start]
                wait = rng.standard_gamma(float(multiplicity[a]))
                elapsed += wait / (worth[k] + rest[b - first])
                exposure[k] += elapsed
            else:
                block = member[start:stop]
                for k in block:
                    exposure[k] += elapsed
                elapsed += _race_tied(rng, block, rest[b - first], multiplicity[a], track)
        for q in range(member_start[last], member_start[last + 1]):
            exposure[member[q]] += elapsed


@nb.njit(cache=True, error_model="numpy")
def _race_tied(rng, block, rest, copies, track):
    """Race a tied block from its start, add the members' exposures, and return the duration."""
    n = len(block)
    worth, time = track.member_worth[:n], track.member_time[:n]
    if n <= MAX_ORDERED:
        for j in range(n):
            worth[j] = track.worth[block[j]]
        duration = draw_arrivals(rng, worth, rest, copies, track.table, time)
        for j in range(n):
            track.exposure[block[j]] += time[j]
        return duration
    duration = 0.0
    for j in range(n):
        worth[j] = math.log(track.worth[block[j]])
    for _ in range(copies):
        duration += math.exp(draw_log_arrivals(rng, worth, math.log(rest), time))
        for j in range(n):
            track.exposure[block[j]] += math.exp(time[j])
    return duration


@nb.njit(cache=True, error_model="numpy")
def _race_in_logs(rng, item, annotations, log_worth, track):
    """Fill ``track.exposure`` with log exposures, whatever the range of the worths."""
    _, annotation_start, multiplicity, block_start, member_start, member, _ = annotations
    exposure, rest = track.exposure, track.rest
    exposure[:] = -np.inf
    for a in range(annotation_start[item], annotation_start[item + 1]):
        first, last = block_start[a], block_start[a + 1] - 1
        racing = -np.inf
        for b in range(last, first - 1, -1):
            rest[b - first] = racing
            for q in range(member_start[b], member_start[b + 1]):
                racing = log_add(racing, log_worth[member[q]])
        elapsed = -np.inf
        for b in range(first, last):
            block = member[member_start[b] : member_start[b + 1]]
            if len(block) == 1:
                k = block[0]
                wait = log_standard_gamma(rng, float(multiplicity[a]))
                elapsed = log_add(elapsed, wait - log_add(log_worth[k], rest[b - first]))
                exposure[k] = log_add(exposure[k], elapsed)
                continue
            for k in block:
                exposure[k] = log_add(exposure[k], elapsed)
            n = len(block)
            worth, time = track.member_worth[:n], track.member_time[:n]
            for j in range(n):
                worth[j] = log_worth[block[j]]
            for _ in range(multiplicity[a]):
                arrival = draw_log_arrivals(rng, worth, rest[b - first], time)
                elapsed = log_add(elapsed, arrival)
                for j in range(n):
                    exposure[block[j]] = log_add(exposure[block[j]], time[j])
        for q in range(member_start[last], member_start[last + 1]):
            k = member[q]
            exposure[k] = log_add(exposure[k], elapsed)

"""Latent race of Plackett-Luce with ties: exposures of the candidates of an item, given the worths.

In the race behind one annotation every candidate k arrives at an Exponential(w_k) time, the ranked
blocks arrive in the rater's order, and the race is stopped at the last ranked arrival, where the
unranked candidates are censored. Given the worths:

- an untied block {k}, before a rest of total worth Z: the wait is Exponential(w_k + Z), whatever
  the waits before it. The waits of c identical annotations sum to Gamma(c, 1) / (w_k + Z);
- a tied block: `draw_orders`, or `draw_log_arrivals` if it is large.

The exposure of a candidate is the time from the start to its arrival, or to the end, summed over
the annotations of the item. Censored times go with the number of annotations that *rank* it
(`wins`); times simulated beyond the end would go with the number of all annotations, and mixing
the two up shifts posterior means by as much as .49.

Worths enter relative to the item's largest, since the likelihood does not depend on the total. Where they
span more than exp(80), or are that far from one, sums and reciprocals are taken in logs: the same law.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import exp, log, log_add
from ...kernels.gamma_variables import words_ahead
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import log_standard_gamma, standard_exponential, standard_gamma, uniform

# Largest block whose orders are drawn. Worths may differ by a factor exp(80) without overflow
# of R, which grows like the reciprocal of a product of that many worths.
MAX_ORDERED = 8
# Log rates (w t) below and above which an exponential truncated to (0, t) is, to the last bit of a
# double, uniform or untruncated: exp(5.8) = 330 mean times, where expm1 is far from overflow.
UNIFORM_BELOW, UNTRUNCATED_ABOVE = -37.0, 5.8
# Work space of `draw_orders`: R, racing worth, and visits (int64), of every subset of a block.
OrderTable = tuple[np.ndarray, np.ndarray, np.ndarray]


class WorthPosterior(NamedTuple):
    """Fields of `recognition.DistinctAnnotations` and the Gamma(shape, rate) priors of the worths.

    Flat, as compiled code copies tuples within tuples.
    """

    candidate_start: np.ndarray
    annotation_start: np.ndarray
    multiplicity: np.ndarray
    block_start: np.ndarray
    member_start: np.ndarray
    member: np.ndarray
    wins: np.ndarray
    leader: np.ndarray
    settled: np.ndarray
    partly: np.ndarray
    shape: np.ndarray  # (candidate,)
    rate: np.ndarray  # (candidate,)


@inner_njit(error_model="numpy")
def draw_orders(rng: np.ndarray, worth: np.ndarray, rest: float, copies: int, table: OrderTable) -> None:
    """Draw the orders of arrival in a small block, for `copies` identical annotations at once.

        p(next = s | A races) proportional to R(A - s),  R(A) = sum over a in A of R(A - a) / (Z + w(A)),  R(empty) = 1

    and the time until then is Exponential(Z + w(A)). Costs 2**|B|.

    Shapes: worth (member,), at most `MAX_ORDERED`. `rest` is Z. Afterwards, for every subset of the members
    as a bit mask, `racing` is its total worth with the rest, and `visits` the number of copies that reach the
    state in which exactly this subset still races.
    """
    recursion, racing, visits = table
    n_members = len(worth)
    everyone = (1 << n_members) - 1
    recursion[0], racing[0] = 1.0, rest
    for members in range(1, everyone + 1):
        ways = 0.0
        last = 0
        for s in range(n_members):
            if members >> s & 1:
                ways += recursion[members ^ (1 << s)]
                last = s
        racing[members] = racing[members ^ (1 << last)] + worth[last]
        # R(A) = sum over a in A of R(A - a) / (Z + w(A))
        recursion[members] = ways / racing[members]
        visits[members] = 0
    visits[everyone] = copies
    for members in range(everyone, 0, -1):
        if members & (members - 1):  # the last member has no choice
            _draw_departures(rng, members, recursion, racing, visits)


@inner_njit(error_model="numpy")
def _draw_departures(rng, members, recursion, racing, visits):
    """Move every copy in the state `members` to the state without the member that arrives next."""
    ways = recursion[members] * racing[members]
    for _ in range(visits[members]):
        u = uniform(rng) * ways
        chosen = 0
        left = members
        while left:
            s = left & -left
            left ^= s
            chosen = s
            # p(next = s | A) proportional to R(A - s)
            u -= recursion[members ^ s]
            if u < 0.0:
                break
        visits[members ^ chosen] += 1


@inner_njit(error_model="numpy")
def draw_log_arrivals(
    rng: np.ndarray, log_worth: np.ndarray, log_rest: float, log_arrival: np.ndarray
) -> float:
    """Draw log arrivals of any block by its horizon t, given log Z; return the last. log_worth, log_arrival (member,).

    t, the first arrival of the rest, has a density proportional to exp(-Z t) prod_k (1 - exp(-w_k t)), log-concave
    in log t; given t the arrivals are independent exponentials truncated to (0, t). Costs |B|.
    """
    # Start at an upper bound of the mode, which solves exp(x) Z = 1 + elasticities in (0, 1).
    start = math.log(len(log_worth) + 1.0) - log_rest
    log_horizon = _draw_log_horizon(rng, (log_worth, log_rest), start)
    last = -np.inf
    for k in range(len(log_worth)):
        log_rate = log_worth[k] + log_horizon
        if log_rate < UNIFORM_BELOW:
            log_arrival[k] = log_horizon + math.log(uniform(rng))
        elif log_rate > UNTRUNCATED_ABOVE:
            log_arrival[k] = math.log(standard_exponential(rng)) - log_worth[k]
        else:
            # inversion of the truncated distribution function
            mass = math.expm1(-math.exp(log_rate))
            log_arrival[k] = math.log(-math.log1p(uniform(rng) * mass)) - log_worth[k]
        last = max(last, log_arrival[k])
    return last


@inner_njit(error_model="numpy")
def _log_density(x, parameters):
    """Return the log density of x = log t, up to a constant, and its first two derivatives."""
    log_worth, log_rest = parameters
    # x - e^x Z + sum of log(1 - exp(-w_k e^x))
    after = math.exp(x + log_rest)
    value, slope, curvature = x - after, 1.0 - after, -after
    for k in range(len(log_worth)):
        log_rate = log_worth[k] + x
        if log_rate < UNIFORM_BELOW:
            value += log_rate
            slope += 1.0
        elif log_rate < UNTRUNCATED_ABOVE:
            rate = math.exp(log_rate)
            growth = math.expm1(rate)
            elasticity = rate / growth
            value += math.log(-math.expm1(-rate))
            slope += elasticity
            curvature += elasticity * (1.0 - rate - elasticity)
    return value, slope, curvature


_draw_log_horizon = log_concave_sampler(_log_density)

# --- Work space, allocated once for many items and sweeps ---


class RaceTrack(NamedTuple):
    """Work arrays."""

    worth: np.ndarray  # (candidate of the item), relative to the largest
    exposure: np.ndarray  # (candidate of the item), or its log
    log_rate: np.ndarray  # (candidate of the item)
    rest: np.ndarray  # (block of one annotation): total worth, or its log, after the block
    member_worth: np.ndarray  # (member of one block): worths or their logs
    member_time: np.ndarray  # (member of one block): log arrivals
    recursion: np.ndarray  # (subset of one block), for `draw_orders`
    racing: np.ndarray  # (subset of one block)
    visits: np.ndarray  # (subset of one block)
    offset: np.ndarray  # (wait of the item), for `draw_leader_factor`
    count: np.ndarray  # (wait of the item), for `draw_leader_factor`
    power: np.ndarray  # (candidate of the item), for `draw_gammas`
    uniform: np.ndarray  # fields of `WordsAhead`
    bound: np.ndarray
    accepted: np.ndarray
    state: np.ndarray


@cached_njit()
def race_track(posterior: WorthPosterior, first: int, last: int) -> RaceTrack:
    """Allocate the work space for the items from `first` to before `last`."""
    widest, longest, largest, waits = 1, 1, 1, 0
    for i in range(first, last):
        widest = max(widest, posterior.candidate_start[i + 1] - posterior.candidate_start[i])
        item_waits = 2  # the prior, and the merged first waits
        for a in range(posterior.annotation_start[i], posterior.annotation_start[i + 1]):
            start, stop = posterior.block_start[a], posterior.block_start[a + 1]
            longest = max(longest, stop - start)
            for b in range(start, stop - 1):
                size = posterior.member_start[b + 1] - posterior.member_start[b]
                largest = max(largest, size)
                item_waits += size * posterior.multiplicity[a] if size > 1 else 1
        waits = max(waits, item_waits)
    subsets, ahead = 1 << min(largest, MAX_ORDERED), words_ahead(widest)
    return RaceTrack(
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(longest),
        np.empty(widest),
        np.empty(widest),
        np.empty(subsets),
        np.empty(subsets),
        np.empty(subsets, np.int64),
        np.empty(waits),
        np.empty(waits),
        np.empty(widest),
        ahead.uniform,
        ahead.bound,
        ahead.accepted,
        ahead.state,
    )


# --- Exposures of the candidates of an item, given the worths ---

LEAST_RATE = 1e-300
SAFE_LOG_RANGE = 80.0  # log range of worths within which R of `MAX_ORDERED` tied candidates stays in range


@inner_njit(error_model="numpy", forceinline=True)
def draw_log_rates(
    rng: np.ndarray, item: int, posterior: WorthPosterior, log_worth: np.ndarray, track: RaceTrack
) -> None:
    """Draw the races of one item, log_worth (candidate,); write log(prior rate + exposure) to ``track.log_rate``."""
    n = len(log_worth)
    first = posterior.candidate_start[item]
    rate, log_rate = posterior.rate[first : first + n], track.log_rate
    worth, exposure = track.worth, track.exposure
    largest = largest_of(log_worth)
    if posterior.partly[item]:
        smallest = smallest_shown(log_worth, item, posterior, -1)
    else:
        smallest = smallest_racing(log_worth, posterior.wins, first, -1)
    if abs(largest) < SAFE_LOG_RANGE and largest - smallest < SAFE_LOG_RANGE:
        for k in range(n):
            worth[k] = exp(log_worth[k] - largest)
        for k in range(n):
            exposure[k] = 0.0
        _race(rng, item, posterior, track)
        unit = math.exp(largest)
        for k in range(n):
            # the rate of a candidate without prior rate and exposure is zero
            log_rate[k] = log(max(rate[k] * unit + exposure[k], LEAST_RATE)) - largest
    else:
        for k in range(n):
            exposure[k] = -np.inf
        _race_in_logs(rng, item, posterior, log_worth, track)
        for k in range(n):
            log_rate[k] = log_add(math.log(rate[k]), exposure[k])


@inner_njit(error_model="numpy", fastmath={"reassoc", "nnan", "nsz"})
def largest_of(log_worth: np.ndarray) -> float:
    """Return the largest log worth (candidate of the item,)."""
    largest = log_worth[0]
    for k in range(1, len(log_worth)):
        largest = log_worth[k] if log_worth[k] > largest else largest
    return largest


@inner_njit(error_model="numpy", fastmath={"reassoc", "nnan", "nsz"})
def smallest_racing(log_worth: np.ndarray, wins: np.ndarray, first: int, apart: int) -> float:
    """Return the smallest log worth that a sum over racing candidates can consist of.

    Candidates never ranked race to the end of every race: of these the largest decides. Shapes: log_worth
    (candidate of the item,); wins (candidate,). `first` is the item's first; `apart` is left out, -1 for none.
    """
    ranked, unranked, own = np.inf, -np.inf, wins[first : first + len(log_worth)]
    for k in range(len(log_worth)):
        counts, wins_here = k != apart, own[k] > 0.0
        low = log_worth[k] if counts and wins_here else np.inf
        high = log_worth[k] if counts and not wins_here else -np.inf
        ranked = low if low < ranked else ranked
        unranked = high if high > unranked else unranked
    if unranked > -np.inf:
        ranked = min(ranked, unranked)
    return ranked


@inner_njit(error_model="numpy")
def smallest_shown(log_worth: np.ndarray, item: int, posterior: WorthPosterior, apart: int) -> float:
    """Return the same as `smallest_racing` where some annotations were shown some of the candidates only.

    The end of a race may then be of candidates that are never ranked, and small: of each end the largest decides.
    """
    first, smallest = posterior.candidate_start[item], np.inf
    for k in range(len(log_worth)):
        if k != apart and posterior.wins[first + k] > 0.0:
            smallest = min(smallest, log_worth[k])
    for a in range(posterior.annotation_start[item], posterior.annotation_start[item + 1]):
        last, largest = posterior.block_start[a + 1] - 1, -np.inf
        for q in range(posterior.member_start[last], posterior.member_start[last + 1]):
            if posterior.member[q] != apart:
                largest = max(largest, log_worth[posterior.member[q]])
        if largest > -np.inf:
            smallest = min(smallest, largest)
    return float(smallest)


@inner_njit(error_model="numpy", forceinline=True)
def _race(rng, item, posterior, track):
    """Add the exposures under the relative worths ``track.worth``."""
    block_start, multiplicity = posterior.block_start, posterior.multiplicity
    # unsigned, as compiled code asks of every signed index whether it counts from the end
    member_start, member = posterior.member_start.view(np.uint64), posterior.member.view(np.uint64)
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


@inner_njit(error_model="numpy")
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


@inner_njit(error_model="numpy")
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


@inner_njit(error_model="numpy")
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

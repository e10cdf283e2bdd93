"""The race of a tied block: arrival times of its members, given that all come before the rest.

Every candidate k arrives at an Exponential(w_k) time. Given that the members of a block B come
before the rest, of total worth Z, there are two exact ways to draw their arrivals:

by order, for small blocks
    The members still racing, A, are left by a first arrival with
    p(next = s | A) proportional to R(A - s), where R(A) = sum over a in A of R(A - a) / (Z + w(A))
    and R(empty) = 1; the time until then is Exponential(Z + w(A)). Costs 2**|B|.

by the time t of the first arrival of the rest, for any block
    t has density proportional to exp(-Z t) prod over k in B of (1 - exp(-w_k t)), log-concave in
    log t; given t the arrivals are independent exponentials truncated to (0, t). Costs |B|.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS
21(1), doi:10.1080/10618600.2012.638220, section 2. Stutz et al. (2025), arXiv:2307.02191, section
2.4.
"""

import math

import numba as nb
import numpy as np

__all__ = ["MAX_ORDERED", "OrderTable", "draw_arrivals", "draw_log_arrivals"]

MAX_ORDERED = 8
"""Largest block whose orders are drawn; the worths may differ by a factor exp(80) without overflow
of R, which grows like the reciprocal of a product of that many worths."""

UNIFORM_BELOW, UNTRUNCATED_ABOVE = -37.0, 5.8
"""Log rates (w t) at which an exponential truncated to (0, t) is, to the last bit of a double,
uniform, or not truncated at all: exp(5.8) = 330 mean times, where expm1 is far from overflow."""

OrderTable = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Work space of the order draw: R, total racing worth, and number of copies of every subset."""


@nb.njit(cache=True, error_model="numpy")
def draw_arrivals(
    rng: np.random.Generator,
    worth: np.ndarray,
    rest: float,
    copies: int,
    table: OrderTable,
    exposure: np.ndarray,
) -> float:
    """Draw the race of a small block, by order, for several identical annotations at once.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    worth : ndarray, shape (member,)
        Worths of the block's members, at most `MAX_ORDERED`.
    rest : float
        Total worth of what comes after the block.
    copies : int
        Number of independent races.
    table : OrderTable
        Three arrays of 2**member elements, overwritten.
    exposure : ndarray, shape (member,)
        Overwritten with the time each member raced, summed over the races.

    Returns
    -------
    float
        Duration of the races, summed.
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
        recursion[members] = ways / racing[members]
        visits[members] = 0
    visits[everyone] = copies

    exposure[:] = 0.0
    duration = 0.0
    for members in range(everyone, 0, -1):
        if visits[members] == 0:
            continue
        # All copies in this state wait equally long on average: one Gamma is the sum of the waits.
        wait = rng.standard_gamma(float(visits[members])) / racing[members]
        duration += wait
        for s in range(n_members):
            if members >> s & 1:
                exposure[s] += wait
        if members & (members - 1):  # the last member has no choice
            _leave(rng, members, recursion, racing, visits)
    return duration


@nb.njit(cache=True, error_model="numpy")
def _leave(rng, members, recursion, racing, visits):
    """Send every copy in the state `members` to the state without the member that arrives next."""
    ways = recursion[members] * racing[members]
    for _ in range(visits[members]):
        u = rng.random() * ways
        chosen = 0
        left = members
        while left:
            s = left & -left
            left ^= s
            chosen = s
            u -= recursion[members ^ s]
            if u < 0.0:
                break
        visits[members ^ chosen] += 1


@nb.njit(cache=True, error_model="numpy")
def draw_log_arrivals(
    rng: np.random.Generator, log_worth: np.ndarray, log_rest: float, log_arrival: np.ndarray
) -> float:
    """Draw the race of a block of any size and worths over any range, by its horizon t.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    log_worth : ndarray, shape (member,)
        Log worths of the block's members.
    log_rest : float
        Log of the total worth of what comes after the block.
    log_arrival : ndarray, shape (member,)
        Overwritten with the log arrival time of each member.

    Returns
    -------
    float
        Log of the last arrival.
    """
    log_horizon = _draw_log_horizon(rng, log_worth, log_rest)
    last = -np.inf
    for k in range(len(log_worth)):
        log_rate = log_worth[k] + log_horizon
        if log_rate < UNIFORM_BELOW:
            log_arrival[k] = log_horizon + math.log(1.0 - rng.random())
        elif log_rate > UNTRUNCATED_ABOVE:
            log_arrival[k] = math.log(rng.standard_exponential()) - log_worth[k]
        else:
            mass = math.expm1(-math.exp(log_rate))
            log_arrival[k] = math.log(-math.log1p(rng.random() * mass)) - log_worth[k]
        last = max(last, log_arrival[k])
    return last


@nb.njit(cache=True, error_model="numpy")
def _log_density(x, log_worth, log_rest):
    """Return log density of x = log t, up to a constant, and its first two derivatives."""
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


@nb.njit(cache=True, error_model="numpy")
def _draw_log_horizon(rng, log_worth, log_rest):
    """Draw log t by rejection from a cap and two tangents; exact wherever the tangents touch."""
    # The mode solves exp(x) Z = 1 + sum of elasticities in (0, 1): a bracket for Newton.
    low, high = -log_rest, math.log(len(log_worth) + 1.0) - log_rest
    x = high
    value, slope, curvature = _log_density(x, log_worth, log_rest)
    while abs(slope) > 1e-3:
        if slope > 0.0:
            low = x
        else:
            high = x
        x -= slope / curvature
        if not low < x < high:
            x = 0.5 * (low + high)
        value, slope, curvature = _log_density(x, log_worth, log_rest)
    step = 1.2 / math.sqrt(-curvature)
    left, left_slope, _ = _log_density(x - step, log_worth, log_rest)
    right, right_slope, _ = _log_density(x + step, log_worth, log_rest)
    # By concavity nothing between the two points of contact is above the cap.
    cap = value + abs(slope) * step
    rise = x - step + (cap - left) / left_slope
    fall = x + step + (cap - right) / right_slope
    left_mass, middle_mass = 1.0 / left_slope, fall - rise
    total = left_mass + middle_mass - 1.0 / right_slope
    while True:
        u = rng.random() * total
        below = rng.standard_exponential()  # of a uniform height under the envelope
        if u < left_mass:
            tail = rng.standard_exponential()
            y, height = rise - tail / left_slope, cap - tail
        elif u < left_mass + middle_mass:
            y, height = rise + (u - left_mass), cap
        else:
            tail = rng.standard_exponential()
            y, height = fall - tail / right_slope, cap - tail
        if height - below <= _log_density(y, log_worth, log_rest)[0]:
            return y

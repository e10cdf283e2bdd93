"""Arrival times of the members of a tied block, given that all come before the rest.

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

from .log_concave import log_concave_sampler
from .random_stream import standard_exponential, uniform

__all__ = ["MAX_ORDERED", "OrderTable", "draw_log_arrivals", "draw_orders"]

MAX_ORDERED = 8
"""Largest block whose orders are drawn. Worths may differ by a factor exp(80) without overflow
of R, which grows like the reciprocal of a product of that many worths."""

UNIFORM_BELOW, UNTRUNCATED_ABOVE = -37.0, 5.8
"""Log rates (w t) below and above which an exponential truncated to (0, t) is, to the last bit of a
double, uniform or untruncated: exp(5.8) = 330 mean times, where expm1 is far from overflow."""

OrderTable = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Work space of `draw_orders`: R, racing worth, and visits (int64), of every subset of a block."""


@nb.njit(error_model="numpy")
def draw_orders(
    rng: np.ndarray, worth: np.ndarray, rest: float, copies: int, table: OrderTable
) -> None:
    """Draw the orders of arrival in a small block, for `copies` identical annotations at once.

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
            _leave(rng, members, recursion, racing, visits)


@nb.njit(error_model="numpy")
def _leave(rng, members, recursion, racing, visits):
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


@nb.njit(error_model="numpy")
def draw_log_arrivals(
    rng: np.ndarray, log_worth: np.ndarray, log_rest: float, log_arrival: np.ndarray
) -> float:
    """Draw the log arrivals of a block of any size and worths, by its horizon t; return the last.

    Shapes: log_worth, log_arrival (member,), the latter overwritten. `log_rest` is log Z.
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


@nb.njit(error_model="numpy")
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

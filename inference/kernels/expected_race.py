"""Expected arrival times of the members of a tied block, given that all precede the rest.

Every member k of a block B arrives at an Exponential(w_k) time, the first of the rest, of total
worth Z, at an Exponential(Z) time. Given that the whole block arrives before the rest, there are
two ways to compute the expected arrival times and the probability p of the condition:

by subsets, for small blocks
    Q(A) = p(all of A precede the rest) = sum over s in A of w_s Q(A - s) / (Z + w(A)), and
    Q(empty) = 1. State A moves to A - s with probability
    w_s Q(A - s) / (Z + w(A)) / Q(A), after an expected wait of 1 / (Z + w(A)). Costs 2**|B|.

by the time s of the last arrival of the block, for any block
    with F_k(s) = 1 - exp(-w_k s) and h_k = F_k' / F_k, s has the density
    exp(-Z s) prod F_k sum h_k / p; member j is the last with probability h_j / sum h_k, and
    otherwise has the mean of an exponential truncated to (0, s). A trapezoid rule in log s, in
    which every term is positive. Costs |B| times the number of nodes.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS
21(1), doi:10.1080/10618600.2012.638220, section 2 (the latent race of untied rankings).
"""

import math

import numpy as np

from ...models.distributions.compiling import kept

__all__ = ["MAX_SUBSETS", "expect_by_last", "expect_by_subsets"]

MAX_SUBSETS = 8
"""Largest block for which subsets are enumerated."""

STEP = 1 / 8
"""Step of the trapezoid rule in log s; its error is at the level of rounding."""

NEGLIGIBLE = 45.0
"""Minus the log of the relative size at which the integrand is cut off."""


@kept(nogil=True, error_model="numpy")
def expect_by_subsets(worth, rest, table, exposure):
    """Return the expected last arrival of a small block, and log p(the block precedes the rest).

    Shapes: worth (member,), positive, at most `MAX_SUBSETS`; table (3, 2**member or more), work space;
    exposure (member,), overwritten with the expected arrival times. `rest` is Z, positive.
    """
    racing, precede, visits = table
    n = len(worth)
    everyone = (1 << n) - 1
    racing[0], precede[0] = rest, 1.0
    for subset in range(1, everyone + 1):
        ways = 0.0
        total = rest
        for s in range(n):
            if subset >> s & 1:
                # Q(A) = sum of w_s Q(A - s) / (Z + w(A))
                ways += worth[s] * precede[subset ^ (1 << s)]
                total += worth[s]
        racing[subset], precede[subset] = total, ways / total
        visits[subset] = 0.0
    visits[everyone] = 1.0

    exposure[:] = 0.0
    duration = 0.0
    for subset in range(everyone, 0, -1):
        # p(A is visited) / (Z + w(A))
        wait = visits[subset] / racing[subset]
        duration += wait
        for s in range(n):
            if subset >> s & 1:
                exposure[s] += wait
                left = subset ^ (1 << s)
                # p(A to A - s) = w_s Q(A - s) / (Z + w(A)) / Q(A)
                visits[left] += wait * worth[s] * precede[left] / precede[subset]
    return duration, math.log(precede[everyone])


@kept(nogil=True, error_model="numpy")
def expect_by_last(worth, rest, exposure):
    """Return the same as `expect_by_subsets` for a block of any size, by the trapezoid rule."""
    n = len(worth)
    low = -math.log(rest + worth.max()) - NEGLIGIBLE
    high = math.log((NEGLIGIBLE + 3 * n) / (rest + worth.min()))
    n_nodes = math.ceil((high - low) / STEP)
    log_weight = np.empty(n_nodes)
    for node in range(n_nodes):
        log_weight[node] = _log_density(low + node * STEP, worth, rest)
    largest = log_weight.max()

    exposure[:] = 0.0
    duration = total = 0.0
    for node in range(n_nodes):
        weight = math.exp(log_weight[node] - largest)
        if weight < math.exp(-NEGLIGIBLE):
            continue
        last = math.exp(low + node * STEP)
        hazard = 0.0
        for w in worth:
            hazard += w / math.expm1(w * last)  # h_k(s) = w_k / (exp(w_k s) - 1)
        for k in range(n):
            share = worth[k] / math.expm1(worth[k] * last) / hazard
            # last with probability h_k / sum h, otherwise truncated to (0, s)
            exposure[k] += weight * (share * last + (1 - share) * _truncated_mean(worth[k], last))
        duration += weight * last
        total += weight
    exposure /= total
    return duration / total, largest + math.log(total * STEP)


@kept(nogil=True, error_model="numpy")
def _log_density(log_last, worth, rest):
    """Return the log of s exp(-Z s) prod F_k sum h_k: the density of log s, times p."""
    last = math.exp(log_last)
    value, hazard = log_last - rest * last, 0.0
    for w in worth:
        value += math.log(-math.expm1(-w * last))
        hazard += w / math.expm1(w * last)
    return value + math.log(hazard)


@kept(nogil=True, error_model="numpy")
def _truncated_mean(rate, end):
    """Return the mean of an Exponential(rate) truncated to (0, end)."""
    x = rate * end
    if x < 0.01:  # series: the difference below would cancel; next term under rounding
        return end * (1 / 2 - x / 12 + x**3 / 720)
    return (1 - x / math.expm1(x)) / rate

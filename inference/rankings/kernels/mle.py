"""Maximum-likelihood worths of partial rankings with ties, by expectation-maximisation.

The latent data are the arrival times of the race behind each annotation, which stops at its last ranked
arrival. With n_k the (weighted) number of annotations that rank k before something else,

    E-step    e_k = expected time that k races, summed over annotations, given their rankings and w
    M-step    w_k = n_k / e_k

An untied stage of total worth Z lasts 1 / Z in expectation, which makes this Hunter's MM algorithm; tied
blocks: `expect_by_subsets` and, for any size, `expect_by_last`. The likelihood never falls, and its gradient
in log w_k is n_k - w_k e_k.

References
----------
Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32(1),
section 5, doi:10.1214/aos/1079120141. Caron and Doucet (2012), Efficient Bayesian inference for
generalized Bradley-Terry models, JCGS 21(1), section 2, doi:10.1080/10618600.2012.638220.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit


@cached_njit(nogil=True)
def strong_components(start, annotation_start, row_start, candidate, block):
    """Return the strong component of each candidate, and whether that component is unbeaten.

    Candidate i beats j if some annotation ranks i before j. Within a component, whose members beat one another
    directly or through others, maximum-likelihood worths are finite and positive (Hunter 2004, assumption 1);
    raising all worths of an unbeaten component never lowers the likelihood.

    Shapes: start, annotation_start (item + 1,); row_start (annotation + 1,); candidate, block (row,): all
    candidates of the annotation's item, block numbers ascending; component int64 (candidate,): its first
    candidate; unbeaten bool (candidate,): no candidate of another component beats any of this one.
    """
    component = np.empty(start[-1], np.int64)
    unbeaten = np.empty(start[-1], np.bool_)
    for item in range(len(start) - 1):
        first, n = start[item], start[item + 1] - start[item]
        reaches = np.zeros((n, n), np.bool_)
        for a in range(annotation_start[item], annotation_start[item + 1]):
            for q in range(row_start[a], row_start[a + 1]):
                for r in range(q + 1, row_start[a + 1]):
                    if block[r] > block[q]:
                        reaches[candidate[q] - first, candidate[r] - first] = True
        # transitive closure (Warshall)
        for via in range(n):
            for i in range(n):
                if reaches[i, via]:
                    reaches[i] |= reaches[via]
        for i in range(n):
            component[first + i] = first + i
            unbeaten[first + i] = True
            for j in range(n):
                # beaten by another component
                if reaches[j, i] and not reaches[i, j]:
                    unbeaten[first + i] = False
            for j in range(i):
                if reaches[j, i] and reaches[i, j]:
                    component[first + i] = component[first + j]
                    break
    return component, unbeaten


# --- Expected arrival times of the members of a tied block, given that all precede the rest ---

MAX_SUBSETS = 8  # largest block for which subsets are enumerated
STEP = 1 / 8  # of the trapezoid rule in log s; its error is at the level of rounding
NEGLIGIBLE = 45.0  # minus the log of the relative size at which the integrand is cut off


@cached_njit(nogil=True, error_model="numpy")
def expect_by_subsets(worth, rest, table, exposure):
    """Return the expected last arrival of a small block, and log p(the block precedes the rest).

        Q(A) = p(all of A precede the rest) = sum over s in A of w_s Q(A - s) / (Z + w(A)),     Q(empty) = 1

    State A lasts 1 / (Z + w(A)) in expectation, and becomes A - s with probability
    w_s Q(A - s) / (Z + w(A)) / Q(A). Costs 2**|B|.

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


@cached_njit(nogil=True, error_model="numpy")
def expect_by_last(worth, rest, exposure):
    """Return the same as `expect_by_subsets` for a block of any size, by the trapezoid rule.

    With F_k(s) = 1 - exp(-w_k s) and h_k = F_k' / F_k, the last arrival s of the block has the density
    exp(-Z s) prod_k F_k sum_k h_k / p. Member j is the last with probability h_j / sum_k h_k, and otherwise has the
    mean of an exponential truncated to (0, s). Every term is positive. Costs |B| for each node.
    """
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


@cached_njit(nogil=True, error_model="numpy")
def _log_density(log_last, worth, rest):
    """Return the log of s exp(-Z s) prod F_k sum h_k: the density of log s, times p."""
    last = math.exp(log_last)
    value, hazard = log_last - rest * last, 0.0
    for w in worth:
        value += math.log(-math.expm1(-w * last))
        hazard += w / math.expm1(w * last)
    return value + math.log(hazard)


@cached_njit(nogil=True, error_model="numpy")
def _truncated_mean(rate, end):
    """Return the mean of an Exponential(rate) truncated to (0, end)."""
    x = rate * end
    if x < 0.01:  # series: the difference below would cancel; next term under rounding
        return end * (1 / 2 - x / 12 + x**3 / 720)
    return (1 - x / math.expm1(x)) / rate


# --- Expectation-maximisation ---


class Races(NamedTuple):
    """Independent problems, each with a few candidates and rankings of all of them."""

    candidate_start: np.ndarray  # int64 (problem + 1,), candidates of each problem
    ranking_start: np.ndarray  # int64 (problem + 1,), rankings of each problem
    block_start: np.ndarray  # int64 (ranking + 1,), at least two blocks, best first
    member_start: np.ndarray  # int64 (block + 1,), members of each block
    member: np.ndarray  # int64 (member,), candidates; the blocks of a ranking partition those of its problem
    weight: np.ndarray  # float64 (ranking,), power of the likelihood


@cached_njit(nogil=True, error_model="numpy")
def maximise_worth(races, max_iterations, tolerance):
    """Maximise the likelihood of every problem from equal worths.

    Shapes: worth (candidate,), sums to one in each problem; log likelihood with every ranking counted once,
    iterations and convergence (problem,). All candidates of a problem must beat one another, directly or
    through others. `tolerance` bounds the gradient in the log worths, by the weight of the problem's rankings.
    """
    n_problems = len(races.candidate_start) - 1
    worth = np.empty(races.candidate_start[-1])
    log_likelihood = np.empty(n_problems)
    iterations = np.empty(n_problems, np.int64)
    converged = np.empty(n_problems, np.bool_)
    table = np.empty((3, 1 << MAX_SUBSETS))
    for problem in range(n_problems):
        first, last = races.candidate_start[problem], races.candidate_start[problem + 1]
        here = worth[first:last]
        here[:] = 1.0 / (last - first)
        wins = _count_wins(races, problem)
        exposure = np.empty(last - first)
        weight = races.weight[races.ranking_start[problem] : races.ranking_start[problem + 1]].sum()
        step = 0
        while True:
            log_likelihood[problem] = _e_step(races, problem, here, table, exposure)
            level = True
            for k in range(last - first):
                # gradient in log w_k: n_k - w_k e_k
                level &= abs(wins[k] - here[k] * exposure[k]) <= tolerance * weight
            converged[problem] = level
            if level or step == max_iterations:
                break
            total = 0.0
            for k in range(last - first):
                here[k] = wins[k] / exposure[k]  # M-step
                total += here[k]
            for k in range(last - first):
                here[k] /= total
            step += 1
        iterations[problem] = step
    return worth, log_likelihood, iterations, converged


@cached_njit(nogil=True)
def _count_wins(races, problem):
    """Return n_k, the weighted number of rankings that place each candidate before the last block."""
    first = races.candidate_start[problem]
    wins = np.zeros(races.candidate_start[problem + 1] - first)
    for a in range(races.ranking_start[problem], races.ranking_start[problem + 1]):
        start = races.member_start[races.block_start[a]]
        for q in range(start, races.member_start[races.block_start[a + 1] - 1]):
            wins[races.member[q] - first] += races.weight[a]
    return wins


@cached_njit(nogil=True, error_model="numpy")
def _e_step(races, problem, worth, table, exposure):
    """Run the E-step: overwrite `exposure` with e_k; return the log likelihood."""
    first = races.candidate_start[problem]
    exposure[:] = 0.0
    log_likelihood = 0.0
    for a in range(races.ranking_start[problem], races.ranking_start[problem + 1]):
        start, last = races.block_start[a], races.block_start[a + 1] - 1
        rest = np.zeros(last + 1 - start)
        for b in range(last, start, -1):
            for k in races.member[races.member_start[b] : races.member_start[b + 1]]:
                rest[b - 1 - start] += worth[k - first]
            if b - 1 > start:
                rest[b - 2 - start] = rest[b - 1 - start]
        elapsed = 0.0
        for b in range(start, last):
            block = races.member[races.member_start[b] : races.member_start[b + 1]] - first
            duration, log_p, times = _expect_block(worth[block], rest[b - start], table)
            for j in range(len(block)):
                exposure[block[j]] += races.weight[a] * (elapsed + times[j])
            elapsed += duration
            log_likelihood += log_p
        for k in races.member[races.member_start[last] : races.member_start[last + 1]]:
            exposure[k - first] += races.weight[a] * elapsed
    return log_likelihood


@cached_njit(nogil=True, error_model="numpy")
def _expect_block(worth, rest, table):
    """Return expected duration, log probability and expected arrival times of one block."""
    times = np.empty(len(worth))
    if len(worth) == 1:
        times[0] = 1.0 / (worth[0] + rest)
        return times[0], -math.log1p(rest / worth[0]), times
    if len(worth) <= MAX_SUBSETS:
        duration, log_p = expect_by_subsets(worth, rest, table, times)
    else:
        duration, log_p = expect_by_last(worth, rest, times)
    return duration, log_p, times

"""Maximum-likelihood worths of partial rankings with ties, by expectation-maximisation.

The latent data are the arrival times of the race behind each annotation, which stops at its last ranked
arrival. With n_k the (weighted) number of annotations that rank k before something else,

    E-step    e_k = expected time that k races, summed over annotations, given their rankings and w
    M-step    w_k = n_k / e_k

An untied stage of total worth Z lasts 1 / Z in expectation, which makes this Hunter's MM
algorithm; tied blocks: `expected_race`. The likelihood never falls, and its gradient in log w_k is
n_k - w_k e_k.

References
----------
Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32(1),
section 5, doi:10.1214/aos/1079120141. Caron and Doucet (2012), Efficient Bayesian inference for
generalized Bradley-Terry models, JCGS 21(1), section 2, doi:10.1080/10618600.2012.638220.
"""

import math
from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept
from .expected_race import MAX_SUBSETS, expect_by_last, expect_by_subsets

__all__ = ["Races", "ascend_worth"]


class Races(NamedTuple):
    """Independent problems, each with a few candidates and rankings of all of them."""

    candidate_start: np.ndarray  # int64 (problem + 1,), candidates of each problem
    ranking_start: np.ndarray  # int64 (problem + 1,), rankings of each problem
    block_start: np.ndarray  # int64 (ranking + 1,), at least two blocks, best first
    member_start: np.ndarray  # int64 (block + 1,), members of each block
    # int64 (member,), candidates; the blocks of a ranking partition those of its problem
    member: np.ndarray
    weight: np.ndarray  # float64 (ranking,), power of the likelihood


@kept(nogil=True)
def ascend_worth(races, max_iterations, tolerance):
    """Maximise the likelihood of every problem from equal worths.

    Shapes: worth (candidate,), sums to one in each problem; log likelihood with every ranking counted once,
    iterations and convergence (problem,). All candidates of a problem must beat one another, directly or
    through others. `tolerance` bounds the gradient in the log worths, as a share of the weight of all
    rankings of the problem.
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
            log_likelihood[problem] = _expect(races, problem, here, table, exposure)
            # gradient in log w_k: n_k - w_k e_k
            converged[problem] = np.abs(wins - here * exposure).max() <= tolerance * weight
            if converged[problem] or step == max_iterations:
                break
            here[:] = wins / exposure  # M-step
            here /= here.sum()
            step += 1
        iterations[problem] = step
    return worth, log_likelihood, iterations, converged


@kept(nogil=True)
def _count_wins(races, problem):
    """Return n_k, the weighted number of rankings that place each candidate before the last block."""
    first = races.candidate_start[problem]
    wins = np.zeros(races.candidate_start[problem + 1] - first)
    for a in range(races.ranking_start[problem], races.ranking_start[problem + 1]):
        start = races.member_start[races.block_start[a]]
        for q in range(start, races.member_start[races.block_start[a + 1] - 1]):
            wins[races.member[q] - first] += races.weight[a]
    return wins


@kept(nogil=True, error_model="numpy")
def _expect(races, problem, worth, table, exposure):
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


@kept(nogil=True, error_model="numpy")
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

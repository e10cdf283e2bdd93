"""Gibbs moves of the population of raters, with their confusion matrices integrated out.

    pi_kj    ~ Dirichlet(s_g (u_g e_j + (1 - u_g) / n))        for rater k of population g
    p(u, s | T, y)  proportional to  p(u) p(s) prod_kj Gamma(s) / Gamma(s + N_kj) prod_l Gamma(beta_jl + N_kjl) / Gamma(beta_jl)

beta_jl has two values, on the diagonal and beside it, so that the density needs only how often each count occurs.
Moves are slices of logit u and of log s.

References
----------
Minka (2000), Estimating a Dirichlet distribution, section 4 (the compound law). Neal (2003), Slice sampling, Annals of
Statistics 31(3), doi:10.1214/aos/1056562461.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import inner_njit
from ...kernels.slice_sampling import slice_sampler


class Population(NamedTuple):
    """Populations of raters, and the priors of their skill u and strength s; without any, priors are fixed."""

    of: np.ndarray  # int64 (rater,), population of each rater, -1 for those of none
    skill: np.ndarray  # (population, 2), Beta prior of u
    strength: np.ndarray  # (population, 2), mean and sd of log s


NO_POPULATION = Population(np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 2)))
MOST_LOGIT = 30.0
RIGHT, WRONG, WHOLE = 0, 1, 2  # counts on the diagonal, beside it, and of rows


@inner_njit(error_model="numpy")
def _rising(alpha, tally, kind):
    """Return the sum of log Gamma(alpha + count) / Gamma(alpha) over the counts of one kind."""
    value, weight, length = tally
    start, total = math.lgamma(alpha), 0.0
    for v in range(length[kind]):
        total += weight[kind, v] * (math.lgamma(alpha + value[kind, v]) - start)
    return total


@inner_njit(error_model="numpy")
def _of_skill(x, parameters):
    """Return the log density of logit u given s."""
    strength, n, prior, tally = parameters
    if abs(x) > MOST_LOGIT:
        return -np.inf
    u, rest = 1.0 / (1.0 + math.exp(-x)), 1.0 / (1.0 + math.exp(x))
    beside = strength * rest / n
    density = prior[0] * math.log(u) + prior[1] * math.log(rest)
    return density + _rising(strength * u + beside, tally, RIGHT) + _rising(beside, tally, WRONG)


@inner_njit(error_model="numpy")
def _of_strength(x, parameters):
    """Return the log density of log s given u."""
    u, n, prior, tally = parameters
    strength = math.exp(x)
    beside = strength * (1.0 - u) / n
    density = -0.5 * ((x - prior[0]) / prior[1]) ** 2 - _rising(strength, tally, WHOLE)
    return density + _rising(strength * u + beside, tally, RIGHT) + _rising(beside, tally, WRONG)


_move_skill, _move_strength = slice_sampler(_of_skill), slice_sampler(_of_strength)


@inner_njit(error_model="numpy")
def sweeps_per_move(counts: np.ndarray, answers: int) -> int:
    """Return after how many sweeps the populations move, for at most about a fifth of the time of the sweeps."""
    cells, n = counts.size, counts.shape[1]
    # nanoseconds: the counts are read; distinct counts, of which there are at most so many, cost a logarithm of Gamma
    move = 3.0 * cells + 400.0 * min(float(cells), 3.0 * math.sqrt(2.0 * answers))
    return 1 + int(5.0 * move / (4.0 * n * (answers + 1.0)))


@inner_njit(error_model="numpy")
def move_populations(
    rng: np.ndarray,
    population: Population,
    totals_and_counts: tuple[np.ndarray, np.ndarray],
    values: np.ndarray,
    concentrations: tuple[np.ndarray, np.ndarray],
) -> None:
    """Move skill and strength of every population, and overwrite the concentrations of its raters.

    Shapes: totals int64 (rater, category), counts int64 (rater * label, category), values (population, 2), concentrations
    (rater * label, category) and (rater, category).
    """
    totals, counts = totals_and_counts
    n = counts.shape[1]
    most = 0
    for k in range(len(totals)):
        for j in range(n):
            most = max(most, totals[k, j])
    often = np.empty((3, most + 1), np.int64)
    value, weight, length = np.empty((3, most)), np.empty((3, most)), np.empty(3, np.int64)
    for g in range(len(values)):
        often[:] = 0
        rows = several = 0  # rows of two answers or more tell how much they differ
        for k in range(len(totals)):
            if population.of[k] != g:
                continue
            rows += n
            for j in range(n):
                several += totals[k, j] > 1
                if totals[k, j] > 0:
                    often[WHOLE, totals[k, j]] += 1
                    for label in range(n):
                        often[RIGHT if label == j else WRONG, counts[k * n + label, j]] += 1
        answers = 0.0
        for kind in range(3):
            length[kind] = 0
            for v in range(1, most + 1):
                if often[kind, v] > 0:
                    value[kind, length[kind]], weight[kind, length[kind]] = v, often[kind, v]
                    length[kind] += 1
                    if kind == WHOLE:
                        answers += v * often[kind, v]
        u, s = values[g]
        tally = (value, weight, length)
        # widths of about two and a half standard deviations
        width = 2.5 / math.sqrt(1.0 + 0.2 * min(answers, rows * (1.0 + s)))
        x = _move_skill(rng, (s, n, population.skill[g], tally), math.log(u) - math.log1p(-u), width)
        u = 1.0 / (1.0 + math.exp(-x))
        width = 2.5 / math.sqrt(1.0 + 0.5 * several)
        s = math.exp(_move_strength(rng, (u, n, population.strength[g], tally), math.log(s), width))
        values[g, 0], values[g, 1] = u, s
    concentrate(population, values, concentrations)


@inner_njit(error_model="numpy")
def concentrate(
    population: Population, values: np.ndarray, concentrations: tuple[np.ndarray, np.ndarray]
) -> None:
    """Overwrite the concentrations, by entry and by row, of the raters of all populations; shapes as of `move_populations`."""
    confusion, row_total = concentrations
    n = confusion.shape[1]
    for k in range(len(row_total)):
        if population.of[k] < 0:
            continue
        u, s = values[population.of[k]]
        beside = s * (1.0 - u) / n
        for j in range(n):
            row_total[k, j] = s
            for label in range(n):
                confusion[k * n + label, j] = s * u + beside if label == j else beside

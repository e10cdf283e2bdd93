"""Gibbs chains of labels and stated probabilities: prevalence, kinds of answers, means and variances of log odds, truth T.

    prevalence | T             Dirichlet(alpha + number of items of each category)
    share_kj | T               Dirichlet(beta_kj + number of answers of each kind: a label outright, or a probability)
    v_kj | T, z                b' / Gamma(a + n/2),  b' = b + (sum z^2 + c m^2 - (c + n) m'^2) / 2
    mu_kj | v, T, z            Normal(m', v / (c + n)),  m' = (c m + sum z) / (c + n)
    T_i | all                  prevalence_j prod_a share[rater_a, j, kind_a] Normal(z_a; mu, v)

n of the log odds z of rater k are about items of true category j. Stored plausibilities are Rao-Blackwellised.

Reference: Gelman et al. (2013), Bayesian Data Analysis, third edition, section 3.3 (normal data with a conjugate prior).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, standard_normal, uniform
from .gibbs import ConfusionPrior, draw_prevalence, draw_rows

KINDS = 3  # of answers: the labels outright, and a probability
LOG_TWO_PI = math.log(2.0 * math.pi)


class StatedAnswers(NamedTuple):
    """Answers grouped by item."""

    start: np.ndarray  # int64 (item + 1,): answers of item i are start[i]:start[i + 1]
    rater: np.ndarray  # int64 (answer,)
    label: np.ndarray  # int64 (answer,)
    log_odds: np.ndarray  # (answer,), infinite where the label is given outright
    gold: np.ndarray  # int64 (item,): true category of gold items, -1 elsewhere


class StatedPrior(NamedTuple):
    """Priors; those of the log odds are of all raters, also of who states none."""

    answers: ConfusionPrior  # of prevalence and kinds of answers
    mean: np.ndarray  # (rater, category): m
    weight: float  # c
    shape: float  # a
    rate: np.ndarray  # (rater,): b u^2; 0 of who states none


class StatedDraws(NamedTuple):
    """Output arrays of a chain."""

    prevalence: np.ndarray  # (draw, category)
    table: np.ndarray  # (draw, rater * kind, category)
    mean: np.ndarray  # (draw, rater, category)
    variance: np.ndarray  # (draw, rater, category)
    plausibility: np.ndarray  # (draw, item, category)
    log_p: np.ndarray  # (draw, item, 2): of the labels, and of labels and statements


@inner_njit(error_model="numpy")
def _count(answers, category, items, counts, sums):
    """Overwrite numbers of items (category,) and answers (rater * kind, category), sums of z and z^2 (rater, category, 2)."""
    items.fill(0)
    counts.fill(0)
    sums.fill(0.0)
    for i in range(len(category)):
        j = category[i]
        items[j] += 1
        for a in range(answers.start[i], answers.start[i + 1]):
            k, z = answers.rater[a], answers.log_odds[a]
            if math.isinf(z):
                counts[k * KINDS + answers.label[a], j] += 1
            else:
                counts[k * KINDS + 2, j] += 1
                sums[k, j, 0] += z
                sums[k, j, 1] += z * z


@inner_njit(error_model="numpy")
def _draw_log_odds(rng, prior, counts, sums, mean, variance):
    """Overwrite means and variances (rater, category) given the counts and sums; of who states none with 0 and 1."""
    for k in range(len(mean)):
        for j in range(mean.shape[1]):
            mean[k, j], variance[k, j] = 0.0, 1.0
            if prior.rate[k] > 0.0:
                n, m = counts[k * KINDS + 2, j], prior.mean[k, j]
                weight = prior.weight + n
                place = (prior.weight * m + sums[k, j, 0]) / weight
                rate = prior.rate[k] + 0.5 * (sums[k, j, 1] + prior.weight * m * m - weight * place * place)
                variance[k, j] = rate * math.exp(-log_standard_gamma(rng, prior.shape + 0.5 * n))
                mean[k, j] = place + math.sqrt(variance[k, j] / weight) * standard_normal(rng)


@inner_njit(error_model="numpy")
def _fill_tables(table, mean, variance, log_share, log_hard, normal):
    """Overwrite log shares (rater * kind, category), log p(label | truth) (rater, label, category), and normal laws."""
    for k in range(len(mean)):
        for j in range(mean.shape[1]):
            sd = math.sqrt(variance[k, j])
            below = 0.5 * math.erfc(mean[k, j] / sd / math.sqrt(2.0))
            above = 0.5 * math.erfc(-mean[k, j] / sd / math.sqrt(2.0))
            for kind in range(KINDS):
                log_share[k * KINDS + kind, j] = math.log(table[k * KINDS + kind, j])
            stated = table[k * KINDS + 2, j]
            log_hard[k, 0, j] = math.log(table[k * KINDS, j] + stated * below)
            log_hard[k, 1, j] = math.log(table[k * KINDS + 1, j] + stated * above)
            normal[k, j, 0], normal[k, j, 1] = mean[k, j], 0.5 / variance[k, j]
            normal[k, j, 2] = log_share[k * KINDS + 2, j] - 0.5 * (math.log(variance[k, j]) + LOG_TWO_PI)


@inner_njit(error_model="numpy", inline="always")
def _log_sum(p):
    """Return the log of the sum of exponentials."""
    top = p.max()
    total = 0.0
    for j in range(len(p)):
        total += math.exp(p[j] - top)
    return top + math.log(total)


@inner_njit(error_model="numpy")
def _draw_truth(rng, answers, prevalence, tables, category, place):
    """Overwrite the true categories (item,), and plausibility and log p of the items unless `place` has no items."""
    log_share, log_hard, normal = tables
    plausibility, log_p = place
    n = len(prevalence)
    joint, of_labels = np.empty(n), np.empty(n)
    for i in range(len(category)):
        known = answers.gold[i]
        for j in range(n):
            possible = known < 0 or known == j
            joint[j] = math.log(prevalence[j]) if possible else -np.inf
            of_labels[j] = joint[j]
            for a in range(answers.start[i], answers.start[i + 1]):
                k, z = answers.rater[a], answers.log_odds[a]
                if math.isinf(z):
                    joint[j] += log_share[k * KINDS + answers.label[a], j]
                else:
                    joint[j] += normal[k, j, 2] - (z - normal[k, j, 0]) ** 2 * normal[k, j, 1]
                of_labels[j] += log_hard[k, answers.label[a], j]
        if len(log_p):
            log_p[i, 0], log_p[i, 1] = _log_sum(of_labels), _log_sum(joint)
        exp_normalise(joint)
        drawn = category_at(joint, uniform(rng))
        category[i] = drawn if known < 0 else known
        if len(log_p):
            for j in range(n):
                plausibility[i, j] = joint[j]


@cached_njit(nogil=True, error_model="numpy")
def sample_statements(
    rng: np.ndarray,
    answers: StatedAnswers,
    prior: StatedPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[np.ndarray, StatedDraws],
) -> None:
    """Run one chain on from its true categories, in place; `schedule` has the sweeps before the first draw, and for each."""
    category, draws = state_and_draws
    raters, n = prior.mean.shape
    items, counts = np.zeros(n, np.int64), np.zeros((raters * KINDS, n), np.int64)
    sums, prevalence = np.zeros((raters, n, 2)), np.empty(n)
    table, mean, variance = np.empty(counts.shape), np.empty((raters, n)), np.empty((raters, n))
    tables = (np.empty(counts.shape), np.empty((raters, 2, n)), np.empty((raters, n, 3)))
    kept = (np.empty((draws.log_p.shape[1], n)), np.empty((draws.log_p.shape[1], 2)))
    passing = (np.empty((0, n)), np.empty((0, 2)))
    sweeps = schedule[0]
    for d in range(len(draws.prevalence)):
        sweeps += schedule[1]
        for sweep in range(sweeps):
            _count(answers, category, items, counts, sums)
            draw_prevalence(rng, prior.answers, items, prevalence)
            draw_rows(rng, prior.answers, counts, table)
            _draw_log_odds(rng, prior, counts, sums, mean, variance)
            _fill_tables(table, mean, variance, tables[0], tables[1], tables[2])
            place = kept if sweep == sweeps - 1 else passing
            _draw_truth(rng, answers, prevalence, tables, category, place)
        sweeps = 0
        draws.prevalence[d], draws.table[d] = prevalence, table
        draws.mean[d], draws.variance[d] = mean, variance
        if draws.log_p.shape[1]:
            draws.plausibility[d], draws.log_p[d] = kept

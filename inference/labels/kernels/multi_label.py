"""Gibbs chains of sets of tags: the set of every item, rates and skill of the raters, and the weights of tags and pairs.

    T_i | w, r, q, y     p(T) prod_a prod_t q(bit t of y_a | bit t of T), over all sets
    u_k, s_k | T, y      slices, with the rates of the rater integrated out
    q_kt | T, u, s, y    Beta
    w_t, r_tv | T        log-concave, one by one: Normal prior times prod_i p(T_i)

Every stored draw has a Rao-Blackwellised plausibility, p(T | w, r, q, answers), from the pass over the answers with which the
next sweep begins.

References
----------
Cox (1972), The analysis of multivariate binary data, JRSS C 21(2), doi:10.2307/2346482 (the law of the sets; the sampler is
ours). Gilks and Wild (1992), doi:10.2307/2347565 (log-concave conditionals).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import Answers
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform
from .population import Population, concentrate, move_populations

LEAST_LOG = (
    -600.0
)  # floor of log rates: a rate that is 0 in doubles would leave differences of logs without digits
MOVE, ANSWER = 4000.0, 20.0  # nanoseconds of a move of a rater's skill, and of a tag of an answer


class TagPrior(NamedTuple):
    """Priors, and what each weight is the factor of."""

    feature: np.ndarray  # (weight, set)
    mean: np.ndarray  # (weight,) of tags, then of pairs
    sd: np.ndarray  # (weight,)
    skill: np.ndarray  # (rater, 2), Beta
    strength: np.ndarray  # (rater, 2), mean and sd of the log


class TagState(NamedTuple):
    """State of a chain."""

    truth: np.ndarray  # int64 (item,)
    weight: np.ndarray  # (weight,)
    skill: np.ndarray  # (rater, 2), skill and strength
    done: np.ndarray  # int64 (1,), sweeps so far, of which some move the skills


class TagDraws(NamedTuple):
    """Output arrays of a chain."""

    weight: np.ndarray  # (draw, weight)
    skill: np.ndarray  # (draw, rater, 2)
    rate: np.ndarray  # (draw, rater, tag, 2), specificity and sensitivity
    prevalence: np.ndarray  # (draw, set)
    plausibility: np.ndarray  # (draw, item, set)
    log_p: np.ndarray  # (draw, item)


@cached_njit(nogil=True, error_model="numpy")
def sample_tags(
    rng: np.ndarray,
    answers: Answers,
    prior: TagPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[TagState, TagDraws],
) -> None:
    """Run one chain on from its state, in place; schedule: (warm-up, sweeps per draw)."""
    (sweeps, thin), (state, draws) = schedule, state_and_draws
    n_raters, n_sets = len(prior.skill), prior.feature.shape[1]
    n_tags = 0
    while 1 << n_tags < n_sets:
        n_tags += 1
    rows = n_raters * n_tags
    # of the answers yes and no to each tag of a rater, a row for each, by whether the tag is true
    counts, totals = np.zeros((2 * rows, 2), np.int64), np.zeros((rows, 2), np.int64)
    beta, row_total, log_rate = np.empty((2 * rows, 2)), np.empty((rows, 2)), np.empty((2 * rows, 2))
    _concentrate_all(state.skill, n_tags, (beta, row_total))
    log_prior, often = np.empty(n_sets), np.zeros(n_sets, np.int64)
    n_items = len(state.truth)
    pointwise = (np.empty(n_items), np.empty((n_items, n_sets)))
    _count(answers, state.truth, n_tags, (often, totals, counts))
    every = 1 + int(MOVE * n_raters / (ANSWER * n_tags * (len(answers.code) + 1.0)))
    for d in range(len(draws.weight)):
        sweeps += thin
        for _ in range(sweeps):
            if state.done[0] % every == 0:
                _move_skills(rng, prior, (totals, counts), state.skill, n_tags, (beta, row_total))
            state.done[0] += 1
            _draw_rates(rng, counts, beta, log_rate)
            _draw_weights(rng, prior, often, state.weight, log_prior)
            _draw_sets(rng, answers, (log_prior, log_rate), n_tags, state.truth, pointwise)
            _count(answers, state.truth, n_tags, (often, totals, counts))
        sweeps = 0
        draws.weight[d] = state.weight
        draws.skill[d] = state.skill
        for row in range(rows):
            for j in range(2):  # yes where the tag is true, no where it is not
                draws.rate[d, row // n_tags, row % n_tags, j] = math.exp(log_rate[2 * row + j, j])
        for k in range(n_sets):
            draws.prevalence[d, k] = math.exp(log_prior[k])
        for i in range(draws.log_p.shape[1]):
            draws.log_p[d, i] = pointwise[0][i]
            draws.plausibility[d, i] = pointwise[1][i]


@inner_njit(error_model="numpy")
def _count(answers, truth, n_tags, counts):
    """Overwrite the numbers of items of each set, of answers to each tag of a rater by its truth, and of those yes and no."""
    often, totals, given = counts
    often[:] = 0
    totals[:] = 0
    given[:] = 0
    for i in range(len(truth)):
        own = truth[i]
        often[own] += 1
        for a in range(answers.start[i], answers.start[i + 1]):
            first, said = (answers.code[a] >> n_tags) * n_tags, answers.code[a]
            for t in range(n_tags):
                true = (own >> t) & 1
                totals[first + t, true] += 1
                given[2 * (first + t) + ((said >> t) & 1), true] += 1


@inner_njit(error_model="numpy")
def _concentrate_all(skill, n_tags, concentrations):
    """Overwrite the concentrations of the rates of all raters."""
    of = np.arange(len(skill) * n_tags) // n_tags
    concentrate(Population(of, skill, skill), skill, concentrations)


@inner_njit(error_model="numpy")
def _move_skills(rng, prior, totals_and_counts, skill, n_tags, concentrations):
    """Move skill and strength of each rater, a population of its tags, and overwrite the concentrations of its rates."""
    (totals, counts), (beta, row_total) = totals_and_counts, concentrations
    of = np.zeros(n_tags, np.int64)
    for k in range(len(skill)):
        own, two = slice(k * n_tags, (k + 1) * n_tags), slice(2 * k * n_tags, 2 * (k + 1) * n_tags)
        population = Population(of, prior.skill[k : k + 1], prior.strength[k : k + 1])
        move_populations(
            rng, population, (totals[own], counts[two]), skill[k : k + 1], (beta[two], row_total[own])
        )


@inner_njit(error_model="numpy")
def _draw_rates(rng, counts, beta, log_rate):
    """Draw p(answer | truth of the tag) of each row, in logs: Beta(beta + counts)."""
    for row in range(0, len(counts), 2):
        for j in range(2):
            no = log_standard_gamma(rng, beta[row, j] + counts[row, j])
            yes = log_standard_gamma(rng, beta[row + 1, j] + counts[row + 1, j])
            most = max(no, yes)
            total = most + math.log1p(math.exp(min(no, yes) - most))
            log_rate[row, j], log_rate[row + 1, j] = max(no - total, LEAST_LOG), max(yes - total, LEAST_LOG)


@inner_njit(error_model="numpy")
def _of_weight(x, parameters):
    """Return log density, slope and curvature of one weight: Normal(mean, sd) times prod_k p_k^n_k."""
    rest, feature, total, items, mean, sd = parameters
    most = -np.inf
    for k in range(len(rest)):
        most = max(most, rest[k] + x * feature[k])
    mass = first = second = 0.0
    for k in range(len(rest)):
        p = math.exp(rest[k] + x * feature[k] - most)
        mass += p
        first += p * feature[k]
        second += p * feature[k] * feature[k]
    first /= mass
    away = (x - mean) / sd
    value = x * total - items * (most + math.log(mass)) - 0.5 * away * away
    curvature = -items * max(second / mass - first * first, 0.0) - 1.0 / (sd * sd)
    return value, total - items * first - away / sd, curvature


_draw_weight = log_concave_sampler(_of_weight)


@inner_njit(error_model="numpy")
def _draw_weights(rng, prior, often, weight, log_prior):
    """Draw the weights one by one given the numbers of items of each set, and overwrite the log probabilities of the sets."""
    n_weights, n_sets = prior.feature.shape
    items = 0
    for k in range(n_sets):
        log_prior[k] = 0.0
        items += often[k]
        for j in range(n_weights):
            log_prior[k] += weight[j] * prior.feature[j, k]
    for j in range(n_weights):
        feature, total = prior.feature[j], 0.0
        for k in range(n_sets):
            log_prior[k] -= weight[j] * feature[k]
            total += often[k] * feature[k]
        parameters = (log_prior, feature, total, float(items), prior.mean[j], prior.sd[j])
        weight[j] = _draw_weight(rng, parameters, weight[j])
        for k in range(n_sets):
            log_prior[k] += weight[j] * feature[k]
    most, mass = log_prior.max(), 0.0
    for k in range(n_sets):
        mass += math.exp(log_prior[k] - most)
    for k in range(n_sets):
        log_prior[k] -= most + math.log(mass)


@inner_njit(error_model="numpy")
def _draw_sets(rng, answers, parameters, n_tags, truth, pointwise):
    """Draw the set of every item given the parameters; overwrite log p (item,) and plausibility (item, set)."""
    (log_prior, log_rate), (log_p, plausibility) = parameters, pointwise
    start, code, known = answers
    odds = np.empty(n_tags)
    for i in range(len(truth)):
        base, p = 0.0, plausibility[i]
        odds[:] = 0.0
        for a in range(start[i], start[i + 1]):
            first = (code[a] >> n_tags) * n_tags
            for t in range(n_tags):
                row = 2 * (first + t) + ((code[a] >> t) & 1)
                base += log_rate[row, 0]
                odds[t] += log_rate[row, 1] - log_rate[row, 0]
        p[0] = base
        for t in range(n_tags):
            for k in range(1 << t):
                p[k + (1 << t)] = p[k] + odds[t]
        most = -np.inf
        for k in range(len(p)):
            p[k] = p[k] + log_prior[k] if known[i] < 0 or known[i] == k else -np.inf
            most = max(most, p[k])
        mass = 0.0
        for k in range(len(p)):
            mass += math.exp(p[k] - most)
        log_p[i] = most + math.log(mass)
        exp_normalise(p)
        truth[i] = category_at(p, uniform(rng))

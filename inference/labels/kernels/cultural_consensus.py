"""Gibbs chains of populations with truths of their own: joint truths of the items, memberships and abilities of the raters.

A joint truth c of an item is a truth t_g(c) of each population g. With r_kg the answers of rater k that are the truth of
population g, and w_kg the others:

    p | T                     Dirichlet(alpha + number of items of each joint truth)
    w | m                     Dirichlet(gamma + number of raters of each population)
    m_k | w, T, y             proportional to w_g B(a + r_kg, b + w_kg), the ability summed out
    q_k | m, T, y             Beta(a + r_km, b + w_km)
    m_k | w, p, q, y          once a sweep for a rater at random: proportional to w_g prod_i p(y_i | m_k = g), truths summed out
    T_i | p, m, q, y          p(T_i = c) proportional to p_c prod_a p(y_a | q, t_m(c))

Given the truths a rater whose own errors are the truths of a population hardly leaves it; with them summed out it does.

Every stored draw has Rao-Blackwellised probabilities of the truths, p(T | p, m, q, answers), from the pass over the answers with
which the sweep ends.

Reference: Anders and Batchelder (2012), Cultural consensus theory for multiple consensus truths, Journal of Mathematical
Psychology 56(6), doi:10.1016/j.jmp.2013.01.004 (the law; joint truths and sampler are ours).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import Answers
from ....models.distributions.vector_math import copy_into
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform


class ConsensusPrior(NamedTuple):
    """Concentrations, and the truth of each population in each joint truth."""

    joint: np.ndarray  # (truths,)
    share: np.ndarray  # (population,)
    right: np.ndarray  # (rater,)
    wrong: np.ndarray  # (rater,)
    truth: np.ndarray  # int64 (truths, population)
    contested: np.ndarray  # bool (truths,)


class ItemsOfRaters(NamedTuple):
    """Items that each rater answered, each once."""

    start: np.ndarray  # int64 (rater + 1,)
    item: np.ndarray  # int64


class ConsensusState(NamedTuple):
    """State of a chain between two sweeps."""

    cell: np.ndarray  # int64 (item,), joint truth
    membership: np.ndarray  # int64 (rater,)


class ConsensusDraws(NamedTuple):
    """Output arrays of a chain; without items those of items are empty."""

    joint: np.ndarray  # (draw, truths)
    share: np.ndarray  # (draw, population)
    membership: np.ndarray  # (draw, rater)
    ability: np.ndarray  # (draw, rater)
    plausibility: np.ndarray  # (draw, item, population, category)
    contested: np.ndarray  # (draw, item)
    log_p: np.ndarray  # (draw, item), log p(answers of the item | draw)


class _Work(NamedTuple):
    """Parameters of the current sweep, in logs where named so, and counts."""

    log_joint: np.ndarray  # (truths,)
    joint: np.ndarray  # (truths,)
    share: np.ndarray  # (population,)
    ability: np.ndarray  # (rater,)
    log_right: np.ndarray  # (rater,)
    log_wrong: np.ndarray  # (rater,), of each wrong category
    right: np.ndarray  # int64 (rater, population), answers that are the truth of a population
    answers: np.ndarray  # int64 (rater,)
    score: np.ndarray  # (population, category), log p(answers of its raters | truth) of an item
    p: np.ndarray  # (truths,)
    odds: np.ndarray  # (population,)


@cached_njit(nogil=True, error_model="numpy")
def sample_consensus(
    rng: np.ndarray,
    answers: Answers,
    items: ItemsOfRaters,
    prior: ConsensusPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[ConsensusState, ConsensusDraws],
) -> None:
    """Run one chain on from its state, in place; schedule: (warm-up, sweeps per draw)."""
    (sweeps, thin), (state, draws) = schedule, state_and_draws
    n_truths, n_populations = prior.truth.shape
    n_raters, n = len(state.membership), prior.truth[n_truths - 1, 0] + 1
    work = _Work(
        np.empty(n_truths), np.empty(n_truths), np.empty(n_populations), np.empty(n_raters), np.empty(n_raters),
        np.empty(n_raters), np.empty((n_raters, n_populations), np.int64), np.zeros(n_raters, np.int64),
        np.empty((n_populations, n)), np.empty(n_truths), np.empty(n_populations),
    )  # fmt: skip
    for code in answers.code:
        work.answers[code // n] += 1
    for d in range(len(draws.joint)):
        sweeps += thin
        for sweep in range(sweeps):
            _draw_shares(rng, prior, state, work)
            _draw_raters(rng, answers, prior, state, work)
            _move_rater(rng, answers, items, prior, state, work)
            _draw_truths(rng, answers, prior, state, work, (d, sweep == sweeps - 1), draws)
        sweeps = 0
        copy_into(draws.joint[d], work.joint)
        copy_into(draws.share[d], work.share)
        copy_into(draws.membership[d], state.membership)
        copy_into(draws.ability[d], work.ability)


@inner_njit(error_model="numpy")
def _draw_shares(rng, prior, state, work):
    """Draw the joint law of the truths and the shares of the populations, given truths and memberships."""
    for c in range(len(work.joint)):
        work.joint[c] = prior.joint[c]
    for c in state.cell:
        work.joint[c] += 1.0
    for c in range(len(work.joint)):
        work.joint[c] = log_standard_gamma(rng, work.joint[c])
        work.log_joint[c] = work.joint[c]
    _normalise_logs(work.log_joint)
    exp_normalise(work.joint)
    for g in range(len(work.share)):
        work.share[g] = prior.share[g]
    for g in state.membership:
        work.share[g] += 1.0
    for g in range(len(work.share)):
        work.share[g] = log_standard_gamma(rng, work.share[g])
    exp_normalise(work.share)


@inner_njit(error_model="numpy")
def _normalise_logs(x):
    """Subtract the log of the sum of exponentials from log weights."""
    largest, total = x[0], 0.0
    for j in range(1, len(x)):
        largest = max(largest, x[j])
    for j in range(len(x)):
        total += math.exp(x[j] - largest)
    total = largest + math.log(total)
    for j in range(len(x)):
        x[j] -= total


@inner_njit(error_model="numpy")
def _draw_raters(rng, answers, prior, state, work):
    """Draw membership, its ability summed out, and ability of every rater, given the truths."""
    n, n_populations = work.score.shape[1], len(work.share)
    for k in range(len(work.ability)):
        for g in range(n_populations):
            work.right[k, g] = 0
    for i in range(len(state.cell)):
        for a in range(answers.start[i], answers.start[i + 1]):
            k, label = answers.code[a] // n, answers.code[a] % n
            for g in range(n_populations):
                if prior.truth[state.cell[i], g] == label:
                    work.right[k, g] += 1
    for k in range(len(work.ability)):
        for g in range(n_populations):
            right = work.right[k, g]
            wrong = work.answers[k] - right
            # w_g B(a + right, b + wrong) (K - 1)^-wrong; Gamma(a + b + answers) is the same for all
            work.odds[g] = math.log(work.share[g]) - wrong * math.log(n - 1.0)
            work.odds[g] += math.lgamma(prior.right[k] + right) + math.lgamma(prior.wrong[k] + wrong)
        exp_normalise(work.odds)
        g = category_at(work.odds, uniform(rng))
        state.membership[k] = g
        # Beta(a + right, b + wrong)
        right = log_standard_gamma(rng, prior.right[k] + work.right[k, g])
        wrong = log_standard_gamma(rng, prior.wrong[k] + work.answers[k] - work.right[k, g])
        largest = max(right, wrong)
        total = largest + math.log(math.exp(right - largest) + math.exp(wrong - largest))
        work.ability[k] = math.exp(right - total)
        work.log_right[k] = right - total
        work.log_wrong[k] = wrong - total - math.log(n - 1.0)


@inner_njit(error_model="numpy")
def _move_rater(rng, answers, items, prior, state, work):
    """Draw the membership of a rater at random given the parameters, truths summed out."""
    k = int(uniform(rng) * len(state.membership))
    for g in range(len(work.odds)):
        state.membership[k] = g
        odds = math.log(work.share[g])
        for place in range(items.start[k], items.start[k + 1]):
            odds += _weigh_truths(answers, prior, state, work, items.item[place])[0]
        work.odds[g] = odds
    exp_normalise(work.odds)
    state.membership[k] = category_at(work.odds, uniform(rng))


@inner_njit(error_model="numpy")
def _weigh_truths(answers, prior, state, work, i):
    """Overwrite work.p with weights of the joint truths of an item; return log p of its answers and the sum of the weights."""
    n_populations, n = work.score.shape
    for g in range(n_populations):
        for j in range(n):
            work.score[g, j] = 0.0
    total = 0.0
    for a in range(answers.start[i], answers.start[i + 1]):
        k, label = answers.code[a] // n, answers.code[a] % n
        total += work.log_wrong[k]
        work.score[state.membership[k], label] += work.log_right[k] - work.log_wrong[k]
    known, largest = answers.gold_category[i], -np.inf
    for c in range(len(work.p)):
        work.p[c] = work.log_joint[c]
        for g in range(n_populations):
            work.p[c] += work.score[g, prior.truth[c, g]]
        if known >= 0 and prior.truth[c, 0] != known:
            work.p[c] = -np.inf
        largest = max(largest, work.p[c])
    weight = 0.0
    for c in range(len(work.p)):
        work.p[c] = math.exp(work.p[c] - largest)
        weight += work.p[c]
    return total + largest + math.log(weight), weight


@inner_njit(error_model="numpy")
def _draw_truths(rng, answers, prior, state, work, place, draws):
    """Draw the joint truth of every item given the parameters; store what a draw says of the items, if place says so."""
    d, stored = place
    stored = stored and draws.log_p.shape[1] > 0
    for i in range(len(state.cell)):
        log_p, weight = _weigh_truths(answers, prior, state, work, i)
        state.cell[i] = category_at(work.p, uniform(rng) * weight)
        if stored:
            draws.log_p[d, i] = log_p
            _store_item(draws, d, i, prior, work.p, weight)


@inner_njit(error_model="numpy")
def _store_item(draws, d, i, prior, p, weight):
    """Store the probabilities of the truths of each population, and that they differ, of an item."""
    for g in range(prior.truth.shape[1]):
        for j in range(draws.plausibility.shape[3]):
            draws.plausibility[d, i, g, j] = 0.0
    draws.contested[d, i] = 0.0
    for c in range(len(p)):
        share = p[c] / weight
        for g in range(prior.truth.shape[1]):
            draws.plausibility[d, i, g, prior.truth[c, g]] += share
        if prior.contested[c]:
            draws.contested[d, i] += share

"""Gibbs chains of populations with truths of their own: joint truths of the items, memberships and abilities of the raters.

A joint truth c of an item is a truth t_g(c) of each population g. With r_kg the answers of rater k that are the truth of
population g, and w_kg the others:

    p | T                     Dirichlet(alpha + number of items of each joint truth)
    m_k | m, T, y             proportional to (gamma + other raters of g) B(a + r_kg, b + w_kg), shares and ability summed out
    q_k | m, T, y             Beta(a + r_km, b + w_km)
    m_k | m, p, q, y          proportional to (gamma + other raters of g) prod_i p(y_i | m_k = g), truths summed out
    p | m, q, y               truths summed out, slices: the probability that truths differ, then that of each of a few joint
                              truths, others in proportion
    T_i | p, m, q, y          p(T_i = c) proportional to p_c prod_a p(y_a | q, t_m(c))
    w | m                     Dirichlet(gamma + number of raters of each population)

Given the truths a rater whose own errors are the truths of a population hardly leaves it, and the probability that truths differ
hardly moves; with the truths summed out they do.

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
from ....models.distributions.vector_math import copy_into, log_add
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform
from ...kernels.slice_sampling import slice_sampler

LEAST = 1e-150  # floor of sums of weights, the product of two of which is a double
SAFE = 1e-15  # least weight that is multiplied further
MOST_MOVED = 8  # joint truths whose probabilities are moved in a sweep; of more, some at random
WIDTH, FARTHEST = 1.0, 600.0  # of the slice of log odds, which no slice leaves or enters beyond


class ConsensusPrior(NamedTuple):
    """Concentrations, and the truth of each population in each joint truth."""

    joint: np.ndarray  # (truths,)
    share: np.ndarray  # (population,)
    right: np.ndarray  # (rater,)
    wrong: np.ndarray  # (rater,)
    truth: np.ndarray  # int64 (truths, population)
    contested: np.ndarray  # bool (truths,)


class ItemsOfRaters(NamedTuple):
    """Answers of each rater, those to an item together."""

    start: np.ndarray  # int64 (rater + 1,)
    item: np.ndarray  # int64 (answer,)
    label: np.ndarray  # int64 (answer,)


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
    members: np.ndarray  # (population,), raters of each and its concentration
    score: (
        np.ndarray
    )  # (item, population, category), log p(answers of its raters | truth), 0 if all are wrong
    weight: np.ndarray  # (item, population, category), their exponentials over the largest; with gold 1 and 0
    of_rater: (
        np.ndarray
    )  # (2, category), weights of the answers of a rater to an item, and of others of its side
    same: np.ndarray  # (item,), weight of the truths that shrink
    other: np.ndarray  # (item,), of those whose probability is moved
    p: np.ndarray  # (truths,)
    odds: np.ndarray  # (population,)
    product: np.ndarray  # (population,), what is not yet in their logs
    total: np.ndarray  # (population,)


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
    n_items, n_raters, n = len(state.cell), len(state.membership), prior.truth[n_truths - 1, 0] + 1
    work = _Work(
        np.empty(n_truths), np.empty(n_truths), np.empty(n_populations), np.empty(n_raters), np.empty(n_raters),
        np.empty(n_raters), np.empty((n_raters, n_populations), np.int64), np.empty(n_populations),
        np.empty((n_items, n_populations, n)), np.empty((n_items, n_populations, n)), np.empty((2, n)), np.empty(n_items),
        np.empty(n_items), np.empty(n_truths), np.empty(n_populations), np.empty(n_populations), np.empty(n_populations),
    )  # fmt: skip
    for d in range(len(draws.joint)):
        sweeps += thin
        for sweep in range(sweeps):
            _draw_joint(rng, prior, state, work)
            _draw_raters(rng, items, prior, state, work)
            _weigh_answers(answers, items, state, work)
            _move_raters(rng, answers, items, prior, state, work)
            _move_joint(rng, prior, work)
            _draw_truths(rng, answers, prior, state, work, (d, sweep == sweeps - 1), draws)
            _draw_share(rng, prior, work)
        sweeps = 0
        copy_into(draws.joint[d], work.joint)
        copy_into(draws.share[d], work.share)
        copy_into(draws.membership[d], state.membership)
        copy_into(draws.ability[d], work.ability)


@inner_njit(error_model="numpy")
def _draw_joint(rng, prior, state, work):
    """Draw the joint law of the truths given the truths."""
    for c in range(len(work.joint)):
        work.joint[c] = prior.joint[c]
    for c in state.cell:
        work.joint[c] += 1.0
    for c in range(len(work.joint)):
        work.joint[c] = log_standard_gamma(rng, work.joint[c])
        work.log_joint[c] = work.joint[c]
    _normalise_logs(work.log_joint)
    exp_normalise(work.joint)


@inner_njit(error_model="numpy")
def _draw_share(rng, prior, work):
    """Draw the shares of the populations given the memberships."""
    for g in range(len(work.share)):
        work.share[g] = log_standard_gamma(rng, work.members[g])
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
def _draw_raters(rng, items, prior, state, work):
    """Draw membership, ability and shares summed out, and ability of every rater, given the truths."""
    n, n_populations, right = work.score.shape[2], len(work.share), work.right
    right[:] = 0
    for k in range(len(work.ability)):
        for place in range(items.start[k], items.start[k + 1]):
            cell = state.cell[items.item[place]]
            for g in range(n_populations):
                if prior.truth[cell, g] == items.label[place]:
                    right[k, g] += 1
    for g in range(n_populations):
        work.members[g] = prior.share[g]
    for g in state.membership:
        work.members[g] += 1.0
    for k in range(len(work.ability)):
        work.members[state.membership[k]] -= 1.0
        for g in range(n_populations):
            wrong = items.start[k + 1] - items.start[k] - right[k, g]
            # B(a + right, b + wrong) (K - 1)^-wrong; Gamma(a + b + answers) is the same for all
            work.odds[g] = math.log(work.members[g]) - wrong * math.log(n - 1.0)
            work.odds[g] += math.lgamma(prior.right[k] + right[k, g]) + math.lgamma(prior.wrong[k] + wrong)
        exp_normalise(work.odds)
        g = category_at(work.odds, uniform(rng))
        state.membership[k] = g
        work.members[g] += 1.0
        # Beta(a + right, b + wrong)
        wrong = items.start[k + 1] - items.start[k] - right[k, g]
        log_right = log_standard_gamma(rng, prior.right[k] + right[k, g])
        log_wrong = log_standard_gamma(rng, prior.wrong[k] + wrong)
        total = log_add(log_right, log_wrong)
        work.ability[k] = math.exp(log_right - total)
        work.log_right[k] = log_right - total
        work.log_wrong[k] = log_wrong - total - math.log(n - 1.0)


# --- With the truths summed out ---


@inner_njit(error_model="numpy")
def _weigh_answers(answers, items, state, work):
    """Overwrite scores and weights of the answers to all items."""
    score = work.score
    score[:] = 0.0
    for k in range(len(state.membership)):
        log_odds = work.log_right[k] - work.log_wrong[k]
        for place in range(items.start[k], items.start[k + 1]):
            score[items.item[place], state.membership[k], items.label[place]] += log_odds
    for i in range(len(score)):
        for g in range(score.shape[1]):
            _weigh(score, i, g, answers.gold_category[i], work.weight)


@inner_njit(error_model="numpy")
def _weigh(score, i, g, known, weight):
    """Overwrite the weights of the truths of a population; those of a known truth are 1 for it, 0 for others."""
    n, largest = score.shape[2], score[i, g, 0]
    for j in range(1, n):
        largest = max(largest, score[i, g, j])
    for j in range(n):
        weight[i, g, j] = math.exp(score[i, g, j] - largest)
    if g == 0 and known >= 0:
        for j in range(n):
            weight[i, g, j] = 0.0
        weight[i, g, known] = 1.0


@inner_njit(error_model="numpy")
def _move_raters(rng, answers, items, prior, state, work):
    """Draw the membership of each rater given the parameters, truths and shares summed out."""
    members, odds, score, weight = work.members, work.odds, work.score, work.weight
    n = score.shape[2]
    for k in range(len(state.membership)):
        own = state.membership[k]
        members[own] -= 1.0
        log_odds = work.log_right[k] - work.log_wrong[k]
        right, wrong = math.exp(min(log_odds, 0.0)), math.exp(-max(log_odds, 0.0))
        _weigh_memberships(answers, items, prior, work, (k, own, right, wrong))
        for g in range(len(members)):
            odds[g] += math.log(members[g])
        exp_normalise(odds)
        new = category_at(odds, uniform(rng))
        state.membership[k] = new
        members[new] += 1.0
        if new == own:
            continue
        for place in range(items.start[k], items.start[k + 1]):
            i, label = items.item[place], items.label[place]
            score[i, own, label] -= log_odds
            score[i, new, label] += log_odds
            is_safe = not (answers.gold_category[i] >= 0 and min(own, new) == 0)
            for j in range(n):
                factor = right if j == label else wrong
                weight[i, own, j] /= factor
                weight[i, new, j] *= factor
                is_safe &= _is_safe(weight[i, own, j]) and _is_safe(weight[i, new, j])
            if not is_safe:
                _weigh(score, i, own, answers.gold_category[i], weight)
                _weigh(score, i, new, answers.gold_category[i], weight)


@inner_njit(error_model="numpy")
def _is_safe(weight):
    """Whether a weight is within the bounds in which factors keep its digits."""
    return SAFE < weight and weight * SAFE < 1.0


@inner_njit(error_model="numpy")
def _weigh_memberships(answers, items, prior, work, rater):
    """Overwrite the log odds of the populations by p(answers of a rater), up to a common factor.

    rater: place, population so far, and the factors of the weights of the truth it gave and of each other.
    """
    weight, joint, truth = work.weight, work.joint, prior.truth
    odds, product, total = work.odds, work.product, work.total
    with_rater, without = work.of_rater[0], work.of_rater[1]
    n_populations, n = weight.shape[1:]
    k, own, right, wrong = rater
    for g in range(n_populations):
        odds[g], product[g] = 0.0, 1.0
    place, last = items.start[k], items.start[k + 1]
    while place < last:
        i, known = items.item[place], answers.gold_category[items.item[place]]
        is_safe, first = not (own == 0 and known >= 0), place
        for j in range(n):
            with_rater[j] = right if j == items.label[place] else wrong
            without[j] = weight[i, own, j] / with_rater[j]
            is_safe &= _is_safe(without[j])
        place += 1
        while place < last and items.item[place] == i:
            is_safe = False
            place += 1
        if not is_safe:
            _weigh_by_scores(work, items.label[first:place], rater, (i, known if own == 0 else -1))
        for g in range(n_populations):
            total[g] = 0.0
        for c in range(len(joint)):
            p = joint[c] * without[truth[c, own]]
            for g in range(n_populations):
                if g != own:
                    p *= weight[i, g, truth[c, g]]
            for g in range(n_populations):
                total[g] += p * with_rater[truth[c, g]]
        for g in range(n_populations):
            product[g] *= max(total[g], LEAST)
            if not LEAST < product[g] < 1.0 / LEAST:
                odds[g] += math.log(product[g])
                product[g] = 1.0
    for g in range(n_populations):
        odds[g] += math.log(product[g])


@inner_njit(error_model="numpy")
def _weigh_by_scores(work, labels, rater, item):
    """Overwrite the weights of the answers of a rater to an item, and those of others in its population, by their scores."""
    (k, own, _, _), (i, known) = rater, item
    with_rater, without = work.of_rater[0], work.of_rater[1]
    log_odds = work.log_right[k] - work.log_wrong[k]
    with_rater[:] = 0.0
    for label in labels:
        with_rater[label] += log_odds
    for j in range(len(without)):
        without[j] = work.score[i, own, j] - with_rater[j]
    largest, largest_without = with_rater.max(), without.max()
    for j in range(len(without)):
        with_rater[j] = math.exp(with_rater[j] - largest)
        without[j] = math.exp(without[j] - largest_without)
        if known >= 0:
            without[j] = 1.0 if j == known else 0.0


@inner_njit(error_model="numpy")
def _move_joint(rng, prior, work):
    """Move the joint law given the parameters, truths summed out: the share of contested truths, then that of one of them."""
    n_truths = len(work.joint)
    for turn in range(min(n_truths, MOST_MOVED) + 1):
        one = turn - 1 if turn == 0 or n_truths <= MOST_MOVED else int(uniform(rng) * n_truths)
        _weigh_items(prior, work, one)
        same, other, log_same, log_other = 0.0, 0.0, -np.inf, -np.inf
        for c in range(n_truths):
            if prior.contested[c] if one < 0 else c == one:
                log_other = log_add(log_other, work.log_joint[c])
                other += prior.joint[c]
            else:
                log_same = log_add(log_same, work.log_joint[c])
                same += prior.joint[c]
        if not abs(log_other - log_same) < FARTHEST:
            continue
        more, less = math.exp(-log_other), math.exp(-log_same)
        for i in range(len(work.other)):
            of_other = more * work.other[i]
            work.other[i] = of_other / max(of_other + less * work.same[i], LEAST)
        y = _move_share(rng, (same, other, work.other), log_other - log_same, WIDTH)
        new_same, new_other = -_log_one_plus_exp(y), -_log_one_plus_exp(-y)
        for c in range(n_truths):
            is_other = prior.contested[c] if one < 0 else c == one
            work.log_joint[c] += new_other - log_other if is_other else new_same - log_same
            work.joint[c] = math.exp(work.log_joint[c])


@inner_njit(error_model="numpy")
def _weigh_items(prior, work, one):
    """Overwrite the weights of the answers to each item with the contested truths, or with one joint truth, and with others."""
    joint, truth, weight, contested = work.joint, prior.truth, work.weight, prior.contested
    n_items, n_populations, _ = weight.shape
    same, other = work.same, work.other
    for i in range(n_items):
        same[i], other[i] = 0.0, 0.0
        for c in range(len(joint)):
            p = joint[c]
            for g in range(n_populations):
                p *= weight[i, g, truth[c, g]]
            if contested[c] if one < 0 else c == one:
                other[i] += p
            else:
                same[i] += p


@inner_njit(error_model="numpy")
def _log_one_plus_exp(x):
    """Return log(1 + exp(x))."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@inner_njit(error_model="numpy")
def _share_density(x, parameters):
    """Return the log density of log odds: a Beta prior, and a mixture for each item with these shares at even odds."""
    same, other, contested = parameters
    if not abs(x) < FARTHEST:
        return -np.inf
    log_p = -other * _log_one_plus_exp(-x) - same * _log_one_plus_exp(x)
    share, product = 1.0 / (1.0 + math.exp(-x)), 1.0
    for q in contested:
        product *= max(share * q + (1.0 - share) * (1.0 - q), LEAST)
        if product < LEAST:
            log_p += math.log(product)
            product = 1.0
    return log_p + math.log(product)


_move_share = slice_sampler(_share_density)


# --- Truths of the items ---


@inner_njit(error_model="numpy")
def _draw_truths(rng, answers, prior, state, work, place, draws):
    """Draw the joint truth of every item given the parameters; store what a draw says of the items, if place says so."""
    (d, stored), n = place, work.score.shape[2]
    stored = stored and draws.log_p.shape[1] > 0
    for i in range(len(state.cell)):
        known, largest, weight = answers.gold_category[i], -np.inf, 0.0
        for c in range(len(work.p)):
            work.p[c] = work.log_joint[c]
            for g in range(len(work.members)):
                work.p[c] += work.score[i, g, prior.truth[c, g]]
            if known >= 0 and prior.truth[c, 0] != known:
                work.p[c] = -np.inf
            largest = max(largest, work.p[c])
        for c in range(len(work.p)):
            work.p[c] = math.exp(work.p[c] - largest)
            weight += work.p[c]
        state.cell[i] = category_at(work.p, uniform(rng) * weight)
        if stored:
            total = 0.0
            for a in range(answers.start[i], answers.start[i + 1]):
                total += work.log_wrong[answers.code[a] // n]
            draws.log_p[d, i] = total + largest + math.log(weight)
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

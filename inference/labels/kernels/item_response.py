"""Gibbs chains of the item-response model: abilities, spread, key-makers, and the true category of every item.

Node q of an item has a difficulty d_q and a discrimination a_q. With S_ij the sum of the abilities of the models that gave item i
answer j, n_ij their number and g the set of all models that answered,

    p(y_i | T_i = j, q) = exp(a_q S_ij - n_ij a_q d_q - C_gq) (K - 1)^-(n_i - n_ij)
    C_gq = sum_{m in g} log(1 + exp(a_q (theta_m - d_q)))

so that the difficulty is summed out by a table of a few rows, one for each n_ij, not item by item. A sweep:

    c, s | T            theta + c, then s, by slices, nodes summed out: they move slowly given the nodes
    t | T               theta e^t, s e^t, the same where discriminations differ
    q_i | T, theta, s   from the row of the table
    theta_m | q, T      log-concave, by rejection: answers enter as counts by node
    kappa_k | T         Beta(a + right, b + wrong)
    p | T               Dirichlet, unless it is fixed
    T_i | all but q_i   from S, n and the table

Every stored draw has p(T | parameters, answers) and E(d | ...), E(a | ...), from the pass with which its sweep ends.

References
----------
van Dyk and Park (2008), Partially collapsed Gibbs samplers, JASA 103, doi:10.1198/016214508000000409 (nodes are drawn after
the moves that sum them out). Liu and Sabatti (2000), Generalised Gibbs sampler, Biometrika 87, doi:10.1093/biomet/87.2.353
(moves c and t).
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import FAST, copy_into, exp, softplus
from ...kernels.log_concave import log_concave_sampler
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform
from ...kernels.slice_sampling import adapted_width, slice_sampler

SHIFT, SPREAD, STRETCH = 0, 1, 2  # moves
NARROWEST, WIDEST = 1e-4, 4.0  # slices
LARGE = 1e100


class Responses(NamedTuple):
    """Answers of models sorted by item, label and model, of key-makers by item; sets of models who answered the same items."""

    start: np.ndarray  # (item * category + 1,)
    who: np.ndarray  # (answer,), model
    number: np.ndarray  # (item, category), answers of models
    key_start: np.ndarray  # (item + 1,)
    key_who: np.ndarray  # (key answer,), key-maker
    key_label: np.ndarray  # (key answer,)
    gold: np.ndarray  # (item,), -1 where unknown
    set_start: np.ndarray  # (set + 1,)
    set_who: np.ndarray  # models of each set
    first: np.ndarray  # (set + 1,): items of a set are order[first[g]:first[g + 1]]
    order: np.ndarray  # (item,)


class ResponsePrior(NamedTuple):
    """Priors, and nodes as a grid of difficulties times discriminations."""

    mean: np.ndarray  # (model,), of the abilities
    sd: np.ndarray  # (model,)
    scale: float  # of the spread
    right: np.ndarray  # (key maker,), Beta
    wrong: np.ndarray  # (key maker,)
    prevalence: np.ndarray  # (category,), concentrations, or where fixed the prevalence itself
    fixed: bool
    difficulty: np.ndarray  # (d,)
    sharpness: np.ndarray  # (a,)
    log_weight: np.ndarray  # (a,), of the discriminations
    floor: float  # of log weights of difficulties less their largest


class ResponseState(NamedTuple):
    """State of a chain, overwritten."""

    category: np.ndarray  # int64 (item,)
    ability: np.ndarray  # (model,)
    spread: np.ndarray  # (1,)
    widths: np.ndarray  # (move,), of the slices


class ResponseDraws(NamedTuple):
    """Output arrays of a chain; those of items may have none."""

    ability: np.ndarray  # (draw, model)
    spread: np.ndarray  # (draw,)
    reliability: np.ndarray  # (draw, key maker)
    prevalence: np.ndarray  # (draw, category)
    right: np.ndarray  # (draw, model), probability of a right answer, average over items
    plausibility: np.ndarray  # (draw, item, category)
    difficulty: np.ndarray  # (draw, item), expected
    sharpness: np.ndarray  # (draw, item), expected
    log_p: np.ndarray  # (draw, item)


class Table(NamedTuple):
    """Workspace: for the set of models in hand, rows of the sums over difficulties by number of right answers."""

    growth: np.ndarray  # (model, a), exp(a theta)
    decay: np.ndarray  # (d, a), exp(-a d)
    weight: np.ndarray  # (d,), log prior of the difficulties
    level: np.ndarray  # (d, a), log weight of the nodes less C
    filled: np.ndarray  # (count + 1,), whether the row is computed
    total: np.ndarray  # (count + 1, a), log sum over d
    cumulative: np.ndarray  # (count + 1, a, d)
    mean: np.ndarray  # (count + 1, a), E(d)


# --- Sums over the nodes ---


@inner_njit(error_model="numpy")
def _begin_table(table, prior, ability, spread, shift, stretch):
    """Overwrite what all sets share, for abilities (ability + shift) stretch and spread."""
    largest = -np.inf
    for d in range(len(prior.difficulty)):
        table.weight[d] = -0.5 * (prior.difficulty[d] / spread) ** 2
        largest = max(largest, table.weight[d])
    total = 0.0
    for d in range(len(prior.difficulty)):
        table.weight[d] = max(table.weight[d] - largest, prior.floor)
        total += math.exp(table.weight[d])
    for d in range(len(prior.difficulty)):
        table.weight[d] -= math.log(total)
    for m in range(len(ability)):
        for a in range(len(prior.sharpness)):
            table.growth[m, a] = math.exp(prior.sharpness[a] * (ability[m] + shift) * stretch)


@inner_njit(error_model="numpy")
def _begin_set(table, prior, data, g):
    """Overwrite the level of the nodes for a set of models, and mark its rows as not computed."""
    growth, decay, who = table.growth, table.decay, data.set_who
    for a in range(len(prior.sharpness)):
        for d in range(len(prior.difficulty)):
            # C is the log of a product, which is taken where it would leave the doubles
            level, product, factor = table.weight[d] + prior.log_weight[a], 1.0, decay[d, a]
            for at in range(data.set_start[g], data.set_start[g + 1]):
                product *= 1.0 + growth[who[at], a] * factor
                if product > LARGE:
                    level -= math.log(product)
                    product = 1.0
            table.level[d, a] = level - math.log(product)
    for n in range(data.set_start[g + 1] - data.set_start[g] + 1):
        table.filled[n] = False


@inner_njit(**FAST)
def _log_weights(level, difficulty, slope, a, row):
    """Overwrite the log weights of the difficulties (d,) at discrimination a, of as many right answers as the slope says."""
    for d in range(len(row)):
        row[d] = level[d, a] - slope * difficulty[d]


@inner_njit(**FAST)
def _subtract_and_exp(row, largest):
    """Overwrite a row by the exponentials of its differences from its largest number."""
    for d in range(len(row)):
        row[d] = exp(row[d] - largest)


@inner_njit(error_model="numpy")
def _fill_row(table, prior, n):
    """Compute the row of n right answers."""
    table.filled[n] = True
    n_d = len(prior.difficulty)
    for a in range(len(prior.sharpness)):
        row, largest = table.cumulative[n, a], -np.inf
        _log_weights(table.level, prior.difficulty, n * prior.sharpness[a], a, row)
        for d in range(n_d):
            largest = max(largest, row[d])
        _subtract_and_exp(row, largest)
        total, mean = 0.0, 0.0
        for d in range(n_d):
            total += row[d]
            mean += row[d] * prior.difficulty[d]
            row[d] = total
        table.total[n, a] = largest + math.log(total)
        table.mean[n, a] = mean / total


@inner_njit(error_model="numpy", inline="always")
def _over_nodes(row, sharpness, ability_sum):
    """Return log sum over the nodes of exp(a S) times a row of the table, its sums over difficulties (a,)."""
    if len(sharpness) == 1:
        return row[0] + sharpness[0] * ability_sum
    largest, total = -np.inf, 0.0
    for a in range(len(sharpness)):
        largest = max(largest, row[a] + sharpness[a] * ability_sum)
    for a in range(len(sharpness)):
        total += math.exp(row[a] + sharpness[a] * ability_sum - largest)
    return largest + math.log(total)


# --- Moves of the scale, nodes summed out ---


@inner_njit(error_model="numpy")
def _moved_density(x, parameters):
    """Log density of a move of size x given the true categories; of SPREAD, x is the log spread."""
    move, prior, data, state, sums, table, tally = parameters
    shift, stretch, spread = 0.0, 1.0, state.spread[0]
    n_models = len(state.ability)
    if move == SHIFT:
        shift = x
    elif move == SPREAD:
        spread = math.exp(x)
    else:
        stretch = math.exp(x)
        spread *= stretch
    if not 0.0 < spread < 1e6 or not stretch < 1e6:
        return -np.inf
    log_p = -0.5 * (spread / prior.scale) ** 2
    log_p += x if move == SPREAD else (n_models + 1) * x if move == STRETCH else 0.0
    for m in range(n_models):
        log_p -= 0.5 * (((state.ability[m] + shift) * stretch - prior.mean[m]) / prior.sd[m]) ** 2
    _begin_table(table, prior, state.ability, spread, shift, stretch)
    first, count, items, total = tally
    if len(prior.sharpness) == 1:  # the abilities enter through their sum
        log_p += prior.sharpness[0] * (total[0] + total[1] * shift) * stretch
    for g in range(len(first) - 1):
        _begin_set(table, prior, data, g)
        for at in range(first[g], first[g + 1]):
            if not table.filled[count[at]]:
                _fill_row(table, prior, count[at])
            if len(prior.sharpness) == 1:
                log_p += items[at] * table.total[count[at], 0]
    if len(prior.sharpness) == 1:
        return log_p
    for g in range(len(first) - 1):
        if len(first) > 2:  # else the table is that of the only set
            _begin_set(table, prior, data, g)
        log_p += _of_items(table, prior, data, g, state.category, sums, (shift, stretch))
    return log_p


@inner_njit(error_model="numpy")
def _of_items(table, prior, data, g, category, sums, move):
    """Return the log likelihood of the items of a set given their true categories, nodes summed out."""
    shift, stretch = move
    order, number, sharpness, total = data.order, data.number, prior.sharpness, table.total
    log_p = 0.0
    for at in range(data.first[g], data.first[g + 1]):
        i = order[at]
        n = number[i, category[i]]
        if not table.filled[n]:
            _fill_row(table, prior, n)
        log_p += _over_nodes(total[n], sharpness, (sums[i] + n * shift) * stretch)
    return log_p


@inner_njit(error_model="numpy")
def _tally(data, category, sums):
    """Return the numbers of right answers that occur in each set, and how many items have them; and two totals.

    Shapes: first row of each set (set + 1,), number of right answers (row,), items (row,), sums of abilities and answers (2,).
    """
    n_sets = len(data.first) - 1
    first = np.zeros(n_sets + 1, np.int64)
    count, items = np.empty(len(category), np.int64), np.empty(len(category), np.int64)
    total, rows = np.zeros(2), 0
    for g in range(n_sets):
        own = np.zeros(data.set_start[g + 1] - data.set_start[g] + 1, np.int64)
        for at in range(data.first[g], data.first[g + 1]):
            i = data.order[at]
            own[data.number[i, category[i]]] += 1
            total[0] += sums[i]
            total[1] += data.number[i, category[i]]
        for n in range(len(own)):
            if own[n]:
                count[rows], items[rows] = n, own[n]
                rows += 1
        first[g + 1] = rows
    return first, count[:rows], items[:rows], total


_move_slice = slice_sampler(_moved_density)


@inner_njit(error_model="numpy")
def _move_scales(rng, data, prior, state, sums, table, warm):
    """Make the moves; `sums` (item,) follow the abilities."""
    for move in range(3 if len(prior.sharpness) > 1 else 2):
        tally = _tally(data, state.category, sums)
        begin = math.log(state.spread[0]) if move == SPREAD else 0.0
        parameters = (move, prior, data, state, sums, table, tally)
        x = _move_slice(rng, parameters, begin, state.widths[move])
        if warm:
            state.widths[move] = adapted_width(state.widths[move], x - begin, NARROWEST, WIDEST)
        if move == SPREAD:
            state.spread[0] = math.exp(x)
            continue
        shift, stretch = (x, 1.0) if move == SHIFT else (0.0, math.exp(x))
        for m in range(len(state.ability)):
            state.ability[m] = (state.ability[m] + shift) * stretch
        for i in range(len(sums)):
            sums[i] = (sums[i] + data.number[i, state.category[i]] * shift) * stretch
        if move == STRETCH:
            state.spread[0] *= stretch


# --- Nodes, and abilities given them ---


@inner_njit(error_model="numpy")
def _draw_nodes(rng, data, prior, state, sums, table, node):
    """Draw the node of every item (item, 2): difficulty and discrimination."""
    _begin_table(table, prior, state.ability, state.spread[0], 0.0, 1.0)
    n_d, n_a = len(prior.difficulty), len(prior.sharpness)
    order, number, category, cumulative = data.order, data.number, state.category, table.cumulative
    p = np.empty(n_a)
    for g in range(len(data.first) - 1):
        _begin_set(table, prior, data, g)
        for at in range(data.first[g], data.first[g + 1]):
            i = order[at]
            n = number[i, category[i]]
            if not table.filled[n]:
                _fill_row(table, prior, n)
            a = 0
            if n_a > 1:
                for k in range(n_a):
                    p[k] = table.total[n, k] + prior.sharpness[k] * sums[i]
                exp_normalise(p)
                a = category_at(p, uniform(rng))
            level = uniform(rng) * cumulative[n, a, n_d - 1]
            low, high = 0, n_d - 1  # the first node up to which the weights sum to more than the level
            while low < high:
                middle = (low + high) // 2
                if cumulative[n, a, middle] > level:
                    high = middle
                else:
                    low = middle + 1
            node[i, 0], node[i, 1] = low, a


@inner_njit(error_model="numpy")
def _count_nodes(data, node, counts):
    """Overwrite counts of a model's answers by node (model, d, a)."""
    counts[:] = 0
    n = data.number.shape[1]
    for i in range(len(node)):
        for at in range(data.start[i * n], data.start[(i + 1) * n]):
            counts[data.who[at], node[i, 0], node[i, 1]] += 1


@inner_njit(error_model="numpy")
def _count_by_set(data, node, counts):
    """Do as `_count_nodes`, for sets of more items than nodes."""
    counts[:] = 0
    one = np.empty(counts.shape[1:], np.int64)
    for g in range(len(data.first) - 1):
        one[:] = 0
        for at in range(data.first[g], data.first[g + 1]):
            i = data.order[at]
            one[node[i, 0], node[i, 1]] += 1
        for at in range(data.set_start[g], data.set_start[g + 1]):
            counts[data.set_who[at]] += one


@inner_njit(error_model="numpy")
def _count_right(data, prior, category, node, pull):
    """Overwrite the sums of the discriminations of the items that a model answers right (model,)."""
    start, who, n = data.start, data.who, data.number.shape[1]
    pull[:] = 0.0
    for i in range(len(node)):
        cell, sharp = i * n + category[i], prior.sharpness[node[i, 1]]
        for at in range(start[cell], start[cell + 1]):
            pull[who[at]] += sharp


@inner_njit(error_model="numpy")
def _ability_density(x, parameters):
    """Log density of an ability given the nodes, slope and curvature."""
    pull, counts, decay, sharpness, mean, sd = parameters
    away = (x - mean) / sd
    value, slope, curvature = pull * x - 0.5 * away * away, pull - away / sd, -1.0 / (sd * sd)
    for a in range(len(sharpness)):
        sharp = sharpness[a]
        growth = math.exp(sharp * x)
        for d in range(len(decay)):
            n = counts[d, a]
            if n:
                odds = growth * decay[d, a]
                p = odds / (1.0 + odds)
                value -= n * math.log(1.0 + odds)
                slope -= n * sharp * p
                curvature -= n * sharp * sharp * p / (1.0 + odds)
    return value, slope, curvature


_draw_ability = log_concave_sampler(_ability_density)


# --- True categories ---


@inner_njit(**FAST)
def _sum_over(who, first, last, ability):
    """Return the sum of the abilities of the models first to last - 1 of a list."""
    total = 0.0
    for at in range(first, last):
        total += ability[who[at]]
    return total


@inner_njit(error_model="numpy")
def _sums_of(data, state, sums):
    """Overwrite the sums of the abilities of the models that gave the true answer (item,)."""
    n = data.number.shape[1]
    for i in range(len(sums)):
        cell = i * n + state.category[i]
        sums[i] = _sum_over(data.who, data.start[cell], data.start[cell + 1], state.ability)


@inner_njit(error_model="numpy")
def _draw_key_makers(rng, data, prior, state, log_key, prevalence):
    """Draw log p of right and of each wrong answer of the key-makers, and the prevalence unless it is fixed, given the truth."""
    right, wrong = prior.right.copy(), prior.wrong.copy()
    counts = prior.prevalence.copy()
    for i in range(len(state.category)):
        counts[state.category[i]] += 1.0
        for at in range(data.key_start[i], data.key_start[i + 1]):
            if data.key_label[at] == state.category[i]:
                right[data.key_who[at]] += 1.0
            else:
                wrong[data.key_who[at]] += 1.0
    for k in range(len(right)):
        for_it, against = log_standard_gamma(rng, right[k]), log_standard_gamma(rng, wrong[k])
        log_key[k, 0] = -softplus(against - for_it)
        log_key[k, 1] = -softplus(for_it - against) - math.log(len(prevalence) - 1.0)
    if prior.fixed:
        copy_into(prevalence, prior.prevalence)
        return
    for j in range(len(prevalence)):
        prevalence[j] = log_standard_gamma(rng, counts[j])
    exp_normalise(prevalence)


@inner_njit(error_model="numpy")
def _sum_by_label(data, i, ability, whole, by_label):
    """Overwrite the sums of the abilities of the models that gave each label (category,) to item i; `whole` is their sum.

    That of the most frequent label is what the others leave: most models agree.
    """
    n, most = len(by_label), 0
    for j in range(1, n):
        if data.number[i, j] > data.number[i, most]:
            most = j
    left = whole
    for j in range(n):
        if j != most:
            by_label[j] = _sum_over(data.who, data.start[i * n + j], data.start[i * n + j + 1], ability)
            left -= by_label[j]
    by_label[most] = left


@inner_njit(error_model="numpy")
def _draw_truth(rng, data, prior, state, parameters, sums, table, stored, pull):
    """Draw the true category of every item given the parameters; overwrite `sums` and the quantities of a stored draw.

    Without discriminations `pull`, the number of right answers of each model, follows the categories.
    """
    log_key, log_prior = parameters
    n, n_a = len(log_prior), len(prior.sharpness)
    by_label, p = np.empty(n), np.empty(n)
    start, who, ability, order = data.start, data.who, state.ability, data.order
    number, gold, category = data.number, data.gold, state.category
    key_start, key_who, key_label = data.key_start, data.key_who, data.key_label
    sharpness, total, filled, log_p = prior.sharpness, table.total, table.filled, stored[3]
    plausibility, difficulty, mean = stored[0], stored[1], table.mean
    of_wrong = math.log(n - 1.0)
    _begin_table(table, prior, ability, state.spread[0], 0.0, 1.0)
    for g in range(len(data.first) - 1):
        _begin_set(table, prior, data, g)
        answers = data.set_start[g + 1] - data.set_start[g]
        of_set = _sum_over(data.set_who, data.set_start[g], data.set_start[g + 1], ability)
        for at in range(data.first[g], data.first[g + 1]):
            i = order[at]
            _sum_by_label(data, i, ability, of_set, by_label)
            largest = -np.inf
            for j in range(n):
                right = number[i, j]
                if not filled[right]:
                    _fill_row(table, prior, right)
                own = log_prior[j] - (answers - right) * of_wrong
                own += _over_nodes(total[right], sharpness, by_label[j])
                for k in range(key_start[i], key_start[i + 1]):
                    own += log_key[key_who[k], 0 if key_label[k] == j else 1]
                p[j] = own if gold[i] < 0 or gold[i] == j else -np.inf
                largest = max(largest, p[j])
            whole = 0.0
            for j in range(n):
                p[j] = math.exp(p[j] - largest)
                whole += p[j]
            left, before = whole * uniform(rng), category[i]
            now = n - 1
            for j in range(n - 1):
                left -= p[j]
                if left < 0.0:
                    now = j
                    break
            category[i] = now
            sums[i] = by_label[now]
            if n_a == 1 and now != before:
                for k in range(start[i * n + now], start[i * n + now + 1]):
                    pull[who[k]] += sharpness[0]
                for k in range(start[i * n + before], start[i * n + before + 1]):
                    pull[who[k]] -= sharpness[0]
            if not len(log_p):
                continue
            log_p[i] = largest + math.log(whole)
            if n_a == 1:
                far = 0.0
                for j in range(n):
                    plausibility[i, j] = p[j] / whole
                    far += plausibility[i, j] * mean[number[i, j], 0]
                difficulty[i] = far
            else:
                _store_item(i, data, prior, table, (by_label, p, whole), stored)


@inner_njit(error_model="numpy")
def _store_item(i, data, prior, table, weights, stored):
    """Store the plausibility of an item, and the expected difficulty and discrimination given its answers."""
    by_label, p, whole = weights
    plausibility, difficulty, sharpness, _ = stored
    n_a = len(prior.sharpness)
    of_a, far, sharp = np.empty(n_a), 0.0, 0.0
    for j in range(len(p)):
        plausibility[i, j] = p[j] / whole
        if p[j] == 0.0:
            continue
        right = data.number[i, j]
        for a in range(n_a):
            of_a[a] = table.total[right, a] + prior.sharpness[a] * by_label[j]
        exp_normalise(of_a)
        for a in range(n_a):
            far += plausibility[i, j] * of_a[a] * table.mean[right, a]
            sharp += plausibility[i, j] * of_a[a] * prior.sharpness[a]
    difficulty[i] = far
    if len(sharpness):
        sharpness[i] = sharp


@inner_njit(error_model="numpy")
def _average_right(prior, table, right):
    """Overwrite the probability of a right answer by model, average over the nodes; the table is of these parameters."""
    of_a = np.exp(prior.log_weight)
    for m in range(len(right)):
        right[m] = 0.0
        for d in range(len(prior.difficulty)):
            for a in range(len(prior.sharpness)):
                odds = table.growth[m, a] * table.decay[d, a]
                right[m] += of_a[a] * math.exp(table.weight[d]) * odds / (1.0 + odds)


# --- The chain ---


@cached_njit(nogil=True, error_model="numpy")
def sample_responses(
    rng: np.ndarray,
    data: Responses,
    prior: ResponsePrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[ResponseState, ResponseDraws],
) -> None:
    """Run one chain on from its state, in place; schedule: (warm-up, sweeps per draw)."""
    (warm_up, thin), (state, draws) = schedule, state_and_draws
    n_items, n_models = len(state.category), len(state.ability)
    n_d, n_a = len(prior.difficulty), len(prior.sharpness)
    most = 0
    for g in range(len(data.first) - 1):
        most = max(most, data.set_start[g + 1] - data.set_start[g])
    table = Table(
        np.empty((n_models, n_a)),
        np.exp(-prior.difficulty.reshape(-1, 1) * prior.sharpness),
        np.empty(n_d),
        np.empty((n_d, n_a)),
        np.zeros(most + 1, np.bool_),
        np.empty((most + 1, n_a)),
        np.empty((most + 1, n_a, n_d)),
        np.empty((most + 1, n_a)),
    )
    sums, node = np.empty(n_items), np.zeros((n_items, 2), np.int64)
    counts, pull = np.zeros((n_models, n_d, n_a), np.int64), np.zeros(n_models)
    log_key, prevalence = np.empty((len(prior.right), 2)), np.empty(len(prior.prevalence))
    of_items = draws.log_p.shape[1] > 0
    none = (np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0))
    by_set = len(data.first) - 1 < n_items // (n_d * n_a)
    _sums_of(data, state, sums)
    _count_right(data, prior, state.category, node, pull)
    for d in range(len(draws.spread)):
        sweeps = thin + (warm_up if d == 0 else 0)
        for sweep in range(sweeps):
            warm = d == 0 and sweep < warm_up
            _move_scales(rng, data, prior, state, sums, table, warm)
            _draw_nodes(rng, data, prior, state, sums, table, node)
            if by_set:
                _count_by_set(data, node, counts)
            else:
                _count_nodes(data, node, counts)
            if n_a > 1:
                _count_right(data, prior, state.category, node, pull)
            for m in range(n_models):
                own = (pull[m], counts[m], table.decay, prior.sharpness, prior.mean[m], prior.sd[m])
                state.ability[m] = _draw_ability(rng, own, state.ability[m])
            _draw_key_makers(rng, data, prior, state, log_key, prevalence)
            stored = none
            if of_items and sweep == sweeps - 1:
                sharpness = draws.sharpness[d] if draws.sharpness.shape[1] else none[1]
                stored = (draws.plausibility[d], draws.difficulty[d], sharpness, draws.log_p[d])
            _draw_truth(rng, data, prior, state, (log_key, np.log(prevalence)), sums, table, stored, pull)
        draws.ability[d] = state.ability
        draws.spread[d] = state.spread[0]
        draws.reliability[d] = np.exp(log_key[:, 0])
        draws.prevalence[d] = prevalence
        _average_right(prior, table, draws.right[d])

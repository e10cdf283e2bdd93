"""Gibbs chains of EBCC: prevalence, weights of subtypes, confusion matrices by subtype, and the state of every item.

A state is a true category j with one of its M subtypes m; its index is j M + m.

    T_i, g_i | p, w, pi, y    p(T_i = j, g_i = m) proportional to p_j w_jm prod_a pi[rater_a, j, m, label_a]
    p | T                     Dirichlet(alpha + number of items of each category)
    w_j | T, g                Dirichlet(gamma_j + number of items of each subtype of category j)
    pi_kjm | T, g, y          Dirichlet(beta_kjm + number of the rater's labels on items of the subtype)

Every stored draw has a Rao-Blackwellised plausibility, p(T | p, w, pi, answers), from the pass over the answers with
which the next sweep begins.

Reference: Li, Rubinstein and Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML,
section 4 (the law; the sampler is ours).
"""

from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import Answers, item_log_p, item_log_p_in_logs
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform


class SubtypePrior(NamedTuple):
    """Dirichlet concentrations."""

    prevalence: np.ndarray  # (category,)
    weight: np.ndarray  # (category, subtype)
    confusion: np.ndarray  # (rater * label, state)


class SubtypeDraws(NamedTuple):
    """Output arrays of a chain."""

    prevalence: np.ndarray  # (draw, category)
    weight: np.ndarray  # (draw, category, subtype)
    table: np.ndarray  # (draw, rater * label, state), p(label | rater, state)
    plausibility: np.ndarray  # (draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (draw, item), log p(answers of the item | draw)


@cached_njit(nogil=True, error_model="numpy")
def sample_subtypes(
    rng: np.ndarray,
    answers: Answers,
    prior: SubtypePrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[np.ndarray, SubtypeDraws],
) -> None:
    """Run one chain on from the states of the items, int64 (item,), in place; schedule: (warm-up, sweeps per draw)."""
    (sweeps, thin), (state, draws) = schedule, state_and_draws
    n, n_subtypes = prior.weight.shape
    n_rows, n_states = prior.confusion.shape
    counts = (np.zeros((n, n_subtypes), np.int64), np.zeros((n_rows, n_states), np.int64))
    _count_states(answers, state, counts)
    parameters = (np.empty(n), np.empty((n, n_subtypes)), np.empty((n_rows, n_states)))
    pointwise = (np.empty(len(state)), np.empty((len(state), n)))
    for d in range(len(draws.prevalence)):
        sweeps += thin
        for _ in range(sweeps):
            _draw_parameters(rng, prior, counts, parameters)
            _draw_states(rng, answers, parameters, state, pointwise)
            _count_states(answers, state, counts)
        sweeps = 0
        _store_draw(draws, d, parameters, pointwise)


@inner_njit(error_model="numpy")
def _count_states(answers, state, counts):
    """Overwrite the numbers of items (category, subtype) and of labels (rater * label, state)."""
    items, labels = counts
    n_subtypes = items.shape[1]
    items[:] = 0
    labels[:] = 0
    for i in range(len(state)):
        s = state[i]
        items[s // n_subtypes, s % n_subtypes] += 1
        for a in range(answers.start[i], answers.start[i + 1]):
            labels[answers.code[a], s] += 1


@inner_njit(error_model="numpy")
def _draw_parameters(rng, prior, counts, parameters):
    """Draw prevalence (category,), weights (category, subtype) and table (rater * label, state) given the counts."""
    (items, labels), (prevalence, weight, table) = counts, parameters
    n, n_subtypes = weight.shape
    for j in range(n):
        total = 0
        for m in range(n_subtypes):
            total += items[j, m]
            # Dirichlet(gamma_jm + n_jm)
            weight[j, m] = log_standard_gamma(rng, prior.weight[j, m] + items[j, m])
        exp_normalise(weight[j])
        # Dirichlet(alpha_j + n_j)
        prevalence[j] = log_standard_gamma(rng, prior.prevalence[j] + total)
    exp_normalise(prevalence)
    for first in range(0, len(table), n):
        for s in range(table.shape[1]):
            for row in range(first, first + n):
                # Dirichlet(beta_kjml + n_kjml)
                table[row, s] = log_standard_gamma(rng, prior.confusion[row, s] + labels[row, s])
            exp_normalise(table[first : first + n, s])


@inner_njit(error_model="numpy")
def _draw_states(rng, answers, parameters, state, pointwise):
    """Draw the state of every item given the parameters; overwrite log p (item,) and plausibility (item, category)."""
    (prevalence, weight, table), (log_p, plausibility) = parameters, pointwise
    start, code, known = answers
    n, n_subtypes = weight.shape
    probability, p = np.empty(n * n_subtypes), np.empty(n * n_subtypes)
    for j in range(n):
        for m in range(n_subtypes):
            probability[j * n_subtypes + m] = prevalence[j] * weight[j, m]
    for i in range(len(state)):
        span = (start[i], start[i + 1])
        log_p[i] = item_log_p(probability, table, code, span, known[i], p, len(p), n_subtypes)
        if log_p[i] != log_p[i]:  # NaN: out of the range of doubles
            log_p[i] = item_log_p_in_logs(probability, table, code, span, known[i], p, n_subtypes)
        for j in range(n):
            plausibility[i, j] = 0.0
            for m in range(n_subtypes):
                plausibility[i, j] += p[j * n_subtypes + m]
        state[i] = category_at(p, uniform(rng))


@inner_njit(error_model="numpy", inline="always")
def _store_draw(draws, d, parameters, pointwise):
    """Copy parameters and pointwise quantities to the output arrays."""
    prevalence, weight, table = parameters
    log_p, plausibility = pointwise
    for j in range(len(prevalence)):
        draws.prevalence[d, j] = prevalence[j]
        for m in range(weight.shape[1]):
            draws.weight[d, j, m] = weight[j, m]
        for i in range(len(log_p)):
            draws.plausibility[d, i, j] = plausibility[i, j]
    for row in range(len(table)):
        for s in range(table.shape[1]):
            draws.table[d, row, s] = table[row, s]
    for i in range(len(log_p)):
        draws.log_p[d, i] = log_p[i]

"""Gibbs move of what is known of raters: the component of each, with confusion matrices integrated out, and the weights.

    p(c_k = c | T, y, w)  proportional to  w_c prod_j Gamma(b_cj) / Gamma(b_cj + N_kj) prod_l Gamma(b_cjl + N_kjl) / Gamma(b_cjl)
    w | c                 Dirichlet(a + number of raters of each component)

with b_cj = sum_l b_cjl. The components of a rater without a history are alike but for the last: how often that is not chosen
tells of their sum alone, so that the weights move freely among many such raters.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import inner_njit
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform


class History(NamedTuple):
    """Components of the prior of each rater's matrix; the last is that without a history."""

    weight: np.ndarray  # (component,), Dirichlet concentration of the weights
    concentration: np.ndarray  # (component, rater * label, category)
    known: np.ndarray  # bool (rater,)


TURNS = 5  # of components and weights in a move: both cost less than the probabilities of the counts
NO_HISTORY = History(np.empty(0), np.empty((0, 0, 0)), np.empty(0, np.bool_))


@inner_njit(error_model="numpy")
def _log_marginal(beta, counts, total, first):
    """Return the log probability of the counts of one rater in one component."""
    n, value = counts.shape[1], 0.0
    for j in range(n):
        if total[j] == 0:
            continue
        whole = 0.0
        for row in range(first, first + n):
            whole += beta[row, j]
            if counts[row, j] > 0:
                value += math.lgamma(beta[row, j] + counts[row, j]) - math.lgamma(beta[row, j])
        value -= math.lgamma(whole + total[j]) - math.lgamma(whole)
    return value


@inner_njit(error_model="numpy")
def move_history(
    rng: np.ndarray,
    history: History,
    totals_and_counts: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    concentrations: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Draw the component of every rater, which overwrites its concentrations, and the weights; return the components.

    Shapes: totals int64 (rater, category), counts int64 (rater * label, category), weight (component,), concentrations
    (rater * label, category) and (rater, category); result int64 (rater,).
    """
    totals, counts = totals_and_counts
    confusion, row_total = concentrations
    n, last = counts.shape[1], len(weight) - 1
    component, p = np.empty(len(totals), np.int64), np.empty(last + 1)
    marginal = np.empty((len(totals), last + 1))
    for k in range(len(totals)):
        for c in range(last + 1):
            marginal[k, c] = _log_marginal(history.concentration[c], counts, totals[k], k * n)
    for _ in range(TURNS):
        number, either = (
            np.zeros(last + 1),
            0.0,
        )  # raters by component; unknown ones who are of the population
        for k in range(len(totals)):
            for c in range(last + 1):
                p[c] = math.log(weight[c]) + marginal[k, c]
            exp_normalise(p)
            c = component[k] = category_at(p, uniform(rng))
            if history.known[k] or c == last:
                number[c] += 1.0
            else:
                either += 1.0
        _draw_weights(rng, history, (number, either), weight)
    for k in range(len(totals)):
        own = history.concentration[component[k]]
        for j in range(n):
            row_total[k, j] = 0.0
            for row in range(k * n, k * n + n):
                confusion[row, j] = own[row, j]
                row_total[k, j] += own[row, j]
    return component


@inner_njit(error_model="numpy")
def _draw_weights(rng, history, numbers, weight):
    """Draw the weights: their shares among all but the last, and the sum of these."""
    number, either = numbers
    last = len(weight) - 1
    whole = np.array([either, history.weight[last] + number[last]])
    for c in range(last):
        weight[c] = log_standard_gamma(rng, history.weight[c] + number[c])
        whole[0] += history.weight[c] + number[c]
    exp_normalise(weight[:last])
    for side in range(2):
        whole[side] = log_standard_gamma(rng, whole[side])
    exp_normalise(whole)
    for c in range(last):
        weight[c] *= whole[0]
    weight[last] = whole[1]

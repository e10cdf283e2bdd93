"""Conditionals of prevalence and confusion given the true categories.

    prevalence | T      Dirichlet(alpha + number of items of each category)
    confusion  | T, y   ROWS           each row Dirichlet(beta + number of the rater's labels), or
                        COIN, COINS    ability ~ Beta(a + right, b + wrong), wrong labels equally probable, or
                        SPAM           competence and spam, see `competence`

Draws are normalised in logs: a concentration of .001 gives rows with tiny entries, not 0 / 0.

References
----------
Dawid and Skene (1979), equations 2.3 and 2.4 (their expectations), doi:10.2307/2346806.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from .competence import draw_competence
from .gamma import log_standard_gamma

__all__ = ["COIN", "COINS", "ROWS", "SPAM", "ConfusionPrior", "draw_confusion", "draw_prevalence"]

ROWS, COIN, COINS, SPAM = 0, 1, 2, 3
"""Parameters of a confusion matrix: rows; one ability; an ability for each true category; competence and spam."""


class ConfusionPrior(NamedTuple):
    """Dirichlet and Beta priors of prevalence and confusion.

    `confusion` holds the concentration of each row of each matrix, in the layout of `Answers.code`. COINS use
    only the entries of label 0 (right) and label 1 (wrong) of each rater and category, COIN only those of
    category 0. SPAM: category 0 holds the concentration of the spam, category 1 that of the competence, at
    label 0 (true) and label 1 (spam).
    """

    prevalence: np.ndarray  # (category,), Dirichlet concentration
    confusion: np.ndarray  # (rater * label, category)
    kind: int  # ROWS, COIN, COINS or SPAM


@nb.njit(error_model="numpy")
def draw_prevalence(
    rng: np.ndarray, prior: ConfusionPrior, categories: np.ndarray, prevalence: np.ndarray
) -> None:
    """Draw the prevalence given the number of items of each true category.

    Shapes: categories int64 (category,); prevalence (category,), overwritten.
    """
    for j in range(len(prevalence)):
        # Dirichlet(alpha + n_j), equation 2.4
        prevalence[j] = log_standard_gamma(rng, prior.prevalence[j] + categories[j])
    largest = prevalence.max()
    total = 0.0
    for j in range(len(prevalence)):
        prevalence[j] = math.exp(prevalence[j] - largest)
        total += prevalence[j]
    for j in range(len(prevalence)):
        prevalence[j] /= total


@nb.njit(error_model="numpy")
def draw_confusion(
    rng: np.ndarray, prior: ConfusionPrior, counts: np.ndarray, table: np.ndarray
) -> None:
    """Draw all confusion matrices given the number of each rater's labels by true category.

    Shapes: counts int64, table (rater * label, category). `table` is overwritten with
    p(label | rater, true category); SPAM first reads the previous draw from it.
    """
    n = table.shape[1]
    for first in range(0, len(table), n):
        if prior.kind == ROWS:
            for j in range(n):
                _draw_row(rng, prior.confusion, counts, table, (first, j))
        elif prior.kind == SPAM:
            draw_competence(rng, prior.confusion, counts, table, first)
        else:
            _draw_coins(rng, prior, counts, table, first)


@nb.njit(error_model="numpy")
def _draw_row(rng, concentration, counts, table, place):
    """Draw one row of one rater's matrix, which is a piece of a column of the table."""
    first, j = place
    n = table.shape[1]
    largest = -np.inf
    for row in range(first, first + n):
        # Dirichlet(beta_kjl + n_kjl), equation 2.3
        table[row, j] = log_standard_gamma(rng, concentration[row, j] + counts[row, j])
        largest = max(largest, table[row, j])
    total = 0.0
    for row in range(first, first + n):
        table[row, j] = math.exp(table[row, j] - largest)
        total += table[row, j]
    for row in range(first, first + n):
        table[row, j] /= total


@nb.njit(error_model="numpy")
def _draw_coins(rng, prior, counts, table, first):
    """Draw one rater's ability or abilities, and overwrite the matrix."""
    n = table.shape[1]
    right, wrong = 0, 0
    for j in range(n):
        if prior.kind == COINS:
            right, wrong = 0, 0
        for row in range(first, first + n):
            if row - first == j:
                right += counts[row, j]
            else:
                wrong += counts[row, j]
        if prior.kind == COINS:
            _fill(rng, prior.confusion, (right, wrong, first, j, j + 1), table)
    if prior.kind == COIN:
        _fill(rng, prior.confusion, (right, wrong, first, 0, n), table)


@nb.njit(error_model="numpy")
def _fill(rng, concentration, coin, table):
    """Draw one ability; write it for the true categories from `category` to before `end`."""
    right, wrong, first, category, end = coin
    # ability ~ Beta(a + right, b + wrong)
    log_right = log_standard_gamma(rng, concentration[first, category] + right)
    log_wrong = log_standard_gamma(rng, concentration[first + 1, category] + wrong)
    ability = 1.0 / (1.0 + math.exp(log_wrong - log_right))
    # (1 - ability) / (n - 1)
    other = 1.0 / (1.0 + math.exp(log_right - log_wrong)) / (table.shape[1] - 1)
    for j in range(category, end):
        for row in range(first, first + table.shape[1]):
            table[row, j] = ability if row - first == j else other

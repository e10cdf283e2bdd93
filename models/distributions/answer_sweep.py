"""One pass over all answers: the marginal likelihood of every item, who its true category is, and what raters did.

    p(answers of i, category j) = prevalence_j  prod_a confusion[rater_a, j, label_a]
    p(answers of i)             = sum_j p(answers of i, j)

A category may be a block of states, nodes of what else differs between its items: then j runs over states.

The same pass serves EM (expected counts), Gibbs sampling (p of the true category), and the Op (log p, and its gradient: the
expected counts again). Products are taken of probabilities, not of logs, and rescaled before they underflow: three times
faster and as exact. An item of which a category leaves the range of doubles is done again in logs.

References
----------
Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS C 28(1),
equations 2.1 to 2.5, doi:10.2307/2346806.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numba as nb
import numpy as np

from .compiling import kept
from .registers import carray, stack_space

__all__ = ["ANY", "UNKNOWN", "AnswerSweeps", "Answers", "answer_codes", "answer_sweeps"]

UNKNOWN = -1  # the true category of an item without gold label
ANY = 0  # number of categories not known at compile time
SMALL, LARGE, RESCALE, LOG_RESCALE = 1e-100, 1e100, 2.0**500, 500 * math.log(2)
LOST = 1e-290  # a product below has lost digits, and would miss them if the others became as small
CHECKED_EVERY = 8  # answers, after which a product is rescaled if it has become small


class Answers(NamedTuple):
    """What raters answered, item by item, in a form that compiled code can read.

    Attributes
    ----------
    start : ndarray of int64, shape (item + 1,)
        Answers of item i are ``start[i]:start[i + 1]``.
    code : ndarray of int32, shape (answer,)
        ``rater * n_labels + label``: the row of the table of probabilities.
    known : ndarray of int64, shape (item,)
        True category of gold items, -1 elsewhere.
    """

    start: np.ndarray
    code: np.ndarray
    known: np.ndarray


def answer_codes(rater: np.ndarray, label: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the row of each answer in the table of probabilities.

    Parameters
    ----------
    rater, label : ndarray of int, shape (answer,)
        Codes.
    n_labels : int
        Number of labels.

    Returns
    -------
    ndarray of int32, shape (answer,)
        Row ``rater * n_labels + label``.
    """
    return (rater.astype(np.int64) * n_labels + label).astype(np.int32)


class AnswerSweeps(NamedTuple):
    """The compiled passes for one number of categories.

    Attributes
    ----------
    log_p : callable
        ``log_p(prevalence, table, answers, log_p, plausibility)`` overwrites the last two: log p of every item's answers, shape
        (item,), -inf where no category can explain them; and p(true category | answers), shape (item, category), NaN there.
    counts : callable
        ``counts(plausibility, weight, answers, counts)`` overwrites the last with the expected number of each rater's labels by
        true category, shape (rater * label, category), every item counted with its weight.
    both : callable
        ``both(prevalence, table, answers, weight, (categories, counts)) -> float`` does both in one pass: returns the weighted
        sum of log p, and overwrites the expected number of items by category, shape (category,), and of labels.
    """

    log_p: Callable
    counts: Callable
    both: Callable


@cache
def answer_sweeps(n_categories: int = ANY, nodes: int = 1) -> AnswerSweeps:
    """Compile the passes for a number of categories: twice as fast when it is a constant.

    Parameters
    ----------
    n_categories : int, optional
        Number of categories, or of states; by default any, read from the arrays.
    nodes : int, default 1
        States of each category, side by side.

    Returns
    -------
    AnswerSweeps
        Functions of ``prevalence``, shape (category,), ``table``, shape (rater * label, category): the probability of a rater's
        label given the true category, and `Answers`.
    """
    fixed = n_categories > 0

    @kept(nogil=True, error_model="numpy")
    def log_p(prevalence, table, answers, log_p, plausibility):
        start, code, known = answers
        n = n_categories if n_categories > 0 else len(prevalence)
        if fixed:
            p = carray(stack_space(n_categories), n_categories)
        else:
            p = np.empty(n)
        for i in range(len(start) - 1):
            span = (start[i], start[i + 1])
            log_p[i] = item_log_p(prevalence, table, code, span, known[i], p, n, nodes)
            for j in range(n):
                plausibility[i, j] = p[j]
        _repeat_in_logs(prevalence, table, answers, log_p, plausibility, nodes)

    @kept(nogil=True, error_model="numpy")
    def counts(plausibility, weight, answers, counts):
        start, code = answers.start, answers.code
        n = n_categories if n_categories > 0 else plausibility.shape[1]
        counts[:] = 0.0
        if fixed:
            share = carray(stack_space(n_categories), n_categories)
        else:
            share = np.empty(n)
        for i in range(len(start) - 1):
            for j in range(n):
                share[j] = weight[i] * plausibility[i, j]
            for a in range(start[i], start[i + 1]):
                row = code[a]
                for j in range(n):
                    counts[row, j] += share[j]

    @kept(nogil=True, error_model="numpy")
    def both(prevalence, table, answers, weight, expected):
        start, code, known = answers
        categories, counts = expected
        n = n_categories if n_categories > 0 else len(prevalence)
        categories[:] = 0.0
        counts[:] = 0.0
        if fixed:
            p = carray(stack_space(n_categories), n_categories)
        else:
            p = np.empty(n)
        total, product = 0.0, 1.0  # a logarithm for many items, where each counts once
        for i in range(len(start) - 1):
            span = (start[i], start[i + 1])
            mass, shift = _item_mass(prevalence, table, code, span, known[i], p, n, nodes)
            total += weight[i] * shift
            if weight[i] == 1.0:
                product *= mass
                if not SMALL < product < LARGE:
                    total += math.log(product)
                    product = 1.0
            else:
                total += weight[i] * math.log(mass)
            for j in range(n):
                p[j] *= weight[i]
                categories[j] += p[j]
            for a in range(start[i], start[i + 1]):
                row = code[a]
                for j in range(n):
                    counts[row, j] += p[j]
        total += math.log(product)
        if total != total:
            total = _both_in_logs(prevalence, table, answers, weight, expected, nodes)
        return total

    return AnswerSweeps(log_p, counts, both)


@nb.njit(error_model="numpy", inline="always")
def item_log_p(prevalence, table, code, span, known, p, n, nodes=1):
    """Leave p(true category | answers) of one item in p, and return log p of its answers.

    Parameters
    ----------
    prevalence, table, code : ndarray
        As `answer_sweeps` takes them.
    span : tuple of int
        First answer of the item, and of the next one.
    known : int
        True category, or -1.
    p : ndarray, shape (category,)
        Overwritten.
    n : int
        Number of categories, or of states.
    nodes : int, default 1
        States of each category.

    Returns
    -------
    float
        log p; NaN, and p NaN, where products of probabilities leave the range of doubles: see `item_log_p_in_logs`.
    """
    mass, shift = _item_mass(prevalence, table, code, span, known, p, n, nodes)
    return math.log(mass) + shift


@nb.njit(error_model="numpy", inline="always")
def _item_mass(prevalence, table, code, span, known, p, n, nodes):
    """Do that, and return p of the answers as a factor and the log of another one."""
    shift, total, lost = 0.0, 0.0, False
    for j in range(n):
        p[j] = prevalence[j] if known < 0 or known == j // nodes else 0.0
    first = span[0]
    while True:
        last = min(first + CHECKED_EVERY, span[1])
        for a in range(first, last):
            row = code[a]
            for j in range(n):
                p[j] *= table[row, j]
        total = 0.0
        for j in range(n):
            total += p[j]
        if last == span[1]:
            break
        first = last
        if total < SMALL:
            for j in range(n):
                if p[j] < LOST and (known < 0 or known == j // nodes):
                    lost = True  # later answers may favour this category again
                p[j] *= RESCALE
            shift -= LOG_RESCALE
    if lost or total < SMALL:
        total = np.nan
    share = 1.0 / total
    for j in range(n):
        p[j] *= share
    return total, shift


@nb.njit(error_model="numpy")
def item_log_p_in_logs(prevalence, table, code, span, known, p, nodes=1):
    """Do the same in logs; where no category can explain the answers p is NaN and log p is -inf."""
    n = len(p)
    largest = -np.inf
    for j in range(n):
        p[j] = -np.inf
        if known < 0 or known == j // nodes:
            p[j] = math.log(prevalence[j])
            for a in range(span[0], span[1]):
                p[j] += math.log(table[code[a], j])
        largest = max(largest, p[j])
    total = 0.0
    for j in range(n):
        p[j] = math.exp(p[j] - largest)
        total += p[j]
    for j in range(n):
        p[j] /= total
    return largest + math.log(total) if largest > -np.inf else -np.inf


@nb.njit(error_model="numpy")
def _repeat_in_logs(prevalence, table, answers, log_p, plausibility, nodes):
    """Compute the items anew whose products have left the range of doubles."""
    start, code, known = answers
    for i in range(len(log_p)):
        if log_p[i] != log_p[i]:
            span = (start[i], start[i + 1])
            p = plausibility[i]
            log_p[i] = item_log_p_in_logs(prevalence, table, code, span, known[i], p, nodes)


@nb.njit(error_model="numpy")
def _both_in_logs(prevalence, table, answers, weight, expected, nodes):
    """Do the whole pass in logs."""
    start, code, known = answers
    categories, counts = expected
    categories[:] = 0.0
    counts[:] = 0.0
    p = np.empty(len(prevalence))
    total = 0.0
    for i in range(len(start) - 1):
        span = (start[i], start[i + 1])
        total += weight[i] * item_log_p_in_logs(prevalence, table, code, span, known[i], p, nodes)
        for j in range(len(p)):
            p[j] *= weight[i]
            categories[j] += p[j]
        for a in range(start[i], start[i + 1]):
            for j in range(len(p)):
                counts[code[a], j] += p[j]
    return total

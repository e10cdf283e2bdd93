"""One pass over all answers: marginal likelihood, true-category probabilities and expected label counts.

    p(answers of i, category j) = prevalence_j  prod_a confusion[rater_a, j, label_a]
    p(answers of i)             = sum_j p(answers of i, j)

The pass serves EM, Gibbs sampling and the gradient of log p. It multiplies probabilities and rescales them
before they underflow: three times faster than sums of logs, and as exact. Items beyond the range of doubles
are repeated in logs. A category may be a block of states (the nodes of a quadrature); then j is a state.

References
----------
Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS C
28(1), equations 2.1 to 2.5, doi:10.2307/2346806.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import cached_njit, inner_njit

carray: Any = nb.carray  # pyright: ignore[reportPrivateImportUsage]


def _stack_space(typing_context: Any, size: Any) -> tuple[Any, Any]:
    """Return a pointer to a constant number of doubles on the stack of the calling function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the allocation."""
        double = context.get_value_type(types.float64)
        return cgutils.alloca_once(builder, double, size=size.literal_value)

    return types.CPointer(types.float64)(size), generate


stack_space: Any = intrinsic(prefer_literal=True)(_stack_space)

UNKNOWN = -1  # the true category of an item without gold label
ANY_NUMBER = 0  # number of categories is unknown at compile time
SMALL, LARGE, RESCALE, LOG_RESCALE = 1e-100, 1e100, 2.0**500, 500 * math.log(2)
DIGITS_LOST = 1e-290  # smaller products have lost digits, which matter if the other products become as small
CHECKED_EVERY = 8  # answers between two checks for underflow


# relation of an answer to the truth in a tree of categories: the leaf, its lowest and other ancestors, a sibling, another node
EXACT, LOWEST, HIGHER, SIBLING, ELSEWHERE = range(5)


class Answers(NamedTuple):
    """Answers grouped by item, as compiled code reads them."""

    start: np.ndarray  # int64 (item + 1,): answers of item i are start[i]:start[i + 1]
    code: np.ndarray  # int32 (answer,): row rater * n_labels + label of the table of probabilities
    gold_category: np.ndarray  # int64 (item,): true category of gold items, -1 elsewhere


def answer_codes(rater: np.ndarray, label: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the row of each answer in the table of label probabilities: rater * n_labels + label.

    Shapes: rater, label and result (answer,).
    """
    rows = rater.astype(np.int32)
    rows *= n_labels
    rows += label.astype(np.int32, copy=False)
    return rows


class AnswerSweeps(NamedTuple):
    """Compiled passes for one number of categories.

    Arguments: ``prevalence`` (category,); ``table`` (rater * label, category), the probability of a rater's
    label given the true category; ``answers``, an `Answers`; ``weight`` (item,).

    Attributes
    ----------
    log_p : callable
        ``log_p(prevalence, table, answers, log_p, plausibility)`` overwrites the last two: log likelihood
        (item,), -inf where no category can explain the answers; p(true category | answers) (item, category),
        NaN there.
    counts : callable
        ``counts(plausibility, weight, answers, counts)`` overwrites ``counts`` (rater * label, category) with
        the weighted expected number of each rater's labels by true category.
    log_p_and_counts : callable
        ``log_p_and_counts(prevalence, table, answers, weight, (categories, counts)) -> float`` returns the
        weighted sum of log p and overwrites the expected numbers of items (category,) and of labels
        (rater * label, category).
    """

    log_p: Callable
    counts: Callable
    log_p_and_counts: Callable


@cache
def answer_sweeps(n_categories: int = ANY_NUMBER, nodes: int = 1) -> AnswerSweeps:
    """Compile the passes for a constant number of categories or states (twice as fast), or for any number.

    Each category is a block of `nodes` adjacent states.
    """
    fixed = n_categories > 0

    @cached_njit(nogil=True, error_model="numpy")
    def log_p(prevalence, table, answers, log_p, plausibility):
        start, code, gold_category = answers
        n = n_categories if n_categories > 0 else len(prevalence)
        if fixed:
            p = carray(stack_space(n_categories), n_categories)
        else:
            p = np.empty(n)
        for i in range(len(start) - 1):
            span = (start[i], start[i + 1])
            log_p[i] = item_log_p(prevalence, table, code, span, gold_category[i], p, n, nodes)
            for j in range(n):
                plausibility[i, j] = p[j]
        _repeat_in_logs(prevalence, table, answers, log_p, plausibility, nodes)

    @cached_njit(nogil=True, error_model="numpy")
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
                    counts[row, j] += share[j]  # numerator of equation 2.3

    @cached_njit(nogil=True, error_model="numpy")
    def log_p_and_counts(prevalence, table, answers, weight, expected):
        start, code, gold_category = answers
        categories, counts = expected
        n = n_categories if n_categories > 0 else len(prevalence)
        categories[:] = 0.0
        counts[:] = 0.0
        if fixed:
            p = carray(stack_space(n_categories), n_categories)
        else:
            p = np.empty(n)
        total, product = 0.0, 1.0  # items of weight one share a logarithm
        for i in range(len(start) - 1):
            span = (start[i], start[i + 1])
            mass, shift = _item_probability(prevalence, table, code, span, gold_category[i], p, n, nodes)
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
                categories[j] += p[j]  # numerator of equation 2.4
            for a in range(start[i], start[i + 1]):
                row = code[a]
                for j in range(n):
                    counts[row, j] += p[j]  # numerator of equation 2.3
        total += math.log(product)
        if total != total:  # NaN: an item left the range of doubles
            total = _log_p_and_counts_in_logs(prevalence, table, answers, weight, expected, nodes)
        return total

    return AnswerSweeps(log_p, counts, log_p_and_counts)


@cache
def sweep_by_item(n_categories: int = ANY_NUMBER, nodes: int = 1) -> Callable:
    """Compile the pass ``log_p`` for a prior of each item's true category, softmax(log prior).

    ``sweep(log_prior, table, answers, log_p, plausibility, gain)`` overwrites the last three: log likelihood (item,),
    p(true category | answers) (item, category), and this less the prior (item, category), the derivative of log p in
    the log prior. The log prior (item, category) need not be normalised. With several `nodes` categories are states.
    """
    fixed = n_categories > 0

    @cached_njit(nogil=True, error_model="numpy")
    def sweep(log_prior, table, answers, log_p, plausibility, gain):
        start, code, gold_category = answers
        n = n_categories if n_categories > 0 else log_prior.shape[1]
        if fixed:
            p = carray(stack_space(n_categories), n_categories)
            prior = carray(stack_space(n_categories), n_categories)
        else:
            p, prior = np.empty(n), np.empty(n)
        for i in range(len(start) - 1):
            span = (start[i], start[i + 1])
            softmax_row(log_prior[i], prior, n)
            log_p[i] = item_log_p(prior, table, code, span, gold_category[i], p, n, nodes)
            for j in range(n):
                plausibility[i, j] = p[j]
                gain[i, j] = p[j] - prior[j]
            if log_p[i] != log_p[i]:  # NaN: out of the range of doubles
                own = plausibility[i]
                log_p[i] = _item_in_logs(log_prior[i], table, code, span, gold_category[i], own, nodes)
                for j in range(n):
                    gain[i, j] = plausibility[i, j] - prior[j]

    return sweep


@inner_njit(error_model="numpy", inline="always")
def softmax_row(log_p, p, n):
    """Overwrite p by the normalised exponentials of log_p; shapes (n,)."""
    largest, total = -np.inf, 0.0
    for j in range(n):
        largest = max(largest, log_p[j])
    for j in range(n):
        p[j] = math.exp(log_p[j] - largest)
        total += p[j]
    share = 1.0 / total
    for j in range(n):
        p[j] *= share


@cached_njit(nogil=True, error_model="numpy")
def softmax_rows(log_p: np.ndarray) -> np.ndarray:
    """Return the normalised exponentials of the rows of log_p; shapes (item, category)."""
    p = np.empty(log_p.shape)
    for i in range(len(p)):
        softmax_row(log_p[i], p[i], p.shape[1])
    return p


@inner_njit(error_model="numpy")
def _item_in_logs(log_prior, table, code, span, gold_category, p, nodes):
    """Compute `item_log_p_in_logs` for a log prior that need not be normalised."""
    largest, total = -np.inf, 0.0
    for j in range(len(p)):
        largest = max(largest, log_prior[j])
    for j in range(len(p)):
        total += math.exp(log_prior[j] - largest)
        p[j] = log_prior[j] if gold_category < 0 or gold_category == j // nodes else -np.inf
    return _answers_in_logs(p, table, code, span) - (largest + math.log(total))


@inner_njit(error_model="numpy", inline="always")
def item_log_p(prevalence, table, code, span, gold_category, p, n, nodes=1):
    """Return log p of one item's answers and overwrite p with p(true category | answers).

    Both are NaN where products of probabilities leave the range of doubles; see `item_log_p_in_logs`.

    Shapes: p (n,); `span` holds the first answer of the item and of the next; `gold_category` is -1 without
    a gold label.
    """
    mass, shift = _item_probability(prevalence, table, code, span, gold_category, p, n, nodes)
    return math.log(mass) + shift


@inner_njit(error_model="numpy", inline="always")
def _item_probability(prevalence, table, code, span, gold_category, p, n, nodes):
    """Return p(answers) of one item as a factor and the log of a second; overwrite p as `item_log_p` does."""
    shift, total, lost = 0.0, 0.0, False
    # p_j = prevalence_j prod_a confusion[rater_a, j, label_a]
    for j in range(n):
        p[j] = prevalence[j] if gold_category < 0 or gold_category == j // nodes else 0.0
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
                if p[j] < DIGITS_LOST and (gold_category < 0 or gold_category == j // nodes):
                    lost = True  # later answers may favour this category again
                p[j] *= RESCALE
            shift -= LOG_RESCALE
    if lost or total < SMALL:
        total = np.nan
    share = 1.0 / total
    for j in range(n):
        p[j] *= share  # equation 2.5: p(j | answers)
    return total, shift


@inner_njit(error_model="numpy")
def item_log_p_in_logs(prevalence, table, code, span, gold_category, p, nodes=1):
    """Compute `item_log_p` in logs; p is NaN and log p is -inf where no category explains the answers."""
    for j in range(len(p)):
        possible = gold_category < 0 or gold_category == j // nodes
        p[j] = math.log(prevalence[j]) if possible else -np.inf
    return _answers_in_logs(p, table, code, span)


@inner_njit(error_model="numpy")
def _answers_in_logs(p, table, code, span):
    """Return log p of one item's answers, given p, the log prior (n,), which it overwrites as `item_log_p_in_logs` does."""
    n = len(p)
    largest = -np.inf
    for j in range(n):
        if p[j] > -np.inf:
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


@inner_njit(error_model="numpy")
def _repeat_in_logs(prevalence, table, answers, log_p, plausibility, nodes):
    """Recompute in logs the items whose products left the range of doubles (log p is NaN)."""
    start, code, gold_category = answers
    for i in range(len(log_p)):
        if log_p[i] != log_p[i]:
            span = (start[i], start[i + 1])
            p = plausibility[i]
            log_p[i] = item_log_p_in_logs(prevalence, table, code, span, gold_category[i], p, nodes)


@inner_njit(error_model="numpy")
def _log_p_and_counts_in_logs(prevalence, table, answers, weight, expected, nodes):
    """Compute the pass `log_p_and_counts` in logs."""
    start, code, gold_category = answers
    categories, counts = expected
    categories[:] = 0.0
    counts[:] = 0.0
    p = np.empty(len(prevalence))
    total = 0.0
    for i in range(len(start) - 1):
        span = (start[i], start[i + 1])
        total += weight[i] * item_log_p_in_logs(prevalence, table, code, span, gold_category[i], p, nodes)
        for j in range(len(p)):
            p[j] *= weight[i]
            categories[j] += p[j]
        for a in range(start[i], start[i + 1]):
            for j in range(len(p)):
                counts[code[a], j] += p[j]
    return total

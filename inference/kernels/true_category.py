"""Conditionals of the true categories, given prevalence and confusion or with these integrated out.

    p(T_i = j | prevalence, confusion)  proportional to  prevalence_j prod_a confusion[rater_a, j, label_a]

With prevalence and confusion integrated out (collapsed) the product is of Polya urns: if n_l of the n answers
of rater k to other items of category j are label l, the next one is l with probability
(beta_l + n_l) / (beta + n), and is added to the urn before the next answer of the same rater to the same
item.

References
----------
Dawid and Skene (1979), equation 2.5, doi:10.2307/2346806. Liu (1994), The collapsed Gibbs sampler, JASA 89,
doi:10.1080/01621459.1994.10476829.
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.answer_sweep import Answers, item_log_p, item_log_p_in_logs
from .confusion import ConfusionPrior
from .random_stream import uniform

__all__ = ["Truth", "draw_collapsed", "draw_true_categories", "recount"]

SMALL = 1e-200  # smaller weights are stored as logs

Truth = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""True categories int64 (item,), and their counts: items (category,), labels (rater * label, category),
answers (rater, category)."""


@nb.njit(error_model="numpy")
def recount(answers: Answers, truth: Truth) -> None:
    """Overwrite the counts of items, labels and answers by true category."""
    category, items, labels, totals = truth
    items[:] = 0
    labels[:] = 0
    totals[:] = 0
    for i in range(len(category)):
        _count(answers, i, truth, 1)


@nb.njit(error_model="numpy")
def _count(answers, item, truth, by):
    """Add an item to the counts (by = 1), or remove it (by = -1)."""
    category, items, labels, totals = truth
    j = category[item]
    n = len(items)
    items[j] += by
    for a in range(answers.start[item], answers.start[item + 1]):
        row = answers.code[a]
        labels[row, j] += by
        totals[row // n, j] += by


@nb.njit(error_model="numpy")
def draw_true_categories(
    rng: np.ndarray,
    answers: Answers,
    parameters: tuple[np.ndarray, np.ndarray],
    truth: Truth,
    pointwise: tuple[np.ndarray, np.ndarray],
) -> None:
    """Draw every item's true category given prevalence and confusion, and update the counts.

    Shapes: parameters: prevalence (category,), table (rater * label, category); pointwise, overwritten: log p
    of the item's answers (item,), p(true category | answers) (item, category).
    """
    prevalence, table = parameters
    log_p, plausibility = pointwise
    start, code, known = answers
    for i in range(len(known)):
        span = (start[i], start[i + 1])
        # equation 2.5
        log_p[i] = item_log_p(
            prevalence, table, code, span, known[i], plausibility[i], len(prevalence)
        )
        if log_p[i] != log_p[i]:  # NaN: out of the range of doubles
            log_p[i] = item_log_p_in_logs(prevalence, table, code, span, known[i], plausibility[i])
        truth[0][i] = _draw(rng, plausibility[i])
    recount(answers, truth)


@nb.njit(error_model="numpy")
def draw_collapsed(
    rng: np.ndarray, answers: Answers, prior: ConfusionPrior, truth: Truth, row_total: np.ndarray
) -> None:
    """Draw the true categories one after the other, each given all others.

    Shapes: row_total (rater, category), total concentration of each row. The prior is of ROWS; the answers of
    one rater to an item must be adjacent; `truth` is overwritten.
    """
    category, items, labels, totals = truth
    n = len(items)
    p, log_p, seen = np.empty(n), np.empty(n), np.empty(n)
    start, code, known = answers
    for i in range(len(category)):
        if known[i] >= 0:
            continue
        _count(answers, i, truth, -1)
        for j in range(n):
            p[j] = prior.prevalence[j] + items[j]
            log_p[j] = 0.0
        rater, same = -1, 0
        for a in range(start[i], start[i + 1]):
            row = code[a]
            if row // n != rater:
                rater, same = row // n, 0
                seen[:] = 0
            for j in range(n):
                # (beta_l + n_l) / (beta + n)
                p[j] *= prior.confusion[row, j] + labels[row, j] + seen[row - rater * n]
                p[j] /= row_total[rater, j] + totals[rater, j] + same
                if p[j] < SMALL:  # each weight on its own: later answers may raise it again
                    log_p[j] += math.log(p[j])
                    p[j] = 1.0
            seen[row - rater * n] += 1
            same += 1
        _share(p, log_p)
        category[i] = _draw(rng, p)
        _count(answers, i, truth, 1)


@nb.njit(error_model="numpy", inline="always")
def _share(p, log_p):
    """Multiply weights by the factors stored as logs, up to a common one."""
    if log_p.min() < 0.0:
        for j in range(len(p)):
            log_p[j] += math.log(p[j])
        largest = log_p.max()
        for j in range(len(p)):
            p[j] = math.exp(log_p[j] - largest)


@nb.njit(error_model="numpy", inline="always")
def _draw(rng, p):
    """Draw a category from weights that need not sum to one."""
    total = 0.0
    for j in range(len(p)):
        total += p[j]
    left = uniform(rng) * total
    chosen = len(p) - 1
    for j in range(len(p)):
        left -= p[j]
        if left < 0.0:
            chosen = j
            break
    return chosen

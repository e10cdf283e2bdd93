"""EM of prevalence and confusion: the expected counts of one pass over the answers, and the maximum given them.

    prevalence_j     proportional to  alpha_j + expected number of items of category j
    confusion_kjl    proportional to  beta_kjl + expected number of labels l of rater k on items of category j

With alpha = beta = 0 this maximises the likelihood; a row without any expected label stays zero, for it takes part in nothing.
With positive alpha and beta it maximises the posterior of the log odds: their Dirichlet density has the exponents alpha and beta,
not alpha - 1 and beta - 1, so that its mode is never on the border.

References
----------
Dawid and Skene (1979), equations 2.3 to 2.5, doi:10.2307/2346806.
"""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from ...models.distributions.answer_sweep import Answers, answer_sweeps
from ...models.distributions.compiling import kept
from .answer_patterns import AnswerPatterns

__all__ = ["Ascent", "ascend", "climb"]

LEAST_PART = 400_000  # answers that a thread is worth
MOST_PARTS = 4  # the parts, and so the sums, are the same for any number of threads


class Ascent(NamedTuple):
    """Where EM has arrived.

    Attributes
    ----------
    prevalence, table : ndarray, shapes (category,) and (rater * label, category)
        The estimate; rows of no answers are zero.
    trace : ndarray, shape (iteration,)
        Log likelihood, with the log prior if there is one, of every iterate.
    log_likelihood : float
        At the estimate.
    converged : bool
        Whether the last step gained less than the tolerance.
    """

    prevalence: np.ndarray
    table: np.ndarray
    trace: np.ndarray
    log_likelihood: float
    converged: bool


def ascend(
    patterns: AnswerPatterns,
    plausibility: np.ndarray,
    prior: tuple[np.ndarray, np.ndarray],
    max_iterations: int,
    tolerance: float,
) -> Ascent:
    """Run EM.

    Parameters
    ----------
    patterns : AnswerPatterns
        The answers.
    plausibility : ndarray, shape (pattern, category)
        p(true category) to start from.
    prior : tuple of ndarray, shapes (category,) and (rater * label, category)
        Pseudo-counts alpha and beta, from 0.
    max_iterations : int
        Most iterations.
    tolerance : float
        Relative gain of the objective at which to stop.

    Returns
    -------
    Ascent
        The last iterate.
    """
    answers, weight, _ = patterns
    alpha, beta = prior
    categories, counts = (weight[:, None] * plausibility).sum(axis=0), np.empty(beta.shape)
    answer_sweeps(len(alpha)).counts(plausibility, weight, answers, counts)
    expected = (categories, counts)
    with _expectation(answers, weight, expected) as expect:
        return climb(expect, expected, prior, max_iterations, tolerance)


def climb(
    expect: Callable[[np.ndarray, np.ndarray], float],
    expected: tuple[np.ndarray, np.ndarray],
    prior: tuple[np.ndarray, np.ndarray],
    max_iterations: int,
    tolerance: float,
) -> Ascent:
    """Run EM, wherever the answers are.

    Parameters
    ----------
    expect : callable
        ``expect(prevalence, table)`` overwrites the expected counts and returns the log likelihood.
    expected : tuple of ndarray, shapes (category,) and (rater * label, category)
        Expected counts of items and labels to start from; overwritten.
    prior, max_iterations, tolerance
        As of `ascend`.

    Returns
    -------
    Ascent
        The last iterate.
    """
    categories, counts = expected
    prevalence, table = np.empty(len(categories)), np.empty(counts.shape)
    trace, log_likelihood, converged = [], -np.inf, False
    for _ in range(max_iterations):
        log_prior = maximise(prior, categories, counts, prevalence, table)
        log_likelihood = expect(prevalence, table)
        trace.append(log_likelihood + log_prior)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * (abs(trace[-1]) + 1):
            converged = True
            break
    return Ascent(prevalence, table, np.array(trace), log_likelihood, converged)


@contextmanager
def _expectation(
    answers: Answers, weight: np.ndarray, expected: tuple[np.ndarray, np.ndarray]
) -> Iterator[Callable[[np.ndarray, np.ndarray], float]]:
    """Lend the function that overwrites the expected counts and returns the log likelihood; on threads, part by part."""
    categories, counts = expected
    sweep = answer_sweeps(len(categories)).both
    n_parts = min(MOST_PARTS, len(answers.code) // LEAST_PART)
    if n_parts < 2:
        yield lambda prevalence, table: sweep(prevalence, table, answers, weight, expected)
        return
    edges = np.searchsorted(answers.start, np.linspace(0, len(answers.code), n_parts + 1))
    edges[0], edges[-1] = 0, len(weight)
    of_part = [(np.empty_like(categories), np.empty_like(counts)) for _ in range(n_parts)]

    def run(prevalence: np.ndarray, table: np.ndarray, part: int) -> float:
        first, last = edges[part], edges[part + 1]
        own = Answers(answers.start[first : last + 1], answers.code, answers.known[first:last])
        return sweep(prevalence, table, own, weight[first:last], of_part[part])

    def expect(prevalence: np.ndarray, table: np.ndarray) -> float:
        total = sum(pool.map(partial(run, prevalence, table), range(n_parts)))
        for whole, parts in zip(expected, zip(*of_part, strict=True), strict=True):
            np.sum(parts, axis=0, out=whole)
        return total

    with ThreadPoolExecutor(min(n_parts, os.cpu_count() or 1)) as pool:
        yield expect


@kept(error_model="numpy")
def maximise(
    prior: tuple[np.ndarray, np.ndarray],
    categories: np.ndarray,
    counts: np.ndarray,
    prevalence: np.ndarray,
    table: np.ndarray,
) -> float:
    """Set prevalence and confusion to their maximum given expected counts, and return the log prior there.

    Parameters
    ----------
    prior : tuple of ndarray, shapes (category,) and (rater * label, category)
        Pseudo-counts.
    categories, counts : ndarray, shapes (category,) and (rater * label, category)
        Expected counts of items and of labels.
    prevalence, table : ndarray, of the same shapes
        Overwritten.

    Returns
    -------
    float
        Sum of pseudo-counts times log probabilities.
    """
    alpha, beta = prior
    n = len(alpha)
    log_prior, total = 0.0, (alpha + categories).sum()
    for j in range(n):
        prevalence[j] = (alpha[j] + categories[j]) / total
        if alpha[j] > 0.0:
            log_prior += alpha[j] * math.log(prevalence[j])
    for first in range(0, len(table), n):
        for j in range(n):
            total = 0.0
            for row in range(first, first + n):
                total += beta[row, j] + counts[row, j]
            for row in range(first, first + n):
                table[row, j] = 0.0 if total == 0.0 else (beta[row, j] + counts[row, j]) / total
                if beta[row, j] > 0.0:
                    log_prior += beta[row, j] * math.log(table[row, j])
    return log_prior

"""Information about the truth in k answers of like raters, by exact summation over counts of labels.

Given the truth j, the answers of k raters with confusion matrix pi are independent, and the counts c of the
labels are sufficient:

    q_jc = p_j k! / prod_l c_l! prod_l pi_jl^c_l      p(truth j, counts c)
    information   sum_jc q_jc log2(q_jc / (p_j q_c))  bits of the answers about the truth, q_c = sum_j q_jc
    accuracy      sum_c max_j q_jc                    of the most probable truth given the answers

Without answers the information is 0 and the accuracy max_j p_j; neither decreases as answers are added.

References
----------
Cover and Thomas (2006), Elements of information theory, equations 2.28 (mutual information) and 2.36
(sufficient statistics).
"""

from functools import cache
from itertools import combinations
from math import comb, factorial

import numpy as np

from .errors import EvaluationError

__all__ = ["MEASURES", "largest_panel", "one_answer", "panel_curves"]

MEASURES = ("information", "accuracy")
MOST_ANSWERS = 20
MOST_COUNTS = 1_000  # vectors of counts of the largest panel by default
TOO_MANY_COUNTS = 200_000
BLOCK_SIZE = 200_000  # probabilities in one block, which stays in the cache


def largest_panel(largest: int | None, labels: int) -> int:
    """Return the number of answers of the largest panel; raise if not positive or too expensive.

    By default 20, or fewer if more than 1,000 vectors of counts would have to be summed.
    """
    if largest is None:
        fits = [k for k in range(1, MOST_ANSWERS + 1) if _vectors(k, labels) <= MOST_COUNTS]
        return max(fits, default=1)
    if isinstance(largest, bool) or not isinstance(largest, int | np.integer) or largest < 1:
        raise EvaluationError(f"largest={largest!r} must be a whole number of answers, from 1")
    if (many := _vectors(int(largest), labels)) > TOO_MANY_COUNTS:
        raise EvaluationError(
            f"largest={largest} answers with {labels} labels have {many:,} vectors of counts, more than {TOO_MANY_COUNTS:,}: "
            "ask for a smaller panel"
        )
    return int(largest)


def _vectors(answers: int, labels: int) -> int:
    """Return the number of count vectors, binomial(answers + labels - 1, labels - 1)."""
    return comb(answers + labels - 1, labels - 1)


def one_answer(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Information in bits and accuracy of the best guess about the truth, from an observed variable.

    Shapes: joint (..., truth, seen), probabilities; results (...).
    """
    truth, seen = joint.sum(axis=-1), joint.sum(axis=-2)
    together = _surprise(joint).sum(axis=(-2, -1))
    nats = _surprise(truth).sum(axis=-1) + _surprise(seen).sum(axis=-1) - together
    return nats / np.log(2), joint.max(axis=-2).sum(axis=-1)


def _surprise(probability: np.ndarray) -> np.ndarray:
    """Entropy term -x log x, which is 0 at 0."""
    return -probability * np.log(np.where(probability > 0, probability, 1))


def panel_curves(prevalence: np.ndarray, confusion: np.ndarray, largest: int) -> np.ndarray:
    """Information in bits and accuracy of 0, 1, ... `largest` answers of like raters.

    Shapes: prevalence (sample, category); confusion (sample, category, label); result (measure, sample,
    answers).
    """
    samples, categories, labels = confusion.shape
    curves = np.empty((len(MEASURES), samples, largest + 1))
    curves[0, :, 0], curves[1, :, 0] = 0, prevalence.max(axis=1)
    for k in range(1, largest + 1):
        counts, ways = _counts(k, labels)
        step = max(1, BLOCK_SIZE // (len(ways) * categories))
        for first in range(0, samples, step):
            block = slice(first, first + step)
            # q_jc of the module docstring, (sample, category, vector)
            joint = prevalence[block, :, None] * ways
            powers = confusion[block, :, :, None] ** np.arange(k + 1)
            for label in range(labels):
                joint *= powers[:, :, label, counts[:, label]]
            curves[0, block, k], curves[1, block, k] = one_answer(joint)
    return curves


@cache
def _counts(answers: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """All vectors of counts (vector, label), and their multinomial coefficients (vector,)."""
    bars = combinations(range(answers + labels - 1), labels - 1)
    ends = np.array(list(bars), np.int64).reshape(-1, labels - 1)
    edges = np.pad(ends, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, answers + labels - 1)))
    counts = np.diff(edges, axis=1) - 1
    factorials = np.array([float(factorial(c)) for c in range(answers + 1)])
    return counts, factorials[answers] / factorials[counts].prod(axis=1)

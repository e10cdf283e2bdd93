"""Conditional of competence and spam given the true categories: which answers were spam is drawn first.

    m_l | T, theta, xi, y    Binomial(number of labels l on items of category l, theta / (theta + (1 - theta) xi_l))
    theta | m                Beta(a + sum m, b + answers - sum m)
    xi | m, T, y             Dirichlet(c_l + number of labels l - m_l)

An answer other than the true category is spam for certain; one that names it may be. Matrices of this law hold their parameters:
off the diagonal (1 - theta) xi_l stands n - 1 times, and on it theta besides.

References
----------
Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning whom to trust with MACE, NAACL-HLT, section 2.
"""

import math

import numba as nb
import numpy as np

from .binomial import draw_binomial
from .gamma import log_standard_gamma

__all__ = ["competence_of", "draw_competence"]


@nb.njit(error_model="numpy")
def draw_competence(
    rng: np.ndarray, concentration: np.ndarray, counts: np.ndarray, table: np.ndarray, first: int
) -> None:
    """Draw one rater's competence and spam, given the matrix before, and fill in the matrix.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    concentration : ndarray, shape (rater * label, category)
        In category 0, the Dirichlet concentration c of each rater's spam; in category 1, a at label 0 and b at label 1.
    counts : ndarray of int64, shape (rater * label, category)
        Number of labels.
    table : ndarray, shape (rater * label, category)
        p(label | rater, true category), replaced in place.
    first : int
        First row of the rater.
    """
    n = table.shape[1]
    told, answers = 0, 0
    largest = -np.inf
    for label in range(n):
        row, other = first + label, (label + 1) % n
        share = (table[row, label] - table[row, other]) / table[row, label]
        true = draw_binomial(rng, counts[row, label], share) if counts[row, label] > 0 else 0
        given = counts[row].sum()
        told += true
        answers += given
        table[row, other] = log_standard_gamma(rng, concentration[row, 0] + given - true)
        largest = max(largest, table[row, other])
    log_told = log_standard_gamma(rng, concentration[first, 1] + told)
    log_spam = log_standard_gamma(rng, concentration[first + 1, 1] + answers - told)
    competence = 1.0 / (1.0 + math.exp(log_spam - log_told))
    total = 0.0
    for label in range(n):
        total += math.exp(table[first + label, (label + 1) % n] - largest)
    missed = 1.0 / (1.0 + math.exp(log_told - log_spam)) / total
    for label in range(n):
        row = first + label
        spam = missed * math.exp(table[row, (label + 1) % n] - largest)
        for j in range(n):
            table[row, j] = competence + spam if j == label else spam


def competence_of(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the competence and spam that make up confusion matrices.

    Parameters
    ----------
    confusion : ndarray, shape (..., rater, category, label)
        Matrices of this law.

    Returns
    -------
    competence : ndarray, shape (..., rater)
        Probability of telling the truth.
    spam : ndarray, shape (..., rater, label)
        Probability of each label of spam; equal ones where a competence is so near to one that the spam has underflowed.
    """
    n = confusion.shape[-1]
    label = np.arange(n)
    missed = confusion[..., (label + 1) % n, label]
    total = missed.sum(axis=-1)
    lost = total[..., None] == 0
    spam = np.where(lost, 1 / n, missed / np.where(lost, 1.0, total[..., None]))
    return 1 - total, spam

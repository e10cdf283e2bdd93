"""Conditional of competence and spam (MACE) given the true categories; spam indicators are drawn first.

    m_l | T, theta, xi, y    Binomial(number of labels l on items of category l, theta / (theta + (1 - theta) xi_l))
    theta | m                Beta(a + sum m, b + answers - sum m)
    xi | m, T, y             Dirichlet(c_l + number of labels l - m_l)

m_l is the number of honest answers l. An answer other than the true category is certainly spam; one equal to
it may be. A confusion matrix stores the parameters: (1 - theta) xi_l in column l, plus theta on the diagonal.

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
    """Draw one rater's competence and spam given the previous matrix, and overwrite the matrix.

    Shapes: concentration, counts, table (rater * label, category); `first` is the rater's first row.
    Concentration: in category 0, c of the spam; in category 1, a at label 0 and b at label 1.
    """
    n = table.shape[1]
    told, answers = 0, 0
    largest = -np.inf
    for label in range(n):
        row, other = first + label, (label + 1) % n
        # theta / (theta + (1 - theta) xi_l)
        share = (table[row, label] - table[row, other]) / table[row, label]
        # m_l
        true = draw_binomial(rng, counts[row, label], share) if counts[row, label] > 0 else 0
        given = counts[row].sum()
        told += true
        answers += given
        # log Gamma draw behind xi_l: c_l + number of labels l - m_l
        table[row, other] = log_standard_gamma(rng, concentration[row, 0] + given - true)
        largest = max(largest, table[row, other])
    # theta ~ Beta(a + sum m, b + answers - sum m)
    log_told = log_standard_gamma(rng, concentration[first, 1] + told)
    log_spam = log_standard_gamma(rng, concentration[first + 1, 1] + answers - told)
    competence = 1.0 / (1.0 + math.exp(log_spam - log_told))
    total = 0.0
    for label in range(n):
        total += math.exp(table[first + label, (label + 1) % n] - largest)
    # (1 - theta) / sum of the Gamma draws
    missed = 1.0 / (1.0 + math.exp(log_told - log_spam)) / total
    for label in range(n):
        row = first + label
        spam = missed * math.exp(table[row, (label + 1) % n] - largest)
        for j in range(n):
            # theta 1[j = l] + (1 - theta) xi_l
            table[row, j] = competence + spam if j == label else spam


def competence_of(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the competence and spam that a confusion matrix of this law consists of.

    Shapes: confusion (..., rater, category, label); competence (..., rater); spam (..., rater, label),
    uniform where it has underflowed because competence is near one.
    """
    n = confusion.shape[-1]
    label = np.arange(n)
    missed = confusion[..., (label + 1) % n, label]
    total = missed.sum(axis=-1)
    lost = total[..., None] == 0
    spam = np.where(lost, 1 / n, missed / np.where(lost, 1.0, total[..., None]))
    return 1 - total, spam

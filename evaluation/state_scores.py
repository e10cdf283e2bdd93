"""Scores of a prediction against one label: additive over items, higher is better.

====================  ==========================================  =============================
name                  score of prediction f, label l              expected under q
====================  ==========================================  =============================
cross_entropy         log f_l                                     sum_c q_c log f_c
brier                 - sum_c (f_c - [c = l]) ^ 2                 2 sum q f - sum f ^ 2 - 1
agreement             [l is the best label of f], ties averaged   mean of q over the best labels
====================  ==========================================  =============================
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from .errors import EvaluationError

__all__ = ["SCORERS", "Score", "best_labels"]

SCORERS = ("cross_entropy", "brier", "agreement")


@dataclass(frozen=True)
class Score:
    """One of the additive scores.

    Attributes
    ----------
    name : {"cross_entropy", "brier", "agreement"}
        Which.
    base : float
        Of the logarithm.
    """

    name: str
    base: float = 2.0

    def __post_init__(self) -> None:
        if self.name not in SCORERS:
            raise EvaluationError(
                f"scorer={self.name!r}: of a posterior of item states expected one of {', '.join(SCORERS)}; "
                "for the others pass the counts"
            )
        if not 1 < self.base < np.inf:
            raise EvaluationError(f"base={self.base!r}: expected a number above 1")

    @property
    def log_base(self) -> float:
        """Natural logarithm of the base."""
        return float(np.log(self.base))

    def expected(self, prediction: np.ndarray, law: np.ndarray) -> np.ndarray:
        """Return the expected score of predictions, shape (..., category), under laws of the label, shape (..., category)."""
        if self.name == "cross_entropy":
            return xlogy(law, prediction).sum(axis=-1) / self.log_base
        if self.name == "brier":
            return (prediction * (2 * law - prediction)).sum(axis=-1) - 1
        return (law * best_labels(prediction)).sum(axis=-1)

    def attained(self, law: np.ndarray) -> np.ndarray:
        """Return the expected score of predicting the laws (..., category) themselves: the largest, if the score is proper."""
        if self.name == "cross_entropy":
            return xlogy(law, law).sum(axis=-1) / self.log_base
        return (law**2).sum(axis=-1) - 1 if self.name == "brier" else law.max(axis=-1)

    def by_label(self, prediction: np.ndarray) -> np.ndarray:
        """Return the score that each label would give predictions, shape (..., category) as they are."""
        if self.name == "cross_entropy":
            with np.errstate(divide="ignore"):
                return np.log(prediction) / self.log_base
        if self.name == "brier":
            return 2 * prediction - (prediction**2).sum(axis=-1, keepdims=True) - 1
        return best_labels(prediction)


def best_labels(values: np.ndarray) -> np.ndarray:
    """Return equal shares for the labels with the largest value, shape (..., category)."""
    best = values == values.max(axis=-1, keepdims=True)
    return best / best.sum(axis=-1, keepdims=True)

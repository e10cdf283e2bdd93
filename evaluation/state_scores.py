"""Additive scores of a prediction against one label; higher is better.

====================  ==========================================  =============================
name                  score of prediction f, label l              expected under q
====================  ==========================================  =============================
cross_entropy         log f_l                                     sum_c q_c log f_c
brier                 - sum_c (f_c - [c = l]) ^ 2                 2 sum q f - sum f ^ 2 - 1
agreement             [l is the best label of f], ties averaged   mean of q over the best labels
====================  ==========================================  =============================
"""

from dataclasses import dataclass
from functools import reduce
from numbers import Real

import numpy as np
from scipy.special import xlogy

from .errors import EvaluationError

__all__ = ["SCORERS", "Score", "best_labels"]

SCORERS = ("cross_entropy", "brier", "agreement")


@dataclass(frozen=True)
class Score:
    """Additive score by name."""

    name: str  # one of SCORERS
    base: float = 2.0  # of the logarithm in cross_entropy

    def __post_init__(self) -> None:
        if self.name not in SCORERS:
            raise EvaluationError(
                f"scorer={self.name!r}: a posterior of item states allows {', '.join(SCORERS)}; "
                "for other scorers pass counts of labels"
            )
        if not isinstance(self.base, Real) or not 1 < self.base < np.inf:
            raise EvaluationError(f"base={self.base!r}: expected a number above 1")

    @property
    def log_base(self) -> float:
        """Natural logarithm of the base."""
        return float(np.log(self.base))

    def expected(self, prediction: np.ndarray, law: np.ndarray) -> np.ndarray:
        """Return the expected score (...) of predictions under label laws, both (..., category)."""
        if self.name == "cross_entropy":
            return _total(xlogy(law, prediction)) / self.log_base
        if self.name == "brier":
            return _total(prediction * (2 * law - prediction)) - 1
        return _total(law * best_labels(prediction))

    def attained(self, law: np.ndarray) -> np.ndarray:
        """Return the expected score (...) of predicting the label laws (..., category) themselves."""
        if self.name == "cross_entropy":
            return _total(xlogy(law, law)) / self.log_base
        return _total(law**2) - 1 if self.name == "brier" else _largest(law)

    def by_label(self, prediction: np.ndarray) -> np.ndarray:
        """Return the score (..., category) that each label would give to predictions (..., category)."""
        if self.name == "cross_entropy":
            with np.errstate(divide="ignore"):
                return np.log(prediction) / self.log_base
        if self.name == "brier":
            return 2 * prediction - (prediction**2).sum(axis=-1, keepdims=True) - 1
        return best_labels(prediction)


def best_labels(values: np.ndarray) -> np.ndarray:
    """Return the indicator (..., category) of the largest value, shared equally between ties."""
    best = values == _largest(values)[..., None]
    return best / _total(best.astype(float))[..., None]


# ten times as fast as numpy's reductions where the last axis is short


def _total(values: np.ndarray) -> np.ndarray:
    return np.einsum("...c->...", values)


def _largest(values: np.ndarray) -> np.ndarray:
    return reduce(np.maximum, np.moveaxis(values, -1, 0))

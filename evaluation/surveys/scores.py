"""Scores of predictions against the label of a reference rater; higher is better.

A score is additive over items, or a function of the joint law of prediction and label, or of ranks. All but
rank scores need only the means of a statistic; rank scores need the mass of every prediction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import EvaluationError
from .subsets import shared_top

__all__ = [
    "Agreement",
    "Brier",
    "CrossEntropy",
    "Function",
    "MeanScore",
    "RankScore",
    "WholeFunction",
    "clipped",
]


@runtime_checkable
class MeanScore(Protocol):
    """Score that is a function of the mean of a statistic."""

    @property
    def additive(self) -> bool:
        """Whether the mean is the score itself, so that each item has a score of its own."""
        ...

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the expected statistic (row, entry) of predictions.

        Shapes: probability (row, category); reference (row, category), law of the label.
        """
        ...

    def of_mean(self, mean: np.ndarray) -> np.ndarray:
        """Return the score (...) of means (..., entry)."""
        ...


@runtime_checkable
class RankScore(Protocol):
    """Score that is a function of the order of numbers that stand for predictions."""

    def value_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the number (row,) that stands for each prediction (row, category)."""
        ...

    def of_masses(self, mass: np.ndarray) -> np.ndarray:
        """Return the score (...) of masses (..., value, category), values ascending."""
        ...


class _Additive:
    """Mean of the scores of single items."""

    additive = True

    def of_mean(self, mean: np.ndarray) -> np.ndarray:
        """Return the mean itself."""
        return mean[..., 0]


@dataclass(frozen=True)
class CrossEntropy(_Additive):
    """Cross-entropy score log p(label), with logarithms to `base`."""

    clip: float
    base: float

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the expected logarithm (row, 1)."""
        with np.errstate(divide="ignore"):
            log_p = np.log(clipped(probability, self.clip)) / np.log(self.base)
        # 0 log 0 = 0: impossible labels do not count
        part = np.multiply(reference, log_p, out=np.zeros_like(log_p), where=reference > 0)
        return part.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Brier(_Additive):
    """Brier score - sum_j (p_j - [label = j])^2."""

    clip: float

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the expected score (row, 1)."""
        p = clipped(probability, self.clip)
        given = (reference * p).sum(axis=1, keepdims=True)
        return 2 * given - (p**2).sum(axis=1, keepdims=True) - 1


@dataclass(frozen=True)
class Agreement(_Additive):
    """Indicator that the most probable label is the rater's; ties count their share."""

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the expected share (row, 1)."""
        return (shared_top(probability) * reference).sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Function(_Additive):
    """User's function of probabilities (row, category) and label codes (row,) that scores each row."""

    function: Callable[[np.ndarray, np.ndarray], object]
    clip: float

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the expected score (row, 1) over the labels."""
        p = clipped(probability, self.clip)
        total = np.zeros(len(p))
        for label, chance in enumerate(reference.T):
            found = np.asarray(self.function(p, np.full(len(p), label)), float)
            if found.shape != (len(p),):
                raise EvaluationError(
                    f"scorer: it returned shape {found.shape} for {len(p)} predictions; a function that scores all items "
                    'together, by one number, needs estimand="mean"'
                )
            missing = np.isnan(found) | np.isposinf(found)
            if (missing & (chance > 0)).any():
                raise EvaluationError(
                    f"scorer: it returned {found[missing][0]}; expected numbers, larger for better predictions, or -inf"
                )
            # impossible labels do not count
            total += np.multiply(chance, found, out=np.zeros(len(p)), where=chance > 0)
        return total[:, None]


@dataclass(frozen=True)
class WholeFunction:
    """User's function of probabilities (item, category) and label codes (item,) that returns one number."""

    function: Callable[[np.ndarray, np.ndarray], object]
    clip: float

    def of_items(self, probability: np.ndarray, label: np.ndarray, times: np.ndarray) -> float:
        """Return the score of items repeated `times` (item,)."""
        item = np.repeat(np.arange(len(label)), times.astype(int))
        if not len(item):
            return float("nan")
        found = np.asarray(self.function(clipped(probability[item], self.clip), label[item]))
        if found.ndim:
            raise EvaluationError(
                f"scorer: it returned shape {found.shape}; expected one number for all items together, or "
                'estimand="pooled" for one number for each'
            )
        return float(found)


def clipped(probability: np.ndarray, clip: float) -> np.ndarray:
    """Return probabilities (row, category) clipped to [clip, 1 - clip] and normalised."""
    if not clip:
        return probability
    inside = np.clip(probability, clip, 1 - clip)
    return inside / inside.sum(axis=1, keepdims=True)

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

ROUNDING = 1e-12  # relative to the mean square; a smaller variance is a rounding error


class _Joint:
    """Score of the joint law of the predicted label, ties shared equally, and the rater's label."""

    additive = False

    def law(self, probability: np.ndarray) -> np.ndarray:
        """Return the law (row, category) of the predicted label."""
        return shared_top(probability)

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the joint law (row, predicted x label) of each row."""
        joint = self.law(probability)[:, :, None] * reference[:, None, :]
        return joint.reshape(len(joint), -1)

    def of_mean(self, mean: np.ndarray) -> np.ndarray:
        """Return the score (...) of mean joint laws (..., predicted x label)."""
        n = round(mean.shape[-1] ** 0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.of_joint(mean.reshape(*mean.shape[:-1], n, n))

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the score (...) of joint laws (..., predicted, label)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Precision(_Joint):
    """Precision of the positive label."""

    positive: int

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the precision; 0 where nothing is predicted positive."""
        said = joint[..., self.positive, :].sum(axis=-1)
        return np.where(said > 0, joint[..., self.positive, self.positive] / said, 0 * said)


@dataclass(frozen=True)
class Recall(_Joint):
    """Recall of the positive label; NaN where no rater gives it."""

    positive: int

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the recall."""
        true = joint[..., :, self.positive].sum(axis=-1)
        return joint[..., self.positive, self.positive] / true


@dataclass(frozen=True)
class F1(_Joint):
    """Harmonic mean of precision and recall; NaN where the positive label is neither predicted nor given."""

    positive: int

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the F1 score."""
        said = joint[..., self.positive, :].sum(axis=-1)
        true = joint[..., :, self.positive].sum(axis=-1)
        return 2 * joint[..., self.positive, self.positive] / (said + true)


@dataclass(frozen=True)
class Matthews(_Joint):
    """Multiclass Matthews correlation; NaN where all raters give one label."""

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the correlation."""
        said, true = joint.sum(axis=-1), joint.sum(axis=-2)
        covariance = np.trace(joint, axis1=-2, axis2=-1) - (said * true).sum(axis=-1)
        of_said, of_true = (1 - (law**2).sum(axis=-1) for law in (said, true))
        # the variance of a constant label is a rounding error
        constant = of_said < 1e-12
        of_true = np.where(of_true < 1e-12, np.nan, of_true)
        return np.where(constant, 0 * of_true, covariance / np.sqrt(of_said * of_true))


@dataclass(frozen=True)
class Determinant(_Joint):
    """Determinant mutual information |det J|, over the categories that raters can give.

    Further categories have no labels; their rows would only add columns of zeros. `soft`: use the
    probabilities instead of the predicted label.
    """

    n_given: int
    soft: bool

    def law(self, probability: np.ndarray) -> np.ndarray:
        """Return the probabilities, or the indicator of the largest."""
        return probability if self.soft else shared_top(probability)

    def of_joint(self, joint: np.ndarray) -> np.ndarray:
        """Return the absolute determinant."""
        return np.abs(np.linalg.det(joint[..., : self.n_given, : self.n_given]))


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


@dataclass(frozen=True, eq=False)
class Pearson:
    """Correlation of the expected value of the prediction with the value of the label."""

    values: np.ndarray
    additive: bool = False

    def statistic(self, probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the moments x, x^2, y, y^2 and xy, shape (row, 5)."""
        centred = self.values - self.values.mean()
        x, y = probability @ centred, reference @ centred
        return np.stack([x, x**2, y, reference @ centred**2, x * y], axis=1)

    def of_mean(self, mean: np.ndarray) -> np.ndarray:
        """Return the correlation (...) of mean moments (..., 5)."""
        x, xx, y, yy, xy = np.moveaxis(mean, -1, 0)
        return _correlation(xy - x * y, (xx - x**2, xx), (yy - y**2, yy))


@dataclass(frozen=True, eq=False)
class Spearman:
    """Correlation of mid-ranks."""

    values: np.ndarray

    def value_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the expected value (row,)."""
        return probability @ self.values

    def of_masses(self, mass: np.ndarray) -> np.ndarray:
        """Return the correlation (...) of masses (..., value, category)."""
        mass = mass / mass.sum(axis=(-2, -1), keepdims=True)
        distinct, of_label = np.unique(self.values, return_inverse=True)
        joint = np.zeros((*mass.shape[:-1], len(distinct)))
        for label, column in enumerate(of_label):
            joint[..., column] += mass[..., label]
        x, y = _mid_ranks(joint.sum(axis=-1)), _mid_ranks(joint.sum(axis=-2))
        covariance = np.einsum("...xy,...x,...y->...", joint, x, y)
        own = [
            np.einsum("...x,...x->...", joint.sum(axis=axis), rank**2) for axis, rank in ((-1, x), (-2, y))
        ]
        return _correlation(covariance, (own[0], np.ones_like(own[0])), (own[1], np.ones_like(own[1])))


@dataclass(frozen=True, eq=False)
class AreaUnderCurve:
    """Probability that the prediction of a positive label exceeds that of another, ties counted half."""

    positive: int
    values: np.ndarray

    def value_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the expected value (row,): with `values` an indicator, the positive label's probability."""
        return probability @ self.values

    def of_masses(self, mass: np.ndarray) -> np.ndarray:
        """Return the AUC (...) of masses (..., value, category)."""
        positive = mass[..., self.positive]
        other = mass.sum(axis=-1) - positive
        below = np.cumsum(other, axis=-1) - other / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            return (positive * below).sum(axis=-1) / (positive.sum(axis=-1) * other.sum(axis=-1))


def _mid_ranks(mass: np.ndarray) -> np.ndarray:
    """Return the mid-rank (..., value) of each value as a share of all, minus one half."""
    return np.cumsum(mass, axis=-1) - mass / 2 - 0.5


def _correlation(
    covariance: np.ndarray, x: tuple[np.ndarray, np.ndarray], y: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the correlation; 0 for a constant x, NaN for a constant y.

    `x` and `y` are pairs of a variance and the mean square to which its rounding error is relative.
    """
    of_x = np.where(x[0] <= ROUNDING * x[1], 0.0, x[0])
    of_y = np.where(y[0] <= ROUNDING * y[1], np.nan, y[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(of_x > 0, covariance / np.sqrt(of_x * of_y), 0 * of_y)

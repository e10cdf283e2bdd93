"""Scores of the joint law of prediction and label: ratios of expectations, and the determinant.

    J_ab = E[ p_a(prediction) [label = b] ],  p the indicator of the predicted label, or the probabilities

    precision   J_++ / J_+.        recall   J_++ / J_.+        F1   2 J_++ / (J_+. + J_.+)
    MCC         (tr J - sum_a J_a. J_.a) / sqrt((1 - sum_a J_a.^2) (1 - sum_a J_.a^2))
    DMI         |det J|

Precision is 0 if nothing is predicted positive, and MCC is 0 if all predictions are the same label: without
raters there is no credit.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 6, theorem 6.3 (DMI: a bias of the
reference raters that is independent of the item multiplies all scores by the same factor). Gorodkin (2004),
Comparing two K-category assignments by a K-category correlation coefficient,
doi:10.1016/j.compbiolchem.2004.09.006 (MCC).
"""

from dataclasses import dataclass

import numpy as np

from .subsets import shared_top

__all__ = ["F1", "Determinant", "Matthews", "Precision", "Recall"]


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

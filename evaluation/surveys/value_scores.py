"""Scores of numeric predictions: correlations with the number of the label, and the AUC.

    Pearson     of x = sum_a v_a p_a and v_label
    Spearman    Pearson of the mid-ranks of both
    AUC         p(x_+ > x_-) + p(x_+ = x_-) / 2,  x the probability of the positive label, or sum_a v_a p_a of means

A prediction that is the same for all items has correlation 0 and AUC 1/2. If all raters give one label, both
are NaN.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["AreaUnderCurve", "Pearson", "Spearman"]

ROUNDING = 1e-12  # relative to the mean square; a smaller variance is a rounding error


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
            np.einsum("...x,...x->...", joint.sum(axis=axis), rank**2)
            for axis, rank in ((-1, x), (-2, y))
        ]
        return _correlation(
            covariance, (own[0], np.ones_like(own[0])), (own[1], np.ones_like(own[1]))
        )


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

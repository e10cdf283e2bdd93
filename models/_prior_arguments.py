"""Prior parameters: those by default, and validation of arguments, positive arrays, pairs, finite numbers."""

import math
import sys
from typing import Any, Protocol

import numpy as np

from ..posterior.schema import are_classifiers
from .data.raters import HasRaters

TOTAL, DIAGONAL = 8.0, 4.8
LIKELIHOOD_POWER = (
    "it is a power of the likelihood, which with an unknown power is no probability of the annotations; fit the "
    "model at several numbers with inference.sweep"
)


def confusion_concentrations(n_categories: int) -> np.ndarray:
    """Dirichlet concentrations of the rows of a confusion matrix, shape (category, answer).

    They equal eight pseudo-labels a row, six in ten of them right: 4.8 on the diagonal, rows sum to 8. A flat
    prior would leave the categories exchangeable, and every permutation of them equally probable.
    """
    n = n_categories
    return np.where(np.eye(n, dtype=bool), DIAGONAL, (TOTAL - DIAGONAL) / (n - 1))


def weak_confusion_concentrations(n_categories: int) -> np.ndarray:
    """Dirichlet concentrations of a classifier's confusion matrix, shape (category, answer): 2 on the diagonal, 1 beside it.

    Predictions are many, and the answers of people identify the categories. With the concentrations of people the accuracy of
    a classifier that is right in .9 beside people who are right in .7 is estimated .05 too low.
    """
    return 1 + np.eye(n_categories)


class HasCategories(HasRaters, Protocol):
    """Labels of identified raters, in memory or in files."""

    @property
    def categories(self) -> np.ndarray:
        """Categories."""
        ...


def default_confusion(labels: HasCategories, machines: np.ndarray | None = None) -> np.ndarray:
    """Return default concentrations (rater, category, answer): those of people, and weak ones for classifiers.

    `machines` (rater,) says who has the latter; by default those whom an attribute calls "classifier".
    """
    n = len(labels.categories)
    if machines is None:
        machines = are_classifiers(labels.rater_attributes, len(labels.raters))
    return np.where(machines[:, None, None], weak_confusion_concentrations(n), confusion_concentrations(n))


MOST_LOG = 10.0  # size of the mean and sd of a logarithm


def positive_array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast positive finite numbers to a shape, in a new array; `name` is for the message."""
    array = finite_array(name, value, shape, "positive and finite")
    if not (array > 0).all():
        raise ValueError(f"{name} holds {array[array <= 0][0]:g}; it must be positive and finite")
    return array


def finite_array(name: str, value: Any, shape: tuple[int, ...], allowed: str = "finite") -> np.ndarray:
    """Broadcast finite numbers to a shape, in a new array; `name` and what is `allowed` are for the message."""
    try:
        array = np.array(np.broadcast_to(_floats(value), shape))
    except (TypeError, ValueError, OverflowError):
        numbers = f"a number, or numbers of shape {shape} or its last dims" if shape else "a number"
        raise ValueError(f"{name}={value!r} must be {numbers}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds {array[~np.isfinite(array)][0]:g}; it must be {allowed}")
    return array


def positive_pair(name: str, value: Any) -> tuple[float, float]:
    """Validate the two concentrations of a Beta prior: positive and finite.

    Returned in double precision: PyTensor would take a short Python float for single precision.
    """
    if (pair := _pair(value)) is None:
        raise ValueError(
            f"{name}={value!r} must be a pair of numbers: the pseudo-counts of answers for and against"
        )
    first, second = positive_array(name, pair, (2,))
    return first, second


def normal_prior(name: str, value: Any) -> tuple[float, float]:
    """Validate mean and standard deviation of a normal prior: both finite, the second positive."""
    pair = _pair(value)
    if pair is None or not np.isfinite(pair).all() or pair[1] <= 0:
        raise ValueError(f"{name}={value!r} must be a pair: a finite mean and a positive sd")
    return np.float64(pair[0]), np.float64(pair[1])


def log_normal_prior(name: str, value: Any) -> tuple[float, float]:
    """Validate mean and standard deviation of the normal prior of a logarithm, each at most 10 in size."""
    mean, sd = normal_prior(name, value)
    if max(abs(mean), sd) > MOST_LOG:
        raise ValueError(
            f"{name}={value!r} must have a mean and an sd of at most {MOST_LOG:g} in size: they are of a logarithm, and "
            f"exp({MOST_LOG:g}) is {math.exp(MOST_LOG):,.0f}"
        )
    return mean, sd


def finite_number(name: str, value: Any) -> float:
    """Validate a finite number; True and False are refused."""
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name}={value!r} must be a finite number")
    return float(value)


def _floats(value: Any) -> np.ndarray:
    """Float array of numbers; raises TypeError for text and bool."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufO":
        raise TypeError
    return array.astype(np.float64)


def _pair(value: Any) -> np.ndarray | None:
    """Array of two numbers, or None for anything else."""
    try:
        pair = _floats(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return pair if pair.shape == (2,) else None


# --- Effective number of correlated votes on an item ---

# Beta distribution of the correlation of two raters' votes: on 14 public studies of labels with known truth one correlation for
# all is chosen as .35 to .40 whichever study is left out, and each study's own spreads about it with a standard deviation of .22
PUBLIC = (1.4, 2.6)
PUBLIC_MEAN = PUBLIC[0] / sum(PUBLIC)


def effective_power(votes: np.ndarray, correlation: np.ndarray | float) -> np.ndarray:
    """Return effective votes by votes, the power of each of n votes on an item: 1 / (1 + (n - 1) rho) (Kish)."""
    return 1 / (1 + np.maximum(votes - 1, 0) * correlation)

"""Do predicted labels tell the categories apart? Precision, recall, F1, balanced accuracy, kappa and correlation.

They are computed from counts by label, of all draws at once: how often a label is true, predicted, and both. The labels
are all that are true in some draw or predicted by some classifier; an average over labels is over these, and one that
is neither true nor predicted in a draw counts as 0 there, as with scikit-learn's ``labels=`` and ``zero_division=0``.
Where there are many rare labels a macro average therefore falls as more draws bring them up: coarsen them, or weight.

References
----------
Cohen (1960), A coefficient of agreement for nominal scales, doi:10.1177/001316446002000104. Gorodkin (2004), Comparing
two K-category assignments by a K-category correlation coefficient, Computational Biology and Chemistry 28,
doi:10.1016/j.compbiolchem.2004.09.006. Brodersen, Ong, Stephan and Buhmann (2010), The balanced accuracy and its
posterior distribution, doi:10.1109/ICPR.2010.764.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from .errors import EvaluationError
from .metric import Metric

__all__ = [
    "balanced_accuracy",
    "cohen_kappa",
    "f1",
    "matthews_correlation",
    "precision",
    "recall",
]

Average = Literal["macro", "micro", "weighted"]
MOST_COUNTS = 1_000_000  # of one kind at once


class Counts(NamedTuple):
    """Weight of the items by draw and label, each (sample, label): of which the label is true, predicted, and both."""

    true: np.ndarray
    predicted: np.ndarray
    hit: np.ndarray


def precision(average: Average = "macro") -> Metric:
    """Return the metric: of the items that a label is predicted for, the share of which it is true.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        Over labels alike; over items, which is accuracy; or over labels by how often they are true.
    """
    return _averaged("precision", average, _of_predicted)


def recall(average: Average = "macro") -> Metric:
    """Return the metric: of the items of which a label is true, the share that it is predicted for.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        As in `precision`; weighted it is accuracy, too.
    """
    return _averaged("recall", average, _of_true)


def f1(average: Average = "macro") -> Metric:
    """Return the metric: the harmonic mean of precision and recall of a label.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        As in `precision`.
    """
    return _averaged("f1", average, _of_both)


def balanced_accuracy() -> Metric:
    """Return the metric: recall, averaged over the labels that are true of some item in the draw."""
    return _of_counts("balanced_accuracy", _balanced_accuracy)


def cohen_kappa() -> Metric:
    """Return the metric: agreement of true and predicted labels beyond chance, (p_o - p_e) / (1 - p_e).

    NaN in a draw in which all items have one label, true and predicted.

    References
    ----------
    Cohen (1960), doi:10.1177/001316446002000104.
    """
    return _of_counts("cohen_kappa", _cohen_kappa)


def matthews_correlation() -> Metric:
    """Return the metric: correlation of true and predicted labels, for any number of categories.

    0 in a draw in which all items have one true label, or all one predicted.

    References
    ----------
    Gorodkin (2004), doi:10.1016/j.compbiolchem.2004.09.006.
    """
    return _of_counts("matthews_correlation", _matthews_correlation)


def _averaged(
    name: str, average: Average, parts: Callable[[Counts], tuple[np.ndarray, np.ndarray]]
) -> Metric:
    if average not in get_args(Average):
        raise EvaluationError(f"{name}: average={average!r}: expected one of {get_args(Average)}")
    return _of_counts(f"{average}_{name}", partial(_average, parts=parts, average=average))


def _of_counts(name: str, function: Callable[[Counts], np.ndarray]) -> Metric:
    return Metric(name, "label", partial(_score, function=function), over="items")


def _score(
    truth: np.ndarray,
    predictions: np.ndarray,
    weights: np.ndarray | None,
    n_labels: int,
    function: Callable[[Counts], np.ndarray],
) -> np.ndarray:
    """Return a function of the counts of every draw, of few draws at once if there are many labels."""
    if weights is not None:
        weights = np.broadcast_to(weights, truth.shape)
    step, values = max(MOST_COUNTS // n_labels, 1), np.empty(len(truth))
    for first in range(0, len(truth), step):
        part = slice(first, first + step)
        weight = None if weights is None else weights[part]
        values[part] = function(_counts(truth[part], predictions[:, 0], weight, n_labels))
    return values


def _counts(
    truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None, n_labels: int
) -> Counts:
    shape = (len(truth), n_labels)
    row = np.arange(len(truth))[:, None] * n_labels

    def count(place: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        each = None if weight is None else weight.ravel()
        return np.bincount(place.ravel(), each, row.size * n_labels).reshape(shape).astype(float)

    true, hit = row + truth, truth == predicted
    if weights is None:
        often = np.bincount(predicted, minlength=n_labels).astype(float)
        return Counts(count(true, None), np.broadcast_to(often, shape), count(true[hit], None))
    return Counts(
        count(true, weights), count(row + predicted, weights), count(true[hit], weights[hit])
    )


def _average(
    counts: Counts, parts: Callable[[Counts], tuple[np.ndarray, np.ndarray]], average: Average
) -> np.ndarray:
    part, whole = parts(counts)
    if average == "micro":
        return _ratio(part.sum(axis=1), whole.sum(axis=1))
    share = _ratio(part, whole)
    if average == "macro":
        return share.mean(axis=1)
    return _ratio((share * counts.true).sum(axis=1), counts.true.sum(axis=1))


def _of_predicted(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    return counts.hit, counts.predicted


def _of_true(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    return counts.hit, counts.true


def _of_both(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    return 2 * counts.hit, counts.true + counts.predicted


def _balanced_accuracy(counts: Counts) -> np.ndarray:
    there = counts.true > 0
    return _ratio(counts.hit, counts.true).sum(axis=1) / there.sum(axis=1)


def _cohen_kappa(counts: Counts) -> np.ndarray:
    total = counts.true.sum(axis=1)
    chance = (counts.true * counts.predicted).sum(axis=1) / total
    one_label = counts.hit.max(axis=1) == total
    beyond = np.where(one_label, 0, total - chance)
    return _ratio(counts.hit.sum(axis=1) - chance, beyond, np.nan)


def _matthews_correlation(counts: Counts) -> np.ndarray:
    true, predicted = counts.true.sum(axis=1), counts.predicted.sum(axis=1)
    covariance = counts.hit.sum(axis=1) * true - (counts.true * counts.predicted).sum(axis=1)
    spread = true**2 - (counts.true**2).sum(axis=1)
    spread *= predicted**2 - (counts.predicted**2).sum(axis=1)
    return _ratio(covariance, np.sqrt(spread))


def _ratio(part: np.ndarray, whole: np.ndarray, undefined: float = 0.0) -> np.ndarray:
    return np.divide(part, whole, out=np.full(part.shape, undefined), where=whole > 0)

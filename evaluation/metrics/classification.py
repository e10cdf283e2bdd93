"""Classification metrics against draws of the truth: precision, recall, F1, kappa and others.

All are computed from counts by label, for all draws at once: how often a label is true, predicted, and both.
A macro average of a draw is over the labels that are true or predicted in it, as scikit-learn's with ``zero_division=0``: a
category that is declared and never occurs does not lower it.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...posterior.errors import EvaluationError
from .metric import LISTS, Metric, example, ratio

Average = Literal["macro", "micro", "weighted"]
MOST_COUNTS = 1_000_000  # entries (sample, label) of one array in one block


class Counts(NamedTuple):
    """Total weight of the items by draw and label."""

    true: np.ndarray  # (sample, label), items whose true label it is
    predicted: np.ndarray  # (sample, label), items for which it is predicted
    hit: np.ndarray  # (sample, label), both


@example('precision("micro")', LISTS, 0.5)
def precision(average: Average = "macro") -> Metric:
    """Return the precision: the share of items with a predicted label for which that label is true.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        Mean over labels; over items, which is accuracy; or over labels weighted by how often they are true.

    Returns
    -------
    Metric, in [0, 1] for each draw

    Raises
    ------
    EvaluationError
        If `average` is unknown.
    """
    return _averaged("precision", average)


@example('recall("weighted")', LISTS, 0.5)
def recall(average: Average = "macro") -> Metric:
    """Return the recall: the share of items with a true label for which that label is predicted.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        As in `precision`; weighted recall is accuracy, too.

    Returns
    -------
    Metric, in [0, 1] for each draw

    Raises
    ------
    EvaluationError
        If `average` is unknown.
    """
    return _averaged("recall", average)


@example("f1()", LISTS, 0.333)
def f1(average: Average = "macro") -> Metric:
    """Return the F1 score: the harmonic mean of precision and recall of a label.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        As in `precision`.

    Returns
    -------
    Metric, in [0, 1] for each draw

    Raises
    ------
    EvaluationError
        If `average` is unknown.
    """
    return _averaged("f1", average)


@example("balanced_accuracy()", LISTS, 0.5)
def balanced_accuracy() -> Metric:
    """Return the balanced accuracy: recall averaged over the labels that are true for some item in the draw.

    Returns
    -------
    Metric, in [0, 1] for each draw

    References
    ----------
    Brodersen et al. (2010), The balanced accuracy and its posterior distribution, doi:10.1109/ICPR.2010.764.
    """
    return _of_counts("balanced_accuracy", _balanced_accuracy)


@example("cohen_kappa()", LISTS, 0.333)
def cohen_kappa() -> Metric:
    """Return Cohen's kappa: agreement of true and predicted labels beyond chance, (p_o - p_e) / (1 - p_e).

    Returns
    -------
    Metric
        At most 1. NaN in a draw in which all items share one label, both true and predicted (Cohen, 1960, A
        coefficient of agreement for nominal scales, doi:10.1177/001316446002000104).
    """
    return _of_counts("cohen_kappa", _cohen_kappa)


@example("matthews_correlation()", LISTS, 0.5)
def matthews_correlation() -> Metric:
    """Return Matthews correlation of true and predicted labels, for any number of categories.

    Returns
    -------
    Metric
        In [-1, 1]. 0 in a draw in which all items have one true label, or all have one predicted label
        (Gorodkin, 2004, Comparing two K-category assignments, doi:10.1016/j.compbiolchem.2004.09.006).
    """
    return _of_counts("matthews_correlation", _matthews_correlation)


def _averaged(name: str, average: Average) -> Metric:
    """Metric that averages a ratio of counts over labels; raise if the average is unknown."""
    if average not in get_args(Average):
        raise EvaluationError(f"{name}: average={average!r}: expected one of {get_args(Average)}")
    return _of_counts(f"{average}_{name}", partial(_average, name=name, average=average))


def _average(counts: Counts, name: str, average: Average) -> np.ndarray:
    """Average of precision, recall or F1 over labels (sample,)."""
    if name == "f1":
        part, whole = 2 * counts.hit, counts.true + counts.predicted
    else:
        part, whole = counts.hit, counts.predicted if name == "precision" else counts.true
    if average == "micro":
        return ratio(part.sum(axis=1), whole.sum(axis=1))
    share = ratio(part, whole)
    if average == "macro":
        return ratio(share.sum(axis=1), ((counts.true > 0) | (counts.predicted > 0)).sum(axis=1))
    return ratio((share * counts.true).sum(axis=1), counts.true.sum(axis=1))


def _of_counts(name: str, function: Callable[[Counts], np.ndarray]) -> Metric:
    """Metric over all items that is a function of the counts by label."""
    return Metric(name, "label", partial(_score, function=function), over="items")


def _score(
    truth: np.ndarray,
    predictions: np.ndarray,
    weights: np.ndarray | None,
    n_labels: int,
    function: Callable[[Counts], np.ndarray],
) -> np.ndarray:
    """Apply a function of the counts to draws (sample, item) and predictions (item, 1), in blocks if there are many labels."""
    if weights is not None:
        weights = np.broadcast_to(weights, truth.shape)
    step, values = max(MOST_COUNTS // n_labels, 1), np.empty(len(truth))
    for first in range(0, len(truth), step):
        part = slice(first, first + step)
        weight = None if weights is None else weights[part]
        values[part] = function(_counts(truth[part], predictions[:, 0], weight, n_labels))
    return values


def _counts(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None, n_labels: int) -> Counts:
    """Return counts by label from truth (sample, item), predicted (item,) and weights (sample, item)."""
    shape, row = (len(truth), n_labels), np.arange(len(truth))[:, None] * n_labels
    # one count for both: labels that are missed, then the same labels where they are hit
    place = (truth == predicted.astype(truth.dtype)) * np.int64(n_labels)
    place += truth
    place += 2 * row
    each = None if weights is None else weights.ravel()
    count = np.bincount(place.ravel(), each, 2 * row.size * n_labels).reshape(len(truth), 2, n_labels)
    hit = count[:, 1].astype(float)
    if weights is None:
        often = np.broadcast_to(np.bincount(predicted, minlength=n_labels).astype(float), shape)
    else:
        often = np.bincount((row + predicted).ravel(), each, row.size * n_labels).reshape(shape)
    return Counts(hit + count[:, 0], often, hit)


def _balanced_accuracy(counts: Counts) -> np.ndarray:
    there = counts.true > 0
    return ratio(counts.hit, counts.true).sum(axis=1) / there.sum(axis=1)


def _cohen_kappa(counts: Counts) -> np.ndarray:
    """Cohen's kappa of each draw (sample,), both terms times the total weight."""
    total = counts.true.sum(axis=1)
    chance = (counts.true * counts.predicted).sum(axis=1) / total
    one_label = counts.hit.max(axis=1) == total
    beyond = np.where(one_label, 0, total - chance)
    return ratio(counts.hit.sum(axis=1) - chance, beyond, np.nan)


def _matthews_correlation(counts: Counts) -> np.ndarray:
    """Matthews correlation of each draw (sample,); Gorodkin (2004), R_K."""
    true, predicted = counts.true.sum(axis=1), counts.predicted.sum(axis=1)
    covariance = counts.hit.sum(axis=1) * true - (counts.true * counts.predicted).sum(axis=1)
    spread = true**2 - (counts.true**2).sum(axis=1)
    spread *= predicted**2 - (counts.predicted**2).sum(axis=1)
    return ratio(covariance, np.sqrt(spread))

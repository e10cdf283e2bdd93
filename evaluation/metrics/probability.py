"""Scores of predicted probabilities: cross-entropy, Brier score, area under the ROC curve, calibration error.

If plausibilities are the truth, cross-entropy and Brier score are expectations over a label drawn from them:
proper scores, whose best predictions are the plausibilities themselves. If the truth is one category, or if
``truth="label"`` or ``"sampled"`` is requested, they are the scores against the label of the draw.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from ...posterior.drawn_truth import Graded
from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole
from .metric import PROBABILITIES, Metric, example, ratio

Norm = Literal["l1", "l2", "max"]
AverageOfCategories = Literal["macro", "weighted"]


@example("cross_entropy(base=2)", PROBABILITIES, 1.541)
def cross_entropy(base: float | None = None) -> Metric:
    """Return the cross-entropy: expected log loss of a label drawn from the plausibilities, -sum p log q.

    Parameters
    ----------
    base : float, optional
        Base of the logarithm; by default e, so that units are nats; 2 for bits.

    Returns
    -------
    Metric
        Smaller is better. Infinite if a plausible category has predicted probability zero. If OTHER,
        the pool of the categories that no rater ranked, is excluded, the label is drawn from the ranked
        ones (Gneiting and Raftery, 2007,
        doi:10.1198/016214506000001437).

    Raises
    ------
    EvaluationError
        If `base` is not positive, or 1.
    """
    if base is not None and not (base > 0 and base != 1):
        raise EvaluationError(f"base={base!r}: expected a positive number other than 1, or None for nats")
    score = _CrossEntropy(1.0 if base is None else float(np.log(base)))
    return Metric("cross_entropy", "plausibility", score, larger_is_better=False)


@example("brier_score()", PROBABILITIES, 0.66)
def brier_score() -> Metric:
    """Return the Brier score: expected squared distance of the probabilities from a drawn label.

    The label is drawn from the plausibilities.

    Returns
    -------
    Metric
        Smaller is better. Summed over categories, in [0, 2]; halved for two categories, in [0, 1], as in
        scikit-learn. If OTHER, the pool of the categories that no rater ranked, is excluded, the label is
        drawn from the ranked ones (Brier, 1950, Monthly Weather Review 78; Gneiting and Raftery, 2007,
        doi:10.1198/016214506000001437).
    """
    return Metric("brier_score", "plausibility", _BrierScore(), larger_is_better=False)


@example("roc_auc()", PROBABILITIES, 0.5)
def roc_auc(average: AverageOfCategories = "macro") -> Metric:
    """Return the area under the ROC curve of each category against the rest, averaged over categories.

    The area of a category is the probability that an item of the category has a higher score for it than
    another item, ties counted half. It is undefined in a draw in which no item or every item belongs to the
    category; the average is over the other categories (scikit-learn's is NaN), NaN if there are none. With
    two categories the scores of the second are used (Fawcett, 2006, doi:10.1016/j.patrec.2005.10.010).

    Parameters
    ----------
    average : {"macro", "weighted"}
        Unweighted mean over categories, or weighted by the number of their items.

    Returns
    -------
    Metric, in [0, 1] for each draw

    Raises
    ------
    EvaluationError
        If `average` is unknown.
    """
    if average not in get_args(AverageOfCategories):
        raise EvaluationError(
            f"roc_auc: average={average!r}: expected one of {get_args(AverageOfCategories)}"
        )
    score = partial(_roc_auc, weighted=average == "weighted")
    return Metric(f"{average}_roc_auc", "label", score, response="scores", over="items")


@example("calibration_error()", PROBABILITIES, 0.2)
def calibration_error(bins: int = 15, norm: Norm = "l1") -> Metric:
    """Return the calibration error: difference of the largest predicted probabilities and their accuracy.

    Items are binned by their largest probability. In a bin, the mean of these is compared with the mean
    plausibility of the predicted labels, ties by the order of the categories: the expected accuracy against
    labels drawn from the plausibilities. With ``truth="label"`` or ``"sampled"``, or if the truth is one
    category, it is compared with the accuracy in the draw; then random differences in small bins add to the
    error (Guo et al., 2017, On calibration of modern neural networks, arXiv:1706.04599, equations 3 and 5).

    Parameters
    ----------
    bins : int
        Number of intervals of equal width that partition (0, 1], each including its upper end.
    norm : {"l1", "l2", "max"}
        Mean absolute difference over items, root mean square, or the largest difference of a bin.

    Returns
    -------
    Metric, in [0, 1] for each draw, smaller is better

    Raises
    ------
    EvaluationError
        If `bins` is not a positive integer, or `norm` is unknown.
    """
    check_whole("bins", bins, 1)
    if norm not in get_args(Norm):
        raise EvaluationError(f"norm={norm!r}: expected one of {get_args(Norm)}")
    score = _CalibrationError(bins, norm)
    return Metric("calibration_error", "plausibility", score, over="items", larger_is_better=False)


@dataclass(frozen=True)
class _CrossEntropy:
    """Expected log loss in units of `unit` nats."""

    unit: float

    def __call__(self, truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        possible = predictions > 0
        gain = np.log(predictions, out=np.zeros(predictions.shape), where=possible)
        loss = -_dot(truth, gain) / _total(truth) / self.unit
        if possible.all():
            return loss
        return np.where(_dot(truth, ~possible) > 0, np.copysign(np.inf, self.unit), loss)

    def of_graded(self, truth: Graded, predictions: np.ndarray) -> np.ndarray:
        """Loss (classifier, sample) of one item; predictions (classifier, category)."""
        possible = predictions > 0
        gain = np.log(predictions, out=np.zeros(predictions.shape), where=possible)
        loss = -_dot_graded(truth, gain) / (truth.size @ truth.grade) / self.unit
        if possible.all():
            return loss
        lost = _dot_graded(truth, (~possible).astype(float)) > 0
        return np.where(lost, np.copysign(np.inf, self.unit), loss)

    def of_labels(self, truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """Loss (sample, item) against codes of labels (sample, item)."""
        with np.errstate(divide="ignore"):
            return -np.log(_of_label(truth, predictions)) / self.unit


class _BrierScore:
    """Expected squared distance of probabilities from a label."""

    def __call__(self, truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        return _squared(_dot(truth, predictions) / _total(truth), predictions)

    def of_graded(self, truth: Graded, predictions: np.ndarray) -> np.ndarray:
        """Score (classifier, sample) of one item; predictions (classifier, category)."""
        of_truth = _dot_graded(truth, predictions) / (truth.size @ truth.grade)
        return _squared(of_truth.T, predictions).T

    def of_labels(self, truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """Score (sample, item) against codes of labels (sample, item)."""
        return _squared(_of_label(truth, predictions), predictions)


def _squared(of_truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Sum q^2 + 1 - 2 E[q of the truth], halved for two categories; of_truth (..., item)."""
    distance = (predictions**2).sum(axis=-1) + 1 - 2 * of_truth
    return distance / 2 if predictions.shape[-1] == 2 else distance


@dataclass(frozen=True)
class _CalibrationError:
    """Calibration error over all items of every draw (sample,)."""

    bins: int
    norm: Norm

    def __call__(
        self, truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None, n_labels: int
    ) -> np.ndarray:
        label = predictions.argmax(axis=-1)
        right = truth[:, np.arange(len(label)), label] / _total(truth)
        return self.of_predicted(right, predictions, weights)

    def of_labels(
        self, truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None, n_labels: int
    ) -> np.ndarray:
        """Error against codes of labels (sample, item)."""
        return self.of_predicted(truth == predictions.argmax(axis=-1), predictions, weights)

    def of_predicted(
        self, right: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        """Error of every draw (sample,); `right` (sample, item): whether, or how probably, the predicted label is true."""
        confidence = predictions.max(axis=-1)
        edges = np.linspace(0, 1, self.bins + 1)
        place = np.searchsorted(edges[1:-1], confidence, side="left")
        within = (place[:, None] == np.arange(self.bins)).astype(float)
        weight = np.ones(right.shape) if weights is None else np.broadcast_to(weights, right.shape)
        # the sum of differences of a bin is the difference of means times the weight of the bin
        apart = np.abs((weight * (right - confidence)) @ within)
        count = weight @ within
        total = count.sum(axis=1)
        if self.norm == "l1":
            return apart.sum(axis=1) / total
        mean = ratio(apart, count)
        if self.norm == "max":
            return mean.max(axis=1)
        return np.sqrt((mean * apart).sum(axis=1) / total)


def _roc_auc(
    truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None, n_labels: int, weighted: bool
) -> np.ndarray:
    """Mean area of every draw (sample,): weight below a category's items over the weight of all pairs."""
    weight = np.ones(truth.shape) if weights is None else np.broadcast_to(weights, truth.shape)
    below = _weight_below_own(truth, predictions, weight)
    place = (np.arange(len(truth))[:, None] * n_labels + truth).ravel()

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, values.ravel(), len(truth) * n_labels).reshape(len(truth), n_labels)

    own, items = summed(weight), summed(weight > 0)
    rest = own.sum(axis=1, keepdims=True) - own
    # minus pairs within the category: half the square of its weight
    won = summed(weight * below) - own**2 / 2
    there = (items > 0) & (items < items.sum(axis=1, keepdims=True))
    if n_labels == 2:
        there[:, 0] = False
    area = np.divide(won, own * rest, out=np.zeros(won.shape), where=there)
    share = there * (own if weighted else 1.0)
    return ratio((share * area).sum(axis=1), share.sum(axis=1), np.nan)


def _weight_below_own(truth: np.ndarray, predictions: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weight of the items below each item (sample, item), by scores of the item's true category."""
    if (weight == weight[0]).all():
        ranked = [_weight_below(scores, weight[:1])[0] for scores in predictions.T]
        return np.stack(ranked)[truth, np.arange(truth.shape[1])]
    below = np.empty(truth.shape)
    for category in np.unique(truth).tolist():
        own = truth == category
        below[own] = _weight_below(predictions[:, category], weight)[own]
    return below


def _weight_below(scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weight (sample, item) of the items with lower scores, plus half that of equal ones; scores (item,)."""
    order = np.argsort(scores)
    ordered = scores[order]
    reached = np.zeros((len(weight), len(scores) + 1))
    np.cumsum(weight[:, order], axis=1, out=reached[:, 1:])
    first, last = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return (reached[:, first] + reached[:, last]) / 2


def _of_label(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Prediction for the true label (sample, item); NaN without a label."""
    found = predictions[np.arange(len(predictions)), truth]
    return np.where(truth < 0, np.nan, found)


def _dot(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum over categories of truth (sample, item, category) times values (item, category): (sample, item)."""
    by_item = truth.transpose(1, 2, 0)  # as it lies in memory
    return (values.astype(truth.dtype)[:, None] @ by_item)[:, 0].T


def _dot_graded(truth: Graded, values: np.ndarray) -> np.ndarray:
    """Sum over categories of grades times values (classifier, category): (classifier, sample)."""
    others = np.delete(values, truth.code, axis=1).sum(axis=1)
    weight = np.column_stack([values[:, truth.code], others])
    return weight.astype(truth.grade.dtype) @ truth.grade


def _total(truth: np.ndarray) -> np.ndarray:
    """Total plausibility of all categories (sample, item): less than one if OTHER is excluded."""
    return truth.transpose(1, 2, 0).sum(axis=1).T

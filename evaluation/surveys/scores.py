"""Scores of predictions against the label of a reference rater; higher is better.

A score is additive over items, or a function of the joint law of prediction and label, or of ranks. All but
rank scores need only the means of a statistic; rank scores need the mass of every prediction.

    J_ab        E[ p_a(prediction) [label = b] ],  p the indicator of the predicted label, or the probabilities
    precision   J_++ / J_+.        recall   J_++ / J_.+        F1   2 J_++ / (J_+. + J_.+)
    MCC         (tr J - sum_a J_a. J_.a) / sqrt((1 - sum_a J_a.^2) (1 - sum_a J_.a^2))
    DMI         |det J|
    Pearson     of x = sum_a v_a p_a and v_label;  Spearman: Pearson of the mid-ranks of both
    AUC         p(x_+ > x_-) + p(x_+ = x_-) / 2,  x the probability of the positive label, or sum_a v_a p_a of means

Precision is 0 if nothing is predicted positive; MCC and correlations are 0, and the AUC 1/2, if all are the
same.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, theorem 6.3 (DMI: a bias of the reference
raters that is independent of the item multiplies all scores by the same factor). Gorodkin (2004), Comparing
two K-category assignments by a K-category correlation coefficient, doi:10.1016/j.compbiolchem.2004.09.006.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from ...posterior.errors import EvaluationError
from .subsets import Predicted, shared_top

ROUNDING = 1e-12  # relative to the mean square; a smaller variance is a rounding error

UserFunction = Callable[[np.ndarray, np.ndarray], object]  # of probabilities (row, category) and codes (row,)


@dataclass(frozen=True)
class MeanScore:
    """Score that is a function of the mean of a statistic."""

    # (row, entry), expected statistic of probabilities (row, category) and laws of the label (row, category)
    statistic: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_mean: Callable[[np.ndarray], np.ndarray]  # score (...) of means (..., entry)
    additive: bool = False  # whether the mean is the score itself, so that each item has a score of its own


@dataclass(frozen=True)
class RankScore:
    """Score that is a function of the order of the expected values of predictions."""

    values: np.ndarray  # (category,); the indicator of a label if predictions are ordered by its probability
    of_masses: Callable[[np.ndarray], np.ndarray]  # score (...) of masses (..., ascending value, category)


@dataclass(frozen=True)
class WholeFunction:
    """User's function that returns one number for all items."""

    function: UserFunction
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


def additive_score(expected: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> MeanScore:
    """Return the mean over items of expected scores (row,)."""
    return MeanScore(lambda p, law: expected(p, law)[:, None], lambda mean: mean[..., 0], additive=True)


def cross_entropy(probability: np.ndarray, reference: np.ndarray, clip: float, base: float) -> np.ndarray:
    """Return the expected log p(label) (row,), larger is better, with logarithms to `base`."""
    with np.errstate(divide="ignore"):
        log_p = np.log(clipped(probability, clip)) / np.log(base)
    # 0 log 0 = 0: impossible labels do not count
    return np.multiply(reference, log_p, out=np.zeros_like(log_p), where=reference > 0).sum(axis=1)


def brier(probability: np.ndarray, reference: np.ndarray, clip: float) -> np.ndarray:
    """Return the expected Brier score - sum_j (p_j - [label = j])^2 (row,)."""
    p = clipped(probability, clip)
    return 2 * (reference * p).sum(axis=1) - (p**2).sum(axis=1) - 1


def agreement(probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the probability (row,) that the most probable label is the rater's; ties count their share."""
    return (shared_top(probability) * reference).sum(axis=1)


def user_score(
    probability: np.ndarray, reference: np.ndarray, function: UserFunction, clip: float
) -> np.ndarray:
    """Return the expected score (row,) of a user's function that scores each row."""
    p = clipped(probability, clip)
    total = np.zeros(len(p))
    for label, chance in enumerate(reference.T):
        found = np.asarray(function(p, np.full(len(p), label)), float)
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
    return total


def joint_score(of_joint: Callable[[np.ndarray], np.ndarray], *, soft: bool = False) -> MeanScore:
    """Return a score of the joint law of label and predicted label, shared by ties; if `soft`, of label and probabilities."""

    def statistic(probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        law = probability if soft else shared_top(probability)
        return (law[:, :, None] * reference[:, None, :]).reshape(len(law), -1)

    def of_mean(mean: np.ndarray) -> np.ndarray:
        n = round(mean.shape[-1] ** 0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            return of_joint(mean.reshape(*mean.shape[:-1], n, n))

    return MeanScore(statistic, of_mean)


def precision(joint: np.ndarray, positive: int) -> np.ndarray:
    """Return the precision of the positive label; 0 where nothing is predicted positive."""
    predicted = joint[..., positive, :].sum(axis=-1)
    return np.where(predicted > 0, joint[..., positive, positive] / predicted, 0 * predicted)


def recall(joint: np.ndarray, positive: int) -> np.ndarray:
    """Return the recall of the positive label; NaN where no rater gives it."""
    return joint[..., positive, positive] / joint[..., :, positive].sum(axis=-1)


def f1(joint: np.ndarray, positive: int) -> np.ndarray:
    """Return the F1 score; NaN where the positive label is neither predicted nor given."""
    predicted, true = joint[..., positive, :].sum(axis=-1), joint[..., :, positive].sum(axis=-1)
    return 2 * joint[..., positive, positive] / (predicted + true)


def matthews(joint: np.ndarray) -> np.ndarray:
    """Return the multiclass Matthews correlation; NaN where all raters give one label."""
    predicted, true = joint.sum(axis=-1), joint.sum(axis=-2)
    covariance = np.trace(joint, axis1=-2, axis2=-1) - (predicted * true).sum(axis=-1)
    of_predicted, of_true = (1 - (law**2).sum(axis=-1) for law in (predicted, true))
    # the variance of a constant label is a rounding error
    of_true = np.where(of_true < 1e-12, np.nan, of_true)
    return np.where(of_predicted < 1e-12, 0 * of_true, covariance / np.sqrt(of_predicted * of_true))


def determinant(joint: np.ndarray, n_given: int) -> np.ndarray:
    """Return |det J|, the determinant mutual information, over the categories that raters can give: others only add zeros."""
    return np.abs(np.linalg.det(joint[..., :n_given, :n_given]))


def pearson(values: np.ndarray) -> MeanScore:
    """Return the correlation of the expected value of the prediction with the value of the label."""
    centred = values - values.mean()

    def moments(probability: np.ndarray, reference: np.ndarray) -> np.ndarray:
        x, y = probability @ centred, reference @ centred
        return np.stack([x, x**2, y, reference @ centred**2, x * y], axis=1)

    def of_mean(mean: np.ndarray) -> np.ndarray:
        x, xx, y, yy, xy = np.moveaxis(mean, -1, 0)
        return _correlation(xy - x * y, (xx - x**2, xx), (yy - y**2, yy))

    return MeanScore(moments, of_mean)


def spearman(values: np.ndarray) -> RankScore:
    """Return the correlation of the mid-ranks of predictions and labels."""
    return RankScore(values, partial(_rank_correlation, values=values))


def _rank_correlation(mass: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the correlation (...) of the mid-ranks in masses (..., value, category)."""
    mass = mass / mass.sum(axis=(-2, -1), keepdims=True)
    distinct, of_label = np.unique(values, return_inverse=True)
    joint = np.zeros((*mass.shape[:-1], len(distinct)))
    for label, column in enumerate(of_label):
        joint[..., column] += mass[..., label]
    of_prediction, of_value = joint.sum(axis=-1), joint.sum(axis=-2)
    # mid-ranks as shares of all, minus one half
    x, y = (np.cumsum(law, axis=-1) - law / 2 - 0.5 for law in (of_prediction, of_value))
    covariance = np.einsum("...xy,...x,...y->...", joint, x, y)
    spread_x, spread_y = (
        np.einsum("...x,...x->...", law, rank**2) for law, rank in ((of_prediction, x), (of_value, y))
    )
    return _correlation(covariance, (spread_x, np.ones_like(spread_x)), (spread_y, np.ones_like(spread_y)))


def area_under_curve(mass: np.ndarray, positive: int) -> np.ndarray:
    """Return the probability (...) that a positive label has a larger value than another, ties half: (..., value, category)."""
    own = mass[..., positive]
    other = mass.sum(axis=-1) - own
    below = np.cumsum(other, axis=-1) - other / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return (own * below).sum(axis=-1) / (own.sum(axis=-1) * other.sum(axis=-1))


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


# --- Scores of predictions as functions of the row weights: one matrix product for all resamples ---

Score = MeanScore | RankScore | WholeFunction
DIGITS = 12  # values that agree to this many digits are tied: sums in another order differ by rounding


@dataclass(frozen=True)
class RowScores:
    """Predictions of rows, ready to be scored."""

    eligible: np.ndarray  # (row,) bool, rows with predictions; others do not count
    # (row,); folds are scored alone, as predictions learned in different folds are not comparable
    fold: np.ndarray | None

    def mean(self, weights: np.ndarray) -> np.ndarray:
        """Return the score (resample,) for weights (resample, row); NaN without eligible weight."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.fold is None:
                return self._score(weights)
            total, score = np.zeros(len(weights)), np.zeros(len(weights))
            for fold in np.unique(self.fold[self.eligible]):
                own = np.where(self.fold == fold, weights, 0.0)
                count = own @ self.eligible
                score += np.where(count > 0, count * self._score(own), 0.0)
                total += count
            return score / total

    def masked(self, rows: np.ndarray) -> Self:
        """Return the same scores restricted to a mask (row,)."""
        raise NotImplementedError

    def _score(self, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class MeanRowScores(RowScores):
    """Rows as expected statistics."""

    statistic: np.ndarray  # (row, entry)
    score: MeanScore

    @cached_property
    def columns(self) -> np.ndarray:
        """Statistic (row, entry), then the indicators of eligible rows and of infinite scores."""
        infinite = np.isneginf(self.statistic).any(axis=1)
        finite = np.where(infinite[:, None], 0.0, self.statistic)
        return np.hstack([finite, self.eligible[:, None], infinite[:, None]])

    def of_totals(self, total: np.ndarray) -> np.ndarray:
        """Return the score (resample,) of weighted sums (resample, column) of the columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.score.of_mean(total[:, :-2] / total[:, -2:-1])
        # infinities are counted, not summed: 0 * inf would be NaN for rows without weight
        return np.where(total[:, -1] > 0, -np.inf, mean)

    def _score(self, weights: np.ndarray) -> np.ndarray:
        return self.of_totals(weights @ self.columns)

    def masked(self, rows: np.ndarray) -> Self:
        """Return the same scores restricted to a mask (row,)."""
        statistic = np.where(rows[:, None], self.statistic, 0.0)
        return replace(self, eligible=self.eligible & rows, statistic=statistic)


@dataclass(frozen=True)
class RankedRowScores(RowScores):
    """Rows as masses of their predictions, for rank scores."""

    mass: csr_array  # (row, value x category), values ascending
    n_categories: int
    score: RankScore

    def _score(self, weights: np.ndarray) -> np.ndarray:
        mass = (self.mass.T @ weights.T).T
        return self.score.of_masses(mass.reshape(len(weights), -1, self.n_categories))

    def masked(self, rows: np.ndarray) -> Self:
        """Return the same scores restricted to a mask (row,)."""
        return replace(self, eligible=self.eligible & rows, mass=self.mass * rows[:, None])


@dataclass(frozen=True)
class WholeRowScores(RowScores):
    """Sampled predictions, one for each row, for a function of all rows together."""

    predicted: Predicted
    score: WholeFunction

    def _score(self, weights: np.ndarray) -> np.ndarray:
        p = self.predicted
        label = p.reference.argmax(axis=1)
        probability = p.probability[p.bin]
        return np.array([self.score.of_items(probability, label, w[p.row]) for w in weights])

    def masked(self, rows: np.ndarray) -> Self:
        """Return the same scores restricted to a mask (row,)."""
        p, kept = self.predicted, rows[self.predicted.row]
        own = Predicted(p.row[kept], p.chance[kept], p.reference[kept], p.bin[kept], p.probability)
        return replace(self, eligible=self.eligible & rows, predicted=own)


def row_scores(score: Score, predicted: Predicted, n_rows: int, fold: np.ndarray | None = None) -> RowScores:
    """Return the predictions of `n_rows` rows, ready to be scored."""
    eligible = np.bincount(predicted.row, minlength=n_rows) > 0
    if isinstance(score, WholeFunction):
        return WholeRowScores(eligible, fold, predicted, score)
    if isinstance(score, RankScore):
        mass = _masses(score, predicted, n_rows)
        return RankedRowScores(eligible, fold, mass, predicted.reference.shape[1], score)
    entry = score.statistic(predicted.probability[predicted.bin], predicted.reference)
    with np.errstate(invalid="ignore"):
        part = np.where(predicted.chance[:, None] > 0, predicted.chance[:, None] * entry, 0.0)
    statistic = np.stack([np.bincount(predicted.row, column, n_rows) for column in part.T], axis=1)
    return MeanRowScores(eligible, None if score.additive else fold, statistic, score)


def _masses(score: RankScore, predicted: Predicted, n_rows: int) -> csr_array:
    """Return the mass (row, value x category) of the entries."""
    n_categories = predicted.reference.shape[1]
    value = predicted.probability @ score.values
    size = np.abs(value).max(initial=0.0) or 1.0
    distinct, place = np.unique(np.round(value / size, DIGITS), return_inverse=True)
    entry = np.arange(len(predicted.row)).repeat(n_categories)
    label = np.tile(np.arange(n_categories), len(predicted.row))
    column = place[predicted.bin][entry] * n_categories + label
    mass = (predicted.chance[:, None] * predicted.reference).ravel()
    shape = (n_rows, len(distinct) * n_categories)
    return csr_array((mass, (predicted.row[entry], column)), shape=shape)


@dataclass(frozen=True)
class MeanCells:
    """Groups of identical items, which share a bootstrap weight, for scores that are functions of means."""

    of_item: np.ndarray  # (item,), cell of each item
    columns: np.ndarray  # (cell, column), columns of all scores side by side
    scored: tuple[MeanRowScores, ...]  # scores, those of raters first, in the order of their columns

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample) for weights (resample, cell)."""
        upto = np.cumsum([one.columns.shape[1] for one in self.scored])
        parts = np.split(weights @ self.columns, upto[:-1], axis=1)
        return np.array([one.of_totals(part) for one, part in zip(self.scored, parts, strict=True)])


@dataclass(frozen=True)
class ItemCells:
    """Scores of any kind; each item is a cell."""

    of_item: np.ndarray  # (item,), cell of each item
    pattern_of_item: np.ndarray  # (item,)
    raters: Sequence[RowScores]  # by pattern
    classifiers: Sequence[RowScores]  # by item

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample) for weights (resample, cell)."""
        n_patterns = len(self.raters[0].eligible)
        of_pattern = np.array([np.bincount(self.pattern_of_item, row, n_patterns) for row in weights])
        of_raters = [one.mean(of_pattern) for one in self.raters]
        return np.array([*of_raters, *(one.mean(weights) for one in self.classifiers)])


def cells_of(
    pattern_of_item: np.ndarray, raters: Sequence[RowScores], classifiers: Sequence[RowScores]
) -> MeanCells | ItemCells:
    """Return the cells of items, given raters' scores by pattern and classifiers' scores by item."""
    of_raters, of_classifiers = (
        tuple(one for one in many if isinstance(one, MeanRowScores) and one.fold is None)
        for many in (raters, classifiers)
    )
    if len(of_raters) + len(of_classifiers) < len(raters) + len(classifiers):
        return ItemCells(np.arange(len(pattern_of_item)), pattern_of_item, raters, classifiers)
    keys = np.column_stack([pattern_of_item, *(one.columns for one in of_classifiers)])
    if of_classifiers:
        cells, of_item = np.unique(keys, axis=0, return_inverse=True)
    else:
        cells, of_item = np.arange(len(of_raters[0].eligible))[:, None], pattern_of_item
    by_pattern = np.hstack([one.columns for one in of_raters])
    columns = np.hstack([by_pattern[cells[:, 0].astype(int)], cells[:, 1:]])
    return MeanCells(of_item.ravel(), columns, (*of_raters, *of_classifiers))

"""Scores of predictions as functions of the row weights: one matrix product for all resamples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from .scores import MeanScore, RankScore, WholeFunction
from .subsets import Predicted

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

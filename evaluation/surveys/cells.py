"""Items that are alike in their labels and in what classifiers say count together, so that there are few weights to be drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .row_scores import MeanRowScores, RowScores

__all__ = ["Cells", "cells_of"]


class Cells(Protocol):
    """Groups of items that count alike, and all scores as functions of their weights."""

    @property
    def of_item(self) -> np.ndarray:
        """Cell (item,) of each item."""
        ...

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample), first those of raters, given weights (resample, cell)."""
        ...


@dataclass(frozen=True)
class MeanCells:
    """Scores that are functions of means: all of them by one matrix product.

    Attributes
    ----------
    of_item : ndarray of int, shape (item,)
        Cell of each item.
    columns : ndarray, shape (cell, column)
        Columns of all scores, side by side.
    scored : tuple of MeanRowScores
        What the columns belong to.
    """

    of_item: np.ndarray
    columns: np.ndarray
    scored: tuple[MeanRowScores, ...]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample)."""
        total = weights @ self.columns
        upto = np.cumsum([one.columns.shape[1] for one in self.scored])
        parts = np.split(total, upto[:-1], axis=1)
        return np.array([one.of_totals(part) for one, part in zip(self.scored, parts, strict=True)])


@dataclass(frozen=True)
class ItemCells:
    """Any scores; each item is a cell."""

    of_item: np.ndarray
    pattern_of_item: np.ndarray
    raters: tuple[RowScores, ...]
    classifiers: tuple[RowScores, ...]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample)."""
        n_patterns = len(self.raters[0].eligible)
        of_pattern = np.array(
            [np.bincount(self.pattern_of_item, row, n_patterns) for row in weights]
        )
        ours = [one.mean(of_pattern) for one in self.raters]
        return np.array([*ours, *(one.mean(weights) for one in self.classifiers)])


def cells_of(
    pattern_of_item: np.ndarray, raters: Sequence[RowScores], classifiers: Sequence[RowScores]
) -> Cells:
    """Return the cells of items, given scores of raters by pattern and of classifiers by item."""
    ours, theirs = (
        tuple(one for one in many if isinstance(one, MeanRowScores) and one.fold is None)
        for many in (raters, classifiers)
    )
    if len(ours) + len(theirs) < len(raters) + len(classifiers):
        every = np.arange(len(pattern_of_item))
        return ItemCells(every, pattern_of_item, tuple(raters), tuple(classifiers))
    keys = np.column_stack([pattern_of_item, *(one.columns for one in theirs)])
    if theirs:
        cells, of_item = np.unique(keys, axis=0, return_inverse=True)
    else:
        cells, of_item = np.arange(len(ours[0].eligible))[:, None], pattern_of_item
    by_pattern = np.hstack([one.columns for one in ours])
    columns = np.hstack([by_pattern[cells[:, 0].astype(int)], cells[:, 1:]])
    return MeanCells(of_item.ravel(), columns, (*ours, *theirs))

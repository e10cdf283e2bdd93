"""Cells: identical items share one bootstrap weight, which reduces the number of weights to draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .row_scores import MeanRowScores, RowScores

__all__ = ["Cells", "cells_of"]


class Cells(Protocol):
    """Groups of identical items, and all scores as functions of the weights of the groups."""

    @property
    def of_item(self) -> np.ndarray:
        """Cell (item,) of each item."""
        ...

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample), those of raters first, given weights (resample, cell)."""
        ...


@dataclass(frozen=True)
class MeanCells:
    """Scores that are functions of means: one matrix product for all of them."""

    of_item: np.ndarray  # (item,)
    columns: np.ndarray  # (cell, column), columns of all scores side by side
    scored: tuple[MeanRowScores, ...]  # scores, in the order of their columns

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample) for weights (resample, cell)."""
        total = weights @ self.columns
        upto = np.cumsum([one.columns.shape[1] for one in self.scored])
        parts = np.split(total, upto[:-1], axis=1)
        return np.array([one.of_totals(part) for one, part in zip(self.scored, parts, strict=True)])


@dataclass(frozen=True)
class ItemCells:
    """Scores of any kind; each item is a cell."""

    of_item: np.ndarray  # (item,)
    pattern_of_item: np.ndarray  # (item,)
    raters: tuple[RowScores, ...]
    classifiers: tuple[RowScores, ...]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the scores (score, resample) for weights (resample, cell)."""
        n_patterns = len(self.raters[0].eligible)
        of_pattern = np.array(
            [np.bincount(self.pattern_of_item, row, n_patterns) for row in weights]
        )
        ours = [one.mean(of_pattern) for one in self.raters]
        return np.array([*ours, *(one.mean(weights) for one in self.classifiers)])


def cells_of(
    pattern_of_item: np.ndarray, raters: Sequence[RowScores], classifiers: Sequence[RowScores]
) -> Cells:
    """Return the cells of items, given raters' scores by pattern and classifiers' scores by item."""
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

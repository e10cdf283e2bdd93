"""Plausibilities of one item as grades: one for each label it names, and one shared by all other categories.

Metrics of grades need nothing else of the truth, however many categories there are: sums over the other
categories depend only on the predictions and are computed once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .drawn_truth import item_cells
from .plausibility import Block, Plausibility
from .top_labels import TopLabels

__all__ = [
    "Graded",
    "graded_labels",
    "graded_plausibility",
    "names_all",
    "predicted_plausibility",
]


class Graded(NamedTuple):
    """Grades of all categories in the draws of one item."""

    code: np.ndarray  # (label,), labels with a grade of their own
    grade: np.ndarray  # (label + 1, sample), their plausibilities, last that of each other category
    size: np.ndarray  # (label + 1,), categories with the grade: 1 each, last the number of others


def graded_plausibility(labels: TopLabels, block: Block, n_categories: int) -> Iterator[Graded]:
    """Yield the grades of every item of a block.

    Members of OTHER share its mass evenly, or get 0 if it is excluded.
    """
    view = labels.view
    for i, cells in item_cells(view, block):
        code, grade = view.code[block.cells][cells], block.draws[cells]
        if code[-1] >= 0:
            grade = np.concatenate([grade, np.zeros_like(grade[:1])])
        else:
            code, grade = code[:-1], grade.copy()
            if labels.other == "exclude":
                grade[-1] = 0
            else:
                assert view.other_size is not None
                grade[-1] /= view.other_size[block.items.start + i]
        yield Graded(code, grade, _sizes(code, n_categories))


def graded_labels(truth: np.ndarray, n_categories: int) -> Iterator[Graded]:
    """Yield the grades of every item with one true label; truth (sample, item), negative = none."""
    for own in truth.T:
        code = np.unique(own[own >= 0])
        grade = np.zeros((len(code) + 1, len(own)), np.float32)
        grade[:-1] = own == code[:, None]
        yield Graded(code, grade, _sizes(code, n_categories))


def predicted_plausibility(labels: TopLabels, block: Block, predicted: np.ndarray) -> np.ndarray:
    """Plausibility of one predicted label of every item, as a share of what is not excluded.

    Shapes: predicted (classifier, item) over all items of the posterior; result (sample, item of the block,
    classifier). Members of OTHER share its mass evenly, or OTHER is excluded.
    """
    view, draws, predicted = labels.view, block.draws, predicted[:, block.items]
    code, start = view.code[block.cells], view.start[block.items] - block.cells.start
    last = np.append(start[1:], len(code)) - 1
    share = np.zeros(len(start))
    if labels.other == "exclude":
        draws = np.where(code[:, None] < 0, 0, draws)
    elif view.other_size is not None:
        share = np.where(code[last] < 0, 1 / np.maximum(view.other_size[block.items], 1), 0)
    total = np.add.reduceat(draws, start, axis=0)
    cell = np.broadcast_to(last, predicted.shape).copy()
    weight = np.broadcast_to(share, predicted.shape).astype(draws.dtype)
    item = np.repeat(np.arange(len(start)), last + 1 - start)
    for of_classifier, own, weighed in zip(predicted, cell, weight, strict=True):
        named = np.flatnonzero(code == of_classifier[item])
        own[item[named]], weighed[item[named]] = named, 1
    return (draws[cell] * weight[..., None] / total).transpose(2, 1, 0)


def names_all(view: Plausibility, n_categories: int) -> bool:
    """Whether every item names every category in their order, so that the cells are dense already."""
    every = np.arange(n_categories)
    return len(view.code) == len(view.items) * n_categories and bool(
        (view.code.reshape(-1, n_categories) == every).all()
    )


def _sizes(code: np.ndarray, n_categories: int) -> np.ndarray:
    """Return the number of categories of each grade (label + 1,)."""
    return np.append(np.ones(len(code), np.int64), n_categories - len(code))

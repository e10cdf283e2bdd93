"""The plausibilities of one item as grades: of the labels that it names, and the one that all other categories share.

A metric of grades needs no more of the truth than this, however many categories there are: what it compares the
others with, it can sum over the predictions beforehand.
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
    """Grades of all categories in the draws of one item.

    Attributes
    ----------
    code : ndarray of int, shape (label,)
        Labels with a grade of their own.
    grade : ndarray, shape (label + 1, sample)
        Their plausibilities, and last that of each other category.
    size : ndarray of int, shape (label + 1,)
        How many categories have the grade: one each, and last the number of the others, perhaps 0.
    """

    code: np.ndarray
    grade: np.ndarray
    size: np.ndarray


def graded_plausibility(labels: TopLabels, block: Block, n_categories: int) -> Iterator[Graded]:
    """Yield the grades of every item of a block: the members of OTHER share it evenly, or have none if it is left out."""
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
    """Yield the grades of every item of which the truth (sample, item) is one label, or none: code < 0."""
    for own in truth.T:
        code = np.unique(own[own >= 0])
        grade = np.zeros((len(code) + 1, len(own)), np.float32)
        grade[:-1] = own == code[:, None]
        yield Graded(code, grade, _sizes(code, n_categories))


def predicted_plausibility(labels: TopLabels, block: Block, predicted: np.ndarray) -> np.ndarray:
    """Return the plausibility of one predicted label of every item, of all that counts there.

    Parameters
    ----------
    labels : TopLabels
        How OTHER is treated: its members share it evenly, or it does not count.
    block : Block
        Draws of consecutive items.
    predicted : ndarray of int, shape (classifier, item)
        Codes of labels of all items of the posterior.

    Returns
    -------
    ndarray, shape (sample, item, classifier)
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
    """Return whether every item names every category, in their order: then the cells are dense as they are."""
    every = np.arange(n_categories)
    return len(view.code) == len(view.items) * n_categories and bool(
        (view.code.reshape(-1, n_categories) == every).all()
    )


def _sizes(code: np.ndarray, n_categories: int) -> np.ndarray:
    return np.append(np.ones(len(code), np.int64), n_categories - len(code))

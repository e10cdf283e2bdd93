"""The plausibilities of one item as grades: of the labels that it names, and the one that all other categories share.

A metric of grades needs no more of the truth than this, however many categories there are: what it compares the
others with, it can sum over the predictions beforehand.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .drawn_truth import item_cells
from .plausibility import Block
from .top_labels import TopLabels

__all__ = ["Graded", "graded_labels", "graded_plausibility"]


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


def _sizes(code: np.ndarray, n_categories: int) -> np.ndarray:
    return np.append(np.ones(len(code), np.int64), n_categories - len(code))

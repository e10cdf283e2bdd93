"""Truths drawn from the plausibilities: one sampled label, or the dense plausibilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .plausibility import Block, Plausibility
from .top_labels import NO_LABEL, TopLabels, category_of_member


def sampled_label(labels: TopLabels, block: Block, rng: np.random.Generator) -> np.ndarray:
    """Draw one label of every item from the plausibilities of every draw, OTHER left out if excluded; codes (item, sample)."""
    view, size = labels.view, labels.view.other_size
    codes = np.full((block.items.stop - block.items.start, block.draws.shape[1]), NO_LABEL, np.int32)
    for i, cells in item_cells(view, block):
        code = view.code[block.cells][cells]
        draws = block.draws[cells].astype(float)
        if labels.other == "exclude" and code[-1] < 0:
            code, draws = code[:-1], draws[:-1]
        reached = draws.cumsum(axis=0)
        # inverse cdf: the first label whose cumulative plausibility exceeds the point, so never one of plausibility 0
        point = rng.random(draws.shape[1]) * reached[-1]
        chosen = (reached <= point).sum(axis=0)
        drawn = np.append(code, NO_LABEL)[chosen]
        if code[-1] < 0:
            pooled = np.flatnonzero(chosen == len(code) - 1)
            if labels.other == "label":
                drawn[pooled] = labels.n_codes
            else:
                assert size is not None
                member = rng.integers(0, size[block.items.start + i], len(pooled))
                drawn[pooled] = category_of_member(member, np.sort(code[:-1])[:, None])
        codes[i] = drawn
    return codes


def dense_plausibility(labels: TopLabels, block: Block) -> np.ndarray:
    """Plausibility of every category (item, category, sample), OTHER's split evenly unless it is excluded."""
    view = labels.view
    n_items = block.items.stop - block.items.start
    dense = np.zeros((n_items, len(view.categories), block.draws.shape[1]), block.draws.dtype)
    for i, cells in item_cells(view, block):
        code = view.code[block.cells][cells]
        if code[-1] >= 0 or labels.other == "exclude":
            named = code >= 0
            dense[i, code[named]] = block.draws[cells][named]
            continue
        assert view.other_size is not None
        dense[i] = block.draws[cells.stop - 1] / view.other_size[block.items.start + i]
        dense[i, code[:-1]] = block.draws[cells][:-1]
    return dense


def item_cells(view: Plausibility, block: Block) -> Iterator[tuple[int, slice]]:
    """Yield each item of a block and its rows there."""
    edges = view.start[block.items.start : block.items.stop + 1] - block.cells.start
    for i, (first, last) in enumerate(pairwise(edges)):
        yield i, slice(int(first), int(last))


@dataclass(frozen=True)
class DrawnBlock(Block):
    """Block whose truth was drawn once and is kept, for metrics that need all labels before scoring."""

    truth: np.ndarray  # (sample, item) or (sample, item, position), codes of labels
    samples: slice
    rng: np.random.Generator  # state after drawing the truth


# --- Plausibilities of one item as grades: one for each label it names, and one shared by all other categories ---


class Graded(NamedTuple):
    """Grades of all categories in the draws of one item.

    Sums over the categories without a grade of their own depend on the predictions alone, and are computed once.
    """

    code: np.ndarray  # (label,), labels with a grade of their own
    grade: np.ndarray  # (label + 1, sample), their plausibilities, last that of each other category
    size: np.ndarray  # (label + 1,), categories with the grade: 1 each, last the number of others


def graded_plausibility(labels: TopLabels, block: Block, n_categories: int) -> Iterator[Graded]:
    """Yield the plausibilities of all categories of each item of a block; members of OTHER share its mass, or get 0."""
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


def _sizes(code: np.ndarray, n_categories: int) -> np.ndarray:
    """Return the number of categories of each grade (label + 1,)."""
    return np.append(np.ones(len(code), np.int64), n_categories - len(code))

"""Truths drawn from the plausibilities: one sampled label, or the dense plausibilities."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .members import category_of_member
from .plausibility import Block, Plausibility
from .top_labels import NO_LABEL, TopLabels

__all__ = ["dense_plausibility", "item_cells", "sampled_label"]


def sampled_label(labels: TopLabels, block: Block, rng: np.random.Generator) -> np.ndarray:
    """Draw one label of every item from the plausibilities of every draw; codes (item, sample).

    With OTHER excluded, the label is drawn from the other labels.
    """
    view = labels.view
    codes = np.full(
        (block.items.stop - block.items.start, block.draws.shape[1]), NO_LABEL, np.int32
    )
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
            item = block.items.start + i
            drawn[pooled] = _drawn_members(
                labels, item, np.repeat(np.sort(code[:-1])[:, None], len(pooled), 1), rng
            )
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


def _drawn_members(
    labels: TopLabels, item: int, named: np.ndarray, rng: np.random.Generator
) -> np.ndarray | int:
    """Draw members of the OTHER of one item, whose named codes are `named` (n, draw), ascending."""
    if labels.other == "label":
        return labels.n_codes
    assert labels.view.other_size is not None
    member = rng.integers(0, labels.view.other_size[item], named.shape[1])
    return category_of_member(member, named)

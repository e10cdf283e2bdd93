"""Plackett-Luce partial rankings of a given block structure: the law of the model, simulated."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.rankings import PartialRankings
from .race import log_gamma, normalised, race_order, ranked_entries
from .simulated import Simulated

__all__ = ["draw_rankings", "padded_sizes", "rankings"]


def rankings(
    *,
    items: int = 100,
    categories: int = 6,
    raters: int = 5,
    block_sizes: Sequence[int] | Sequence[Sequence[int]] = (1, 1),
    concentration: float = 1.0,
    log_worth: np.ndarray | None = None,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Draw what `raters` raters rank of each item, all by the item's worths.

    Parameters
    ----------
    items, categories, raters : int
        How many; every rater ranks every item. Ids are numbers from 0.
    block_sizes : sequence of int, or sequence of such sequences
        Sizes of the ranked blocks, best first; of several structures every annotation takes one,
        all equally probable.
    concentration : float
        Shape of the Gamma prior of each worth.
    log_worth : ndarray, shape (item, category), optional
        Log worths instead of draws from the prior; their shape replaces `items` and `categories`.
    random_seed : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Simulated
        ``truth``: ``log_worth`` and ``plausibility``, shape (item, category).

    Raises
    ------
    ValueError
        If a block is empty or there are fewer categories than ranks.
    """
    rng = np.random.default_rng(random_seed)
    if log_worth is None:
        log_worth = log_gamma(np.full((items, categories), float(concentration)), rng)
    items, categories = log_worth.shape
    structures = padded_sizes(block_sizes)
    if structures.sum(axis=1).max() > categories:
        raise ValueError(f"block_sizes={block_sizes!r} rank more than the {categories} categories")
    item, rater = np.divmod(np.arange(items * raters), raters)
    sizes = structures[rng.integers(len(structures), size=len(item))]
    data = draw_rankings(log_worth, item, rater, sizes, rng)
    return Simulated(data, {"log_worth": log_worth, "plausibility": normalised(log_worth)})


def padded_sizes(block_sizes: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
    """Write block structures as rows of one array.

    Parameters
    ----------
    block_sizes : sequence of int, or sequence of such sequences
        Sizes of the ranked blocks.

    Returns
    -------
    ndarray of int, shape (structure, block)
        Sizes, zeros after the last block.

    Raises
    ------
    ValueError
        If a structure has no block, or a block no member.
    """
    one = all(isinstance(size, int) for size in block_sizes)
    structures: list[Any] = [block_sizes] if one else [*block_sizes]
    if not all(len(sizes) and min(sizes) > 0 for sizes in structures):
        raise ValueError(f"block_sizes={block_sizes!r}: every block needs a member")
    padded = np.zeros((len(structures), max(map(len, structures))), np.int64)
    for row, sizes in zip(padded, structures, strict=True):
        row[: len(sizes)] = sizes
    return padded


def draw_rankings(
    log_worth: np.ndarray,
    item: np.ndarray,
    rater: np.ndarray,
    sizes: np.ndarray,
    rng: np.random.Generator,
) -> PartialRankings:
    """Draw one partial ranking for each annotation.

    Parameters
    ----------
    log_worth : ndarray, shape (item, category)
        Log worths.
    item, rater : ndarray of int, shape (annotation,)
        Who annotates what.
    sizes : ndarray of int, shape (annotation, block)
        Block sizes, zeros after the last block.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    PartialRankings
        The annotations; categories are numbers from 0.
    """
    order = race_order(log_worth[item], rng)
    annotation, category, rank = ranked_entries(order, sizes)
    table = {
        "item": item[annotation],
        "rater": rater[annotation],
        "category": category,
        "rank": rank,
    }
    return PartialRankings.from_table(table, categories=range(log_worth.shape[1]))

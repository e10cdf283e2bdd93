"""Simulator of Plackett-Luce partial rankings with given block structures."""

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
    """Simulate Plackett-Luce partial rankings: every rater ranks every item, by the item's worths.

    Worths are Gamma(concentration, 1); a rater draws an order of all categories and names those of the ranked
    blocks.

    Parameters
    ----------
    items, categories, raters : int
        Numbers of items, categories and raters. Ids are numbers from 0.
    block_sizes : sequence of int, or sequence of such sequences
        Sizes of the ranked blocks, best first. With several structures each annotation draws one, uniformly.
    concentration : float
        Shape of the Gamma prior of each worth.
    log_worth : ndarray, shape (item, category), optional
        Log worths instead of draws from the prior; their shape replaces `items` and `categories`.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``log_worth`` and ``plausibility``, shape (item, category).

    Raises
    ------
    ValueError
        If a block is empty or there are fewer categories than ranks.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1)
    >>> simulated.data
    PartialRankings(5 items, 3 raters, 15 annotations, 4 categories)
    >>> simulated.truth["plausibility"].shape
    (5, 4)

    References
    ----------
    Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
    doi:10.1080/10618600.2012.638220.
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
    """Write block structures as rows of one array, padded with zeros; raises ValueError for empty blocks.

    Shapes: result (structure, block).
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

    Shapes: log_worth (item, category); item and rater (annotation,); sizes (annotation, block), zeros after
    the last block.
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

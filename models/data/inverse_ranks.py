"""Inverse rank normalisation (IRN): support of each category by an item's raters, as shares.

    score(k) = sum over raters and blocks of (1 / i) / |b_i|    for k in block i = 1, 2, ...
    IRN(k)   = score(k) / sum over the item's categories of score

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
Medical Image Analysis, eq. 3-5, arXiv:2307.02191.
"""

from typing import Literal

import numpy as np

from .ranked_pairs import ranked_pairs
from .rankings import PartialRankings

__all__ = ["inverse_rank_scores"]


def inverse_rank_scores(
    rankings: PartialRankings, tie_weight: Literal["split", "full"]
) -> np.ndarray:
    """IRN of every ranked (item, category) pair, shape (pair,), in the order of `ranked_pairs`.

    Sums to one for each item. `tie_weight` "split" shares the weight of a block among its tied categories
    (eq. 3); "full" gives each the whole weight.
    """
    if tie_weight not in ("split", "full"):
        raise ValueError(f"tie_weight={tie_weight!r} is not one of 'split', 'full'")
    pairs = ranked_pairs(rankings)
    weight = 1.0 / (pairs.entry_block + 1)  # 1 / i
    if tie_weight == "split":
        size = np.diff(rankings.block_start)
        weight /= np.repeat(size, size)  # / |b_i|, eq. 3
    score = np.bincount(pairs.entry, weight, minlength=len(pairs.item))
    return score / np.bincount(pairs.item, score)[pairs.item]

"""Inverse ranks: how much the raters of an item speak for each category, normalised over the item.

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
    """Sum the inverse ranks over raters and normalise them once per item.

    Parameters
    ----------
    rankings : PartialRankings
        The annotations.
    tie_weight : {"split", "full"}
        Whether tied categories share the weight of their block (eq. 3), or each take it whole.

    Returns
    -------
    ndarray of float64, shape (pair,)
        IRN of every ranked (item, category), in the order of `ranked_pairs`: items end to end,
        categories by code. Sums to one per item.

    Raises
    ------
    ValueError
        If `tie_weight` is neither of the two.
    """
    if tie_weight not in ("split", "full"):
        raise ValueError(f"tie_weight={tie_weight!r} is not one of 'split', 'full'")
    pairs = ranked_pairs(rankings)
    weight = 1.0 / (pairs.entry_block + 1)
    if tie_weight == "split":
        size = np.diff(rankings.block_start)
        weight /= np.repeat(size, size)
    score = np.bincount(pairs.entry, weight, minlength=len(pairs.item))
    return score / np.bincount(pairs.item, score)[pairs.item]

"""Do the raters of an item agree? Each one's differential against the others' aggregate.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, eq. 3-5 (inverse rank normalisation, IRN) and appendix E.
"""

from math import lcm
from typing import Literal, Protocol

import numpy as np
import xarray as xr

from .errors import EvaluationError

__all__ = ["annotator_agreement"]


class Rankings(Protocol):
    """Partial rankings as flat arrays; `raterzoo.models.PartialRankings` is one."""

    items: np.ndarray
    categories: np.ndarray
    annotation_item: np.ndarray
    annotation_start: np.ndarray
    block_start: np.ndarray
    category_code: np.ndarray


def annotator_agreement(
    rankings: Rankings, tie_weight: Literal["split", "full"] = "split"
) -> xr.DataArray:
    """Return the share of raters whose ranking contains the top-1 label of all the others.

    The label is that of the inverse rank normalisation of the other raters' rankings; where several
    lead, any of them counts. Their comparison is exact, in integers.

    Parameters
    ----------
    rankings : PartialRankings
        Annotations: ``items``, ``categories``, ``annotation_item``, ``annotation_start``,
        ``block_start``, ``category_code``.
    tie_weight : {"split", "full"}
        Whether a tied block at place i shares the weight 1/i, or each label has it.

    Returns
    -------
    DataArray, shape (item,)
        Agreement in [0, 1]; NaN for an item with one rater.

    References
    ----------
    Stutz et al. (2025), eq. 3 and appendix E.
    """
    if tie_weight not in ("split", "full"):
        raise EvaluationError(f'tie_weight={tie_weight!r}: expected "split" or "full"')
    annotation, weight = _entries(rankings, tie_weight)
    item = np.asarray(rankings.annotation_item)
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    key = item[annotation].astype(np.int64) * n_categories + rankings.category_code
    keys, cell = np.unique(key, return_inverse=True)
    total = np.zeros(len(keys), weight.dtype)
    np.add.at(total, cell, weight)
    # every annotation meets every cell of its item
    cell_start = np.searchsorted(keys, np.arange(n_items + 1) * n_categories)
    count = np.diff(cell_start)[item]
    start = np.r_[0, np.cumsum(count)]
    pair_cell = np.arange(start[-1]) + np.repeat(cell_start[item] - start[:-1], count)
    others = total[pair_cell]
    own = start[annotation] + cell - cell_start[item[annotation]]
    others[own] -= weight
    leads = others == np.repeat(np.maximum.reduceat(others, start[:-1]), count)
    ranked = np.zeros(len(others), bool)
    ranked[own] = True
    agrees = np.logical_or.reduceat(leads & ranked, start[:-1])
    raters = np.bincount(item, minlength=n_items)
    share = np.bincount(item, agrees, minlength=n_items) / raters
    share[raters == 1] = np.nan
    return xr.DataArray(share, {"item": rankings.items}, ("item",), name="annotator_agreement")


def _entries(rankings: Rankings, tie_weight: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the annotation and the weight of every entry, over one common denominator."""
    size = np.diff(rankings.block_start)
    blocks = np.diff(rankings.annotation_start)
    place = np.arange(len(size)) - np.repeat(rankings.annotation_start[:-1], blocks) + 1
    inverse = place * size if tie_weight == "split" else place
    denominator = lcm(*np.unique(inverse).tolist())
    fits = denominator < np.iinfo(np.int64).max // max(len(size), 1)
    # Python's integers where 64 bits are too few
    weight = np.array([denominator // d for d in inverse.tolist()], np.int64 if fits else object)
    annotation = np.repeat(np.repeat(np.arange(len(blocks)), blocks), size)
    return annotation, np.repeat(weight, size)

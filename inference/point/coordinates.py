"""Coordinates of point estimates: the same flat layout as the posterior of a ranking model."""

import numpy as np
import xarray as xr

from ...models.data.ranked_pairs import RankedPairs
from ...models.data.rankings import PartialRankings

__all__ = ["by_candidate"]


def by_candidate(values: np.ndarray, rankings: PartialRankings, pairs: RankedPairs) -> xr.DataArray:
    """Return values (pair,) of ranked (item, category) pairs as ``plausibility`` with dim ``candidate``.

    Coordinates ``item`` and ``category`` lie along it. Categories are text; integer ones as their decimals,
    marked by the attribute ``kind``.
    """
    integer = np.issubdtype(rankings.categories.dtype, np.integer)
    category = rankings.categories.astype(str)[pairs.category]
    coords = {
        "item": ("candidate", rankings.items[pairs.item]),
        "category": ("candidate", category, {"kind": "integer" if integer else "text"}),
    }
    return xr.DataArray(values, coords, ("candidate",), name="plausibility")

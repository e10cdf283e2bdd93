"""IRN, inverse rank normalisation: a deterministic aggregate of partial rankings."""

from typing import Literal

import xarray as xr

from ...models.data.container import expect
from ...models.data.inverse_ranks import inverse_rank_scores
from ...models.data.ranked_pairs import ranked_pairs
from ...models.data.rankings import PartialRankings
from .coordinates import by_candidate

__all__ = ["irn"]


def irn(
    rankings: PartialRankings, *, tie_weight: Literal["split", "full"] = "split"
) -> xr.DataArray:
    """Compute the inverse rank normalisation: the mean inverse rank of each category, normalised per item.

    Parameters
    ----------
    rankings : PartialRankings
        Rankings.
    tie_weight : {"split", "full"}, default "split"
        Whether tied categories share the weight of their block (eq. 3), or each takes it whole (the authors'
        code).

    Returns
    -------
    DataArray
        ``plausibility`` with dim ``candidate`` and coordinates ``item`` and ``category`` along it: the
        categories that some rater of the item ranked. It sums to one per item; all other categories have
        none.

    Raises
    ------
    ValueError
        If `tie_weight` is neither of the two.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> cases = models.PartialRankings.from_blocks([[[["a"], ["b"]], [["a", "b"]]]])
    >>> inference.irn(cases).to_numpy().round(2).tolist()
    [0.6, 0.4]

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, eq. 3-5, arXiv:2307.02191.
    """
    expect(rankings, PartialRankings)
    plausibility = inverse_rank_scores(rankings, tie_weight)
    return by_candidate(plausibility, rankings, ranked_pairs(rankings))

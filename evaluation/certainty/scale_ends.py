"""Scores with bounds under a normal model: scores that pile up at a bound, and locations beyond it."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from ...posterior.plausibility import BLOCK_SIZE

TAILS = (0.05, 0.95)
HALF = (
    0.5  # of the scores at one bound: their median is the bound, and a normal law has half its scores beyond
)


class ScaleEnds(NamedTuple):
    """Scores at the bounds, and items whose location may be beyond them."""

    bounds: tuple[float, float]
    fullest: float  # the bound with more scores
    share: float  # of all scores, at that bound
    outside: list[object]  # items whose 90 % interval of the location leaves the bounds
    n_items: int
    levels: list[float]  # distinct scores

    @property
    def misfits(self) -> bool:
        """Whether a normal model of the scores is contradicted at a bound."""
        return self.share >= HALF or bool(self.outside)


def scale_ends(tree: xr.DataTree) -> ScaleEnds | None:
    """Return how scores and locations of a posterior lie at the bounds; None without bounds."""
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "score_bounds" not in constant or "observed_data" not in tree.children:
        return None
    low, high = constant["score_bounds"].to_numpy().tolist()
    scores = tree["observed_data"]["observed_score"].to_numpy()
    share = {end: float((scores == end).mean()) for end in (low, high)}
    fullest = max(share, key=lambda end: share[end])
    location, outside = tree["posterior"]["location"], []
    step = max(BLOCK_SIZE * location.sizes["item"] // location.size, 1)
    for first in range(0, location.sizes["item"], step):
        block = location.isel(item=slice(first, first + step))
        ends = block.quantile(TAILS, ("chain", "draw")).transpose("quantile", "item").to_numpy()
        outside += block["item"].to_numpy()[(ends[0] < low) | (ends[1] > high)].tolist()
    return ScaleEnds(
        (low, high), fullest, share[fullest], outside, location.sizes["item"], np.unique(scores).tolist()
    )

"""Work space for the races of one item at a time, allocated once for many items and sweeps."""

from typing import NamedTuple

import numpy as np

from ...models.distributions.compiling import kept
from .posterior import WorthPosterior
from .tied_blocks import MAX_ORDERED

__all__ = ["RaceTrack", "race_track"]


class RaceTrack(NamedTuple):
    """Work arrays."""

    worth: np.ndarray  # (candidate of the item), relative to the largest
    exposure: np.ndarray  # (candidate of the item), or its log
    log_rate: np.ndarray  # (candidate of the item)
    rest: np.ndarray  # (block of one annotation): total worth, or its log, after the block
    member_worth: np.ndarray  # (member of one block): worths or their logs
    member_time: np.ndarray  # (member of one block): log arrivals
    recursion: np.ndarray  # (subset of one block), for `draw_orders`
    racing: np.ndarray  # (subset of one block)
    visits: np.ndarray  # (subset of one block)
    offset: np.ndarray  # (wait of the item), for `lead`
    count: np.ndarray  # (wait of the item), for `lead`


@kept()
def race_track(posterior: WorthPosterior, first: int, last: int) -> RaceTrack:
    """Allocate the work space for the items from `first` to before `last`."""
    widest, longest, largest, waits = 1, 1, 1, 0
    for i in range(first, last):
        widest = max(widest, posterior.candidate_start[i + 1] - posterior.candidate_start[i])
        item_waits = 2  # the prior, and the merged first waits
        for a in range(posterior.annotation_start[i], posterior.annotation_start[i + 1]):
            start, stop = posterior.block_start[a], posterior.block_start[a + 1]
            longest = max(longest, stop - start)
            for b in range(start, stop - 1):
                size = posterior.member_start[b + 1] - posterior.member_start[b]
                largest = max(largest, size)
                item_waits += size * posterior.multiplicity[a] if size > 1 else 1
        waits = max(waits, item_waits)
    subsets = 1 << min(largest, MAX_ORDERED)
    return RaceTrack(
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(longest),
        np.empty(widest),
        np.empty(widest),
        np.empty(subsets),
        np.empty(subsets),
        np.empty(subsets, np.int64),
        np.empty(waits),
        np.empty(waits),
    )

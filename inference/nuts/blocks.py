"""Blocks of draws of one chain of NUTS, and the chains that make them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import xarray as xr

SECONDS = 2.0  # of a block
RAW = ("posterior", "sample_stats")
LEFT_OUT = {"perf_counter_start", "perf_counter_diff", "process_time_diff", "warning"}  # clocks, and objects

Groups = dict[str, xr.Dataset]
Progress = tuple[Mapping[str, Any], Mapping[str, np.ndarray]]  # note and arrays of a journal file


class Block(NamedTuple):
    """Draws of one chain, and its progress after them."""

    chain: int
    first: int  # kept draws of the chain before these
    groups: Groups  # `RAW`, of one chain; none in the warm-up
    steps: int  # iterations since the previous block of the chain, warm-up and thinned draws included
    progress: Progress  # with "drawn", the number of kept draws

    @property
    def drawn(self) -> int:
        """Kept draws of the chain after these."""
        return self.first + (self.groups["posterior"].sizes["draw"] if self.groups else 0)


class Chains(Protocol):
    """Chains of a sampler; each has its own random streams, so that the draws do not depend on threads and blocks."""

    @property
    def steps(self) -> int:
        """Iterations of all chains together."""
        ...

    def example(self) -> Groups:
        """Return `RAW` groups of one draw of one chain, for names, dims and dtypes."""
        ...

    def blocks(self, progress: Mapping[int, Progress], stop: Callable[[], bool]) -> Iterator[Block]:
        """Yield blocks until all chains have all draws, or soon after `stop` is true; `progress` of begun chains is resumed."""
        ...


def storable(groups: Mapping[str, xr.Dataset]) -> Groups:
    """Return the `RAW` groups without messages (a store holds no objects), clocks, and attributes of the moment."""
    found = {}
    for name in RAW:
        group = groups[name]
        kept = [v for v, array in group.data_vars.items() if array.dtype.kind in "biuf" and v not in LEFT_OUT]
        attrs = {
            k: v for k, v in group.attrs.items() if k in ("inference_library", "inference_library_version")
        }
        found[name] = group[kept].drop_attrs(deep=False).assign_attrs(attrs)
    return found

"""Gibbs chains of Dawid and Skene's model: workers draw the true categories, the driver the parameters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..kernels.item_draws import draw_parameters
from ..kernels.random_stream import stream
from .gibbs_groups import GibbsGroups, GibbsPiece
from .label_shards import LabelShard
from .label_tasks import Parameters, Sweep, drawn_start, sweep
from .label_work import LabelWork

__all__ = ["SharedChains"]


class SharedChains:
    """Gibbs chains whose true categories are drawn by workers.

    Attributes: `state` holds everything that one sweep passes to the next, the random stream (chain, ...) and
    the counts "items" (chain, category) and "labels" (chain, rater * label, category); `number` counts the
    sweeps.
    """

    def __init__(self, work: LabelWork, groups: GibbsGroups, seed: int) -> None:
        self.groups: GibbsGroups = groups
        self._work, self._seed = work, seed
        chains, (rows, n) = range(groups.chains), work.shape
        seeds = (np.random.SeedSequence(seed, spawn_key=(chain,)) for chain in chains)
        self.state: dict[str, np.ndarray] = {
            "stream": np.stack([stream(own) for own in seeds]),
            "items": np.zeros((len(chains), n), np.int64),
            "labels": np.zeros((len(chains), rows, n), np.int64),
        }
        self.number: int = 0

    def restore(self, state: Mapping[str, np.ndarray], number: int) -> None:
        """Continue from the state after `number` sweeps."""
        self.state, self.number = dict(state), number

    def start(self) -> None:
        """Draw initial true categories near the vote shares."""
        shape = self._work.shape
        tasks = ((shard, shape, self._sweep(c)) for c, shard in self._units())
        for chain, _, counts in self._done(drawn_start, tasks):
            self._add(chain, counts)

    def sweep(self, piece: GibbsPiece | None = None, draw: int = 0) -> None:
        """Run one sweep of every chain; store it as draw number `draw` of the batch, if one is given."""
        self.number += 1
        parameters = [self._drawn_parameters(c) for c in range(self.groups.chains)]
        if piece is not None:
            for c, (prevalence, table) in enumerate(parameters):
                piece.prevalence[c, draw], piece.table[c, draw] = prevalence, table
        dtype = None if piece is None else self.groups.dtype
        tasks = ((shard, parameters[c], self._sweep(c), dtype) for c, shard in self._units())
        for chain, own, (counts, stored) in self._done(sweep, tasks):
            self._add(chain, counts)
            if piece is not None:
                piece.plausibility[chain, draw, own], piece.log_p[chain, draw, own] = stored

    def _done(self, function: Callable, tasks: Iterable[tuple]) -> Iterator[tuple[int, slice, Any]]:
        """Reset the counts, run the tasks, and yield chain, items and result of each as it completes."""
        for name in ("items", "labels"):
            self.state[name][:] = 0
        for number, found in self._work.workers.run(function, tasks, self._work.named):
            chain, shard = divmod(number, len(self._work.shards))
            yield chain, slice(*self._work.edges[shard : shard + 2].tolist()), found

    def _add(self, chain: int, counts: Parameters) -> None:
        """Add the counts of one shard; they are integers, so that the sum does not depend on the order."""
        for name, own in zip(("items", "labels"), counts, strict=True):
            self.state[name][chain] += own.astype(np.int64)

    def _units(self) -> Iterator[tuple[int, LabelShard]]:
        """Yield every (chain, shard)."""
        return ((c, shard) for c in range(self.groups.chains) for shard in self._work.shards)

    def _sweep(self, chain: int) -> Sweep:
        return Sweep(self._seed, chain, self.number)

    def _drawn_parameters(self, chain: int) -> Parameters:
        items, labels = self.state["items"][chain], self.state["labels"][chain]
        parameters = np.empty(items.shape), np.empty(labels.shape)
        draw_parameters(self.state["stream"][chain], self.groups.prior, items, labels, parameters)
        return parameters

"""Chains of Dawid and Skene's model whose true categories are drawn by workers, and the rest by the driver."""

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
    """Chains whose true categories are drawn by workers.

    Attributes
    ----------
    groups : GibbsGroups
        What is drawn.
    state : dict of str to ndarray
        All that goes from one sweep to the next: the stream of each chain, and its counts.
    number : int
        Sweeps there have been.
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
        """Go on after so many sweeps, where a run was interrupted."""
        self.state, self.number = dict(state), number

    def start(self) -> None:
        """Draw the first true categories, near the vote."""
        shape = self._work.shape
        tasks = ((shard, shape, self._sweep(c)) for c, shard in self._units())
        for chain, _, counts in self._done(drawn_start, tasks):
            self._add(chain, counts)

    def sweep(self, piece: GibbsPiece | None = None, draw: int = 0) -> None:
        """Make one sweep of every chain.

        Parameters
        ----------
        piece : GibbsPiece, optional
            Where the draws go, if they are kept.
        draw : int
            Their place in it.
        """
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
        """Yield chain, items and result of each task as they come; the counts begin anew."""
        for name in ("items", "labels"):
            self.state[name][:] = 0
        for number, found in self._work.workers.run(function, tasks, self._work.named):
            chain, shard = divmod(number, len(self._work.shards))
            yield chain, slice(*self._work.edges[shard : shard + 2].tolist()), found

    def _add(self, chain: int, counts: Parameters) -> None:
        """Add counts, which are whole numbers: their sum does not depend on who is first."""
        for name, own in zip(("items", "labels"), counts, strict=True):
            self.state[name][chain] += own.astype(np.int64)

    def _units(self) -> Iterator[tuple[int, LabelShard]]:
        """Yield every chain of every shard."""
        return ((c, shard) for c in range(self.groups.chains) for shard in self._work.shards)

    def _sweep(self, chain: int) -> Sweep:
        return Sweep(self._seed, chain, self.number)

    def _drawn_parameters(self, chain: int) -> Parameters:
        items, labels = self.state["items"][chain], self.state["labels"][chain]
        parameters = np.empty(items.shape), np.empty(labels.shape)
        draw_parameters(self.state["stream"][chain], self.groups.prior, items, labels, parameters)
        return parameters

"""Labels in shards and the workers that pass over them: every pass is a sum in the order of the shards."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...models.data.labels import Labels
from ..interruptions import cleaned_up
from .label_shards import LabelShard, shard_edges, write_label_shards
from .label_tasks import Counts
from .workers import AnyExecutor, Workers, workers_of

__all__ = ["LabelWork", "label_work", "total"]


@dataclass(frozen=True)
class LabelWork:
    """Shards of labels, and who works on them.

    Attributes
    ----------
    labels : Labels
        All of them.
    shards : list of LabelShard
        Where they are.
    edges : ndarray of int, shape (shard + 1,)
        Items of shard s are ``edges[s]:edges[s + 1]``.
    workers : Workers
        Where tasks are done.
    """

    labels: Labels
    shards: list[LabelShard]
    edges: np.ndarray
    workers: Workers

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the table of labels, (rater * label, category)."""
        n = len(self.labels.categories)
        return len(self.labels.raters) * n, n

    def map(self, function: Callable, *arguments: Any) -> Iterator[Any]:
        """Apply a function to every shard, and yield what comes in their order."""
        return self.workers.ordered(
            function, ((shard, *arguments) for shard in self.shards), self.named
        )

    def named(self, number: int) -> str:
        """Name a shard by its items; tasks go through all shards again and again."""
        shard = number % len(self.shards)
        first, last = self.labels.items[[self.edges[shard], self.edges[shard + 1] - 1]].tolist()
        return f"the labels of items {first!r} to {last!r}"


def total(parts: Iterable[Counts]) -> Counts:
    """Add counts of shards, one after the other: the sum does not depend on who was first.

    Parameters
    ----------
    parts : iterable of tuple of ndarray
        Counts of each shard.

    Returns
    -------
    tuple of ndarray
        Their sum.
    """
    return reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), parts)


@contextmanager
def label_work(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> Iterator[LabelWork]:
    """Write labels in shards, and lend the workers that pass over them.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart.
    executor : Executor, dask.distributed.Client, int or None
        Who works.
    shards : int, optional
        How many; by default one for every million of answers.
    folder : path, optional
        Where all workers see the shards, which are removed at the end, and at SIGTERM; by default that of temporary files.

    Yields
    ------
    LabelWork
        Shards and workers.
    """
    edges = shard_edges(labels, shards)
    with cleaned_up(), TemporaryDirectory(prefix="raterzoo-labels-", dir=folder) as own:
        written = write_label_shards(labels, edges, Path(own))
        with workers_of(executor) as workers:
            yield LabelWork(labels, written, edges, workers)

"""Labels in shards and the workers that process them; sums over shards are taken in their order."""

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
    """Shards of labels on disk, and their workers."""

    labels: Labels  # all of them
    shards: list[LabelShard]
    edges: np.ndarray  # (shard + 1,); the items of shard s are edges[s]:edges[s + 1]
    workers: Workers

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the confusion table, (rater * label, category)."""
        n = len(self.labels.categories)
        return len(self.labels.raters) * n, n

    def map(self, function: Callable, *arguments: Any) -> Iterator[Any]:
        """Apply a function to every shard, and yield the results in the order of the shards."""
        return self.workers.ordered(
            function, ((shard, *arguments) for shard in self.shards), self.named
        )

    def named(self, number: int) -> str:
        """Name the shard of a task by its items, for errors; task numbers run on over repeated passes."""
        shard = number % len(self.shards)
        first, last = self.labels.items[[self.edges[shard], self.edges[shard + 1] - 1]].tolist()
        return f"the labels of items {first!r} to {last!r}"


def total(parts: Iterable[Counts]) -> Counts:
    """Sum the counts of shards in their order, so that rounding does not depend on the timing."""
    return reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), parts)


@contextmanager
def label_work(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> Iterator[LabelWork]:
    """Context manager: write labels of identified raters in shards, and open the workers that process them.

    By default there is one shard per million answers. `folder` must be seen by all workers; by default it is
    that of temporary files. The shards are removed at the end, and at SIGTERM.
    """
    edges = shard_edges(labels, shards)
    with cleaned_up(), TemporaryDirectory(prefix="raterzoo-labels-", dir=folder) as own:
        written = write_label_shards(labels, edges, Path(own))
        with workers_of(executor) as workers:
            yield LabelWork(labels, written, edges, workers)

"""Shards of labels on disk, which workers memory-map: written once, and never sent."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ...models.data.labels import Labels, expand_answers
from ...models.distributions.marginal_labels_kernels import Answers, answer_sweeps
from ..kernels.random_streams import item_streams
from ..labels.em_search import LabelIds
from ..labels.kernels.em import (
    AnswerPatterns,
    answer_patterns,
    coded_answers,
    pattern_plausibility,
    vote_share,
)
from ..labels.kernels.sharded import count_drawn_categories, count_near_vote
from ..runs.run import check_whole, stream
from ..storage.interruptions import cleaned_up
from .item_slices import items_between
from .workers import AnyExecutor, Workers, workers_of

ANSWERS_OF_A_SHARD = 1_000_000


class LabelShard(NamedTuple):
    """Location of the answers to consecutive items."""

    folder: str  # seen by all workers
    number: int
    first: int  # first item

    def open(self) -> AnswerPatterns:
        """Memory-map the answers; the system can reclaim pages that are not in use."""
        return AnswerPatterns(
            Answers(*(self._mapped(name) for name in Answers._fields)),
            self._mapped("multiplicity"),
            self._mapped("pattern"),
        )

    def write(self, patterns: AnswerPatterns) -> None:
        """Write the answers."""
        arrays = patterns.answers._asdict()
        arrays |= {"multiplicity": patterns.multiplicity, "pattern": patterns.pattern}
        for name, array in arrays.items():
            save_array(self.file(name), array)

    def file(self, name: str) -> Path:
        """File of one array of the shard."""
        return Path(self.folder, f"{self.number}-{name}.npy")

    def _mapped(self, name: str) -> np.ndarray:
        # copy-on-write: the compiled code takes writable arrays only; nothing is written, so nothing is copied
        return np.asarray(np.load(self.file(name), mmap_mode="c", allow_pickle=False))


def save_array(file: Path, array: np.ndarray) -> None:
    """Write or replace a file in one step: another worker may be at the same task, or map the file."""
    partial = file.with_name(f"{file.name}.{uuid4().hex}")
    with partial.open("wb") as written:
        np.save(written, array, allow_pickle=False)
    os.replace(partial, file)


def shard_edges(labels: Labels, shards: int | None) -> np.ndarray:
    """Edges (shard + 1,) of shards of about as many answers, by default a million; shard s is edges[s]:edges[s + 1]."""
    n_items = len(labels.items)
    if shards is None:
        shards = -(-len(labels) // ANSWERS_OF_A_SHARD)
    check_whole("shards", shards)
    start = np.searchsorted(labels.annotation_item, np.arange(n_items + 1))
    effort = start + np.arange(n_items + 1)  # an item costs about as much as an answer
    inner = np.searchsorted(effort, np.linspace(0, effort[-1], shards + 1)[1:-1])
    return np.unique(np.concatenate([[0], inner, [n_items]]))


def write_label_shards(labels: Labels, edges: np.ndarray, folder: Path) -> list[LabelShard]:
    """Write labels of identified raters in shards, each as its distinct answer patterns."""
    n, written = len(labels.categories), []
    for number, (first, end) in enumerate(pairwise(edges.tolist())):
        own = items_between(labels, first, end)
        none = np.zeros(0, np.int32)  # a shard may have no answers
        codes = expand_answers(own) if len(own.count) else (none, none, none)
        written.append(LabelShard(str(folder), number, first))
        written[-1].write(answer_patterns(coded_answers(*codes, own.gold, n)))
    return written


# --- Tasks of a worker on a shard of labels: they return sums over its items, or the stored draws of each ---

# prevalence, shape (category,), and p(label | rater, true category), shape (rater * label, category)
Parameters = tuple[np.ndarray, np.ndarray]
Counts = tuple[np.ndarray, np.ndarray]  # items of each true category, and labels by it, of the same shapes


class Sweep(NamedTuple):
    """Identity of one sweep of one chain; every item has its own random stream in it."""

    seed: int
    chain: int
    number: int

    def streams(self, shard: LabelShard, n_items: int) -> np.ndarray:
        """Return the random stream of each item, which does not depend on the division into shards."""
        words = stream(np.random.SeedSequence(self.seed, spawn_key=(self.chain, self.number)))
        return item_streams(np.arange(shard.first, shard.first + n_items, dtype=np.uint64), words)


def vote_counts(shard: LabelShard, shape: tuple[int, int]) -> Counts:
    """Return the expected counts under the vote shares; `shape` is that of the table."""
    patterns = shard.open()
    share = vote_share(patterns.answers, shape[1])
    return _counted(patterns, share * patterns.multiplicity[:, None], shape)


def counts_near_vote(shard: LabelShard, shape: tuple[int, int], sweep: Sweep, drawn: bool) -> Counts:
    """Return the counts of a random start near the vote: drawn true categories of a chain, or expected ones of EM."""
    patterns = shard.open()
    share = vote_share(patterns.answers, shape[1])
    mass = np.zeros_like(share)
    streams = sweep.streams(shard, len(patterns.pattern))
    count_near_vote(streams, patterns.pattern, share, patterns.answers.gold_category, (mass, drawn))
    return _counted(patterns, mass, shape)


def expected_counts(shard: LabelShard, parameters: Parameters) -> tuple[Counts, float]:
    """E-step: return expected counts and log likelihood, given prevalence and confusion."""
    prevalence, table = parameters
    patterns = shard.open()
    counts = np.empty_like(prevalence), np.empty_like(table)
    sweep = answer_sweeps(len(prevalence)).log_p_and_counts
    return counts, sweep(prevalence, table, patterns.answers, patterns.multiplicity, counts)


def plausibility(shard: LabelShard, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Return p(true category | answers), (item, category), and log p of an item's answers, (item,)."""
    patterns = shard.open()
    by_pattern, log_p = pattern_plausibility(patterns, *parameters)
    return by_pattern[patterns.pattern], log_p[patterns.pattern]


def draw_categories(
    shard: LabelShard, parameters: Parameters, sweep: Sweep, dtype: str | None
) -> tuple[Counts, tuple[np.ndarray, np.ndarray] | None]:
    """Draw true categories; return their counts and, if `dtype` is given, the results of `plausibility` in it."""
    patterns = shard.open()
    by_pattern, log_p = pattern_plausibility(patterns, *parameters)
    drawn = np.zeros_like(by_pattern)
    count_drawn_categories(sweep.streams(shard, len(patterns.pattern)), patterns.pattern, by_pattern, drawn)
    counts = _counted(patterns, drawn, parameters[1].shape)
    if dtype is None:
        return counts, None
    return counts, (by_pattern.astype(dtype)[patterns.pattern], log_p.astype(dtype)[patterns.pattern])


def _counted(patterns: AnswerPatterns, mass: np.ndarray, shape: tuple[int, int]) -> Counts:
    """Return the counts if `mass` (pattern, category) items of each pattern are of each category."""
    labels = np.empty(shape)
    answer_sweeps(shape[1]).counts(mass, np.ones(len(mass)), patterns.answers, labels)
    return mass.sum(axis=0), labels


# --- Labels in shards and the workers that process them; sums over shards are taken in their order ---


@dataclass(frozen=True)
class LabelWork:
    """Shards of labels on disk, and their workers."""

    labels: LabelIds  # of all shards
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
        return self.workers.ordered(function, ((shard, *arguments) for shard in self.shards), self.named)

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
    """Context manager: labels in shards, removed at the end and at SIGTERM, and workers, all of which see `folder`."""
    edges = shard_edges(labels, shards)
    with cleaned_up(), TemporaryDirectory(prefix="raterzoo-labels-", dir=folder) as own:
        written = write_label_shards(labels, edges, Path(own))
        with workers_of(executor) as workers:
            yield LabelWork(labels, written, edges, workers)

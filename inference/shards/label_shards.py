"""Shards of labels on disk, which workers memory-map: written once, and never sent."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...models.data.labels import Labels
from ...models.data.single_answers import one_by_one
from ...models.distributions.answer_sweep import Answers
from ..kernels.answer_patterns import AnswerPatterns, answer_patterns, coded_answers
from .slices import items_between

__all__ = ["ANSWERS_OF_A_SHARD", "LabelShard", "shard_edges", "write_label_shards"]

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
            np.save(self._path(name), array)

    def _path(self, name: str) -> Path:
        return Path(self.folder) / f"{self.number}-{name}.npy"

    def _mapped(self, name: str) -> np.ndarray:
        # copy-on-write: the compiled code takes writable arrays only; nothing is written, so nothing is copied
        return np.asarray(np.load(self._path(name), mmap_mode="c", allow_pickle=False))


def shard_edges(labels: Labels, shards: int | None) -> np.ndarray:
    """Divide items into nonempty shards of about as many answers; return the edges, shape (shard + 1,).

    The items of shard s are ``edges[s]:edges[s + 1]``. By default there is one shard per million answers.
    """
    n_items = len(labels.items)
    if shards is None:
        shards = -(-len(labels) // ANSWERS_OF_A_SHARD)
    if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
        raise ValueError(f"shards={shards!r} must be a whole number from 1")
    start = np.searchsorted(labels.annotation_item, np.arange(n_items + 1))
    effort = start + np.arange(n_items + 1)  # an item costs about as much as an answer
    inner = np.searchsorted(effort, np.linspace(0, effort[-1], shards + 1)[1:-1])
    return np.unique(np.concatenate([[0], inner, [n_items]]))


def write_label_shards(labels: Labels, edges: np.ndarray, folder: Path) -> list[LabelShard]:
    """Write labels of identified raters in shards, each as its distinct answer patterns."""
    n, written = len(labels.categories), []
    for number, (first, end) in enumerate(pairwise(edges.tolist())):
        own = items_between(labels, first, end)
        answers = coded_answers(*_codes(own), own.gold, n)
        shard = LabelShard(str(folder), number, first)
        shard.write(answer_patterns(answers))
        written.append(shard)
    return written


def _codes(labels: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return item, rater and label of each answer; a shard may have none."""
    if not len(labels.count):
        none = np.zeros(0, np.int32)
        return none, none, none
    return one_by_one(labels)

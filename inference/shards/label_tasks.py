"""Tasks of a worker on a shard of labels: they return sums over its items, or the stored draws of each."""

from typing import NamedTuple

import numpy as np

from ...models.distributions.answer_sweep import answer_sweeps
from ..kernels.answer_patterns import AnswerPatterns
from ..kernels.item_draws import count_drawn_categories, count_near_vote
from ..kernels.normal_draws import item_streams
from ..kernels.random_stream import stream
from ..kernels.vote import vote_share
from .label_shards import LabelShard

__all__ = [
    "Counts",
    "Parameters",
    "Sweep",
    "drawn_start",
    "expected_counts",
    "near_vote",
    "plausibility",
    "sweep",
    "vote_counts",
]

Parameters = tuple[np.ndarray, np.ndarray]
"""Prevalence, shape (category,), and p(label | rater, true category), shape (rater * label, category)."""

Counts = tuple[np.ndarray, np.ndarray]
"""Items of each true category, and labels by true category, of the same shapes."""


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


def near_vote(shard: LabelShard, shape: tuple[int, int], which: Sweep) -> Counts:
    """Return the expected counts of a random start of EM near the vote shares."""
    return _near_vote(shard, shape, which, False)


def drawn_start(shard: LabelShard, shape: tuple[int, int], which: Sweep) -> Counts:
    """Return the counts of true categories drawn near the vote shares: the start of a chain."""
    return _near_vote(shard, shape, which, True)


def expected_counts(shard: LabelShard, parameters: Parameters) -> tuple[Counts, float]:
    """E-step: return expected counts and log likelihood, given prevalence and confusion."""
    prevalence, table = parameters
    patterns = shard.open()
    counts = np.empty_like(prevalence), np.empty_like(table)
    both = answer_sweeps(len(prevalence)).both
    log_likelihood = both(*parameters, patterns.answers, patterns.multiplicity, counts)
    return counts, log_likelihood


def plausibility(shard: LabelShard, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Return p(true category | answers), (item, category), and log p of an item's answers, (item,)."""
    patterns = shard.open()
    by_pattern, log_p = _by_pattern(patterns, parameters)
    return by_pattern[patterns.pattern], log_p[patterns.pattern]


def sweep(
    shard: LabelShard, parameters: Parameters, which: Sweep, stored: str | None
) -> tuple[Counts, tuple[np.ndarray, np.ndarray] | None]:
    """Draw true categories given parameters; return their counts and, if `stored` is a dtype, what is stored.

    Stored are p(true category | answers), shape (item, category), and log p of the answers to each item,
    (item,).
    """
    patterns = shard.open()
    by_pattern, log_p = _by_pattern(patterns, parameters)
    drawn = np.zeros_like(by_pattern)
    streams = which.streams(shard, len(patterns.pattern))
    count_drawn_categories(streams, patterns.pattern, by_pattern, drawn)
    counts = _counted(patterns, drawn, parameters[1].shape)
    if stored is None:
        return counts, None
    kept = (by_pattern.astype(stored)[patterns.pattern], log_p.astype(stored)[patterns.pattern])
    return counts, kept


def _near_vote(shard: LabelShard, shape: tuple[int, int], which: Sweep, draws: bool) -> Counts:
    patterns = shard.open()
    share = vote_share(patterns.answers, shape[1])
    mass = np.zeros_like(share)
    streams = which.streams(shard, len(patterns.pattern))
    count_near_vote(streams, patterns.pattern, share, patterns.answers.known, (mass, draws))
    return _counted(patterns, mass, shape)


def _counted(patterns: AnswerPatterns, mass: np.ndarray, shape: tuple[int, int]) -> Counts:
    """Return the counts if `mass` (pattern, category) items of each pattern are of each category."""
    labels = np.empty(shape)
    ones = np.ones(len(mass))
    answer_sweeps(shape[1]).counts(mass, ones, patterns.answers, labels)
    return mass.sum(axis=0), labels


def _by_pattern(patterns: AnswerPatterns, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Return p(true category | answers), shape (pattern, category), and log p of the answers, (pattern,)."""
    prevalence, table = parameters
    log_p = np.empty(len(patterns.multiplicity))
    found = np.empty((len(log_p), len(prevalence)))
    answer_sweeps(len(prevalence)).log_p(prevalence, table, patterns.answers, log_p, found)
    return found, log_p

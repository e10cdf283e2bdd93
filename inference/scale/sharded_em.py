"""EM of prevalence and confusion over labels in shards: workers expect, the driver maximises."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..labels.confusion_em import ConfusionEm, Objective
from ..labels.em_search import EmRun, Ended
from ..labels.kernels.em import Counts, pattern_plausibility
from .sharded_answers import (
    LabelShard,
    LabelWork,
    Parameters,
    Sweep,
    counts_near_vote,
    expected_counts,
    plausibility,
    total,
    vote_counts,
)


class InShards(ConfusionEm):
    """EM of prevalence and confusion over labels in shards."""

    def __init__(self, work: LabelWork, objective: Objective) -> None:
        super().__init__(None, objective)
        self._work, self._starts = work, 0

    def from_vote(self) -> EmRun[Any]:
        """Run EM from the vote shares."""
        return self.run(lambda: total(self._work.map(vote_counts, self._work.shape)))

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> EmRun[Any]:
        """Run EM from the next random start of a seed; the starts do not depend on the division into shards."""
        seed, self._starts = int(rng.bit_generator.seed_seq.generate_state(1)[0]), self._starts + 1  # type: ignore[attr-defined]
        near = partial(
            self._work.map, counts_near_vote, self._work.shape, Sweep(seed, self._starts, 0), False
        )
        return self.run(lambda: total(near()), ended)

    def e_step(self, parameters: Any) -> tuple[Any, float]:
        """Return expected counts and log likelihood, summed over the shards."""
        log_p = []

        def counts() -> Iterator[Counts]:
            for part, log_likelihood in self._work.map(expected_counts, tuple(parameters)):
                log_p.append(log_likelihood)
                yield part

        return total(counts()), sum(log_p)

    def plausibility(self, parameters: Any) -> "ShardedPlausibility":
        """Return p(true category | estimate, answers), computed by workers where it is asked for."""
        return ShardedPlausibility(self._work, tuple(parameters))


def largest_difference(shard: LabelShard, one: Parameters, other: Parameters) -> float:
    """Return the largest difference of the plausibilities of two pairs of prevalence and table."""
    patterns = shard.open()
    first, second = (pattern_plausibility(patterns, *parameters)[0] for parameters in (one, other))
    return float(np.abs(first - second).max(initial=0.0))


@dataclass(frozen=True)
class ShardedPlausibility:
    """Plausibilities of an estimate, computed by workers from its parameters."""

    work: LabelWork
    parameters: Parameters
    is_returned: bool = True  # to the caller; else workers write it

    def apart(self, other: "ShardedPlausibility") -> float:
        """Return the largest difference to another one."""
        return max(self.work.map(largest_difference, self.parameters, other.parameters))

    def collected(self) -> np.ndarray | None:
        """Return p(true category | estimate, answers), shape (item, category), unless workers write it."""
        if not self.is_returned:
            return None
        return np.concatenate([part for part, _ in self.work.map(plausibility, self.parameters)])

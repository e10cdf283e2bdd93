"""EM of prevalence and confusion over labels in shards: workers expect, the driver maximises."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...models.data.labels import Labels
from ..labels.em_data import Counts, Problem, asked_by_run
from ..labels.em_search import Ended
from ..labels.kernels.em import EmResult, pattern_plausibility, run_em
from .sharded_answers import (
    LabelShard,
    LabelWork,
    Parameters,
    Sweep,
    counts_near_vote,
    expected_counts,
    label_work,
    plausibility,
    total,
    vote_counts,
)
from .workers import AnyExecutor


class InShards:
    """Labels in shards that workers process."""

    n_answers = None  # in the memory of this process

    def __init__(self, work: LabelWork) -> None:
        self._work = work

    def runs(self, restarts: int, random_seed: int | None, problem: Problem) -> Iterator[EmResult]:
        """Yield the EM result of every start; the starts do not depend on the division into shards."""
        yield self.from_vote(problem)
        work, seed = self._work, int(np.random.SeedSequence(random_seed).generate_state(1)[0])
        for number in range(1, restarts + 1):
            sweep = Sweep(seed, number, 0)
            near = partial(work.map, counts_near_vote, work.shape, sweep, False)
            yield self._run(lambda near=near: total(near()), problem)

    def from_vote(self, problem: Problem) -> EmResult:
        """Run EM from the vote shares."""
        work = self._work
        return self._run(lambda: total(work.map(vote_counts, work.shape)), problem)

    def from_parameters(self, parameters: Counts, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        return self._run(lambda: self._expected(*parameters)[0], problem, ended)

    def expected(self, run: EmResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        return self._expected(run.prevalence, run.table)[0]

    def plausibility(self, run: EmResult) -> "ShardedPlausibility":
        """Return p(true category | estimate, answers), computed by workers where it is asked for."""
        return ShardedPlausibility(self._work, (run.prevalence, np.ascontiguousarray(run.table)))

    def parameters(self, run: EmResult) -> Counts:
        """Return prevalence and table."""
        return run.prevalence, run.table

    def _run(self, start: Callable[[], Counts], problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from the expected counts of a start."""
        expected = start()
        return run_em(self._e_step(expected), expected, *problem, asked_by_run(ended))

    def _e_step(self, expected: Counts) -> Callable[[np.ndarray, np.ndarray], float]:
        """Return the E-step as a function of (prevalence, table), which overwrites the expected counts."""

        def expect(prevalence: np.ndarray, table: np.ndarray) -> float:
            counts, log_likelihood = self._expected(prevalence, table)
            for whole, summed in zip(expected, counts, strict=True):
                whole[...] = summed
            return log_likelihood

        return expect

    def _expected(self, prevalence: np.ndarray, table: np.ndarray) -> tuple[Counts, float]:
        """Return expected counts and log likelihood, summed over the shards."""
        parameters, log_p = (prevalence, np.ascontiguousarray(table)), []

        def counts() -> Iterator[Counts]:
            for part, log_likelihood in self._work.map(expected_counts, parameters):
                log_p.append(log_likelihood)
                yield part

        return total(counts()), sum(log_p)


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


@contextmanager
def labels_in_shards(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> Iterator[InShards]:
    """Context manager: labels in shards, for EM."""
    with label_work(labels, executor, shards, folder) as work:
        yield InShards(work)

"""EM of prevalence and confusion over labels in the memory of this process, or in shards that workers process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import answer_sweeps
from ..parallel.workers import AnyExecutor
from . import sharded_answers
from .em_search import Ended
from .kernels.em import (
    AnswerPatterns,
    EmResult,
    expectation,
    jittered_vote,
    m_step,
    pattern_plausibility,
    run_em,
    run_em_on_patterns,
    vote_share,
)
from .sharded_answers import LabelWork, label_work, total
from .votes import patterns_of, vote_starts

Counts = tuple[np.ndarray, np.ndarray]  # of items (category,) and of labels (rater * label, category)
AskedByRun = Callable[[np.ndarray, np.ndarray, float], bool]


def asked_by_run(ended: Ended | None) -> AskedByRun | None:
    """Return `ended`, a function of (prevalence, table) and objective, as `run_em` asks it."""
    return ended and (lambda prevalence, table, objective: ended((prevalence, table), objective))


class Problem(NamedTuple):
    """Objective of EM, and when a run stops."""

    prior: Counts  # pseudo-counts of prevalence and confusion
    max_iterations: int
    tolerance: float  # relative gain of the objective below which a start has converged


@contextmanager
def open_labels(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> "Iterator[EmData]":
    """Context manager: labels in memory, or in shards if an executor or a number of shards is given."""
    if executor is None and shards is None:
        yield InMemory(patterns_of(labels), len(labels.categories))
    else:
        with label_work(labels, executor, shards, folder) as work:
            yield InShards(work)


class InMemory:
    """Labels in the memory of this process."""

    def __init__(self, patterns: AnswerPatterns, n_categories: int) -> None:
        self._patterns, self._n = patterns, n_categories

    @property
    def n_answers(self) -> int:
        """Number of answers that a pass reads."""
        return len(self._patterns.answers.code)

    def runs(self, restarts: int, random_seed: int | None, problem: Problem) -> Iterator[EmResult]:
        """Yield the EM result from the vote shares, then from `restarts` random starts near them."""
        rng = np.random.default_rng(random_seed)
        for plausibility in vote_starts(self._patterns, self._n, restarts, rng):
            yield run_em_on_patterns(self._patterns, plausibility, *problem)

    def from_vote(self, problem: Problem) -> EmResult:
        """Run EM from the vote shares."""
        return run_em_on_patterns(self._patterns, vote_share(self._patterns.answers, self._n), *problem)

    def near_vote(self, rng: np.random.Generator, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from a random start near the vote shares."""
        start = jittered_vote(self._patterns.answers, self._n, rng)
        return run_em_on_patterns(self._patterns, start, *problem, asked_by_run(ended))

    def from_parameters(self, parameters: Counts, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        answers, weight, _ = self._patterns
        expected = np.empty_like(parameters[0]), np.empty_like(parameters[1])
        with expectation(answers, weight, expected) as expect:
            expect(*parameters)
            return run_em(expect, expected, *problem, asked_by_run(ended))

    def expected(self, run: EmResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        patterns, labels = self._patterns, np.empty(run.table.shape)
        plausibility, _ = pattern_plausibility(patterns, run.prevalence, run.table)
        answer_sweeps(self._n).counts(plausibility, patterns.multiplicity, patterns.answers, labels)
        return patterns.multiplicity @ plausibility, labels

    def parameters(self, run: EmResult) -> Counts:
        """Return prevalence and table."""
        return run.prevalence, run.table

    def compared(self, parameters: Counts) -> np.ndarray:
        """Return p(true category | prevalence and table, answers), shape (pattern, category)."""
        return pattern_plausibility(self._patterns, *parameters)[0]

    def plausibility(self, run: EmResult) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        by_pattern = self.compared((run.prevalence, run.table))
        if len(by_pattern) == len(self._patterns.pattern):
            return by_pattern
        return by_pattern[self._patterns.pattern]


class InShards:
    """Labels in shards that workers process."""

    def __init__(self, work: LabelWork) -> None:
        self._work = work

    def runs(self, restarts: int, random_seed: int | None, problem: Problem) -> Iterator[EmResult]:
        """Yield the EM result of every start; the starts do not depend on the division into shards."""
        yield self.from_vote(problem)
        work, seed = self._work, int(np.random.SeedSequence(random_seed).generate_state(1)[0])
        for number in range(1, restarts + 1):
            sweep = sharded_answers.Sweep(seed, number, 0)
            near = partial(work.map, sharded_answers.counts_near_vote, work.shape, sweep, False)
            yield self._run(lambda near=near: total(near()), problem)

    def from_vote(self, problem: Problem) -> EmResult:
        """Run EM from the vote shares."""
        work = self._work
        return self._run(lambda: total(work.map(sharded_answers.vote_counts, work.shape)), problem)

    def from_parameters(self, parameters: Counts, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        return self._run(lambda: self._expected(*parameters)[0], problem, ended)

    def expected(self, run: EmResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        return self._expected(run.prevalence, run.table)[0]

    def plausibility(self, run: EmResult) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        parameters = run.prevalence, np.ascontiguousarray(run.table)
        parts = self._work.map(sharded_answers.plausibility, parameters)
        return np.concatenate([part for part, _ in parts])

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
            for part, log_likelihood in self._work.map(sharded_answers.expected_counts, parameters):
                log_p.append(log_likelihood)
                yield part

        return total(counts()), sum(log_p)


EmData = InMemory | InShards


class ConfusionAscents:
    """EM of prevalence and confusion on some labels, for `searched`."""

    def __init__(
        self,
        data: EmData,
        problem: Problem,
        aligned: Callable[[EmResult, EmData], EmResult],
        usual: Counts | None = None,
    ) -> None:
        """Keep labels and objective; ``aligned(run, data)`` permutes the categories of a run.

        `usual` are pseudo-counts for `elsewhere`, which keep probabilities of a sample from being zero.
        """
        self._data, self._problem, self._aligned, self._usual = data, problem, aligned, usual

    @property
    def n_answers(self) -> int | None:
        """Number of answers that a pass reads, None if they are in shards."""
        return None if isinstance(self._data, InShards) else self._data.n_answers

    def from_vote(self) -> EmResult:
        """Run EM from the vote shares."""
        return self._aligned(self._data.from_vote(self._problem), self._data)

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> EmResult:
        """Run EM from a random start near the vote shares."""
        assert not isinstance(self._data, InShards)
        run = self._data.near_vote(rng, self._problem, ended)
        if ended and ended(self.parameters(run), run.trace[-1]):
            return run
        return self._aligned(run, self._data)

    def from_parameters(self, parameters: Counts, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        run = self._data.from_parameters(parameters, self._problem, ended)
        return self._aligned(run, self._data)

    def elsewhere(self, run: EmResult) -> Counts:
        """Return prevalence and table, from which EM on other items starts."""
        if self._usual is None:
            return run.prevalence, np.ascontiguousarray(run.table)
        categories, counts = self._data.expected(run)
        prevalence, table = np.empty_like(categories), np.empty_like(counts)
        m_step(self._usual, categories, counts, prevalence, table)
        return prevalence, table

    def parameters(self, run: EmResult) -> Any:
        """Return prevalence and table, as `ended` is asked about them."""
        return self._data.parameters(run)

    def compared(self, parameters: Any) -> np.ndarray:
        """Return p(true category | parameters, answers), shape (pattern, category)."""
        assert not isinstance(self._data, InShards)
        return self._data.compared(parameters)

"""EM of prevalence and confusion over labels in the memory of this process."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...models.distributions.marginal_labels_kernels import answer_sweeps
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
from .votes import vote_starts

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


class EmData(Protocol):
    """Labels on which EM of prevalence and confusion runs: `InMemory`, or in shards."""

    @property
    def n_answers(self) -> int | None:
        """Number of answers that a pass reads, None if they are in shards."""
        ...

    def runs(self, restarts: int, random_seed: int | None, problem: Problem) -> Iterator[EmResult]:
        """Yield the EM result from the vote shares, then from `restarts` random starts near them."""
        ...

    def from_vote(self, problem: Problem) -> EmResult:
        """Run EM from the vote shares."""
        ...

    def from_parameters(self, parameters: Counts, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        ...

    def expected(self, run: EmResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        ...

    def plausibility(self, run: EmResult) -> Any:
        """Return p(true category | estimate, answers), an array (item, category) or `RemotePlausibility`."""
        ...

    def parameters(self, run: EmResult) -> Counts:
        """Return prevalence and table."""
        ...


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
        self._data: Any = data
        self._problem, self._aligned, self._usual = problem, aligned, usual

    @property
    def n_answers(self) -> int | None:
        """Number of answers that a pass reads, None if they are in shards."""
        return self._data.n_answers

    def from_vote(self) -> EmResult:
        """Run EM from the vote shares."""
        return self._aligned(self._data.from_vote(self._problem), self._data)

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> EmResult:
        """Run EM from a random start near the vote shares."""
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
        return self._data.compared(parameters)

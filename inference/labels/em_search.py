"""Search for the optima of EM: short runs of many starts on a sample of the items, long runs of the best on all items.

Many starts are affordable on a sample, whose optima are near those of all items; what is reported are runs on all
items until they converge. Few answers are their own sample. A run that has come to a known optimum is not followed.

References
----------
Biernacki, Celeux and Govaert (2003), Choosing starting values for the EM algorithm for getting the highest likelihood in
multivariate Gaussian mixture models, Computational Statistics & Data Analysis 41, 561-575,
doi:10.1016/S0167-9473(02)00163-6.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.data.labels import Labels
from ...models.data.prior_arguments import default_confusion
from ...models.distributions.marginal_labels_kernels import answer_sweeps
from ..parallel.workers import AnyExecutor
from . import sharded_answers
from .kernels.em import (
    AnswerPatterns,
    EmResult,
    answer_patterns,
    coded_answers,
    expectation,
    jittered_vote,
    m_step,
    pattern_plausibility,
    run_em,
    run_em_on_patterns,
    vote_share,
)
from .label_files import InTheFiles, SharedLabels
from .sharded_answers import LabelWork, label_work, total
from .votes import patterns_of, vote_starts

Counts = tuple[np.ndarray, np.ndarray]  # of items (category,) and of labels (rater * label, category)
Ended = Callable[[np.ndarray, np.ndarray, float], bool]  # whether a run need not be followed; see `run_em`


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

    def near_vote(self, rng: np.random.Generator, problem: Problem, ended: Ended) -> EmResult:
        """Run EM from a random start near the vote shares."""
        start = jittered_vote(self._patterns.answers, self._n, rng)
        return run_em_on_patterns(self._patterns, start, *problem, ended)

    def from_parameters(self, parameters: Counts, problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from prevalence and table."""
        answers, weight, _ = self._patterns
        expected = np.empty_like(parameters[0]), np.empty_like(parameters[1])
        with expectation(answers, weight, expected) as expect:
            expect(*parameters)
            return run_em(expect, expected, *problem, ended)

    def expected(self, run: EmResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        patterns, labels = self._patterns, np.empty(run.table.shape)
        plausibility, _ = pattern_plausibility(patterns, run.prevalence, run.table)
        answer_sweeps(self._n).counts(plausibility, patterns.multiplicity, patterns.answers, labels)
        return patterns.multiplicity @ plausibility, labels

    def by_pattern(self, prevalence: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return p(true category | parameters, answers), shape (pattern, category)."""
        return pattern_plausibility(self._patterns, prevalence, table)[0]

    def plausibility(self, run: EmResult) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        by_pattern = self.by_pattern(run.prevalence, run.table)
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

    def _run(self, start: Callable[[], Counts], problem: Problem, ended: Ended | None = None) -> EmResult:
        """Run EM from the expected counts of a start."""
        expected = start()
        return run_em(self._e_step(expected), expected, *problem, ended)

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

# --- Optima ---

SAME_OBJECTIVE, SAME_PLAUSIBILITY = 1e-6, 0.01  # largest relative and absolute difference at one optimum


def distinct_optima(runs: list[EmResult], em_data: EmData) -> tuple[list[tuple[EmResult, Any]], np.ndarray]:
    """Return one run and plausibility per distinct optimum, the best first; and the optimum of each run."""
    order = np.argsort([-run.trace[-1] for run in runs], kind="stable")
    optima: list[tuple[EmResult, Any]] = []
    ended = np.empty(len(runs), int)
    for place in order:
        run, own = runs[place], em_data.plausibility(runs[place])
        for k, (other, theirs) in enumerate(optima):
            if _near(run.trace[-1], other) and _apart(own, theirs) < SAME_PLAUSIBILITY:
                ended[place] = k
                break
        else:
            ended[place] = len(optima)
            optima.append((run, own))
    return optima, ended


def _apart(own: Any, theirs: Any) -> float:
    """Largest difference of plausibilities, arrays or in the files."""
    return own.apart(theirs) if isinstance(own, InTheFiles) else np.abs(own - theirs).max()


def _near(objective: float, run: EmResult) -> bool:
    """Whether an objective is that of a run but for rounding and a last gain."""
    return abs(objective - run.trace[-1]) <= SAME_OBJECTIVE * (1 + abs(objective))


class _Known:
    """Optima that runs have come to; plausibilities are compared on the items in memory."""

    def __init__(self, few: InMemory, run: EmResult) -> None:
        self._few, self.runs = few, [run]
        self._plausibility = [few.by_pattern(run.prevalence, run.table)]

    def place(self, prevalence: np.ndarray, table: np.ndarray, objective: float) -> int | None:
        """Return the number of the optimum at these parameters, None if it is not known."""
        alike = [k for k, run in enumerate(self.runs) if _near(objective, run)]
        if not alike:
            return None
        own = self._few.by_pattern(prevalence, table)
        apart = (np.abs(own - self._plausibility[k]).max() for k in alike)
        return next((k for k, far in zip(alike, apart, strict=True) if far < SAME_PLAUSIBILITY), None)

    def ended(self, prevalence: np.ndarray, table: np.ndarray, objective: float) -> bool:
        """Whether a run has come to a known optimum."""
        return self.place(prevalence, table, objective) is not None

    def settled(self, run: EmResult) -> int:
        """Return the number of the optimum of a run, which is added if it is not known."""
        place = self.place(run.prevalence, run.table, run.trace[-1])
        if place is None:
            self.runs.append(run)
            self._plausibility.append(self._few.by_pattern(run.prevalence, run.table))
            return len(self.runs) - 1
        if run.converged and run.trace[-1] > self.runs[place].trace[-1]:
            self.runs[place] = run
        return place


# --- Search ---

LARGE = 400_000  # answers; fewer are their own sample
SAMPLE, SAMPLE_OF_RATER = 100_000, 100  # least number of answers of a sample, and of them for each rater
ROUND, MOST_STARTS = 20, 100  # random starts
MOST_PASSES = 2_000_000  # answers times starts, beyond which there is one round
LONG = 3  # runs on all items from optima of the sample other than that of the vote


class Found(NamedTuple):
    """Result of a search."""

    runs: list[EmResult]  # one for each optimum, the first from the vote
    run_of_start: np.ndarray  # (start,), the run at whose optimum a start ended; the vote is the first


def searched(
    labels: Labels | SharedLabels,
    em_data: EmData,
    problem: Problem,
    random_seed: int | None,
    aligned: Callable[[EmResult, EmData], EmResult],
) -> Found:
    """Search for optima; ``aligned(run, em_data)`` permutes the categories of a run."""
    rng = np.random.default_rng(random_seed)
    vote = aligned(em_data.from_vote(problem), em_data)
    few = _sample(labels, em_data, rng)
    if few is em_data:
        return _of_many_starts(few, vote, problem, rng, aligned)
    home = aligned(few.from_parameters((vote.prevalence, np.ascontiguousarray(vote.table)), problem), few)
    short = _of_many_starts(few, home, problem, rng, aligned)
    optima, ended = distinct_optima(short.runs, few)
    known, long = _Known(few, vote), {ended[0]: 0}
    for number in [k for k in range(len(optima)) if k != ended[0]][:LONG]:
        start = _smoothed(labels, few.expected(optima[number][0]))
        run = em_data.from_parameters(start, problem, known.ended)
        long[number] = known.settled(aligned(run, em_data))
    ends = [long[number] for number in ended[short.run_of_start[1:]] if number in long]
    return Found(known.runs, np.array([0, *ends]))


def _sample(labels: Labels | SharedLabels, em_data: EmData, rng: np.random.Generator) -> InMemory:
    """Draw the items of the short runs: all if there are few answers."""
    n_answers, n = len(labels), len(labels.categories)
    size = max(SAMPLE, SAMPLE_OF_RATER * len(labels.raters))
    few = n_answers <= max(LARGE, 2 * size)
    if isinstance(labels, SharedLabels):
        return InMemory(answer_patterns(labels.sample(rng, 1.0 if few else size / n_answers)), n)
    if few:
        return em_data if isinstance(em_data, InMemory) else InMemory(patterns_of(labels), n)
    chosen = rng.random(len(labels.items)) < size / n_answers
    rows = np.flatnonzero(chosen[labels.annotation_item])
    times = labels.count[rows]
    item = np.repeat((np.cumsum(chosen) - 1)[labels.annotation_item[rows]], times)
    rater, label = (np.repeat(code[rows], times) for code in (labels.annotation_rater, labels.label_code))
    return InMemory(answer_patterns(coded_answers(item, rater, label, labels.gold[chosen], n)), n)


def _of_many_starts(
    few: InMemory,
    first: EmResult,
    problem: Problem,
    rng: np.random.Generator,
    aligned: Callable[[EmResult, EmData], EmResult],
) -> Found:
    """Run EM from rounds of random starts near the vote, more while they find optima that are not known."""
    known, ends, found = _Known(few, first), [0], 0
    most = MOST_STARTS if few.n_answers * MOST_STARTS <= MOST_PASSES else ROUND
    while found < len(known.runs) and len(ends) <= most:
        found = len(known.runs)
        for _ in range(ROUND):
            run = few.near_vote(rng, problem, known.ended)
            if not known.ended(run.prevalence, run.table, run.trace[-1]):
                run = aligned(run, few)
            ends.append(known.settled(run))
    return Found(known.runs, np.array(ends))


def _smoothed(labels: Labels | SharedLabels, expected: Counts) -> Counts:
    """Return prevalence and table of expected counts with the usual pseudo-counts, so that no probability is zero."""
    n = len(labels.categories)
    prior, (categories, counts) = (np.ones(n), default_confusion(labels).reshape(-1, n)), expected
    prevalence, table = np.empty_like(categories), np.empty_like(counts)
    m_step(prior, categories, counts, prevalence, table)
    return prevalence, table

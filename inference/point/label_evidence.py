"""Expected counts of Dawid-Skene's EM, from labels in memory or from shards that workers process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from ...models.data.labels import Labels
from ...models.data.single_answers import one_by_one
from ...models.distributions.answer_sweep import answer_sweeps
from ..kernels.answer_patterns import AnswerPatterns, answer_patterns, coded_answers
from ..kernels.label_ascent import Ascent, ascend, climb
from ..kernels.vote import jittered_vote, vote_share
from ..shards import label_tasks
from ..shards.label_work import LabelWork, label_work, total
from ..shards.workers import AnyExecutor

__all__ = ["InMemory", "LabelEvidence", "evidence_of", "patterns_of"]

Prior = tuple[np.ndarray, np.ndarray]


class LabelEvidence(Protocol):
    """Interface of EM to the labels, wherever they are stored."""

    def ascents(
        self, restarts: int, random_seed: int | None, prior: Prior, stop: tuple[int, float]
    ) -> Iterator[Ascent]:
        """Yield the EM result from the vote shares, then from `restarts` random starts near them.

        `prior` holds the pseudo-counts of prevalence and confusion; `stop` the largest number of iterations
        and the relative gain of the objective below which a start has converged.
        """
        ...

    def expected_labels(self, run: Ascent) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        ...

    def plausibility(self, run: Ascent) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        ...


@contextmanager
def evidence_of(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> Iterator[LabelEvidence]:
    """Context manager: labels in memory, or in shards if an executor or a number of shards is given."""
    if executor is None and shards is None:
        yield InMemory(patterns_of(labels), len(labels.categories))
        return
    with label_work(labels, executor, shards, folder) as work:
        yield InShards(work)


def patterns_of(labels: Labels) -> AnswerPatterns:
    """Return the distinct answer patterns of the items, with their multiplicities."""
    item, rater, label = one_by_one(labels)
    return answer_patterns(coded_answers(item, rater, label, labels.gold, len(labels.categories)))


class InMemory:
    """Labels in the memory of this process."""

    def __init__(self, patterns: AnswerPatterns, n_categories: int) -> None:
        self._patterns, self._n = patterns, n_categories

    def ascents(
        self, restarts: int, random_seed: int | None, prior: Prior, stop: tuple[int, float]
    ) -> Iterator[Ascent]:
        """Yield the EM result of every start."""
        rng = np.random.default_rng(random_seed)
        answers = self._patterns.answers
        for number in range(restarts + 1):
            near = jittered_vote(answers, self._n, rng) if number else vote_share(answers, self._n)
            yield ascend(self._patterns, near, prior, *stop)

    def expected_labels(self, run: Ascent) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        answers, weight, _ = self._patterns
        counts = np.empty(run.table.shape)
        answer_sweeps(self._n).counts(self._of_patterns(run), weight, answers, counts)
        return counts

    def plausibility(self, run: Ascent) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        return self._of_patterns(run)[self._patterns.pattern]

    def _of_patterns(self, run: Ascent) -> np.ndarray:
        log_p = np.empty(len(self._patterns.multiplicity))
        found = np.empty((len(log_p), self._n))
        table = np.ascontiguousarray(run.table)
        answer_sweeps(self._n).log_p(run.prevalence, table, self._patterns.answers, log_p, found)
        return found


class InShards:
    """Labels in shards that workers process."""

    def __init__(self, work: LabelWork) -> None:
        self._work = work

    def ascents(
        self, restarts: int, random_seed: int | None, prior: Prior, stop: tuple[int, float]
    ) -> Iterator[Ascent]:
        """Yield the EM result of every start; the starts do not depend on the division into shards."""
        work = self._work
        seed = int(np.random.SeedSequence(random_seed).generate_state(1)[0])
        for number in range(restarts + 1):
            if number:
                which = label_tasks.Sweep(seed, number, 0)
                expected = total(work.map(label_tasks.near_vote, work.shape, which))
            else:
                expected = total(work.map(label_tasks.vote_counts, work.shape))

            def expect(prevalence, table, expected=expected):
                counts, log_likelihood = self._expected(prevalence, table)
                for whole, summed in zip(expected, counts, strict=True):
                    whole[...] = summed
                return log_likelihood

            yield climb(expect, expected, prior, *stop)

    def expected_labels(self, run: Ascent) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        (_, labels), _ = self._expected(run.prevalence, run.table)
        return labels

    def plausibility(self, run: Ascent) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        parameters = run.prevalence, np.ascontiguousarray(run.table)
        found = self._work.map(label_tasks.plausibility, parameters)
        return np.concatenate([of_items for of_items, _ in found])

    def _expected(self, prevalence, table):
        """Return expected counts and log likelihood, summed over the shards."""
        parameters, log_p = (prevalence, np.ascontiguousarray(table)), []

        def counts():
            for part, of_part in self._work.map(label_tasks.expected_counts, parameters):
                log_p.append(of_part)
                yield part

        return total(counts()), sum(log_p)

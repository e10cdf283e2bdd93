"""EM of Dawid-Skene with features of the items: the prevalence is a softmax regression, fitted in every M step."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ...models.data.features import ItemFeatures
from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers, answer_sweeps, sweep_by_item
from .em_data import Counts, Problem
from .em_search import Ended, ascended
from .kernels.em import jittered_vote, m_step, vote_share
from .votes import patterns_of, vote_starts

STEPS = 500  # of the minimiser in an M step at most
GRADIENT = 1e-9  # largest slope of the penalised cross-entropy of an item at which an M step ends


class RegressionResult(NamedTuple):
    """Result of EM with features; the first five as in `EmResult`."""

    prevalence: np.ndarray  # (category,), of an item with the mean features
    table: np.ndarray  # (rater * label, category)
    trace: np.ndarray  # (iteration,); log likelihood, log prior and penalty of every iterate
    log_likelihood: float
    converged: bool
    effect: np.ndarray  # (feature, category), rows sum to zero


class Regression(NamedTuple):
    """Softmax regression of the true categories on the standardised features."""

    values: np.ndarray  # (item, feature)
    penalty: float  # of half the squared effects
    pseudo: np.ndarray  # (category,), pseudo-counts of items with the mean features

    def log_odds(self, coefficients: np.ndarray) -> np.ndarray:
        """Return log odds (item, category); coefficients (1 + feature, category), the intercept first."""
        return coefficients[0] + self.values @ coefficients[1:]

    def log_prior(self, coefficients: np.ndarray) -> float:
        """Return the pseudo-counts times the log prevalence, less the penalty."""
        at_means = self.pseudo @ log_softmax(coefficients[0])
        return float(at_means - 0.5 * self.penalty * (coefficients[1:] ** 2).sum())

    def fitted(self, plausibility: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the coefficients that maximise the expected log prior of the true categories, from a start."""
        n_items = len(plausibility)
        unit = np.ones(
            (len(start), 1)
        )  # of the minimiser's steps: the penalty adds to the curvature by the items
        unit[1:] = (1 + self.penalty * start.shape[1] / n_items) ** -0.5

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            own = unit * flat.reshape(start.shape)
            odds = self.log_odds(own)
            log_p = log_softmax(odds, axis=1)
            excess = np.exp(log_p) - plausibility
            slope = np.empty(start.shape)
            slope[0] = excess.sum(axis=0) + self.pseudo.sum() * softmax(own[0]) - self.pseudo
            slope[1:] = self.values.T @ excess + self.penalty * own[1:]
            value = -np.einsum("ij,ij->", plausibility, log_p) - self.log_prior(own)
            return value / n_items, (unit * slope).ravel() / n_items

        options = {"maxiter": STEPS, "ftol": 1e-16, "gtol": GRADIENT}
        found = minimize(loss, (start / unit).ravel(), jac=True, method="L-BFGS-B", options=options)
        best = unit * found.x.reshape(start.shape)
        return best - best.mean(axis=1, keepdims=True)


class WithFeatures:
    """Labels in the memory of this process, with the features of their items."""

    def __init__(self, labels: Labels, features: ItemFeatures, penalty: float) -> None:
        patterns = patterns_of(labels)
        self._vote_of, self._n = patterns, len(labels.categories)
        self._answers = _by_item(patterns.answers, patterns.pattern)
        self._values, self._penalty = features.values, penalty

    def runs(self, restarts: int, random_seed: int | None, problem: Problem) -> Iterator[RegressionResult]:
        """Yield the EM result from the vote shares, then from `restarts` random starts near them."""
        rng = np.random.default_rng(random_seed)
        for by_pattern in vote_starts(self._vote_of, self._n, restarts, rng):
            yield self._run(by_pattern[self._vote_of.pattern], problem)

    @property
    def n_answers(self) -> int:
        """Number of answers that a pass reads."""
        return len(self._answers.code)

    def from_vote(self, problem: Problem) -> RegressionResult:
        """Run EM from the vote shares."""
        return self._run(vote_share(self._vote_of.answers, self._n)[self._vote_of.pattern], problem)

    def near_vote(
        self, rng: np.random.Generator, problem: Problem, ended: Ended | None = None
    ) -> RegressionResult:
        """Run EM from a random start near the vote shares."""
        by_pattern = jittered_vote(self._vote_of.answers, self._n, rng)
        return self._run(by_pattern[self._vote_of.pattern], problem, ended)

    def parameters(self, run: RegressionResult) -> np.ndarray:
        """Return the plausibilities, which `ended` compares."""
        return self.plausibility(run)

    def compared(self, parameters: np.ndarray) -> np.ndarray:
        """Return p(true category) (item, category)."""
        return parameters

    def expected(self, run: RegressionResult) -> Counts:
        """Return the expected numbers of items (category,) and of labels (rater * label, category)."""
        plausibility = self.plausibility(run)
        return plausibility.sum(axis=0), self._labels(plausibility, run.table.shape)

    def plausibility(self, run: RegressionResult) -> np.ndarray:
        """Return p(true category | estimate, answers, features), shape (item, category)."""
        return self._e_step(np.log(run.prevalence) + self._values @ run.effect, run.table)[0]

    def _e_step(self, log_prior: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, float]:
        """Return p(true category) (item, category), and the log likelihood."""
        log_p, plausibility, gain = (
            np.empty(len(log_prior)),
            np.empty(log_prior.shape),
            np.empty(log_prior.shape),
        )
        table = np.ascontiguousarray(table)
        sweep_by_item(self._n)(log_prior, table, self._answers, log_p, plausibility, gain)
        return plausibility, float(log_p.sum())

    def _labels(self, plausibility: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        counts = np.empty(shape)
        answer_sweeps(self._n).counts(plausibility, np.ones(len(plausibility)), self._answers, counts)
        return counts

    def _run(
        self, plausibility: np.ndarray, problem: Problem, ended: Ended | None = None
    ) -> RegressionResult:
        """Run EM from p(true category) (item, category)."""
        (alpha, beta), most, tolerance = problem
        regression = Regression(self._values, self._penalty, alpha)
        coefficients = np.zeros((1 + self._values.shape[1], self._n))
        nothing, table = np.zeros(self._n), np.empty(beta.shape)
        log_likelihood = -np.inf

        def iterate() -> tuple[float, np.ndarray]:
            nonlocal plausibility, coefficients, log_likelihood
            coefficients = regression.fitted(plausibility, coefficients)
            counts = self._labels(plausibility, beta.shape)
            log_prior = m_step((nothing, beta), np.ones(self._n), counts, np.empty(self._n), table)
            plausibility, log_likelihood = self._e_step(regression.log_odds(coefficients), table)
            return log_likelihood + log_prior + regression.log_prior(coefficients), plausibility

        trace, converged = ascended(iterate, most, tolerance, ended)
        prevalence = softmax(coefficients[0])
        return RegressionResult(prevalence, table, trace, log_likelihood, converged, coefficients[1:])


def _by_item(answers: Answers, pattern: np.ndarray) -> Answers:
    """Return the answers of every item, given those of patterns and the pattern of each item."""
    length = np.diff(answers.start)[pattern]
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    place = np.repeat(answers.start[pattern] - start[:-1], length) + np.arange(start[-1])
    return Answers(start, answers.code[place], answers.gold_category[pattern])

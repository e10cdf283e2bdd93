"""EM of Dawid-Skene with features of the items: the prevalence is a softmax regression, fitted in every M step."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ...models.data.features import ItemFeatures
from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers, answer_sweeps, sweep_by_item
from .dawid_skene_em import ConfusionEm, Objective
from .em_search import EmRun, Variables
from .kernels.em import m_step
from .votes import patterns_of

STEPS = 500  # of the minimiser in an M step at most
GRADIENT = 1e-9  # largest slope of the penalised cross-entropy of an item at which an M step ends


class Regressed(NamedTuple):
    """Parameters: confusion matrices, and the prevalence as a regression."""

    prevalence: np.ndarray  # (category,), of an item with the mean features
    table: np.ndarray  # (rater * label, category)
    coefficients: np.ndarray  # (1 + feature, category), the intercept first; rows sum to zero


class Expected(NamedTuple):
    """True categories after an E-step, and where the next regression starts."""

    plausibility: np.ndarray  # (item, category)
    coefficients: np.ndarray  # (1 + feature, category)


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


class WithFeatures(ConfusionEm):
    """EM of prevalence and confusion by features of the items."""

    round, sampled = 5, False

    def __init__(self, labels: Labels, features: ItemFeatures, penalty: float, objective: Objective) -> None:
        super().__init__(patterns_of(labels), objective)
        self._answers = _by_item(self.patterns.answers, self.patterns.pattern)
        self._regression = Regression(features.values, penalty, objective.prior[0])

    @property
    def n_answers(self) -> int:
        """Number of answers that a pass reads."""
        return len(self._answers.code)

    @property
    def row_of_item(self) -> np.ndarray:
        """Row of each item in the plausibilities, which are by item."""
        return np.arange(len(self._regression.values))

    def expected_of_vote(self, plausibility: np.ndarray) -> Expected:
        """Return p(true category) by item, and a regression that knows nothing."""
        n_features = self._regression.values.shape[1]
        by_item = plausibility[self.patterns.pattern]
        return Expected(by_item, np.zeros((1 + n_features, self.n_categories)))

    def e_step(self, parameters: Regressed) -> tuple[Expected, float]:
        """Return p(true category) by item, and the log likelihood."""
        log_prior = self._regression.log_odds(parameters.coefficients)
        plausibility, log_likelihood = self._swept(log_prior, parameters.table)
        return Expected(plausibility, parameters.coefficients), log_likelihood

    def m_step(self, expected: Expected) -> tuple[Regressed, float]:
        """Return regression and table, and their log prior."""
        coefficients = self._regression.fitted(*expected)
        n, beta = self.n_categories, self._objective.prior[1]
        counts = np.ones(n), self._labels(expected.plausibility)
        (_, table), log_prior = m_step((np.zeros(n), beta), counts)
        log_prior += self._regression.log_prior(coefficients)
        return Regressed(softmax(coefficients[0]), table, coefficients), log_prior

    def plausibility(self, parameters: Regressed) -> np.ndarray:
        """Return p(true category | parameters, answers, features), shape (item, category)."""
        effect = self._regression.values @ parameters.coefficients[1:]
        return self._swept(np.log(parameters.prevalence) + effect, parameters.table)[0]

    def labels_by_truth(self, parameters: Regressed) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        return self._labels(self.plausibility(parameters))

    def variables(self, run: EmRun[Regressed]) -> Variables:
        """Return prevalence, confusion and effects."""
        effect = run.parameters.coefficients[1:]
        return super().variables(run) | {"feature_effect": (("feature", "category"), effect)}

    def _swept(self, log_prior: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, float]:
        """Return p(true category) (item, category), and the log likelihood."""
        log_p, plausibility, gain = (np.empty(shape) for shape in (len(log_prior), *[log_prior.shape] * 2))
        sweep_by_item(self.n_categories)(log_prior, table, self._answers, log_p, plausibility, gain)
        return plausibility, float(log_p.sum())

    def _labels(self, plausibility: np.ndarray) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        counts = np.empty(self._objective.prior[1].shape)
        sweep = answer_sweeps(self.n_categories).counts
        sweep(plausibility, np.ones(len(plausibility)), self._answers, counts)
        return counts


def _by_item(answers: Answers, pattern: np.ndarray) -> Answers:
    """Return the answers of every item, given those of patterns and the pattern of each item."""
    length = np.diff(answers.start)[pattern]
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    place = np.repeat(answers.start[pattern] - start[:-1], length) + np.arange(start[-1])
    return Answers(start, answers.code[place], answers.gold_category[pattern])

"""EM of prevalence and confusion matrices, and with features of the items; `dawid_skene_em` is the estimate by it.

With features the prevalence is a softmax regression, fitted in every M-step.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import log_softmax, softmax

from ...models._prior_arguments import default_confusion
from ...models.data.features import ItemFeatures
from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers, answer_sweeps, sweep_by_item
from ...models.labels.population import POPULATION, RaterPopulation, concentrations_by, population_by_em
from ..labels.em_search import (
    EmModel,
    EmRun,
    Optima,
    Rule,
    ShardedLabels,
    Variables,
    estimate_of_runs,
    found_runs,
    patterns_of,
    warn_estimate,
)
from ..labels.kernels.em import AnswerPatterns, Counts, e_step, m_step, pattern_plausibility, vote_share

LEAST_ANSWERS = (
    0.01  # expected answers to items of a category from which maximum likelihood gives a rater's row
)


class Objective(NamedTuple):
    """Objective of EM, and when a run stops."""

    prior: Counts  # pseudo-counts of prevalence and confusion
    usual: Counts  # those that keep probabilities of a sample from being zero
    by_likelihood: bool  # whether there is no prior
    any_order: bool  # whether neither prior nor gold labels identify the order of the categories
    rule: Rule


class Confusion(NamedTuple):
    """Parameters: prevalence and confusion matrices."""

    prevalence: np.ndarray  # (category,)
    table: np.ndarray  # (rater * label, category); rows without answers are zero


class ConfusionEm(EmModel[Any, Any]):
    """EM of prevalence and confusion; of a sample, EM elsewhere starts from what the usual prior makes of it."""

    def __init__(
        self, patterns: AnswerPatterns | None, objective: Objective, *, of_sample: bool = False
    ) -> None:
        super().__init__(patterns, len(objective.prior[0]), objective.rule)
        self._objective, self._of_sample = objective, of_sample

    def expected_of_vote(self, plausibility: np.ndarray) -> Any:
        """Return the expected counts given p(true category), shape (pattern, category)."""
        weight, labels = self.patterns.multiplicity, np.empty(self._objective.prior[1].shape)
        answer_sweeps(self.n_categories).counts(plausibility, weight, self.patterns.answers, labels)
        return (weight[:, None] * plausibility).sum(axis=0), labels

    def counts_of_vote(self) -> Counts:
        """Return the expected counts under the vote shares."""
        return self.expected_of_vote(vote_share(self.patterns.answers, self.n_categories))

    def e_step(self, parameters: Any) -> tuple[Any, float]:
        """Return the expected counts and the log likelihood."""
        return e_step(self.patterns, *parameters)

    def m_step(self, expected: Any) -> tuple[Any, float]:
        """Return prevalence and table, and their log prior."""
        parameters, log_prior = m_step(self._objective.prior, expected)
        return Confusion(*parameters), log_prior

    def plausibility(self, parameters: Any) -> Any:
        """Return p(true category | prevalence and table, answers), shape (pattern, category)."""
        return pattern_plausibility(self.patterns, *parameters)[0]

    def elsewhere(self, run: EmRun[Any]) -> Any:
        """Return prevalence and table, from which EM on other items starts."""
        if not self._of_sample:
            return run.parameters
        plausibility = self.plausibility(run.parameters)
        items, labels = self.patterns.multiplicity @ plausibility, self.expected_of_vote(plausibility)[1]
        return Confusion(*m_step(self._objective.usual, (items, labels))[0])

    def labels_by_truth(self, parameters: Any) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        return self.e_step(parameters)[0][1]

    def identified(self, run: EmRun[Any]) -> EmRun[Any]:
        """Permute the categories so that raters are right as often as possible, if the objective is invariant."""
        if not self._objective.any_order:
            return run
        n = self.n_categories
        right = self.labels_by_truth(run.parameters).reshape(-1, n, n).sum(axis=0)  # (label, category)
        from scipy.optimize import linear_sum_assignment  # half a second, as below

        _, category = linear_sum_assignment(right, maximize=True)
        permuted = (np.ascontiguousarray(own[..., category]) for own in run.parameters)
        return run._replace(parameters=run.parameters._make(permuted))

    def variables(self, run: EmRun[Any]) -> Variables:
        """Return prevalence and confusion, of which rows with hardly any expected answers are NaN without a prior."""
        n, parameters = self.n_categories, run.parameters
        tables = parameters.table.reshape(-1, n, n)
        if self._objective.by_likelihood:
            total = self.labels_by_truth(parameters).reshape(-1, n, n).sum(axis=1, keepdims=True)
            tables = np.where(total < LEAST_ANSWERS, np.nan, tables)
        return {
            "prevalence": (("category",), parameters.prevalence),
            "confusion": (("rater", "category", "answer"), tables.swapaxes(1, 2)),
            "log_likelihood": ((), np.array(run.log_likelihood)),
            "objective": ((), np.array(run.trace[-1])),
        }


# --- With features of the items ---

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
        from scipy.optimize import minimize

        n_items = len(plausibility)
        # of the minimiser's steps: the penalty adds to the curvature by the items
        unit = np.ones((len(start), 1))
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

    round: int = 5
    sampled: bool = False

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


# --- Estimate ---


def estimated(
    labels: Labels | ShardedLabels,
    model_of: Callable[[Objective], ConfusionEm],
    prior: Literal["diagonal", "population"] | None,
    restarts: int | Literal["auto"],
    random_seed: int | None,
    rule: Rule,
) -> tuple[xr.Dataset, Optima]:
    """Search for the optima of ``model_of(objective)``; return the result, and the runs that came to the optima."""
    n, by_likelihood = len(labels.categories), prior is None
    usual = np.ones(n), default_confusion(labels).reshape(-1, n)  # symmetric in category and label
    if prior == POPULATION:
        objective = Objective(usual, usual, False, False, rule)
        in_memory = isinstance(labels, Labels)
        usual = (
            usual[0],
            _learnt(
                labels, ConfusionEm(patterns_of(labels), objective) if in_memory else model_of(objective)
            ),
        )
    pseudo_counts = (np.zeros(n), np.zeros(usual[1].shape)) if by_likelihood else usual
    any_order = by_likelihood and not labels.has_gold
    objective = Objective(pseudo_counts, usual, by_likelihood, any_order, rule)

    def of_sample(few: AnswerPatterns) -> ConfusionEm:
        return ConfusionEm(few, objective, of_sample=True)

    model = model_of(objective)
    found = found_runs(labels, model, of_sample, restarts, np.random.default_rng(random_seed))
    result, optima = estimate_of_runs(labels, model, found)
    result = result.drop_vars("start_objective")
    result.attrs = {
        "log_likelihood": float(optima.runs[0].log_likelihood),
        "converged": result.attrs["converged"],
        "iterations": result.attrs["iterations"],
    }
    _warn(labels, by_likelihood, result, optima)
    return result, optima


def _learnt(labels: Labels | ShardedLabels, model: ConfusionEm) -> np.ndarray:
    """Return pseudo-counts (rater * label, category) of the population of raters, by empirical Bayes."""
    n, member = len(labels.categories), RaterPopulation().members(labels)[1]

    def swept(prevalence: np.ndarray, table: np.ndarray) -> Counts:
        return model.e_step(Confusion(prevalence, table))[0]

    found = population_by_em(model.counts_of_vote(), swept, member, np.ones(n))
    return concentrations_by(found[0, member], found[1, member], n).reshape(-1, n)


def _warn(labels: Labels | ShardedLabels, by_likelihood: bool, result: xr.Dataset, optima: Optima) -> None:
    """Warn of overfitting, several optima and of what `warn_estimate` names."""
    reasons = []
    if by_likelihood:
        problem = "maximum likelihood is overconfident and overfits raters with few answers"
        reasons.append(f"{problem}; prior='diagonal' does not")
        unseen = np.argwhere(result["confusion"].isnull().any("answer").to_numpy())
        if len(unseen):
            rater, category = (labels.raters[unseen[0][0]].item(), labels.categories[unseen[0][1]].item())
            one = len(unseen) == 1
            reasons.append(
                f"{'a row' if one else f'{len(unseen):,} rows'} of confusion matrices with less than {LEAST_ANSWERS} expected "
                f"answers {'is' if one else 'are'} NaN: {'' if one else 'first '}rater {rater!r} on items of category "
                f"{category!r}"
            )
    if (several := result.sizes["optimum"]) > 1:
        reasons.append(
            f"{len(optima.ended)} starts ended at {several} distinct optima; see the variables optimum_..."
        )
    warn_estimate(labels, optima, reasons)

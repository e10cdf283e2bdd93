"""EM of prevalence and confusion matrices, of which `scale.dawid_skene_em` is the point estimate of Dawid and Skene's model."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from ...models.data.labels import Labels
from ...models.data.prior_arguments import default_confusion
from ...models.distributions.marginal_labels_kernels import answer_sweeps
from .em_search import (
    EmModel,
    EmRun,
    Optima,
    Rule,
    ShardedLabels,
    Variables,
    estimate_of_runs,
    found_runs,
    warn_estimate,
)
from .kernels.em import AnswerPatterns, Counts, e_step, m_step, pattern_plausibility

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


def estimated(
    labels: Labels | ShardedLabels,
    model_of: Callable[[Objective], ConfusionEm],
    prior: Literal["diagonal"] | None,
    restarts: int | Literal["auto"],
    random_seed: int | None,
    rule: Rule,
) -> tuple[xr.Dataset, Optima]:
    """Search for the optima of ``model_of(objective)``; return the result, and the runs that came to the optima."""
    n, by_likelihood = len(labels.categories), prior is None
    usual = np.ones(n), default_confusion(labels).reshape(-1, n)  # symmetric in category and label
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

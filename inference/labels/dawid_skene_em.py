"""Search for the optima of Dawid and Skene's model by EM, over labels in memory or in shards; `scale.dawid_skene_em` calls it."""

import warnings
from typing import Any, cast

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from ..._messages import OUR_FILES
from ...models.data.features import ItemFeatures
from ...models.data.labels import Labels
from ...models.data.prior_arguments import default_confusion
from ..diagnostics import EstimateWarning
from .em_data import ConfusionAscents, EmData, InMemory, Problem
from .em_search import Found, ShardedLabels, distinct_optima, of_many_starts, searched
from .features_em import RegressionResult, WithFeatures
from .kernels.em import EmResult
from .votes import UNIDENTIFIED, estimate_coords, unconverged

ROUND_WITH_FEATURES = 5  # random starts
LEAST_ANSWERS = (
    0.01  # expected answers to items of a category from which maximum likelihood gives a rater's row
)


def estimated(
    labels: Labels | ShardedLabels,
    em_data: EmData,
    prior: str | None,
    restarts: int | None,
    random_seed: int | None,
    max_iterations: int,
    tolerance: float,
) -> tuple[xr.Dataset, list[EmResult]]:
    """Search for the optima; `restarts` None is "auto". Returns the result, and the runs that came to the optima."""
    problem = Problem(_pseudo_counts(labels, prior), max_iterations, tolerance)
    aligned = _aligned if prior is None and not labels.has_gold else _as_they_are
    ascents, rng = ConfusionAscents(em_data, problem, aligned), np.random.default_rng(random_seed)
    if restarts is None and isinstance(em_data, WithFeatures):
        found = of_many_starts(ascents, ascents.from_vote(), rng, ROUND_WITH_FEATURES)
    elif restarts is None:
        n, usual = len(labels.categories), _pseudo_counts(labels, "diagonal")
        found = searched(
            labels, ascents, lambda few: ConfusionAscents(InMemory(few, n), problem, aligned, usual), rng
        )
    else:
        runs = [aligned(run, em_data) for run in em_data.runs(restarts, random_seed, problem)]
        found = Found(runs, np.arange(len(runs)))
    optima, of_run = distinct_optima(found.runs, em_data)
    answers = None if prior else np.stack([em_data.expected(run)[1] for run, _ in optima])
    optima = [(run, own if isinstance(own, np.ndarray) else own.collected()) for run, own in optima]
    ended = of_run[found.run_of_start]
    result = _dataset(labels, optima, answers)
    result["optimum_found"] = ("optimum", np.bincount(ended, minlength=len(optima)))
    result["vote_optimum"] = ended[0]
    _warn(labels, prior, result, [found.runs[k] for k in found.run_of_start])
    return result, [run for run, _ in optima]


def with_effects(result: xr.Dataset, features: ItemFeatures, effects: list[np.ndarray]) -> xr.Dataset:
    """Add the effects (feature, category) of all optima, and mean and standard deviation of the raw columns."""
    dims = ("feature", "category")
    return result.assign_coords(feature=features.names.astype(str)).assign(
        feature_effect=(dims, effects[0]),
        optimum_feature_effect=(("optimum", *dims), np.stack(effects)),
        feature_mean=("feature", features.mean),
        feature_sd=("feature", features.scale),
    )


def _pseudo_counts(labels: Labels | ShardedLabels, prior: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the pseudo-counts: prevalence (category,), confusion (rater * label, category)."""
    n = len(labels.categories)
    if prior is None:
        return np.zeros(n), np.zeros((len(labels.raters) * n, n))
    return np.ones(n), default_confusion(labels).reshape(-1, n)  # symmetric in category and label


def _aligned(run: EmResult, em_data: EmData) -> EmResult:
    """Permute the categories so that raters are right as often as possible; the likelihood is invariant."""
    n = len(run.prevalence)
    right = em_data.expected(run)[1].reshape(-1, n, n).sum(axis=0)  # (label, category)
    _, category = linear_sum_assignment(right, maximize=True)
    permuted = run._replace(prevalence=run.prevalence[category], table=run.table[:, category])
    if isinstance(run, RegressionResult):
        permuted = cast(Any, permuted)._replace(effect=run.effect[:, category])
    return permuted


def _as_they_are(run: EmResult, em_data: EmData) -> EmResult:
    """Keep the order of the categories, which the prior or gold labels identify."""
    return run


def _dataset(
    labels: Labels | ShardedLabels, optima: list[tuple[EmResult, Any]], answers: np.ndarray | None
) -> xr.Dataset:
    """Assemble the result from the optima, with their plausibilities unless these are None.

    Rows with hardly any expected answers are NaN, unless these are None.

    Shape: answers, expected labels by true category (optimum, rater * label, category).
    """
    n, runs = len(labels.categories), [run for run, _ in optima]
    tables = np.stack([run.table for run in runs]).reshape(len(runs), -1, n, n)
    if answers is not None:
        total = answers.reshape(tables.shape).sum(axis=2, keepdims=True)
        tables = np.where(total < LEAST_ANSWERS, np.nan, tables)
    variables: dict[str, Any] = {
        "prevalence": (("category",), np.stack([run.prevalence for run in runs])),
        "confusion": (("rater", "category", "answer"), tables.swapaxes(2, 3)),
    }
    if held := optima[0][1] is not None:
        variables["plausibility"] = ("item", "category"), np.stack([own for _, own in optima])
    variables |= {
        "log_likelihood": ((), np.array([run.log_likelihood for run in runs])),
        "objective": ((), np.array([run.trace[-1] for run in runs])),
    }
    data = {name: (dims, values[0]) for name, (dims, values) in variables.items()}
    data |= {f"optimum_{k}": (("optimum", *dims), v) for k, (dims, v) in variables.items()}
    data["trace"] = (("iteration",), runs[0].trace)
    attrs = {"log_likelihood": float(runs[0].log_likelihood), "converged": int(runs[0].converged)}
    return xr.Dataset(data, estimate_coords(labels, held), attrs | {"iterations": len(runs[0].trace)})


def _warn(
    labels: Labels | ShardedLabels, prior: str | None, result: xr.Dataset, runs: list[EmResult]
) -> None:
    """Warn of overfitting, unidentified raters, several optima or starts that have not converged."""
    reasons = [] if labels.identified else [UNIDENTIFIED]
    if prior is None:
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
            f"{len(runs)} starts ended at {several} distinct optima; see the variables optimum_..."
        )
    reasons += unconverged([run.converged for run in runs])
    if reasons:
        warnings.warn("; ".join(reasons), EstimateWarning, skip_file_prefixes=OUR_FILES)

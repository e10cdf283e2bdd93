"""Metrics by their command-line names."""

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial

import numpy as np
import xarray as xr

from .. import evaluation

CONCORDANCE = "concordance"

FEW_CATEGORIES = 4

ROUNDING = 1e-4

PLAIN: dict[str, Callable[[], evaluation.Metric]] = {
    "accuracy": partial(evaluation.top_k_accuracy, 1),
    "balanced-accuracy": evaluation.balanced_accuracy,
    "precision": evaluation.precision,
    "recall": evaluation.recall,
    "f1": evaluation.f1,
    "kappa": evaluation.cohen_kappa,
    "mcc": evaluation.matthews_correlation,
    "log-loss": evaluation.cross_entropy,
    "cross-entropy": evaluation.cross_entropy,
    "brier": evaluation.brier_score,
    "auc": evaluation.roc_auc,
    "calibration-error": evaluation.calibration_error,
    "kendall-tau": evaluation.kendall_tau,
    "footrule": evaluation.spearman_footrule,
    "rbo": evaluation.rank_biased_overlap,
    "ndcg": evaluation.ndcg,
}

AVERAGED: dict[str, Callable[..., evaluation.Metric]] = {
    "precision": evaluation.precision,
    "recall": evaluation.recall,
    "f1": evaluation.f1,
}

AT: dict[str, Callable[[int], evaluation.Metric]] = {
    "set-accuracy": evaluation.set_accuracy,
    "overlap": evaluation.overlap,
    "average-overlap": evaluation.average_overlap,
    "kendall-tau": evaluation.kendall_tau,
    "footrule": evaluation.spearman_footrule,
    "ndcg": evaluation.ndcg,
}

AVERAGES = ("macro", "micro", "weighted")

NAMES = (
    "top-3-accuracy",
    *(f"{name}@3" for name in AT),
    *(f"{name}-{average}" for name in AVERAGED for average in AVERAGES),
    *PLAIN,
    CONCORDANCE,
)

OF_RANKINGS = ("top-3-accuracy", "top-1-accuracy", "set-accuracy@2", "overlap@3", "average-overlap@3")

OF_LABELS = ("accuracy", "balanced-accuracy", "f1", "kappa", "mcc")

OF_PROBABILITIES = ("log-loss", "brier", "auc", "calibration-error")


def metric_named(name: str) -> evaluation.Metric:
    """Return a metric by its command-line name, such as ``top-3-accuracy`` or ``f1-weighted``.

    Raises ValueError if there is no such metric.
    """
    if name in PLAIN:
        return PLAIN[name]()
    if top := re.fullmatch(r"top-([1-9]\d{0,5})-accuracy", name):
        return evaluation.top_k_accuracy(int(top[1]))
    kind, at, number = name.partition("@")
    if kind in AT and at and re.fullmatch(r"[1-9]\d{0,5}", number):
        return AT[kind](int(number))
    kind, _, average = name.rpartition("-")
    if kind in AVERAGED and average in AVERAGES:
        return AVERAGED[kind](average)
    near = get_close_matches(re.sub(r"\d+", "3", name.lower()), NAMES, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]}? They" if near else "they"
    raise ValueError(
        f"--metric {name}: there is no such metric; {meant} are top-3-accuracy, {', '.join(f'{n}@3' for n in AT)} (any "
        f"number), {', '.join(PLAIN)}, {' and '.join(AVERAGED)} also with -{', -'.join(AVERAGES)}; of comparisons {CONCORDANCE}"
    )


def check_predictions(name: str, metric: evaluation.Metric, predicted: xr.DataArray) -> None:
    """Raise if a metric needs scores or probabilities and the predictions are ranks."""
    if "position" in predicted.dims and metric.response in ("scores", "probabilities"):
        scores = "probabilities" if metric.response == "probabilities" else "scores"
        sums = ", which sum to one for each item," * (scores == "probabilities")
        raise ValueError(
            f"--metric {name} needs {scores} of all categories, and the predictions are ranks or single labels: give a column "
            f"'score' with {scores}{sums} in place of 'rank'"
        )


def natural_metrics(tree: xr.DataTree, predicted: xr.DataArray) -> tuple[str, ...]:
    """Return the default metrics of a report, the first for comparisons; top-k only with many categories."""
    plausibility = tree["posterior"]["plausibility"]
    if "truth" not in plausibility.attrs:  # of rankings
        return OF_RANKINGS
    ranked = "category" in predicted.dims or predicted.sizes["position"] >= 3
    names: Sequence[str] = OF_LABELS
    if ranked and plausibility.sizes["category"] > FEW_CATEGORIES:
        names = (*names, "top-3-accuracy")
    if _are_probabilities(predicted, plausibility.sizes["category"]):
        names = (*names, *OF_PROBABILITIES)
    return tuple(names)


def _are_probabilities(predicted: xr.DataArray, n_categories: int) -> bool:
    """Return whether predictions are probabilities of all categories."""
    if predicted.sizes.get("category") != n_categories or predicted.dtype.kind != "f":
        return False
    values = predicted.transpose(..., "category").to_numpy()
    values = np.where(values == -np.inf, 0.0, values)
    return bool((values >= 0).all() and (abs(values.sum(axis=-1) - 1) < ROUNDING).all())

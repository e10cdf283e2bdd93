"""Metrics by name, and their figures with intervals."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from .. import evaluation
from .concordances import concordances, read_orders
from .reading import read_posterior, read_predictions
from .screen import show

__all__ = ["METRICS", "metric_named", "score_file", "scores"]

CONCORDANCE = "concordance"
DEFAULT_METRICS = ("top-1-accuracy", "top-3-accuracy")
METRICS = {
    "accuracy": evaluation.top_k_accuracy,
    "set-accuracy": evaluation.set_accuracy,
    "overlap": evaluation.overlap,
    "average-overlap": evaluation.average_overlap,
}


def metric_named(name: str) -> evaluation.Metric:
    """Return a metric by its name on the command line.

    Parameters
    ----------
    name : str
        ``top-3-accuracy``, ``set-accuracy@2``, ``overlap@3`` or ``average-overlap@3``.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    ValueError
        If there is no such metric.
    """
    if top := re.fullmatch(r"top-([1-9]\d*)-accuracy", name):
        return evaluation.top_k_accuracy(int(top[1]))
    if other := re.fullmatch(r"(set-accuracy|overlap|average-overlap)@([1-9]\d*)", name):
        return METRICS[other[1]](int(other[2]))
    raise ValueError(
        f"--metric {name}: the metrics are top-3-accuracy, set-accuracy@2, overlap@3 and average-overlap@3, any number, "
        "and concordance"
    )


def scores(
    tree: xr.DataTree, predictions: xr.DataArray, metrics: Sequence[str], seed: int
) -> list[dict[str, object]]:
    """Score every classifier by every metric.

    Parameters
    ----------
    tree : DataTree
        Posterior.
    predictions : DataArray
        Predictions, perhaps of several classifiers.
    metrics : sequence of str
        Names.
    seed : int
        For the members of OTHER.

    Returns
    -------
    list of dict
        Metric, classifier, mean and 95 % interval over the draws, a row each.
    """
    rows = []
    for name in metrics:
        drawn = evaluation.uncertainty_adjusted(
            metric_named(name), tree, predictions, random_seed=seed
        )
        by_classifier = (
            drawn if "classifier" in drawn.dims else drawn.expand_dims(classifier=["predictions"])
        )
        for classifier, own in by_classifier.groupby("classifier"):
            values = own.to_numpy().ravel()
            lower, upper = np.quantile(values, [0.025, 0.975])
            rows.append(
                {
                    "metric": name,
                    "classifier": str(classifier),
                    "mean": float(values.mean()),
                    "2.5 %": float(lower),
                    "97.5 %": float(upper),
                }
            )
    return rows


def score_file(
    posterior: Path, predictions: Path, metrics: Sequence[str], columns: Sequence[str], seed: int
) -> None:
    """Score a file of predictions against a file of draws.

    Parameters
    ----------
    posterior, predictions : Path
        Files.
    metrics : sequence of str
        Names; those of the kind by default.
    columns : sequence of str
        Renamings in the predictions.
    seed : int
        For the members of OTHER.
    """
    for name in metrics:
        if name != CONCORDANCE:
            metric_named(name)
    tree = read_posterior(posterior)
    of_votes = "quality" in tree["posterior"]
    if wrong := [name for name in metrics if (name == CONCORDANCE) != of_votes]:
        kind = "comparisons" if of_votes else "rankings or labels"
        raise ValueError(f"--metric {wrong[0]} is not a metric of {kind}, of which {posterior} is")
    if of_votes:
        items = tree["posterior"]["item"].to_numpy()
        show(concordances(tree, read_orders(predictions, columns, items)))
        return
    predicted = read_predictions(predictions, columns)
    show(scores(tree, predicted, metrics or DEFAULT_METRICS, seed))

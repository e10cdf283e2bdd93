"""The parts of a report on predictions: metrics against every draw, and how they change with the trust in the raters."""

import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation, inference, models
from ..evaluation import plots
from ..reports import Section
from .reading import Container
from .scoring import metric_named, scores

__all__ = ["metric_section", "sweep_section"]

METRICS = ("top-1-accuracy", "top-3-accuracy", "set-accuracy@2", "overlap@3", "average-overlap@3")
FEW_CATEGORIES = 4


def metric_section(tree: xr.DataTree, predicted: xr.DataArray, seed: int) -> Section:
    """Return the uncertainty-adjusted metrics of the predictions.

    Parameters
    ----------
    tree : DataTree
        Posterior.
    predicted : DataArray
        Predictions.
    seed : int
        For the members of OTHER.

    Returns
    -------
    Section
        Table with intervals.
    """
    text = (
        "Each metric is computed against the truth of every posterior draw: the mean and the 95 % interval show what the raters "
        "left open."
    )
    rows = scores(tree, predicted, _metrics(tree), seed)
    return Section("Predictions", text, rows=rows, file="metrics")


def _metrics(tree: xr.DataTree) -> tuple[str, ...]:
    """Return the metrics that mean something: of labels one is right, and of few a list is soon complete."""
    if "truth" not in tree["posterior"]["plausibility"].attrs:  # of rankings
        return METRICS
    several = tree["posterior"].sizes["category"] > FEW_CATEGORIES
    return METRICS[:2] if several else METRICS[:1]


def sweep_section(
    trees: dict[float, xr.DataTree], predicted: xr.DataArray, data: Container, seed: int
) -> Section:
    """Return how an accuracy changes with the trust in the raters.

    Parameters
    ----------
    trees : dict of float to DataTree
        Posteriors by reliability.
    predicted : DataArray
        Predictions.
    data : PartialRankings or Labels
        The annotations, for the point estimate.
    seed : int
        For the members of OTHER.

    Returns
    -------
    Section
        Picture and table.
    """
    name = _metrics(next(iter(trees.values())))[:2][-1]
    metric = name.rsplit("-", 1)[0] + " accuracy"
    sweep = evaluation.reliability_sweep(trees, metric_named(name), predicted, random_seed=seed)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    estimate, point = _against_point(metric_named(name), predicted, data)
    plots.reliability_sweep(sweep, point=point, metric=metric, ax=figure.add_subplot())
    table = (
        sweep["mean"]
        .to_dataframe()
        .join(sweep["interval"].to_dataset("bound").to_dataframe())
        .reset_index()
    )
    table["reliability"] = [f"{r:g}" for r in table["reliability"]]
    rows = [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]
    text = f"Does the answer depend on how much the raters are trusted? x marks the accuracy against the {estimate}."
    return Section("Reliability", text, [figure], rows, "reliability")


def _against_point(
    metric: evaluation.Metric, predicted: xr.DataArray, data: Container
) -> tuple[str, dict[str, float]]:
    """Return a metric against a point estimate of the truth, by classifier."""
    if isinstance(data, models.PartialRankings):
        name, truth = "inverse rank normalisation (IRN)", inference.irn(data)
    else:
        name, truth = "vote", inference.majority_vote(data)["plausibility"].fillna(0)
    found = evaluation.uncertainty_adjusted(metric, truth, predicted)
    if "classifier" not in found.dims:
        return name, {"": float(found)}
    return name, {str(c): float(found.sel(classifier=c)) for c in found["classifier"].to_numpy()}

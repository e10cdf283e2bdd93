"""Comparison of classifiers on the same draws of the truth, and the optimism of point estimates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Plausibility, fixed_seed
from ...posterior.top_labels import OtherAs
from ..argument_checks import check_arguments, check_probability
from ..metrics.callables import ByDraw, has_known_direction, name_of
from ..metrics.metric import Metric
from .adjusted import uncertainty_adjusted
from .intervals import SOURCES, metric_draws, summarise, summary_of_draws

Trees = xr.DataTree | xr.DataArray | Mapping[float, xr.DataTree]
OF_DRAWS = ("by", "items", "resamples", "clusters", "larger_is_better")


def compare(
    metric: Metric | ByDraw,
    trees: Trees,
    predictions: xr.DataArray,
    *,
    points: Mapping[str, xr.DataArray] | None = None,
    probability: float = 0.9,
    **options: Any,
) -> xr.Dataset:
    """Compare classifiers on the same draws and items, and the posterior with point estimates.

    Against a posterior of the raters alone the metric is agreement with what they leave open, and accuracy
    against the truth if the posterior has seen the predictions, see `uncertainty_adjusted`; the attribute
    ``question`` says which, of each classifier if they differ: then do not compare them.

    Parameters
    ----------
    metric : Metric or callable
        As in `metric_draws`.
    trees : DataTree, DataArray, or mapping of reliability to DataTree
        Posterior; or several, to show how the order depends on the trust in the raters.
    predictions : DataArray
        As in `uncertainty_adjusted`, with the dim ``classifier``.
    points : mapping of str to DataArray, optional
        Point estimates of the plausibilities by name, such as votes, IRN or maximum likelihood.
    probability : float
        Probability of the intervals.
    **options
        As in `metric_draws`.

    Returns
    -------
    Dataset
        The result of `metric_intervals`, and over (source, classifier, other), with its ``source`` of
        uncertainty ("raters", "items", "both"): ``difference``,
        ``difference_interval``, ``difference_mcse`` and ``probability_better``, the probability that the
        classifier is better than the other, ties counted half. Over (source, classifier):
        ``probability_best`` and ``mean_rank``, ties shared. With points, ``point`` (estimate, classifier) and
        ``optimism``, the metric of the point estimate minus the posterior mean, with opposite sign if smaller
        is better. With several trees, everything has the dim ``reliability`` (Stutz et al., 2025,
        arXiv:2307.02191, figure 6).

    Raises
    ------
    EvaluationError
        If there are fewer than two classifiers, or as in `metric_draws`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.9, 0.1]]]]
    >>> coords = {"item": ["a"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> names = {"classifier": ["good", "bad"], "item": ["a"]}
    >>> predicted = xr.DataArray([[["x"]], [["y"]]], names, ("classifier", "item", "position"))
    >>> found = evaluation.compare(evaluation.top_k_accuracy(1), truth, predicted, resamples=10, random_seed=1)
    >>> found["probability_better"].sel(source="raters", classifier="good", other="bad").item()
    0.75
    """
    check_arguments(compare, options, metric, metric_draws)
    check_probability("probability", probability)
    if isinstance(predictions, xr.DataArray) and predictions.sizes.get("classifier", 0) < 2:
        raise EvaluationError(
            f"compare needs predictions of at least two classifiers along the dim classifier; found dims {predictions.dims}"
        )
    if points is not None and not isinstance(points, Mapping):
        raise EvaluationError(f"points={type(points).__name__}: expected {{name: plausibilities}}")
    told = options.get("larger_is_better") is not None
    if not isinstance(metric, Metric) and not told and not has_known_direction(metric):
        raise EvaluationError(
            f"{name_of(metric)} does not say whether more is better: pass larger_is_better=True or False"
        )
    if isinstance(trees, xr.DataTree) or not isinstance(trees, Mapping):  # a DataTree is a Mapping
        return _compare(metric, trees, predictions, points, probability, options)
    if not trees:
        raise EvaluationError("trees is empty: pass {reliability: tree}, as inference.sweep returns")
    each = [_compare(metric, tree, predictions, points, probability, options) for tree in trees.values()]
    reliability = xr.DataArray([float(r) for r in trees], dims="reliability", name="reliability")
    return xr.concat(each, reliability, combine_attrs="override").sortby("reliability")


def _compare(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    points: Mapping[str, xr.DataArray] | None,
    probability: float,
    options: Mapping[str, Any],
) -> xr.Dataset:
    """Compare classifiers against one posterior."""
    drawn = metric_draws(metric, tree, predictions, **options)
    result = summary_of_draws(drawn, probability)
    others = drawn[list(SOURCES)].rename(classifier="other")
    difference = summary_of_draws((drawn[list(SOURCES)] - others), probability)
    names = {"mean": "difference", "interval": "difference_interval", "mcse": "difference_mcse"}
    result = result.assign({new: difference[old] for old, new in names.items()})
    sign = 1 if drawn.attrs["larger_is_better"] else -1
    orders = [_pairwise_order(sign * drawn[name]) for name in SOURCES]
    result = result.merge(xr.concat(orders, result["source"]))
    if points:
        result["point"] = _points(metric, points, predictions, options)
        result["optimism"] = sign * (result["point"] - result["mean"].sel(source="raters", drop=True))
    return result


def _points(
    metric: Metric | ByDraw,
    points: Mapping[str, xr.DataArray],
    predictions: xr.DataArray,
    options: Mapping[str, Any],
) -> xr.DataArray:
    """Metric against point estimates (estimate, classifier[, group]), in the same groups."""
    found = []
    for name, point in points.items():
        if not isinstance(point, xr.DataArray) or {"chain", "draw"} & set(point.dims):
            raise EvaluationError(
                f"points={name!r}: expected a DataArray of plausibilities without draws, such as inference.irn returns"
            )
        if options.get("by") is not None:
            drawn = metric_draws(metric, point, predictions, **{**options, "resamples": 1})
            found.append(drawn["raters"])
        else:
            kept = {k: v for k, v in options.items() if k not in OF_DRAWS}
            found.append(uncertainty_adjusted(metric, point, predictions, **kept))
    estimate = xr.DataArray(list(points), dims="estimate", name="estimate")
    return xr.concat(found, estimate).rename("point")


def _pairwise_order(score: xr.DataArray) -> xr.Dataset:
    """Probabilities of being better and of being best, and mean rank; larger scores are better."""
    samples = [d for d in score.dims if d not in ("classifier", "group")]
    other = score.rename(classifier="other")
    defined = score.notnull() & other.notnull()
    better = ((score > other) + 0.5 * (score == other)).where(defined)
    best = (score == score.max("classifier")).where(score.notnull().all("classifier"))
    return xr.Dataset(
        {
            "probability_better": better.mean(samples),
            "probability_best": (best / best.sum("classifier")).mean(samples),
            "mean_rank": 0.5 + (1 - better).sum("other", skipna=False).mean(samples),
        }
    )


def reliability_sweep(
    trees: Mapping[float, xr.DataTree],
    metric: Metric | ByDraw,
    predictions: xr.DataArray,
    *,
    probability: float = 0.95,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    **arguments: Any,
) -> xr.Dataset:
    """Summarise an uncertainty-adjusted metric over posteriors with different reliabilities.

    The metric is agreement with what the raters leave open, or accuracy against the truth, as the attribute
    ``question`` says, see `uncertainty_adjusted`.

    Parameters
    ----------
    trees : mapping of reliability to DataTree
        Posteriors of the same items, as from `inference.sweep`.
    metric, predictions
        As in `uncertainty_adjusted`.
    probability : float
        Posterior probability of the equal-tailed interval.
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER, as in `uncertainty_adjusted`; by default as stored in each tree.
    random_seed : int or numpy.random.Generator, optional
        Seed of the evaluation of every posterior; by default that of the first, as in `annotation_certainty`.
    **arguments
        Arguments of a callable metric.

    Returns
    -------
    Dataset
        Over ``reliability``: ``mean``, ``sd``, ``interval`` (bound: lower, upper) and ``mcse``, the Monte
        Carlo standard error of the mean; with classifiers also ``probability_best``, the share of draws in
        which each is best, ties shared. `compare` takes several trees, too (figure 6 of Stutz et al.).

    Raises
    ------
    EvaluationError
        If `trees` is no mapping or empty, `probability` not between 0 and 1, or as in `uncertainty_adjusted`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> names = {"item": ["a"], "category": ["x", "y"]}
    >>> draws = [[[[0.6, 0.4]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.9, 0.1]]]]
    >>> law = xr.DataArray(draws, names, ("chain", "draw", "item", "category"), name="plausibility")
    >>> law.attrs["truth"] = "distribution"
    >>> tree = xr.DataTree.from_dict({"posterior": law.to_dataset()})
    >>> predicted = xr.DataArray([["x"]], {"item": ["a"]}, ("item", "position"))
    >>> found = evaluation.reliability_sweep({1: tree, 3: tree}, evaluation.top_k_accuracy(1), predicted)
    >>> found["mean"].values
    array([0.75, 0.75])
    """
    check_arguments(reliability_sweep, arguments, metric, uncertainty_adjusted)
    if isinstance(trees, xr.DataTree) or not isinstance(trees, Mapping):  # a DataTree is a Mapping
        raise EvaluationError(
            f"a {type(trees).__name__} does not say which reliability its trees have: pass {{reliability: tree}}"
        )
    if not trees:
        raise EvaluationError("trees is empty: pass {reliability: tree}, as inference.sweep returns")
    check_probability("probability", probability)
    seed = fixed_seed(random_seed, Plausibility.of(next(iter(trees.values()))).seed)
    summaries = []
    for tree in trees.values():
        values = uncertainty_adjusted(metric, tree, predictions, other=other, random_seed=seed, **arguments)
        summary = summarise(values, probability)[["mean", "sd", "interval", "mcse"]]
        if "classifier" in values.dims:
            score = values if values.attrs.get("larger_is_better", 1) else -values
            best = (score == score.max("classifier")).astype(float)
            samples = [dim for dim in values.dims if dim != "classifier"]
            summary["probability_best"] = (best / best.sum("classifier")).mean(samples)
        attrs = {"metric": str(values.name), "probability": probability, "question": values.attrs["question"]}
        summaries.append(summary.transpose(..., "bound").assign_attrs(attrs))
    reliability = xr.DataArray([float(r) for r in trees], dims="reliability", name="reliability")
    return xr.concat(summaries, reliability).sortby("reliability")

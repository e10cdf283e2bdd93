"""Draws and intervals of a metric: uncertainty of the truth, of the sample of items, and both."""

import warnings
from dataclasses import replace
from typing import Any, cast

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from .callables import ByDraw
from .errors import EvaluationError
from .membership import By, members_of
from .metric import Metric, Response, Truth
from .resampling import ItemWeights, Resampling, resampled_scores
from .scoring import Scorer
from .seeds import fixed_seed
from .top_labels import OtherAs

__all__ = ["metric_draws", "metric_intervals", "summarised", "summary_of_draws"]

SOURCES = ("raters", "items", "both")
# resamples of items: for means over items, and for metrics computed from all items at once
MANY, FEW = 1000, 200


def metric_draws(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    by: By | None = None,
    items: ItemWeights = "bayesian",
    resamples: int | None = None,
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    larger_is_better: bool | None = None,
    progressbar: bool = True,
    **arguments: Any,
) -> xr.Dataset:
    """Return draws of a metric with the uncertainty of the truth, of the sample of items, and both.

    Parameters
    ----------
    metric : Metric or callable
        As in `uncertainty_adjusted`; a callable must take ``sample_weight``.
    tree : DataTree or DataArray
        Posterior with ``plausibility``, or a point estimate of it.
    predictions : DataArray
        As in `uncertainty_adjusted`.
    by : mapping of label to group, or DataArray, optional
        Subgroups, whose members may differ between draws: the group of the label of the draw, such as its
        risk; or groups (item), optionally with the dims of the draws or ``classifier``, such as the predicted
        label; or weights (..., item, group).
    items : {"bayesian", "counts"}
        Weights of the items: of the Bayesian bootstrap, or counts of items drawn with replacement.
    resamples : int, optional
        Number of weight vectors for the uncertainty of the items alone; by default 1,000, or 200 if the
        metric is computed from all items at once.
    larger_is_better : bool, optional
        For a callable; by default derived from the name of a loss or a function of scikit-learn.
    truth, response, top, other, random_seed, progressbar, **arguments
        As in `uncertainty_adjusted`.

    Returns
    -------
    Dataset
        ``raters`` and ``both`` (chain, draw[, classifier][, group]): the metric of each draw of the truth,
        with equal or with random weights of the items. ``items`` (resample[, classifier][, group]): with
        random weights of the items, averaged over the same draws of the truth. NaN if a group has no member.
        With `by`, ``share`` (chain, draw[, classifier], group), the share of the items in the group.

    Raises
    ------
    EvaluationError
        If predictions, groups and posterior do not match.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4], [0.3, 0.7]], [[0.7, 0.3], [0.8, 0.2]]]]
    >>> names = {"item": ["a", "b"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, names, ("chain", "draw", "item", "category"))
    >>> predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    >>> found = evaluation.metric_draws(evaluation.top_k_accuracy(1), truth, predicted, resamples=5, random_seed=1)
    >>> found["raters"].values, dict(found.sizes)
    (array([[0.5, 1. ]]), {'chain': 1, 'draw': 2, 'resample': 5})

    References
    ----------
    Rubin (1981), doi:10.1214/aos/1176345338.
    """
    scorer = Scorer.of(
        metric, tree, predictions, arguments, truth=truth, response=response, top=top, other=other
    )
    if larger_is_better is not None:
        better = replace(scorer.metric, larger_is_better=larger_is_better)
        scorer = replace(scorer, metric=better)
    scorer, members = members_of(scorer, by)
    many = MANY if scorer.metric.over == "item" else FEW
    how = Resampling(
        items, many if resamples is None else resamples, fixed_seed(random_seed), progressbar
    )
    found = resampled_scores(scorer, members, how)
    view, classifier = scorer.aligned.view, scorer.aligned.classifier
    samples = view.sample_dims
    dims = {"raters": samples, "both": samples, "items": ("resample",), "share": samples}
    arrays = {}
    for name, values in found._asdict().items():
        unstacked = np.moveaxis(values, -1, 0) if name == "items" else view.unstack(values)
        arrays[name] = ((*dims[name], "classifier", "group"), unstacked)
    drawn = xr.Dataset(arrays, {**view.sample_coords(), "group": members.names})
    drawn.attrs = {
        "metric": scorer.metric.name,
        "larger_is_better": int(scorer.metric.larger_is_better),
        "items": len(view.items),
    }
    if by is None:
        drawn = drawn.isel(group=0, drop=True).drop_vars("share")
    if classifier is None:
        return drawn.isel(classifier=0)
    return drawn.assign_coords(classifier=classifier.to_numpy())


def metric_intervals(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    probability: float = 0.9,
    **options: Any,
) -> xr.Dataset:
    """Return a metric with intervals for the uncertainty of the truth, of the sample of items, and both.

    The variance of both together exceeds the sum of the two variances, because the weights of the items meet
    truths that are uncertain one by one. That is right if the model learns the population of the items from
    them, and conservative if it does not (see `resampling`).

    Parameters
    ----------
    metric, tree, predictions
        As in `metric_draws`.
    probability : float
        Probability of the equal-tailed intervals.
    **options
        As in `metric_draws`: ``by``, ``items``, ``truth``, ``random_seed`` and the others.

    Returns
    -------
    Dataset
        Over ``source`` ("raters", "items", "both") and, like the draws, over classifier and group: ``mean``;
        ``sd``; ``interval`` (bound: lower, upper); ``mcse`` and ``interval_mcse`` (bound), the Monte Carlo
        standard errors of mean and bounds; ``undefined``, the share of draws without a value. With `by`,
        ``share`` and ``share_interval`` of the items in the group.

    Raises
    ------
    EvaluationError
        As in `metric_draws`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4], [0.3, 0.7]], [[0.7, 0.3], [0.8, 0.2]]]]
    >>> names = {"item": ["a", "b"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, names, ("chain", "draw", "item", "category"))
    >>> predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    >>> found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), truth, predicted, random_seed=1)
    >>> found["mean"].sel(source="raters").item(), found["interval"].dims
    (0.75, ('source', 'bound'))
    """
    drawn = metric_draws(metric, tree, predictions, **options)
    return summary_of_draws(drawn, probability)


def summary_of_draws(drawn: xr.Dataset, probability: float) -> xr.Dataset:
    """Summarise draws of `metric_draws` for every source: mean, sd, interval and Monte Carlo errors."""
    if not isinstance(probability, int | float) or not 0 < probability < 1:
        raise EvaluationError(f"probability={probability!r}: expected a number between 0 and 1")
    sources = [summarised(drawn[name], probability) for name in SOURCES]
    result = xr.concat(sources, xr.DataArray(list(SOURCES), dims="source", name="source"))
    if "share" in drawn:
        share = summarised(drawn["share"], probability)
        result["share"], result["share_interval"] = share["mean"], share["interval"]
    attrs = {**drawn.attrs, "probability": probability}
    return result.transpose("source", ..., "bound").assign_attrs(attrs)


def summarised(draws: xr.DataArray, probability: float) -> xr.Dataset:
    """Mean, sd, interval and Monte Carlo errors over all dims except those of classifiers and groups."""
    kept = [d for d in ("classifier", "other", "group") if d in draws.dims]
    samples = [d for d in draws.dims if d not in kept]
    shape = [draws.sizes[d] for d in kept]
    values = draws.transpose(*kept, *samples).to_numpy()
    draws_of_chain = values.shape[-1] if samples else 1
    chains = values.reshape(*shape, -1, draws_of_chain)
    flat = values.reshape(*shape, -1)
    tails = ((1 - probability) / 2, (1 + probability) / 2)
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # a group that never has a member
        summary = {
            "mean": (kept, np.nanmean(flat, axis=-1)),
            "sd": (kept, np.nanstd(flat, axis=-1)),
            "interval": (
                (*kept, "bound"),
                np.moveaxis(np.nanquantile(flat, tails, axis=-1), 0, -1),
            ),
            "mcse": (kept, _mcse(chains)),
            "interval_mcse": (
                (*kept, "bound"),
                np.stack([_mcse(chains, p) for p in tails], axis=-1),
            ),
            "undefined": (kept, np.isnan(flat).mean(axis=-1)),
        }
    coords = {d: draws[d] for d in kept if d in draws.coords}
    return xr.Dataset(summary, {**coords, "bound": ["lower", "upper"]})


def _mcse(chains: np.ndarray, probability: float | None = None) -> np.ndarray:
    """Monte Carlo error of the mean, or of a quantile, of the draws (..., chain, draw) that are not NaN."""
    how = {} if probability is None else {"method": "quantile", "prob": probability}
    if np.isfinite(chains).all():
        return cast(np.ndarray, array_stats.mcse(chains, **how))
    error = np.full(chains.shape[:-2], np.nan)
    for place in np.ndindex(error.shape):
        defined = chains[place][~np.isnan(chains[place])]
        error[place] = array_stats.mcse(defined[None], **how) if len(defined) else np.nan
    return error

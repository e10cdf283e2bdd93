"""Sensitivity of a metric to the assumed reliability of the raters.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, figure 6.
"""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from .callables import ByDraw
from .errors import EvaluationError
from .intervals import summarised
from .metric import Metric
from .top_labels import OtherAs
from .uncertainty import uncertainty_adjusted

__all__ = ["reliability_sweep"]


def reliability_sweep(
    trees: Mapping[float, xr.DataTree],
    metric: Metric | ByDraw,
    predictions: xr.DataArray,
    *,
    probability: float = 0.95,
    other: OtherAs | None = None,
    random_seed: int | None = None,
    **arguments: Any,
) -> xr.Dataset:
    """Summarise an uncertainty-adjusted metric over posteriors with different reliabilities.

    Parameters
    ----------
    trees : mapping of reliability to DataTree
        Posteriors of the same items, as from `inference.sweep`.
    metric : Metric or callable
        As in `uncertainty_adjusted`.
    predictions : DataArray
        As in `uncertainty_adjusted`.
    probability : float
        Posterior probability of the equal-tailed interval.
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER; by default as stored in each tree.
    random_seed : int, optional
        Seed of the evaluation of every posterior.
    **arguments
        Arguments of a callable metric.

    Returns
    -------
    Dataset
        Over ``reliability``: ``mean``, ``sd``, ``interval`` (bound: lower, upper) and ``mcse``, the Monte
        Carlo standard error of the mean; with classifiers also ``probability_best``, the share of draws in
        which each is best, ties shared. `compare` takes several trees, too.

    Raises
    ------
    EvaluationError
        If `trees` is not a mapping or is empty, `probability` is not between 0 and 1, or as in
        `uncertainty_adjusted`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> names = {"item": ["a"], "category": ["x", "y"]}
    >>> draws = [[[[0.6, 0.4]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.9, 0.1]]]]
    >>> law = xr.DataArray(draws, names, ("chain", "draw", "item", "category"), name="plausibility")
    >>> tree = xr.DataTree.from_dict({"posterior": law.to_dataset()})
    >>> predicted = xr.DataArray([["x"]], {"item": ["a"]}, ("item", "position"))
    >>> found = evaluation.reliability_sweep({1: tree, 3: tree}, evaluation.top_k_accuracy(1), predicted)
    >>> found["mean"].values
    array([0.75, 0.75])

    References
    ----------
    Stutz et al. (2025), figure 6.
    """
    if isinstance(trees, xr.DataTree) or not isinstance(trees, Mapping):  # a DataTree is a Mapping
        raise EvaluationError(
            f"a {type(trees).__name__} does not say which reliability its trees have: pass {{reliability: tree}}"
        )
    if not trees:
        raise EvaluationError(
            "trees is empty: pass {reliability: tree}, as inference.sweep returns"
        )
    if not 0 < probability < 1:
        raise EvaluationError(f"probability={probability}: expected a number between 0 and 1")
    summaries = []
    for tree in trees.values():
        values = uncertainty_adjusted(
            metric, tree, predictions, other=other, random_seed=random_seed, **arguments
        )
        summaries.append(_summary(values, probability))
    reliability = xr.DataArray([float(r) for r in trees], dims="reliability", name="reliability")
    return xr.concat(summaries, reliability).sortby("reliability")


def _summary(values: xr.DataArray, probability: float) -> xr.Dataset:
    """Summarise the draws of a metric at one reliability."""
    samples = [dim for dim in values.dims if dim != "classifier"]
    dataset = summarised(values, probability)[["mean", "sd", "interval", "mcse"]]
    if "classifier" in values.dims:
        score = values if values.attrs.get("larger_is_better", 1) else -values
        best = (score == score.max("classifier")).astype(float)
        dataset["probability_best"] = (best / best.sum("classifier")).mean(samples)
    return dataset.transpose(..., "bound").assign_attrs(
        metric=str(values.name), probability=probability
    )

"""How far does the verdict depend on the trust in the raters? A metric over fitted reliabilities.

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
    """Summarise an uncertainty-adjusted metric over posteriors of several reliabilities.

    Parameters
    ----------
    trees : mapping of reliability to DataTree
        Posteriors of the same items.
    metric : Metric or callable
        As in `uncertainty_adjusted`.
    predictions : DataArray
        As in `uncertainty_adjusted`.
    probability : float
        Posterior probability of the interval between equal tails.
    other : {"split", "exclude", "label"}, optional
        How OTHER is treated; default as each tree says.
    random_seed : int, optional
        Seed of every posterior's evaluation.
    **arguments
        For a callable metric.

    Returns
    -------
    Dataset
        Over ``reliability``: ``mean``, ``sd``, ``interval`` (bound: lower, upper) and ``mcse``, the
        Monte-Carlo standard error of the mean; with classifiers also ``probability_best``, the share
        of draws in which each is best, ties shared. `compare` takes several trees, too.

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
    samples = [dim for dim in values.dims if dim != "classifier"]
    dataset = summarised(values, probability)[["mean", "sd", "interval", "mcse"]]
    if "classifier" in values.dims:
        score = values if values.attrs.get("larger_is_better", 1) else -values
        best = (score == score.max("classifier")).astype(float)
        dataset["probability_best"] = (best / best.sum("classifier")).mean(samples)
    return dataset.transpose(..., "bound").assign_attrs(
        metric=str(values.name), probability=probability
    )

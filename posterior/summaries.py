"""Summaries of the items of a posterior that does not keep all draws: means, certainties and plausible labels of all draws."""

import numpy as np
import xarray as xr

from .errors import EvaluationError
from .groups import tree_like
from .plausibility import summary_of
from .schema import SAMPLE, SHARED, TRUTHS


def with_shared_draws(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree with all draws of what items share, and no draws of items, where it keeps a part of the draws."""
    if not isinstance(tree, xr.DataTree) or SHARED not in tree.children:
        return tree
    groups = {name: node.to_dataset() for name, node in tree.children.items() if name != SHARED}
    return tree_like(tree, groups | {"posterior": tree[SHARED].to_dataset()})


def mean_plausibility(tree: object) -> xr.DataArray | None:
    """Return the mean of all draws of the plausibility, with the attribute ``truth``; None without such a summary."""
    summary = summary_of(tree)
    if summary is None or "plausibility" not in summary:
        return None
    whole = summary["plausibility"]
    return whole.sel(statistic="mean", drop=True).assign_attrs(whole.attrs)


def expected_plausibility(tree: xr.DataTree) -> xr.DataArray:
    """Return the mean of the plausibility over all draws, or over those that were kept; a tree without it is a KeyError."""
    mean = mean_plausibility(tree)
    return tree["posterior"].to_dataset()["plausibility"].mean(SAMPLE) if mean is None else mean


def is_of_category(mean: xr.DataArray) -> bool:
    """Whether the truth behind a summarised plausibility is one category."""
    return TRUTHS.get(str(mean.attrs.get("truth"))) == "category"


def one_category(top: int) -> str:
    """Return the sentence that refuses sets of several labels where the truth is one category."""
    return (
        f"the truth of this model is one category, not the best {top}: ask for top 1, or use top_k_accuracy"
    )


def refuse_sets_of_categories(tree: object, top: int) -> None:
    """Raise if sets of several labels are asked of summaries whose truth is one category, which no draws would answer."""
    mean = mean_plausibility(tree)
    if mean is not None and top > 1 and is_of_category(mean):
        raise EvaluationError(one_category(top))


def stored_certainty(tree: object, top: int, other: str | None) -> xr.DataArray | None:
    """Return the certainty (item,) of top sets that was counted in all draws; None if it was not."""
    summary = summary_of(tree)
    if summary is None or "certainty" not in summary or top > summary.sizes["top"]:
        return None
    found = summary["certainty"]
    if other not in (None, found.attrs["other"]):
        return None
    of_items = found.isel(top=top - 1, drop=True).rename("annotation_certainty")
    return xr.DataArray(of_items.to_numpy(), {"item": _ids(of_items)}, ("item",), "annotation_certainty")


def stored_alternatives(tree: object, other: str | None) -> xr.Dataset | None:
    """Return the most plausible labels, as `plausible_labels` of top 1, that were counted in all draws; None if not."""
    mean = mean_plausibility(tree)
    if mean is not None and is_of_category(mean):
        return by_probability(mean)
    summary = summary_of(tree)
    if summary is None or "alternative_label" not in summary:
        return None
    if other not in (None, summary["certainty"].attrs["other"]):
        return None
    names = summary["alternative_name"].to_numpy().astype(str)
    probability = summary["alternative_probability"].to_numpy()
    width = max(1, int((probability > 0).sum(axis=1).max(initial=0)))
    label = names[summary["alternative_label"].to_numpy()[:, :width]][..., None]
    dims = ("item", "alternative")
    variables = {"probability": (dims, probability[:, :width]), "label": ((*dims, "position"), label)}
    return xr.Dataset(variables, {"item": _ids(summary)})


def by_probability(mean: xr.DataArray) -> xr.Dataset:
    """Return the categories of each item by their probability, those of probability zero left out."""
    values = mean.transpose("item", "category").to_numpy()
    order = np.argsort(-values, axis=1, kind="stable")
    probability = np.take_along_axis(values, order, axis=1)
    names = mean["category"].to_numpy().astype(str)
    label = np.where(probability > 0, names[order], "")
    width = max(1, int((probability > 0).sum(axis=1).max()))
    dims = ("item", "alternative")
    variables = {
        "probability": (dims, probability[:, :width]),
        "label": ((*dims, "position"), label[:, :width, None]),
    }
    return xr.Dataset(variables, {"item": mean["item"].to_numpy()})


def _ids(summary: xr.DataArray | xr.Dataset) -> np.ndarray:
    """Return the ids of the items."""
    return summary["item_id"].to_numpy() if "item_id" in summary.coords else summary["item"].to_numpy()

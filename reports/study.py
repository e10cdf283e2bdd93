"""Inputs and posteriors of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from .. import evaluation, inference, models
from .._messages import short_repr
from ..models import Labels, PartialRankings

if TYPE_CHECKING:
    from ..models.data.container import Container


@dataclass(frozen=True)
class Groups:
    """Groups of categories, read from a file."""

    path: Path | str
    group: Mapping[Any, str]  # category -> group, in the order of the values or else of the file
    value: Mapping[Any, float] | None  # category -> number; None without a column of values

    def of(self, categories: Sequence[str]) -> "Groups":
        """Return the groups of these categories only; raise if one has no group."""
        if missing := [name for name in categories if name not in self.group]:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise ValueError(
                f"{self.path}: no group for the category {short_repr(missing[0])}{more}; give every category one, "
                "also those that are only predicted or declared"
            )
        known = set(categories)
        kept = {name: group for name, group in self.group.items() if name in known}
        values = self.value and {name: self.value[name] for name in kept}
        return Groups(self.path, kept, values)


RankingsOrLabels = PartialRankings | Labels


def labels_of(predictions: xr.DataArray) -> list[str]:
    """Return the distinct categories of predictions, (..., position) labels or (..., category) scores."""
    named = predictions["category"] if "category" in predictions.dims else predictions
    return [str(label) for label in np.unique(named.to_numpy()) if label != ""]


@dataclass(frozen=True)
class Settings:
    """Model, priors and sampler settings of a fit."""

    kind: str
    model: str
    # the first is reported in full; a single unused one if the model has none
    reliabilities: tuple[float, ...]
    draws: int
    chains: int
    seed: int
    categories: str | None = None  # closed set: a text file with one per line, or comma-separated
    layout: str = "long"  # labels: long, wide or counts; scores: long or counts
    rater_attributes: tuple[str, ...] = ()  # columns, including that of the group
    largest_component: bool = False  # comparisons: keep only the largest component
    bounds: tuple[float, float] | None = None  # scores: lowest and highest possible
    thresholds: tuple[float, ...] = ()  # scores
    anonymize: bool = False  # replace rater ids by numbers in random order
    has_reliability: bool = False  # the model weighs its raters by a given reliability
    # further arguments of the builder; None if they are not known
    priors: dict[str, Any] | None = field(default_factory=dict)

    def nameless[Data: "Container"](self, data: Data) -> Data:
        """Return annotations without rater ids, if requested."""
        return data.anonymized() if self.anonymize else data


class Sources(NamedTuple):
    """Further inputs of a report: tables of predictions and of groups of categories, and names of metrics."""

    predictions: Path | None = None
    groups: Path | None = None
    metrics: Sequence[str] = ()  # empty: the default of the kind


@dataclass(frozen=True)
class Study:
    """Annotations, their posteriors, and predictions to evaluate."""

    data: RankingsOrLabels
    settings: Settings
    trees: Mapping[float, xr.DataTree]  # by reliability
    predicted: xr.DataArray | None = None
    metrics: tuple[str, ...] = ()  # classifiers are compared by the first
    groups: Groups | None = None  # of the categories, such as their risk

    @property
    def tree(self) -> xr.DataTree:
        """The posterior that is reported in full."""
        return self.trees[self.settings.reliabilities[0]]

    @cached_property
    def points(self) -> dict[str, xr.DataArray]:
        """Point estimates of the truth, by name."""
        return point_estimates(self.data)

    @property
    def seed(self) -> int:
        """Random seed."""
        return self.settings.seed

    @property
    def group(self) -> str | None:
        """The rater attribute that defines groups: that of the model, or the first that was read."""
        known = ((self.settings.priors or {}).get("group"), *self.settings.rater_attributes)
        return next((name for name in known if name), None)

    @property
    def is_of_category(self) -> bool:
        """Whether the truth is a single category, as in Dawid-Skene."""
        return self.tree["posterior"]["plausibility"].attrs.get("truth") == "category"


def annotations_by_item(data: RankingsOrLabels) -> np.ndarray:
    """Return the number of annotations of every item, shape (item,)."""
    if isinstance(data, models.Labels):
        return data.counts.sum(axis=1)
    return np.bincount(data.annotation_item, minlength=len(data.items))


def best_guess(tree: xr.DataTree, seed: int) -> xr.DataArray:
    """Return the most plausible label of every item, as predictions (item, position).

    OTHER, the unranked categories together, is passed over; `seed` is for its members.
    """
    found = evaluation.plausible_labels(tree, top=1, random_seed=seed)
    label = found["label"].isel(position=0).to_numpy()
    first = (label != "OTHER").argmax(axis=1)  # alternatives are in order, the first best
    best = np.take_along_axis(label, first[:, None], axis=1)
    return xr.DataArray(best, {"item": found["item"]}, ("item", "position"))


def point_estimates(data: RankingsOrLabels) -> dict[str, xr.DataArray]:
    """Return point estimates by name: IRN and maximum likelihood for rankings, the vote for labels."""
    if isinstance(data, models.PartialRankings):
        likeliest = inference.plackett_luce_mle(data)["plausibility"]
        return {"IRN": inference.irn(data), "maximum likelihood": likeliest}
    return {"vote": inference.majority_vote(data)["plausibility"].fillna(0)}

"""Everything that a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from .. import evaluation, inference, models
from .grouping import Groups
from .reading import Container
from .settings import Settings

__all__ = ["Sources", "Study", "annotations_by_item", "best_guess", "point_estimates"]


class Sources(NamedTuple):
    """What a report is made from, besides the annotations.

    Attributes
    ----------
    predictions, groups : Path or None
        Tables of predictions, and of the groups of the categories, such as their risk.
    metrics : sequence of str
        Names; those of the kind by default.
    """

    predictions: Path | None = None
    groups: Path | None = None
    metrics: Sequence[str] = ()


@dataclass(frozen=True)
class Study:
    """Annotations, their posteriors, and what is to be judged by them.

    Attributes
    ----------
    data : PartialRankings or Labels
        The annotations.
    settings : Settings
        Model, sampler and seed.
    trees : dict of float to DataTree
        Posteriors by reliability.
    predicted : DataArray or None
        Predictions.
    metrics : tuple of str
        Their metrics; classifiers are compared by the first.
    groups : Groups or None
        Of the categories, such as their risk.
    """

    data: Container
    settings: Settings
    trees: Mapping[float, xr.DataTree]
    predicted: xr.DataArray | None = None
    metrics: tuple[str, ...] = ()
    groups: Groups | None = None

    @property
    def tree(self) -> xr.DataTree:
        """The posterior that is reported in full."""
        return self.trees[self.settings.reliabilities[0]]

    @cached_property
    def points(self) -> dict[str, xr.DataArray]:
        """What takes the truth for certain."""
        return point_estimates(self.data)

    @property
    def seed(self) -> int:
        """Random seed."""
        return self.settings.seed

    @property
    def group(self) -> str | None:
        """The attribute that says of which group a rater is: the one that the model goes by, or the first that was read."""
        known = (self.settings.priors.get("group"), *self.settings.rater_attributes)
        return next((name for name in known if name), None)

    @property
    def is_of_category(self) -> bool:
        """Whether the truth is one category, as in Dawid-Skene."""
        return self.tree["posterior"]["plausibility"].attrs.get("truth") == "category"


def annotations_by_item(data: Container) -> np.ndarray:
    """Return how many annotations every item has.

    Parameters
    ----------
    data : PartialRankings or Labels
        The annotations.
    """
    if isinstance(data, models.Labels):
        return data.counts.sum(axis=1)
    return np.bincount(data.annotation_item, minlength=len(data.items))


def best_guess(tree: xr.DataTree, seed: int) -> xr.DataArray:
    """Return the most plausible label of every item that somebody named, as predictions (item, position).

    Parameters
    ----------
    tree : DataTree
        Posterior.
    seed : int
        For the members of OTHER.
    """
    found = evaluation.plausible_labels(tree, top=1, random_seed=seed)
    label = found["label"].isel(position=0).to_numpy()
    first = (label != "OTHER").argmax(axis=1)  # alternatives are in order, the first best
    best = np.take_along_axis(label, first[:, None], axis=1)
    return xr.DataArray(best, {"item": found["item"]}, ("item", "position"))


def point_estimates(data: Container) -> dict[str, xr.DataArray]:
    """Return what takes the truth for certain: of rankings IRN and maximum likelihood, of labels the vote.

    Parameters
    ----------
    data : PartialRankings or Labels
        The annotations.
    """
    if isinstance(data, models.PartialRankings):
        likeliest = inference.plackett_luce_mle(data)["plausibility"]
        return {"IRN": inference.irn(data), "maximum likelihood": likeliest}
    return {"vote": inference.majority_vote(data)["plausibility"].fillna(0)}

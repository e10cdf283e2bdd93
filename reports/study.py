"""Annotations, posteriors and predictions of a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr

from .. import evaluation, inference, models
from .._messages import warn_user
from ..models import DataWarning, Labels, PartialRankings
from ..posterior.plausibility import plausibility_of, truth_of
from ..posterior.schema import OTHER
from .settings import Groups, Settings

RankingsOrLabels = PartialRankings | Labels


def labels_of(predictions: xr.DataArray) -> list[str]:
    """Return the distinct categories of predictions, (..., position) labels or (..., category) scores."""
    named = predictions["category"] if "category" in predictions.dims else predictions
    return [str(label) for label in np.unique(named.to_numpy()) if label != ""]


class Joint(NamedTuple):
    """Posterior that has seen the predictions as answers of further raters, or why there is none."""

    tree: xr.DataTree | None
    model: pm.Model | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Study:
    """Annotations, their posteriors, and predictions to evaluate."""

    data: RankingsOrLabels
    settings: Settings
    trees: Mapping[float, xr.DataTree]  # by reliability
    predicted: xr.DataArray | None = None
    metrics: tuple[str, ...] = ()  # classifiers are compared by the first
    groups: Groups | None = None  # of the categories, such as their risk
    joint: Joint | None = None

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
        return truth_of(self.tree, plausibility_of(self.tree)) == "category"


def told_apart(data: Any) -> Any:
    """Return annotations as the default model takes them.

    Raters with one answer each are one, and a crowd with two at most, whose parameters would take gigabytes; a warning says so.
    """
    if not (isinstance(data, Labels) and (data.one_answer_each or data.two_answers_each)):
        return data
    few = (
        "raters with one answer each tell nothing of a rater: all"
        if data.one_answer_each
        else "raters with two answers at most tell hardly anything of a rater: all"
    )
    text = f"{few} {len(data.raters):,} are taken as one. A model that is named (model=, --model) takes them apart"
    warn_user(text, DataWarning)
    return data.with_raters_pooled()


def annotations_by_item(data: RankingsOrLabels) -> np.ndarray:
    """Return the number of annotations of every item, shape (item,)."""
    if isinstance(data, models.Labels):
        return data.counts.sum(axis=1)
    return np.bincount(data.annotation_item, minlength=len(data.items))


def best_guess(tree: xr.DataTree, seed: int) -> xr.DataArray:
    """Return the most plausible label but OTHER of every item as predictions (item, position); `seed` is for members of OTHER."""
    found = evaluation.plausible_labels(tree, top=1, random_seed=seed)
    label = found["label"].isel(position=0).to_numpy()
    first = (label != OTHER).argmax(axis=1)  # alternatives are in order, the first best
    best = np.take_along_axis(label, first[:, None], axis=1)
    return xr.DataArray(best, {"item": found["item"]}, ("item", "position"))


def point_estimates(data: RankingsOrLabels) -> dict[str, xr.DataArray]:
    """Return point estimates by name: maximum likelihood for rankings and, of all categories, IRN; the vote for labels."""
    if isinstance(data, models.PartialRankings):
        likeliest = inference.plackett_luce_mle(data)["plausibility"]
        inverse = {} if data.has_shown_sets else {"IRN": inference.irn(data)}
        return {**inverse, "maximum likelihood": likeliest}
    return {"vote": inference.majority_vote(data)["plausibility"].fillna(0)}

"""Taste that the raters of a group share: their group sees other qualities than independent raters do."""

from collections.abc import Collection
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._hierarchy import Number, prior_number
from ..data.comparisons import Comparisons
from ..data.raters import NO_GROUP, TASTES, Groups, SharingGroups, sharing_groups
from .priors import check_incompatible, positive_scale

GROUP = "group_of_raters"


class Taste(NamedTuple):
    """Validated arguments of a builder that concern shared tastes."""

    sharing: SharingGroups
    scale: Any  # of the tastes of every group; None has a prior

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Names of the groups."""
        return {GROUP: self.sharing.names}

    def register(self, quality: TensorVariable) -> TensorVariable:
        """Register the tastes; return the qualities as independent raters see them, and then as every group does.

        Shapes: quality (item,); result ((1 + group) * item,), group by group.
        """
        pm.Data("sharing_group", self.sharing.group, dims="rater")
        scale = self.scale
        if scale is None:
            scale = cast(Any, pm.HalfNormal("taste_scale", 1.0, dims=GROUP))[:, None]
        # not centred: the scale may be near zero
        deviation: Any = pm.ZeroSumNormal("taste_deviation", dims=(GROUP, "item"))
        taste: Any = pm.Deterministic("taste", scale * deviation, dims=(GROUP, "item"))
        return cast(TensorVariable, pt.concatenate([quality, (quality + taste).ravel()]))

    def first_of(self, rater: np.ndarray, n_items: int) -> np.ndarray:
        """Return the place of the first quality, of those of `register`, that each rater sees; both int64 (annotation,)."""
        group = self.sharing.group[rater]
        return n_items * np.where(group == NO_GROUP, 0, group + 1)


def taste_prior(
    pairs: Comparisons,
    groups: Groups,
    independent: str | Collection[Any],
    taste_scale: Number | None,
    reliability_range: tuple[float, float] | None,
) -> Taste | None:
    """Validate the arguments of a builder that concern shared tastes; None if no groups are named; raises ValueError."""
    if groups is None:
        about = {"independent=": len(independent) > 0, "taste_scale=": taste_scale is not None}
        if given := [name for name, there in about.items() if there]:
            raise ValueError(
                f"{given[0]} is about groups of raters who share a taste; name them with groups="
            )
        return None
    if pairs.anonymous:
        raise ValueError("groups= says who shares a taste, but the raters of these votes are anonymous")
    check_incompatible(
        "reliability_range= is a uniform prior of qualities and reliabilities",
        {"groups=": reliability_range is not None},
    )
    sharing = sharing_groups(pairs, groups, independent, TASTES)
    return Taste(sharing, prior_number("taste_scale", taste_scale, positive_scale))

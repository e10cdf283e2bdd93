"""Annotations of a tree with their raters and groups, and their replicates; checks of all kinds but labels read them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ...posterior.errors import EvaluationError
from ...posterior.schema import SAMPLE, posterior_with_attributes
from .discrepancies import check_number
from .label_laws import raters_of


@dataclass(frozen=True)
class Annotations:
    """Codes of the annotations that are checked, and their groups of raters."""

    place: np.ndarray  # of each in the tree (annotation,)
    item: np.ndarray  # (annotation,)
    rater: np.ndarray  # (annotation,); 0 if the raters are not told apart
    raters: list[str]  # ids, or codes where the tree has no ids; empty if the raters are not told apart
    group: np.ndarray  # code of the group of each rater (rater,)
    groups: list[str]  # names; one if there are none

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of annotations, items, and raters, at least one."""
        return len(self.item), int(self.item.max(initial=-1)) + 1, len(self.group)


def annotations_of(
    tree: xr.DataTree, item: np.ndarray, by: str | None, most: int, rng: np.random.Generator
) -> Annotations:
    """Return the annotations of items drawn at random, about `most` in all; `item` is the code of each (annotation,)."""
    number = np.bincount(item)
    kept = np.ones(len(number), bool)
    if len(item) > most:
        order = rng.permutation(len(number))
        kept[order[np.searchsorted(np.cumsum(number[order]), most) + 1 :]] = False
    place = np.flatnonzero(kept[item])
    items = np.unique(item[place], return_inverse=True)[1]
    constants = tree["constant_data"].to_dataset()
    rater = (
        constants["annotation_rater"].to_numpy()[place].astype(np.int64)
        if "annotation_rater" in constants
        else None
    )
    if rater is None or (rater < 0).any():
        return Annotations(place, items, np.zeros(len(place), np.int64), [], np.zeros(1, np.int64), [""])
    ids, group, groups = raters_of(posterior_with_attributes(tree), by)
    own, code = np.unique(rater, return_inverse=True)
    if not len(ids):  # a model that takes the raters as alike has their codes alone
        return Annotations(place, items, code, own.astype(str).tolist(), np.zeros(len(own), np.int64), [""])
    present, group = np.unique(group[own], return_inverse=True)
    return Annotations(place, items, code, ids[own].astype(str).tolist(), group, [groups[g] for g in present])


def tables_of(
    tree: xr.DataTree, name: str, replicates: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield the observed variable `name`, then replicates of it at draws chosen at random."""
    if "posterior_predictive" not in tree.children or name not in tree["posterior_predictive"]:
        raise EvaluationError(
            f"model_checks: the tree has no replicates of {name!r}; draw them: inference.predict(tree, model), or "
            "inference.sample(model, predictive=True)"
        )
    predictive = tree["posterior_predictive"].to_dataset()[name].transpose(*SAMPLE, ...)
    size = predictive.sizes["chain"], predictive.sizes["draw"]
    check_number(size[0] * size[1])
    yield tree["observed_data"][name].to_numpy()
    for at in rng.permutation(size[0] * size[1])[:replicates]:
        yield predictive[np.unravel_index(at, size)].to_numpy()


def ratio(above: ArrayLike, below: ArrayLike) -> np.ndarray:
    """Return above / below, NaN where nothing was counted."""
    above, below = np.asarray(above, float), np.asarray(below, float)
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


class SharedParts:
    """Callable: mean products of the residuals of two raters in the same cell, such as an item: within groups, and between them.

    Shapes: rater, cell, weight and residual (entry,); products are divided by those of the weights.
    """

    def __init__(
        self, annotations: Annotations, rater: np.ndarray, cell: np.ndarray, weight: np.ndarray
    ) -> None:
        raters = annotations.size[2]
        key, self._of_rater = np.unique(cell * raters + rater, return_inverse=True)
        self._cell_of_rater, self._group_of_rater = key // raters, annotations.group[key % raters]
        self._groups = len(annotations.groups)
        self._pairs = self._products(weight)

    def __call__(self, residual: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the mean products within each group (group,), and between groups; NaN without a pair of raters."""
        within, between = self._products(residual)
        return ratio(within, self._pairs[0]), float(ratio(between, self._pairs[1]))

    def _products(self, values: np.ndarray) -> tuple[np.ndarray, float]:
        """Return sums over pairs of raters of the products of their values."""
        by_rater = np.bincount(self._of_rater, values, len(self._cell_of_rater))
        cells = int(self._cell_of_rater.max(initial=-1)) + 1
        by_group = np.bincount(
            self._cell_of_rater * self._groups + self._group_of_rater, by_rater, cells * self._groups
        ).reshape(cells, self._groups)
        own = np.bincount(self._group_of_rater, by_rater**2, self._groups)
        within = ((by_group**2).sum(axis=0) - own) / 2
        whole = (by_group.sum(axis=1) ** 2).sum() - own.sum()
        return within, float(whole / 2 - within.sum())

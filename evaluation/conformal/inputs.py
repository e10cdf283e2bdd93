"""Validated conformity scores: every item and category once, no NaN."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.matching import ROUNDING, ids_of, places_of
from ...posterior.plausibility import REMEDY, Plausibility
from ...posterior.schema import OTHER
from ...posterior.top_labels import OtherAs, treatment_of_other


@dataclass(frozen=True)
class LabelMass:
    """Plausibility of every label of every item, the members of OTHER sharing its mass evenly."""

    view: Plausibility
    other: OtherAs  # split or exclude; if excluded, the other labels are normalised
    column: np.ndarray  # (cell,), column of scores, -1 for OTHER
    n_columns: int

    @classmethod
    def of(cls, tree: xr.DataTree | xr.DataArray, names: list[str], other: OtherAs | None) -> "LabelMass":
        """Read a posterior over the categories of the scores, or raise if the categories do not match."""
        view = Plausibility.of(tree)
        other = treatment_of_other(view, other)
        if other == "label":
            raise EvaluationError(f'other="label": sets contain categories, and {OTHER} is not a category')
        if OTHER in names and "candidate" in view.array.dims:
            raise EvaluationError(f"scores name {OTHER}, a set of categories; score its members")
        if view.declared is not None:
            known = set(view.declared.tolist())
            unknown = [name for name in names if name not in known]
            if unknown:
                raise EvaluationError(
                    f"scores: category {unknown[0]!r} is not among the posterior's {len(view.declared)}; correct the spelling"
                )
        view = view.with_categories(names)
        place = {name: i for i, name in enumerate(names)}
        lacking = [name for name in view.categories.tolist() if name not in place]
        if lacking:
            raise EvaluationError(
                f"scores lack category {lacking[0]!r} of the posterior; score it, -inf if it is never to be in a set"
            )
        declared = view.declared_count() or 0
        if other == "split" and declared > len(names):
            raise EvaluationError(
                f"scores have {len(names)} of {declared} declared categories, and {OTHER} stands for the rest: "
                'score them all, or leave it out by other="exclude"'
            )
        columns = np.array([*(place[name] for name in view.categories.tolist()), -1])
        return cls(view, other, columns[view.code], len(names))

    def mean(self) -> np.ndarray:
        """Posterior mean mass of every label (item, column); raise if NaN or not summing to one."""
        cell = np.zeros(len(self.column))
        for _, draws in self._draws():
            cell += draws.sum(axis=0, dtype=float)
        cell /= self.view.n_samples
        self._refuse(np.isnan(cell), "plausibility of item {} is NaN: a draw failed; sample again")
        dense = np.zeros((len(self.view.items), self.n_columns))
        if self.other == "split":
            last = self.view.start[1:][self.view.has_other] - 1
            dense[self.view.has_other] = (cell[last] / self._members())[:, None]
        named = self.column >= 0
        dense[self._item()[named], self.column[named]] = cell[named]
        total = dense.sum(axis=1)
        wrong = np.abs(total - 1) > ROUNDING
        self._refuse(wrong[self._item()], f"plausibilities of item {{}} do not sum to 1; {REMEDY}")
        return dense / total[:, None]

    def of_sets(self, weight: np.ndarray) -> np.ndarray:
        """Mass (set, sample) of sets in every draw, summed over items; weight (set, item, column) is 0 outside a set."""
        named = self.column >= 0
        of_cell = np.zeros((len(weight), len(self.column)))
        of_cell[:, named] = weight[:, self._item()[named], self.column[named]]
        if self.other == "split":
            held = np.add.reduceat(of_cell, self.view.start[:-1], axis=1)
            rest = (weight.sum(axis=2) - held)[:, self.view.has_other] / self._members()
            of_cell[:, self.view.start[1:][self.view.has_other] - 1] = rest
        of_cell = of_cell.astype(np.result_type(self.view.array.dtype, np.float32))
        mass = np.empty((len(weight), self.view.n_samples))
        for samples, draws in self._draws():
            mass[:, samples] = (draws @ of_cell.T).T
        return mass

    def _draws(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of samples (sample, cell) in the order of storage, renormalised without OTHER."""
        for samples, part in self.view.parts():
            block = part.to_numpy().reshape(samples.stop - samples.start, len(self.column))
            yield samples, self._without_other(block)

    def _without_other(self, draws: np.ndarray) -> np.ndarray:
        """Set OTHER to zero and renormalise draws (sample, cell), if OTHER is excluded."""
        if self.other == "split" or not self.view.has_other.any():
            return draws
        kept = np.where(self.column < 0, 0, draws)
        total = np.add.reduceat(kept, self.view.start[:-1], axis=1)
        empty = (total <= 0).any(axis=0)
        self._refuse(empty[self._item()], f"item {{}} has no label but {OTHER} in a draw: leave the item out")
        return kept / np.repeat(total, np.diff(self.view.start), axis=1)

    def _refuse(self, wrong: np.ndarray, message: str) -> None:
        """Raise with the item of the first wrong cell (cell,), if there is one."""
        if wrong.any():
            raise EvaluationError(message.format(self.view.items[self._item()[np.argmax(wrong)]]))

    def _item(self) -> np.ndarray:
        """Item of every cell (cell,)."""
        return np.repeat(np.arange(len(self.view.items)), np.diff(self.view.start))

    def _members(self) -> np.ndarray:
        """Return the number of members of each OTHER, for the items that have one."""
        return (self.n_columns - self.view.named_count())[self.view.has_other]


@dataclass(frozen=True)
class ConformityScores:
    """Scores of every label of every item, larger = more conforming."""

    values: np.ndarray  # (classifier, item, category)
    items: np.ndarray  # (item,), text or integers
    names: list[str]  # categories
    coords: dict[str, xr.DataArray]  # item, category and, if there is such a dim, classifier

    @property
    def leading(self) -> tuple[str, ...]:
        """The dim classifier, if there is one."""
        return ("classifier",) if "classifier" in self.coords else ()

    @classmethod
    def of(cls, scores: xr.DataArray) -> "ConformityScores":
        """Validate scores, or raise at wrong dims or coordinates, duplicates or NaN."""
        if not isinstance(scores, xr.DataArray):
            raise EvaluationError(
                f"scores: expected a DataArray (item, category), found {type(scores).__name__}"
            )
        if {*scores.dims} - {"classifier"} != {"item", "category"}:
            raise EvaluationError(
                f"scores: expected dims (item, category), and classifier where there are several; found {scores.dims}"
            )
        for dim in ("item", "category"):
            if dim not in scores.coords:
                raise EvaluationError(f"scores: dim {dim} has no coordinate to match labels by")
        if scores.dtype.kind not in "iuf" or not scores.size:
            raise EvaluationError(
                f"scores: {scores.size} of dtype {scores.dtype}; expected numbers, at least one"
            )
        coords = {str(d): scores[d].reset_coords(drop=True) for d in scores.dims}
        items, names = ids_of(coords["item"].to_numpy()), coords["category"].to_numpy().astype(str)
        _check_unique("scores: item", items)
        _check_unique("scores: category", names)
        several = scores if "classifier" in scores.dims else scores.expand_dims("classifier")
        values = several.transpose("classifier", "item", "category").to_numpy()
        bad = np.argwhere(np.isnan(values))
        if len(bad):
            raise EvaluationError(
                f"scores: item {items[bad[0, 1]]!s}, category {names[bad[0, 2]]!s} is NaN; -inf means the least conforming"
            )
        return cls(values, items, names.tolist(), coords)

    def places(self, what: str, ids: Iterable[object]) -> np.ndarray:
        """Positions of items; raise if one is unknown or duplicated. `what` names them in messages."""
        if not isinstance(ids, Iterable):
            raise EvaluationError(f"{what}: expected ids of items; found {ids!r}")
        found = np.asarray(ids if isinstance(ids, np.ndarray | xr.DataArray) else list(ids))
        if found.ndim != 1 or not len(found) or found.dtype.kind == "b":
            raise EvaluationError(
                f"{what}: expected ids of items, at least one; found {found.dtype} of shape {found.shape}"
            )
        found = ids_of(found)
        _check_unique(f"{what}: item", found)
        return places_of(found, self.items, (what, "scores"))


def _check_unique(what: str, values: np.ndarray) -> None:
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what} {unique[count > 1][0]!s} is duplicated")

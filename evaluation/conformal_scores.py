"""Validated conformity scores: every item and category once, no NaN."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from .errors import EvaluationError

__all__ = ["ConformityScores", "places_of"]


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
        items, names = _ids(coords["item"].to_numpy()), coords["category"].to_numpy().astype(str)
        _refuse_twice("scores: item", items)
        _refuse_twice("scores: category", names)
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
        found = _ids(found)
        _refuse_twice(f"{what}: item", found)
        return places_of(found, self.items, (what, "scores"))


def places_of(
    ids: np.ndarray, known: np.ndarray, what: tuple[str, str], *, complete: bool = True
) -> np.ndarray:
    """Position of each id among the known ids, -1 if unknown; raise if `complete` and one is unknown.

    `what` names the owners of both kinds of ids in messages. Raises if one kind is text and the other
    integers.
    """
    if (ids.dtype.kind == "U") != (known.dtype.kind == "U"):
        raise EvaluationError(
            f"items of {what[0]} are {_kind(ids)} ({ids[0]!s}), of {what[1]} {_kind(known)} ({known[0]!s}): convert one"
        )
    place = {item: i for i, item in enumerate(known.tolist())}
    places = np.array([place.get(item, -1) for item in ids.tolist()], np.intp)
    if complete and (places < 0).any():
        missing = ids[places < 0]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise EvaluationError(f"{what[0]}: item {missing[0]!s}{more} not in {what[1]}")
    return places


def _ids(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind in "iu" else values.astype(str)


def _kind(values: np.ndarray) -> str:
    return "text" if values.dtype.kind == "U" else "integers"


def _refuse_twice(what: str, values: np.ndarray) -> None:
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what} {unique[count > 1][0]!s} is duplicated")

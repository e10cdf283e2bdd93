"""Predictions matched with a posterior by the ids of their items; a category left out of two is completed."""

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import EvaluationError

if TYPE_CHECKING:
    import xarray as xr

# deviation from one of a sum of probabilities, printed with few digits or in single precision
ROUNDING = 1e-4
DIGITS = (2, 3, 4, 5)  # decimals that probabilities may be written with
MOST_ROUNDED = 0.02  # deviation from one that is never taken for rounding
POINT = ".0"  # ends the text of a whole number that a missing cell made a float
_WHOLE = re.compile(r"-?[0-9]{1,99}(\.0)?")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}")


def ids_of(values: np.ndarray) -> np.ndarray:
    """Return ids as integers or text."""
    return values if values.dtype.kind in "iu" else values.astype(str)


def integer_id(text: str) -> int | None:
    """Return the integer whose only decimal text this is: without plus, blanks or leading zeros; None if it is none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def places_of(
    ids: np.ndarray, known: np.ndarray, what: tuple[str, str], *, complete: bool = True
) -> np.ndarray:
    """Position of each id among known ids of the same kind, -1 if unknown, or raise if `complete`; `what` names the owners."""
    if len(ids) and len(known) and (ids.dtype.kind == "U") != (known.dtype.kind == "U"):
        raise EvaluationError(
            f"items of {what[0]} are {_kind(ids)} ({ids.tolist()[0]!r}), of {what[1]} {_kind(known)} "
            f"({known.tolist()[0]!r}): convert one"
        )
    place = {item: i for i, item in enumerate(known.tolist())}
    places = np.array([place.get(item, -1) for item in ids.tolist()], np.intp)
    if complete and (places < 0).any():
        missing = ids[places < 0]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise EvaluationError(f"{what[0]}: item {missing[0]!s}{more} not in {what[1]}")
    return places


def _kind(values: np.ndarray) -> str:
    return "text" if values.dtype.kind == "U" else "integers"


def match_items(items: np.ndarray, ids: np.ndarray, what: str = "prediction") -> np.ndarray:
    """Position of each item of a posterior among ids; raise if one is missing, unknown, repeated or of another kind."""
    ids = ids_of(ids)
    places = places_of(items, ids, ("the posterior", f"the {what}s"), complete=False)
    check_distinct(ids, "item", what)
    missing = items[places < 0].tolist()
    if missing:
        raise EvaluationError(
            f"no {what} for {_some_items(missing)}; every item needs one, or fit only the items that have one"
        )
    unknown = np.delete(ids, places).tolist()
    if unknown:
        raise EvaluationError(
            f"{what}s name {_some_items(unknown)}, not in the posterior; leave them out, or correct the spelling"
        )
    return places


def _some_items(items: Sequence[object]) -> str:
    """First of several items, and the number of the others, for an error message."""
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return f"item {items[0]!r}{more}"


def check_distinct(values: np.ndarray, dim: str, what: str = "prediction") -> None:
    """Raise if a coordinate has duplicates."""
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what}s: {dim} {unique[count > 1].tolist()[0]!r} is duplicated")


def named_as(predictions: "xr.DataArray", categories: np.ndarray | None) -> "xr.DataArray":
    """Name predicted categories as those declared that are the same whole number: libraries write "1" as "1.0" beside a gap."""
    known = set() if categories is None else {*categories.astype(str).tolist()}
    same = {name.removesuffix(POINT): name for name in known} | {name + POINT: name for name in known}

    def named(names: np.ndarray) -> list[str]:
        return [
            name if name in known or not _WHOLE.fullmatch(name) else same.get(name, name)
            for name in names.tolist()
        ]

    if predictions.dtype.kind == "U":
        names, code = np.unique(predictions.to_numpy(), return_inverse=True)
        own = named(names)
        if own == names.tolist():
            return predictions
        return predictions.copy(data=np.array(own)[code].reshape(predictions.shape))
    names = predictions["category"].to_numpy() if "category" in predictions.coords else np.array(0)
    if names.dtype.kind != "U" or len({*(own := named(names))}) < len(names):
        return predictions
    return predictions.assign_coords(category=own)


def with_complement(predictions: "xr.DataArray", categories: np.ndarray | None) -> "xr.DataArray":
    """Complete predictions that give the probability of one category for each item.

    Of two declared categories the other has the complement, by classifier, with a warning and the attribute
    ``note``; of more it is unknown, and scores of one and the same category are refused. Labels with a score,
    such as the confidence in the best one of three, stay as they are.
    """
    import xarray as xr  # not by readers of annotations, which this module serves too

    if categories is None or not isinstance(predictions, xr.DataArray):
        return predictions
    predictions = named_as(predictions, categories)
    if predictions.dtype.kind not in "iuf":
        return predictions
    if {*predictions.dims} - {"classifier"} != {"item", "category"} or "category" not in predictions.coords:
        return predictions  # refused, or no scores
    names, known = predictions["category"].to_numpy(), categories.astype(str).tolist()
    scores = predictions.astype(float).transpose(..., "item", "category")
    values = scores.to_numpy()
    given = values > -np.inf
    best = np.where(given, values, 0).sum(axis=-1)  # of the one category that is given
    # a label with score 1 is complete
    alone = (given.sum(axis=-1) == 1).all(axis=-1) & (best != 1).any(axis=-1) & ~np.isnan(best).any(axis=-1)
    if not alone.any() or not set(names.astype(str).tolist()) <= set(known):
        return predictions
    same = alone & (given.any(axis=-2).sum(axis=-1) == 1) & (values.shape[-2] > 1)
    probable = ((best >= 0) & (best <= 1)).all(axis=-1)
    if same.any() and (len(known) > 2 or not probable[same].all()):
        name = names[given[same].reshape(-1, len(names)).any(axis=0).argmax()]
        what = "categories" if len(known) > 2 else "categories, with numbers that are no probabilities"
        raise EvaluationError(
            f"predictions: the only category with a score is {name!s}, one of {len(known)} {what}, and it would be the best "
            "of every item; give the scores of all categories, a row for each item and category"
        )
    if len(known) != 2 or not (alone & probable).any():
        return predictions
    note = (
        "predictions have the probability of one category for each item; that of the other, of "
        f"{' and '.join(known)}, is taken to be its complement"
    )
    warnings.warn(note, UserWarning, stacklevel=2)
    fill: Any = -np.inf
    both = scores.reindex(
        category=categories.astype(np.int64 if names.dtype.kind in "iu" else str), fill_value=fill
    )
    values = both.to_numpy().copy()
    filled = (alone & probable)[..., None, None] & (values == -np.inf)
    return both.copy(data=np.where(filled, (1 - best)[..., None], values)).assign_attrs(note=note)


def rounding_of(probabilities: np.ndarray) -> float:
    """Largest deviation from one of the sums of rows (..., category) by rounding: half a unit of the last decimal each.

    Of numbers with more decimals than five it is `ROUNDING`.
    """
    for digits in DIGITS:
        unit = 10.0**-digits
        if (abs(probabilities / unit - np.round(probabilities / unit)) < 1e-6).all():
            own = probabilities.shape[-1] * unit / 2 + 1e-9
            return max(ROUNDING, min(own, MOST_ROUNDED))
    return ROUNDING


def rescaled(probabilities: np.ndarray) -> np.ndarray | None:
    """Probabilities (..., category) with sums of one, where some sums are not, but all up to rounding; None otherwise."""
    total = probabilities.sum(axis=-1)
    off = abs(total - 1)
    if not probabilities.size or not off.max() <= MOST_ROUNDED or probabilities.min() < 0:
        return None
    alone = (probabilities > 0).sum(axis=-1) < 2
    if (off <= ROUNDING / 2).all() or (off > np.where(alone, ROUNDING, rounding_of(probabilities))).any():
        return None
    return probabilities / total[..., None]

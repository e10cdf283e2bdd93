"""Matching of the items of a posterior with those of another array by id."""

from collections.abc import Sequence

import numpy as np

from ..errors import EvaluationError

__all__ = ["check_distinct", "match_items", "places_of"]


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


def _kind(values: np.ndarray) -> str:
    return "text" if values.dtype.kind == "U" else "integers"


# --- Matching of the items of a posterior with those of another array by id ---


def match_items(items: np.ndarray, ids: np.ndarray, what: str = "prediction") -> np.ndarray:
    """Position of each item of a posterior among ids, in any order.

    Raises if an id is missing, unknown, duplicated or of another kind; `what` names an element of the array
    in messages.
    """
    if ids.dtype.kind not in "iu":
        ids = ids.astype(str)
    if len(ids) and (ids.dtype.kind == "U") != (items.dtype.kind == "U"):
        raise EvaluationError(
            f"items of the posterior are {_kind(items)} ({items.tolist()[0]!r}), of the {what}s "
            f"{_kind(ids)} ({ids.tolist()[0]!r}): convert one"
        )
    check_distinct(ids, "item", what)
    place = {item: i for i, item in enumerate(ids.tolist())}
    known = items.tolist()
    missing = [item for item in known if item not in place]
    if missing:
        raise EvaluationError(
            f"no {what} for {_some('item', missing)}; every item needs one, or fit only the items that have one"
        )
    unknown = set(place).difference(known)
    if unknown:
        shown = [item for item in place if item in unknown]
        raise EvaluationError(
            f"{what}s name {_some('item', shown)}, not in the posterior; leave them out, or correct the spelling"
        )
    return np.array([place[item] for item in known])


def _some(what: str, values: Sequence[object]) -> str:
    """First of several values, and the number of the others, for an error message."""
    more = f" and {len(values) - 1} more" if len(values) > 1 else ""
    return f"{what} {values[0]!r}{more}"


def check_distinct(values: np.ndarray, dim: str, what: str = "prediction") -> None:
    """Raise if a coordinate has duplicates."""
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what}s: {dim} {unique[count > 1].tolist()[0]!r} is duplicated")

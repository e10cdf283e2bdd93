"""Matching of items by id."""

from collections.abc import Sequence

import numpy as np

from ..calls import EvaluationError


def ids_of(values: np.ndarray) -> np.ndarray:
    """Return ids as integers or text."""
    return values if values.dtype.kind in "iu" else values.astype(str)


def places_of(
    ids: np.ndarray, known: np.ndarray, what: tuple[str, str], *, complete: bool = True
) -> np.ndarray:
    """Position of each id among the known ids, -1 if unknown; raise if `complete` and one is unknown.

    `what` names the owners of the ids in messages. Raises if some are text and the others integers.
    """
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
    """Position of each item of a posterior among ids, in any order.

    Raises if an id is missing, unknown, duplicated or of another kind; `what` names an element in messages.
    """
    ids = ids_of(ids)
    places = places_of(items, ids, ("the posterior", f"the {what}s"), complete=False)
    check_distinct(ids, "item", what)
    missing = items[places < 0].tolist()
    if missing:
        raise EvaluationError(
            f"no {what} for {_some('item', missing)}; every item needs one, or fit only the items that have one"
        )
    unknown = np.delete(ids, places).tolist()
    if unknown:
        raise EvaluationError(
            f"{what}s name {_some('item', unknown)}, not in the posterior; leave them out, or correct the spelling"
        )
    return places


def _some(what: str, values: Sequence[object]) -> str:
    """First of several values, and the number of the others, for an error message."""
    more = f" and {len(values) - 1} more" if len(values) > 1 else ""
    return f"{what} {values[0]!r}{more}"


def check_distinct(values: np.ndarray, dim: str, what: str = "prediction") -> None:
    """Raise if a coordinate has duplicates."""
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what}s: {dim} {unique[count > 1].tolist()[0]!r} is duplicated")

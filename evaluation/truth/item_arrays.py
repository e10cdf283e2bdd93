"""Arrays over items that accompany others, such as the cluster of each: matched by id."""

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.matching import check_distinct, ids_of, places_of


def item_ids(array: object, what: str) -> np.ndarray:
    """Return the distinct ids of the items of an array, or raise."""
    if not isinstance(array, xr.DataArray):
        raise EvaluationError(f"{what}: expected a DataArray, found {type(array).__name__}")
    if "item" not in array.dims or "item" not in array.coords:
        raise EvaluationError(f"{what}: expected a dim item with a coordinate; found dims {array.dims}")
    ids = ids_of(array["item"].to_numpy())
    check_distinct(ids, "item", what.removesuffix("s"))
    return ids


def places_of_items(ids: np.ndarray, array: object, what: str) -> np.ndarray:
    """Positions of the items of the predictions in an array, or raise unless both have the same items."""
    own = item_ids(array, what)
    places_of(own, ids, (what, "the predictions"))
    return places_of(ids, own, ("predictions", what))


def values_of_items(ids: np.ndarray, array: object, what: str) -> np.ndarray:
    """Return the values (item,) of an array with the dim item alone, in the order of the predictions."""
    places = places_of_items(ids, array, what)
    assert isinstance(array, xr.DataArray)
    if array.dims != ("item",):
        raise EvaluationError(f"{what}: expected the dim item alone, found {array.dims}")
    return array.to_numpy()[places]


def coded_items(ids: np.ndarray, array: xr.DataArray | None, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return names and the code of each item; without an array one name for all."""
    if array is None:
        return np.array(["all"]), np.zeros(len(ids), np.intp)
    values = values_of_items(ids, array, what)
    if values.dtype.kind in "fO":
        missing = np.flatnonzero((values != values) | (values == None))  # noqa: E711 (elementwise)
        if len(missing):
            raise EvaluationError(f"{what}: item {ids[missing[0]]!s} has none; give one for every item")
        values = values.astype(str) if values.dtype.kind == "O" else values
    names, codes = np.unique(values, return_inverse=True)
    return names, codes

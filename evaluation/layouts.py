"""Layouts of plausibilities in a tree: flat along candidates, or dense over items and categories."""

import numpy as np
import xarray as xr

from .errors import EvaluationError

__all__ = [
    "OTHER",
    "REMEDY",
    "are_integers",
    "declared_categories",
    "dense_cells",
    "flat_cells",
    "law_of_other",
    "plausibility_of",
]

OTHER = "OTHER"
Cells = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # items, categories, start, code
REMEDY = "inference.label(tree, data) adds what evaluation needs to any tree"


def plausibility_of(tree: xr.DataTree | xr.DataArray) -> xr.DataArray:
    """Return the plausibility of a tree, or the array itself; raise if there is none."""
    if isinstance(tree, xr.DataArray):
        return tree
    if not isinstance(tree, xr.DataTree):
        raise EvaluationError(
            f"expected a DataTree or the DataArray of its plausibility, found {type(tree).__name__}"
        )
    if "posterior" not in tree.children:
        raise EvaluationError(f"the tree has no group posterior; {REMEDY}")
    if "plausibility" not in tree["posterior"].data_vars:
        raise EvaluationError(f"the posterior has no variable plausibility; {REMEDY}")
    array = tree["posterior"]["plausibility"]
    assert isinstance(array, xr.DataArray)
    return array


def flat_cells(array: xr.DataArray) -> Cells:
    """Items, categories, start and code of the cells of an array (..., candidate), or raise."""
    for name in ("item", "category"):
        if name not in array.coords:
            raise EvaluationError(f"plausibility has no coord {name} along candidate; {REMEDY}")
    item, labels = _ids(array["item"]), array["category"].to_numpy().astype(str)
    start = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    items = item[start]
    if len(np.unique(items)) < len(items):
        raise EvaluationError(f"the candidates of an item must be contiguous; {REMEDY}")
    named = labels != OTHER
    unique, first, inverse = np.unique(labels[named], return_index=True, return_inverse=True)
    order = np.argsort(first)
    code = np.full(len(labels), -1, np.int32)
    code[named] = np.argsort(order)[inverse]
    return items, unique[order], np.r_[start, len(item)], code


def dense_cells(array: xr.DataArray) -> Cells:
    """Items, categories, start and code of the cells of an array (..., item, category), or raise."""
    for name in ("item", "category"):
        if name not in array.dims:
            raise EvaluationError(
                f"plausibility has dims {array.dims}: expected candidate, or item and category"
            )
        if name not in array.coords:
            raise EvaluationError(f"dim {name} of plausibility has no labels; {REMEDY}")
    items, labels = _ids(array["item"]), array["category"].to_numpy().astype(str)
    start = np.arange(len(items) + 1) * len(labels)
    return items, labels, start, np.tile(np.arange(len(labels), dtype=np.int32), len(items))


def _ids(coord: xr.DataArray) -> np.ndarray:
    """Return ids as integers or text."""
    ids = coord.to_numpy()
    return ids if ids.dtype.kind in "iu" else ids.astype(str)


def are_integers(category: xr.DataArray) -> bool:
    """Whether the labels are integers, stored as integers or as decimal text."""
    return category.dtype.kind in "iu" or category.attrs.get("kind") == "integer"


def declared_categories(tree: xr.DataTree | xr.DataArray) -> np.ndarray | None:
    """Return the closed set of categories of a tree with candidates, or None if it is not stored."""
    if isinstance(tree, xr.DataArray) or "constant_data" not in tree.children:
        return None
    constant = tree["constant_data"]
    return constant["category_name"].to_numpy().astype(str) if "category_name" in constant else None


def law_of_other(
    tree: xr.DataTree | xr.DataArray, items: np.ndarray
) -> tuple[np.ndarray | None, float | None]:
    """Return the number of categories in each item's OTHER (item,) and their concentration, or None."""
    if isinstance(tree, xr.DataArray) or "constant_data" not in tree.children:
        return None, None
    data = tree["constant_data"].to_dataset()
    size = concentration = None
    if "other_size" in data:
        size = data["other_size"]
        ids = _ids(size["item"]) if "item" in size.coords else items
        if len(ids) != size.sizes["item"] or not np.isin(items, ids).all():
            raise EvaluationError(f"constant_data other_size lacks items; {REMEDY}")
        size = size.assign_coords(item=ids).sel(item=items)
        size = size.to_numpy().astype(np.int64)
    if "other_concentration" in data:
        concentration = float(data["other_concentration"])
    return size, concentration

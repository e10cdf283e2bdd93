"""Read the covariates of the items."""

from typing import Any

import numpy as np

from ..data.columns import code_ids
from ..data.errors import DataError, shown
from ..data.tables import Column, column_names, named_columns

__all__ = ["item_covariates"]

ITEM = "item"


def item_covariates(table: Any, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Read the covariates of the items from a frame, mapping or DataArray; return names and centred values.

    One row per item, in any order, in the column ``item``; rows of other items are ignored. Raises DataError
    if an item is missing or duplicated, a cell is not a finite number, or a covariate is constant.

    Shapes: names (covariate,); values (item, covariate), centred over the items, in the units of the table.
    """
    if hasattr(table, "dims") and hasattr(table, "coords"):
        table = _columns_of_array(table)
    names = [name for name in column_names(table) if name != ITEM]
    if not names:
        raise DataError(
            "covariates= has no column besides 'item'",
            remedy="give one column of numbers for each covariate",
        )
    columns = named_columns(table, {ITEM: ITEM} | {f"covariates {name}": name for name in names})
    row = _rows_of(columns[ITEM], items)
    values = np.stack([_numbers(columns[f"covariates {name}"])[row] for name in names], axis=1)
    same = np.ptp(values, axis=0) == 0
    if same.any():
        name = names[int(same.argmax())]
        raise DataError(
            f"{shown(name)} is the same for all items",
            column=name,
            value=values[0, int(same.argmax())],
            remedy="leave it out: only differences between items show in comparisons",
        )
    return np.array(names), values - values.mean(axis=0)


def _columns_of_array(array: Any) -> dict[str, Any]:
    """Return the columns of a DataArray (item, covariate)."""
    if set(array.dims) != {ITEM, "covariate"}:
        raise DataError(
            f"covariates= has dims {tuple(array.dims)}",
            allowed="('item', 'covariate')",
            remedy="rename or transpose its dims",
        )
    array = array.transpose(ITEM, "covariate")
    names = [str(name) for name in array.coords["covariate"].values]
    values = np.asarray(array.values)
    return {ITEM: array.coords[ITEM].values} | {n: values[:, k] for k, n in enumerate(names)}


def _rows_of(column: Column, items: np.ndarray) -> np.ndarray:
    """Return the row of every item."""
    index, code = code_ids(column)
    if len(index) < len(code):
        row = int(np.setdiff1d(np.arange(len(code)), np.unique(code, return_index=True)[1])[0])
        raise DataError(
            f"item {shown(index[code[row]].item())} stands twice",
            row=row + 1,
            column=column.name,
            remedy="give each item one row",
        )
    place = {name: row for row, name in enumerate(index.tolist())}
    missing = [name for name in items.tolist() if name not in place]
    if missing:
        raise DataError(
            f"no row for item {shown(missing[0])}",
            column=column.name,
            value=missing[0],
            allowed="a row for each of the items that are compared, named as they are",
            remedy="add it",
        )
    return np.array([place[name] for name in items.tolist()])


def _numbers(column: Column) -> np.ndarray:
    """Return the cells as finite numbers."""
    for row, cell in enumerate(column.values):
        number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
        if not number or not np.isfinite(cell):
            raise DataError(
                f"{shown(cell)} is not a finite number",
                row=row + 1,
                column=column.name,
                value=cell,
                allowed="finite numbers",
                remedy="correct the cell; code categories by numbers",
            )
    return np.asarray(column.values, np.float64)

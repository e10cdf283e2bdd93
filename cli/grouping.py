"""A file of groups: of the categories, such as their risk, with a value perhaps; or of the items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._legible import shown, some
from .reading import as_numbers, read_columns

__all__ = ["Groups", "read_groups", "read_item_groups"]


@dataclass(frozen=True)
class Groups:
    """Groups of categories.

    Attributes
    ----------
    path : Path
        The file.
    group : mapping of category to group
        In the order of the values or, without these, of the file.
    value : mapping of category to number, or None
        By category; None if the file has none.
    """

    path: Path
    group: Mapping[Any, str]
    value: Mapping[Any, float] | None

    def of(self, categories: Sequence[str]) -> "Groups":
        """Return the groups of these categories alone.

        Raises
        ------
        ValueError
            If a category has no group.
        """
        if missing := [name for name in categories if name not in self.group]:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise ValueError(
                f"{self.path}: no group for the category {shown(missing[0])}{more}; give every category one, also those that are "
                "only predicted or declared"
            )
        known = set(categories)
        kept = {name: group for name, group in self.group.items() if name in known}
        values = self.value and {name: self.value[name] for name in kept}
        return Groups(self.path, kept, values)


def read_groups(path: Path) -> Groups:
    """Read the groups of categories.

    Parameters
    ----------
    path : Path
        Table with columns category, group and, if there is one, value.

    Returns
    -------
    Groups
        Of the categories.

    Raises
    ------
    ValueError
        If a column is missing, a cell is empty or a category is there twice.
    """
    table = _columns(path, ("category", "group"))
    category, group = (_texts(path, name, table[name]) for name in ("category", "group"))
    _check_distinct(path, "category", category)
    value = None
    if "value" in table:
        numbers = as_numbers(path, "value", table["value"])
        if (bad := ~np.isfinite(numbers)).any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"{path}: row {row + 1}, column 'value': {shown(table['value'][row])} is not finite"
            )
        order = np.argsort(numbers, kind="stable")  # groups are shown from the least value up
        category, group = ([cells[i] for i in order] for cells in (category, group))
        value = dict(zip(category, numbers[order].tolist(), strict=True))
    return Groups(path, dict(zip(category, group, strict=True)), value)


def read_item_groups(path: Path) -> Groups | xr.DataArray:
    """Read groups of categories or, where the file has a column item, of items.

    Parameters
    ----------
    path : Path
        Table with columns category and group, or item and group.

    Returns
    -------
    Groups or DataArray, dims (item,)
        Of the categories; or of the items.
    """
    _, names = read_columns(path, [])
    if "category" in names or "item" not in names:
        return read_groups(path)
    table = _columns(path, ("item", "group"))
    item, group = (_texts(path, name, table[name]) for name in ("item", "group"))
    _check_distinct(path, "item", item)
    return xr.DataArray(np.array(group), {"item": np.array(item)}, ("item",))


def _columns(path: Path, needed: Sequence[str]) -> dict[str, np.ndarray]:
    frame, names = read_columns(path, [])
    for name in needed:
        if name not in names:
            raise ValueError(
                f"{path}: there is no column {name!r}; a file of groups has category, group and perhaps value, or item and "
                f"group; the columns are {some(names)}"
            )
    table = {name: np.asarray(frame[name]) for name in names}
    if not len(table[needed[0]]):
        raise ValueError(f"{path}: the table has no rows")
    return table


def _texts(path: Path, column: str, cells: np.ndarray) -> list[str]:
    texts: list[Any] = cells.tolist()
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{path}: row {row + 1}, column {column!r} is empty")
    return texts


def _check_distinct(path: Path, column: str, names: list[str]) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if (earlier := first.setdefault(name, row)) != row:
            raise ValueError(
                f"{path}: row {row + 1}: the {column} {shown(name)} is there twice, first in row {earlier + 1}"
            )

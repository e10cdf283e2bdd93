"""Files of groups: of the categories, such as their risk, perhaps with a value; or of the items."""

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
    """Groups of categories, read from a file."""

    path: Path
    group: Mapping[Any, str]  # category -> group, in the order of the values or else of the file
    value: Mapping[Any, float] | None  # category -> number; None without a column of values

    def of(self, categories: Sequence[str]) -> "Groups":
        """Return the groups of these categories only; raise if one has no group."""
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
    """Read the groups of categories from a table with columns category, group and, optionally, value."""
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
        order = np.argsort(numbers, kind="stable")  # groups are shown in increasing order of value
        category, group = ([cells[i] for i in order] for cells in (category, group))
        value = dict(zip(category, numbers[order].tolist(), strict=True))
    return Groups(path, dict(zip(category, group, strict=True)), value)


def read_item_groups(path: Path) -> Groups | xr.DataArray:
    """Read groups of categories or, from a file with a column item, of items (item,)."""
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

"""Tables as plain columns: a frame of any library, or a mapping of columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeGuard

import narwhals as nw
import numpy as np

from .errors import DataError, shown

__all__ = ["MAX_ROWS", "Column", "Columns", "column_names", "is_listed", "listed", "named_columns"]

MAX_ROWS = 2**31 - 1  # codes are int32


@dataclass(frozen=True)
class Column:
    """Column as plain Python values.

    `declared` holds the categories that the dtype declares: a pandas categorical or a polars Enum. A polars
    Categorical and an Arrow dictionary declare none: they are encodings.
    """

    name: str  # in messages
    values: list[Any]  # cells, in row order
    declared: list[Any] | None = None


@dataclass(frozen=True)
class Columns(Mapping[str, Column]):
    """Columns by role, taken from the table at each access, so that only one at a time need be in memory.

    `names` maps roles to names of columns; `take` returns the column of a name.
    """

    names: Mapping[str, str]
    take: Callable[[str], Column]

    def __getitem__(self, role: str) -> Column:
        return self.take(self.names[role])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def named_columns(table: Any, roles: Mapping[str, str]) -> Columns:
    """Columns of a table by role (argument name), all of one positive length.

    The table is a pandas, polars or pyarrow frame, anything else that narwhals reads, or a mapping name ->
    cells. Raises if it is no table, a column is missing or named twice, or there is no row.
    """
    names, n_rows, column = _open(table)
    for role, name in roles.items():
        if name not in names:
            raise _missing_column(role, name, names)
    if len({*roles.values()}) < len(roles):
        raise DataError(
            f"one column is named twice: {', '.join(f'{r}={shown(n)}' for r, n in roles.items())}",
            remedy="give each argument a column of its own",
        )
    if n_rows == 0:
        raise DataError("the table has columns but no rows", remedy="check what it was read from")
    if n_rows > MAX_ROWS:
        raise DataError(
            f"the table has {n_rows:,} rows",
            value=n_rows,
            allowed=f"{MAX_ROWS:,} rows",
            remedy="split it by item: items are independent",
        )
    return Columns(roles, column)


def column_names(table: Any) -> list[str]:
    """Names of the columns of a table, in their order; raises if it is no table or a name is repeated."""
    return list(_open(table)[0])


def is_listed(values: object) -> TypeGuard[Sequence[Any] | np.ndarray]:
    """Type test for an ordered collection of known length: not text, a set, a mapping or a generator."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1
    unordered = (str, bytes, Mapping, set, frozenset)
    return (
        isinstance(values, Sized)
        and isinstance(values, Iterable)
        and not isinstance(values, unordered)
    )


def listed(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """List of plain Python objects.

    Dates and times stay objects; NumPy's tolist would turn them into integers.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind not in "mM":
        return values.tolist()
    return list(values)


_Opened = tuple[Sequence[str], int, Callable[[str], Column]]


def _open(table: Any) -> _Opened:
    """Names, number of rows, and accessor of the columns of a table."""
    return _open_mapping(table) if isinstance(table, Mapping) else _open_frame(table)


def _open_mapping(table: Mapping[str, Any]) -> _Opened:
    lengths = {}
    for name, values in table.items():
        if not is_listed(values):
            raise DataError(
                f"{shown(values)} is a {type(values).__name__}, not a column",
                column=name,
                value=values,
                allowed="a list, a 1-D array or a series of cells",
                remedy="pass the cells of each column in the order of the rows",
            )
        lengths[name] = len(values)
    if len({*lengths.values()}) > 1:
        (first, n), (other, m) = (
            min(lengths.items(), key=_length),
            max(lengths.items(), key=_length),
        )
        raise DataError(
            f"column {shown(first)} has {n:,} rows and column {shown(other)} has {m:,}",
            column=first,
            value=n,
            remedy="give every column as many cells as there are rows",
        )
    n_rows = next(iter(lengths.values()), 0)
    return list(table), n_rows, lambda name: Column(name, listed(table[name]))


def _open_frame(table: Any) -> _Opened:
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        lazy = callable(getattr(table, "collect", None))
        raise DataError(
            f"a {type(table).__name__} is not a table",
            value=table,
            allowed="a pandas, polars or pyarrow table, or a mapping of column names to cells",
            remedy="call .collect() first" if lazy else "convert it to a data frame",
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            f"two columns have one name ({' '.join(str(error).split())})",
            remedy="rename or drop one of them",
        ) from None
    return frame.columns, len(frame), lambda name: _frame_column(name, frame.get_column(name))


def _frame_column(name: str, series: nw.Series[Any]) -> Column:
    return Column(name, series.to_list(), _declared(series))


def _declared(series: nw.Series[Any]) -> list[Any] | None:
    """Categories that a pandas categorical or a polars Enum declares."""
    if series.implementation.is_pandas_like():
        categories = getattr(series.to_native().dtype, "categories", None)
        return None if categories is None else categories.tolist()
    return list(series.dtype.categories) if isinstance(series.dtype, nw.Enum) else None


def _length(named: tuple[str, int]) -> int:
    return named[1]


def _missing_column(role: str, name: str, names: Sequence[str]) -> DataError:
    folded = {str(n).casefold(): n for n in names}
    near = get_close_matches(str(name).casefold(), folded, n=1)
    there = ", ".join(map(shown, names[:20])) + (", ..." if len(names) > 20 else "")
    return DataError(
        f"there is no column {shown(name)}",
        column=name,
        allowed=f"the columns that are there: {there or 'none'}",
        remedy=f"name the column: {role}={shown(folded[near[0]]) if near else '...'}",
    )

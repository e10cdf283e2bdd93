"""Features of items: matched by id, checked, and standardised column by column.

Every refusal and every warning is of one of these rules:

======================================  =========================================================================
a missing or infinite value             refused, by item and column
text in a column                        refused; text of decimal numbers is read as numbers
True and False                          1 and 0
lists in a column, such as embeddings   one feature for each place; refused unless all have one length
two columns of one name                 refused
a column that counts the rows           a warning: an index that was written by mistake tells of the order only
a column of one value only              set aside, with a warning; refused if there is no other
linearly dependent columns              a warning: the prior says how they share an effect, predictions do not change
as many columns as items, or more       a warning: the prior does part of the work
an item that stands twice               refused
an item of the data without features    refused
features of items not in the data       kept aside, with a warning that says how many
a column that repeats the answers       a warning: if it was made from them, they count twice
======================================  =========================================================================
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import narwhals as nw
import numpy as np

from ..._messages import first_reprs, short_repr, warn_user
from ...posterior.table_text import columns_alike
from .errors import DataError, DataWarning, refused_argument
from .reading.columns import code_ids, first_repeat, is_empty, match_ids, nearest
from .reading.frames import Column, Columns, column_names, is_listed, named_columns
from .reading.numbers import MAX_SCORE, number_of

ITEM = "item"
WHERE = "features"
_FORMS = "a DataArray (item, feature), or a table with a column of item ids and columns of numbers"
_refused = partial(refused_argument, WHERE)


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Standardised features of items, with the mean and standard deviation of each column that they were standardised by.

    Attributes
    ----------
    values : numpy.ndarray
        Features (item, feature): (raw - mean) / scale. By `item_features`: mean zero, standard deviation one over the items.
    names : numpy.ndarray
        Names of the features, (feature,), text as objects.
    mean, scale : numpy.ndarray
        Mean and standard deviation (of a population: divided by n) of each raw column over the items of the data, (feature,).
    items : numpy.ndarray
        Ids of the items, (item,), text or integers.
    """

    values: np.ndarray
    names: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    items: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def like(self, features: Any, items: np.ndarray | None = None, *, but: np.ndarray | None = None) -> Self:
        """Standardise features of other items by the same means and standard deviations.

        Columns are matched by name, in any order; others are left out, with a warning. `features` as for `item_features`;
        `items` chooses items and their order, by default all of `features` in theirs, without those of `but`.
        """
        table = _read(features)
        if but is not None:
            items = table.items[match_ids(table.items, but, "items") < 0]
            if not len(items):
                raise _refused(
                    "all items have annotations already",
                    remedy="give features of further items, or leave them out",
                )
        position = _columns_of_names(table, self.names)
        raw, rows = table.values[:, position], np.arange(len(table.items))
        if items is not None:
            rows = _rows_of(items, table.items, "chosen items")
            raw = raw[rows]
        _refuse_not_finite(raw, table.items[rows], self.names)
        return replace(self, values=(raw - self.mean) / self.scale, items=table.items[rows])


def item_features(features: Any, items: np.ndarray) -> ItemFeatures:
    """Read the features of the items of the data, in their order, and standardise every column over them.

    The column of item ids of a table is the one named ``item``, else the one with a synonym of that name, else the only one
    that is not of numbers. A DataArray has its ids in the coordinate ``item``, and the names of the features, if any, in the
    coordinate of its other dim. What is refused, and what is read with a warning, says the docstring of the module.

    Parameters
    ----------
    features : DataArray, frame or mapping of str to sequence
        DataArray (item, feature), or a pandas, polars or pyarrow table with one row for each item.
    items : numpy.ndarray
        Ids of the items of the data, (item,), text or integers.

    Returns
    -------
    ItemFeatures
        Values in the order of `items`, columns in that of `features`.

    Raises
    ------
    DataError
        It names the item and the column, the value found, and the remedy.
    """
    table = _read(features)
    rows = _rows_of(items, table.items, "items of the data")
    _tell_others(len(table.items) - len(rows))
    raw = table.values[rows]
    _refuse_not_finite(raw, table.items[rows], table.names)
    varies = _varying(raw, table.names)
    raw, names = raw[:, varies], table.names[varies]
    mean, scale = raw.mean(axis=0), _standard_deviations(raw)
    found = ItemFeatures((raw - mean) / scale, names, mean, scale, table.items[rows])
    _warn_dependent(found)
    return found


# --- Reading ---


@dataclass(frozen=True)
class _Raw:
    """Features as they are in the table: ids (row,), names (feature,), numbers (row, feature) in which NaN is missing."""

    items: np.ndarray
    names: np.ndarray
    values: np.ndarray


def _read(features: Any) -> _Raw:
    """Read a DataArray or a table; refuses repeated items, names and columns that are not of numbers."""
    if isinstance(features, np.ndarray):
        raise _refused(
            f"an array of shape {features.shape} does not say which row is which item",
            remedy='give the items: xarray.DataArray(array, {"item": ids}, dims=("item", "feature"))',
        )
    with _in_argument():
        raw = _read_array(features) if hasattr(features, "dims") else _read_table(features)
    if not len(raw.names):
        raise _refused(
            "there is no column of numbers beside that of the items", remedy="give one for each feature"
        )
    if (repeat := first_repeat(np.unique(raw.names, return_inverse=True)[1])) is not None:
        raise _refused(f"two features are named {short_repr(raw.names[repeat])}", remedy="rename one of them")
    return raw


@contextmanager
def _in_argument() -> Iterator[None]:
    """Context manager: an error names the argument."""
    try:
        yield
    except DataError as error:
        if WHERE in error.where:
            raise
        raise error.moved(f"{WHERE}, {error.where}" if error.where else f"argument {WHERE}") from None


def _read_array(array: Any) -> _Raw:
    """Read a DataArray (item, feature); features without a coordinate are named by their places, from 1."""
    if not hasattr(array, "to_numpy") or ITEM not in array.dims or array.ndim != 2:
        raise _refused(
            f"dims {tuple(array.dims)} are not those of an item and a feature",
            allowed=_FORMS,
            remedy="rename or select its dims, and of a Dataset take one variable",
        )
    if ITEM not in array.coords:
        raise _refused(
            "the dim 'item' has no ids", remedy="give them as a coordinate: features.assign_coords(item=ids)"
        )
    array = array.transpose(ITEM, ...)
    dim = array.dims[1]
    places = range(1, array.shape[1] + 1)
    names = array.coords[dim].to_numpy() if dim in array.coords else [f"{dim} {place}" for place in places]
    names = np.array([*map(str, names)], object)
    items = _item_ids(Column(ITEM, array.coords[ITEM].to_numpy().tolist()))
    values = _numbers(array.to_numpy().reshape(-1))
    if values is None:
        raise _refused(
            f"values of dtype {array.dtype} are not numbers", remedy="code categories as columns of 0 and 1"
        )
    return _Raw(items, names, values.reshape(array.shape))


def _read_table(table: Any) -> _Raw:
    """Read a table with one row for each item."""
    names = column_names(table)
    columns = named_columns(table, {name: name for name in names})
    id_column = _named_id_column(names)
    taken = {name: _values(_cells(table, columns, name)) for name in names if name != id_column}
    other = [name for name, values in taken.items() if values is None]
    if id_column is None:
        id_column = _only_other(names, other)
    elif other:
        raise _not_numbers(columns[other[0]])
    items = _item_ids(columns[id_column])
    numbers = {name: values for name, values in taken.items() if values is not None}
    _tell_counted({name: values for name, values in numbers.items() if values.ndim == 1})
    own = [name for column, values in numbers.items() for name in _names_in(str(column), values)]
    values = np.column_stack([np.zeros((len(items), 0)), *numbers.values()])
    return _Raw(items, np.array(own, object), values)


def _names_in(column: str, values: np.ndarray) -> list[str]:
    """Names of the features of a column: its own, or with the places in its lists, from 1."""
    return [column] if values.ndim == 1 else [f"{column} {place + 1}" for place in range(values.shape[1])]


def _tell_counted(columns: Mapping[Any, np.ndarray]) -> None:
    """Warn of columns that number the rows in their order."""
    counted = [
        str(name)
        for name, values in columns.items()
        if len(values) >= FEWEST_ITEMS and (values - values[0] == np.arange(len(values))).all()
    ]
    if counted:
        verb = f"count{'s' * (len(counted) == 1)}"
        _warn(
            f"{first_reprs(counted, 3)} {verb} the rows of the table, as an index does that was written with it: leave it out "
            "unless their order tells of the items"
        )


def id_column_of(table: Any) -> str:
    """Name of the column of item ids of a table: `item`, or a synonym of it, or the only column that is not of numbers."""
    names = column_names(table)
    if (named := _named_id_column(names)) is not None:
        return named
    columns = named_columns(table, {name: name for name in names})
    return _only_other(names, [name for name in names if _values(_cells(table, columns, name)) is None])


def _only_other(names: list[str], other: list[str]) -> str:
    """Return the only column that is not of numbers; raise if there are none or several."""
    if len(other) != 1:
        raise _no_id_column(names, other)
    return other[0]


def _named_id_column(names: list[str]) -> str | None:
    """Name of the column of item ids, `item` or else the only synonym of it; None if no name says it."""
    if ITEM in names:
        return ITEM
    alike = columns_alike(ITEM, names, set())
    return alike[0] if len(alike) == 1 else None


def _cells(table: Any, columns: Columns, name: str) -> np.ndarray:
    """Cells of a column as an array, of objects where the table has no type for them."""
    if isinstance(table, Mapping):
        cells = table[name]
        return cells if isinstance(cells, np.ndarray) else _objects(columns[name].values)
    try:
        return nw.from_native(table, eager_only=True).get_column(name).to_numpy()
    except nw.exceptions.DuplicateError:
        return _objects(columns[name].values)


def _objects(cells: Sequence[Any]) -> np.ndarray:
    """Array of objects, shape (cell,)."""
    return np.fromiter(cells, object, len(cells))


def _values(cells: np.ndarray) -> np.ndarray | None:
    """Convert cells to float64, (cell,), or of lists of one length (cell, place); None if they are neither numbers nor such."""
    first = next((cell for cell in cells if not is_empty(cell)), None) if cells.dtype.kind == "O" else None
    if cells.ndim == 1 and not is_listed(first):
        return _numbers(cells)
    lists = cells if cells.ndim == 2 else _stacked(cells, np.asarray(first))
    if lists is None or not lists.shape[1]:
        return None
    numbers = _numbers(lists.reshape(-1))
    return None if numbers is None else numbers.reshape(lists.shape)


def _stacked(cells: np.ndarray, first: np.ndarray) -> np.ndarray | None:
    """Stack lists (cell, place), NaN where one is missing; None if a cell is no list of as many numbers as the first."""
    if first.ndim != 1 or first.dtype.kind not in "iufbO":
        return None
    missing = np.full(len(first), np.nan)
    lists = [np.asarray(cell) if is_listed(cell) else missing if is_empty(cell) else None for cell in cells]
    fit = all(own is not None and own.shape == first.shape and own.dtype.kind in "iufbO" for own in lists)
    return np.stack([own for own in lists if own is not None]) if fit else None


def _numbers(cells: np.ndarray) -> np.ndarray | None:
    """Convert cells to float64, (cell,), NaN where they are missing; None unless all others are numbers or text of them."""
    if cells.dtype.kind in "iufb":
        return cells.astype(np.float64)
    if cells.dtype.kind not in "OUST":
        return None
    values = [*map(_number, cells.tolist())]
    if None in values:
        return None
    numbers = np.array(values, np.float64)
    return None if cells.dtype.kind != "O" and np.isnan(numbers).all() else numbers


def _number(cell: Any) -> float | None:
    """Convert a cell to a number, NaN if it is missing; None if it is neither."""
    if isinstance(cell, bool | np.bool_):
        return float(cell)
    if is_empty(cell):
        return np.nan
    return number_of(cell)


def _item_ids(column: Column) -> np.ndarray:
    """Ids of the items, each of one row."""
    items, code = code_ids(column)
    if (place := first_repeat(code)) is not None:
        raise DataError(
            f"item {short_repr(items[code[place]].item())} stands in an earlier row too",
            row=column.row(place),
            column=column.name,
            value=items[code[place]].item(),
            allowed="one row for each item",
            remedy="keep the row that holds its features",
            where=f"{WHERE}, row {column.row(place):,}, column {short_repr(column.name)}",
        )
    return items


# --- Matching ---


def _rows_of(items: np.ndarray, index: np.ndarray, whose: str) -> np.ndarray:
    """Rows of items in the table, (item,); raises if some are missing, and names up to three."""
    items = np.asarray(items)
    if items.dtype.kind == "O":
        items = code_ids(Column(ITEM, items.tolist()))[0]
    rows = match_ids(items, index, "features")
    if (rows < 0).any():
        missing = items[rows < 0]
        raise _refused(
            f"{len(missing):,} of the {len(items):,} {whose} {'have' if len(missing) > 1 else 'has'} no features: "
            f"{first_reprs(missing.tolist(), 3)}",
            value=missing[0].item(),
            allowed=f"features of every item; {nearest(missing[0].item(), index)}",
            remedy="add their rows, or leave their annotations out: .select(items=...)",
        )
    return rows


def _tell_others(n: int) -> None:
    """Warn of features of items that are not in the data."""
    if n:
        _warn(
            f"{n:,} item{'s' * (n > 1)} kept aside, without an annotation in the data; inference.predict(tree, features) "
            "estimates the truth of such items"
        )


def _columns_of_names(table: _Raw, names: np.ndarray) -> list[int]:
    """Places of the columns with these names; raises if one is missing, and warns of others."""
    place = {name: k for k, name in enumerate(table.names.tolist())}
    missing = [name for name in names.tolist() if name not in place]
    if missing:
        raise _refused(
            f"there is no column {first_reprs(missing, 3)}",
            value=missing[0],
            allowed=f"all {len(names):,} features of the fit; {nearest(missing[0], table.names)}",
            remedy="add it, or rename the column that holds it",
        )
    others = [name for name in place if name not in {*names.tolist()}]
    if others:
        _warn(f"columns that were not features of the fit are left out: {first_reprs(others, 3)}")
    return [place[name] for name in names.tolist()]


# --- Checks ---


def _refuse_not_finite(raw: np.ndarray, items: np.ndarray, names: np.ndarray) -> None:
    """Raise at the first value that is missing, infinite or beyond the range in which squares are finite."""
    wrong = ~(np.abs(raw) <= MAX_SCORE)
    if not wrong.any():
        return
    row, k = np.argwhere(wrong)[0].tolist()
    value, n, d = raw[row, k], int(wrong.sum()), int(wrong.any(axis=0).sum())
    problem = "is missing" if np.isnan(value) else f"is {value:g}"
    raise DataError(
        f"the value of item {short_repr(items[row].item())} {problem} ({n:,} such value{'s' * (n > 1)} in {d:,} "
        f"column{'s' * (d > 1)})",
        column=str(names[k]),
        value=value,
        allowed=f"finite numbers, at most {MAX_SCORE:g} in size",
        remedy="fill the value in, for example by the median of the column, with a column of 0 and 1 that says where; or leave "
        "the column out",
        where=f"{WHERE}, column {short_repr(str(names[k]))}",
    )


def _varying(raw: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Mask of the columns whose values differ by more than rounding, (feature,); warns of the others."""
    spread, size = np.ptp(raw, axis=0), np.abs(raw).max(axis=0)
    varies = spread > 8 * np.finfo(np.float64).eps * size
    if varies.all():
        return varies
    same = names[~varies]
    named = first_reprs(same.tolist(), 3)
    if not varies.any():
        raise _refused(
            f"no column differs between the {len(raw):,} items of the data: {named}",
            value=str(same[0]),
            remedy="give features that tell items apart, or leave features out",
        )
    _warn(
        f"set aside {len(same):,} of {len(names):,} columns, constant over the {len(raw):,} items of the data: {named}"
    )
    return varies


def _standard_deviations(raw: np.ndarray) -> np.ndarray:
    """Return population standard deviations of columns that vary, (feature,), however small or large their values."""
    spread = np.ptp(raw, axis=0)
    return spread * np.std((raw - raw.min(axis=0)) / spread, axis=0)


DEPENDENT = 1e-10  # share of the variance of a combination of columns that rounding leaves


def _warn_dependent(features: ItemFeatures) -> None:
    """Warn if the columns are as many as the items, or if one is a linear combination of others."""
    n, d = features.values.shape
    if d >= n:
        _warn(
            f"{d:,} features of {n:,} items: the answers do not identify every effect, and the prior says how features share "
            "one. Predictions are proper; single effects mean little"
        )
        return
    eigenvalue, vector = np.linalg.eigh(features.values.T @ features.values / n)
    null = eigenvalue <= DEPENDENT * eigenvalue[-1]
    if not null.any():
        return
    share = (vector[:, null] ** 2).sum(axis=1)
    members = features.names[share > 1e-6]
    _warn(
        f"{first_reprs(members.tolist(), 4)} are linearly dependent ({null.sum():,} of these {len(members):,} are surplus): the "
        "prior says how they share an effect. Predictions do not change; single effects mean little. Leave the surplus out to "
        "read them"
    )


FEWEST_ITEMS = 20  # of which a column that repeats the answers is no coincidence


def warn_of_labels(features: ItemFeatures, label: np.ndarray) -> None:
    """Warn of columns that have one value wherever items have the same label, such as the most frequent answer.

    Shapes: label int (item,), negative where it is not known.
    """
    known = np.flatnonzero(label >= 0)
    order = known[np.argsort(label[known], kind="stable")]
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    if len(order) < FEWEST_ITEMS or not 2 <= len(starts) <= len(order) / 4:
        return
    own = features.values[order]
    same = (np.minimum.reduceat(own, starts) == np.maximum.reduceat(own, starts)).all(axis=0)
    _tell_repeated(features.names[same & (np.ptp(own, axis=0) > 0)], "the most frequent answer to")


def warn_of_numbers(features: ItemFeatures, number: np.ndarray) -> None:
    """Warn of columns that are a linear function of numbers of the items, such as mean scores.

    Shapes: number float (item,), NaN where it is not known.
    """
    known = np.isfinite(number)
    if known.sum() < FEWEST_ITEMS or not np.ptp(number[known]) > 0:
        return
    own, target = features.values[known], number[known]
    own, target = own - own.mean(axis=0), (target - target.mean()) / np.std(target)
    size = np.sqrt((own**2).mean(axis=0))
    correlation = target @ own / len(own) / np.where(size > 0, size, 1.0)
    _tell_repeated(features.names[np.abs(correlation) > 1 - DEPENDENT], "the mean score of")


def _tell_repeated(names: np.ndarray, answer: str) -> None:
    """Warn of columns that repeat the answers."""
    if len(names):
        verb = f"repeat{'s' * (len(names) == 1)}"
        _warn(
            f"{first_reprs(names.tolist(), 4)} {verb} {answer} every item: what was made from the answers counts them twice, "
            "so that the posterior is too sure; leave it out unless it was known before"
        )


def _warn(said: str) -> None:
    warn_user(f"{WHERE}: {said}", DataWarning)


def _no_id_column(names: list[str], other: list[str]) -> DataError:
    """Error about a table in which no column, or more than one, may hold the ids of the items."""
    found = f"{first_reprs(other, 3)} are all text" if other else "all columns are numbers"
    return _refused(
        f"no column is named 'item', and {found}; the columns are {first_reprs(names, 6)}",
        allowed=_FORMS,
        remedy="rename the column of item ids to 'item'; ids in the index of a pandas frame: features.reset_index(names='item')",
    )


def _not_numbers(column: Column) -> DataError:
    """Error about a column that holds something else than numbers."""
    lists = [place for place, cell in enumerate(column.values) if is_listed(cell)]
    if lists and _values(_objects([column.values[lists[0]]])) is not None:
        return _not_alike(column, lists[0])
    row = next((k for k, cell in enumerate(column.values) if is_listed(cell) or _number(cell) is None), 0)
    cell = column.values[row]
    remedy = "code categories as columns of 0 and 1, for example by pandas.get_dummies; write decimal points; or leave the "
    remedy += "column out"
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        remedy = "write a column for each number; lists are read from frames, Parquet and JSON"
    return _refused_cell(column, row, "is not a number", "numbers, or True and False", remedy)


def _not_alike(column: Column, first: int) -> DataError:
    """Error about a column of lists, not all of as many numbers as the first list."""
    n = len(column.values[first])
    row = next(
        place
        for place, cell in enumerate(column.values)
        if not is_empty(cell) and (not is_listed(cell) or len(cell) != n or _values(_objects([cell])) is None)
    )
    allowed = f"a list of {n:,} numbers, as in row {column.row(first):,}"
    return _refused_cell(
        column,
        row,
        "is not like the others",
        allowed,
        "give every item the same embedding, or leave the column out",
    )


def _refused_cell(column: Column, place: int, problem: str, allowed: str, remedy: str) -> DataError:
    """Error about a cell."""
    row, cell = column.row(place), column.values[place]
    return DataError(
        f"{short_repr(cell)} {problem}",
        row=row,
        column=str(column.name),
        value=cell,
        allowed=allowed,
        remedy=remedy,
        where=f"{WHERE}, row {row:,}, column {short_repr(column.name)}",
    )

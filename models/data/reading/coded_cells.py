"""Cells of one kind, text or integers, as codes: factorised by the library of their frame, never listed one by one."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import narwhals as nw
import numpy as np

DENSE = 4  # integers within so many times the number of rows are coded by a table of all in their range
SHORT_TABLE = 65_536  # distinct integers whose first rows are looked for row by row
BLOCK = 32_768  # rows at a time


class CodedCells(Sequence[Any]):
    """Cells by the list of distinct ones, in order of first appearance, and their codes (row,) int32.

    All are of one type, str or int, and none is missing.
    """

    code: np.ndarray
    values: list[Any] | np.ndarray  # distinct ones; an array is of integers

    def __init__(self, distinct: list[Any] | np.ndarray, code: np.ndarray) -> None:
        self.values, self.code = distinct, code

    @cached_property
    def distinct(self) -> list[Any]:
        """List of the distinct cells."""
        return self.values.tolist() if isinstance(self.values, np.ndarray) else self.values

    def __len__(self) -> int:
        return len(self.code)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self.distinct[code] for code in self.code[place].tolist()]
        return self.distinct[self.code[place]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.distinct.__getitem__, self.code.tolist())

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Place of the first cell with a value."""
        return start + int((self.code[start:stop] == self.distinct.index(value)).argmax())

    def kept(self, rows: np.ndarray) -> "CodedCells":
        """Cells of some rows, by their numbers."""
        code, first = by_appearance(self.code[rows])
        return CodedCells([self[row] for row in rows[first].tolist()], code)

    def mask(self, test: Callable[[Any], bool]) -> np.ndarray:
        """Mask of the cells that pass a test, (row,)."""
        return np.fromiter(map(test, self.distinct), bool, len(self.distinct))[self.code]


def coded_cells(series: nw.Series[Any]) -> CodedCells | None:
    """Factorise a series; None if cells are missing, or are not all text or all integers."""
    if len(series) == 0:
        return None
    library, keys = series.implementation, None
    if library.is_pandas():
        keys = _keys_of_pandas(series.to_native(), library.to_native_namespace())
    elif library.is_polars():
        keys = _keys_of_polars(series.to_native(), library.to_native_namespace())
    elif library.is_pyarrow():
        keys = _keys_of_pyarrow(series.to_native(), library.to_native_namespace())
    if keys is None:
        return None
    if not isinstance(keys, np.ndarray):
        return coded_integers(keys.cells)
    code, first = by_appearance(keys)
    distinct = series[first].to_list()
    return CodedCells(distinct, code) if {*map(type, distinct)} in ({str}, {int}) else None


def coded_integers(values: np.ndarray) -> CodedCells | None:
    """Factorise an array; None if it is empty, or not of integers."""
    if values.dtype.kind not in "iu" or len(values) == 0:
        return None
    code, first = by_appearance(values)
    return CodedCells(values[first], code)


class _Integers(NamedTuple):
    """Keys that are the cells."""

    cells: np.ndarray


def _keys_of_pandas(series: Any, pd: Any) -> np.ndarray | _Integers | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return _Integers(series.to_numpy())
    if hasattr(dtype, "categories"):
        keys = series.cat.codes.to_numpy()
    elif getattr(dtype, "kind", "") in ("i", "u"):  # of integers that can be missing
        if series.isna().any():
            return None
        return _Integers(series.to_numpy(np.int64 if dtype.kind == "i" else np.uint64))
    elif dtype.name in ("object", "str", "string"):
        # a dict of objects takes 1, 1.0 and True as equal: only text is safe
        if dtype.name == "object" and pd.api.types.infer_dtype(series, skipna=False) != "string":
            return None
        keys = pd.factorize(series)[0]
    else:
        return None
    return keys if keys.min() >= 0 else None


def _keys_of_polars(series: Any, pl: Any) -> np.ndarray | _Integers | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    if series.null_count():
        return None
    if series.dtype.is_integer():
        keys = series.to_numpy()
        return _Integers(keys) if keys.dtype.kind in "iu" else None
    if series.dtype == pl.String:
        series = series.cast(pl.Categorical)
    elif series.dtype not in (pl.Categorical, pl.Enum):
        return None
    return series.to_physical().to_numpy()


def _keys_of_pyarrow(column: Any, pa: Any) -> np.ndarray | _Integers | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    if column.null_count:
        return None
    kind = column.type
    if pa.types.is_integer(kind):
        return _Integers(column.to_numpy())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    elif not pa.types.is_dictionary(kind):
        return None
    chunks = column.unify_dictionaries().chunks
    if any(chunk.dictionary.null_count for chunk in chunks):
        return None
    if len(chunks[0].dictionary) > len(chunks[0].dictionary.unique()):
        return None
    return np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])


# --- Numbers in order of first appearance ---


def by_appearance(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factorise integers in order of first appearance: code (row,) int32, and first row of each, (distinct,)."""
    if ascending(keys):
        differs = keys[1:] != keys[:-1]
        code = np.zeros(len(keys), np.int32)
        np.cumsum(differs, dtype=np.int32, out=code[1:])
        return code, np.append(0, np.flatnonzero(differs) + 1)
    low = int(keys.min())
    span = int(keys.max()) - low + 1
    if span > max(DENSE * len(keys), SHORT_TABLE):
        _, first, rank = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        code = np.empty(len(order), np.int32)
        code[order] = np.arange(len(order), dtype=np.int32)
        return code[rank], first[order]
    if span <= SHORT_TABLE < len(keys):  # most often the first rows show all
        first = np.sort(np.unique(keys[:SHORT_TABLE], return_index=True)[1])
        code = _numbered(keys, first, low, span)
        if code.min() >= 0:
            return code, first
    rows = np.full(span, len(keys), np.int32)  # that are first
    for block in [*blocks(len(keys))][::-1]:
        # of equal places the last that is written stays
        numbers = np.arange(block.start, block.stop, dtype=np.int32)
        rows[_places(keys[block], low)[::-1]] = numbers[::-1]
    first = np.sort(rows[rows < len(keys)]).astype(np.int64)
    return _numbered(keys, first, low, span), first


def _numbered(keys: np.ndarray, first: np.ndarray, low: int, span: int) -> np.ndarray:
    """Code integers from `low` on, within `span`, by the rows in which they are first, int32 (row,); -1 for others."""
    number = np.full(span, -1, np.int32)
    number[_places(keys[first], low)] = np.arange(len(first), dtype=np.int32)
    code = np.empty(len(keys), np.int32)
    for rows in blocks(len(keys)):
        np.take(number, _places(keys[rows], low), mode="clip", out=code[rows])
    return code


def _places(keys: np.ndarray, low: int) -> np.ndarray:
    """Integers above `low`, as indexes, int64 (row,)."""
    if keys.dtype.kind == "u":
        return (keys - keys.dtype.type(low)).astype(np.int64)
    keys = keys.astype(np.int64, copy=False)
    return keys - low if low else keys


# --- Passes over long arrays, block by block: first touching fresh memory costs more than the arithmetic ---


def blocks(n: int) -> Iterator[slice]:
    """Rows in blocks, so that what lies between stays in the cache."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def ascending(keys: np.ndarray, *, strictly: bool = False) -> bool:
    """Whether no integer is less than the one before, or equal if `strictly`; ends at the first block with such."""
    rises = np.greater if strictly else np.greater_equal
    return all(
        rises(
            keys[rows.start + 1 : rows.stop + 1], keys[rows.start : rows.stop][: len(keys) - 1 - rows.start]
        ).all()
        for rows in blocks(len(keys))
    )


def recoded(table: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Look codes up in a table of int32, (row,); -1 is its last place."""
    found = np.empty(len(code), np.int32)
    for rows in blocks(len(code)):
        np.take(table, code[rows], mode="wrap", out=found[rows])
    return found

"""Cells of one kind, text or integers, as codes: factorised by the library of their frame, never listed one by one."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import narwhals as nw
import numpy as np

DENSE = 4  # integers within so many times the number of rows are coded by a table of all in their range
SHORT_TABLE = 65_536  # distinct integers whose first rows are looked for row by row


class CodedCells(Sequence[Any]):
    """Cells by the list of distinct ones, in order of first appearance, and their codes (row,) int32.

    All are of one type, str or int, and none is missing.
    """

    distinct: list[Any]
    code: np.ndarray

    def __init__(self, distinct: list[Any], code: np.ndarray) -> None:
        self.distinct, self.code = distinct, code

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
    code, first = by_appearance(keys)
    distinct = series[first].to_list()
    return CodedCells(distinct, code) if {*map(type, distinct)} in ({str}, {int}) else None


def coded_integers(values: np.ndarray) -> CodedCells | None:
    """Factorise an array; None if it is empty, or not of integers."""
    if values.dtype.kind not in "iu" or len(values) == 0:
        return None
    code, first = by_appearance(values)
    return CodedCells(values[first].tolist(), code)


def _keys_of_pandas(series: Any, pd: Any) -> np.ndarray | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return series.to_numpy()
    if hasattr(dtype, "categories"):
        keys = series.cat.codes.to_numpy()
    elif getattr(dtype, "kind", "") in ("i", "u"):  # of integers that can be missing
        return None if series.isna().any() else series.to_numpy(np.int64 if dtype.kind == "i" else np.uint64)
    elif dtype.name in ("object", "str", "string"):
        # a dict of objects takes 1, 1.0 and True as equal: only text is safe
        if dtype.name == "object" and pd.api.types.infer_dtype(series, skipna=False) != "string":
            return None
        keys = pd.factorize(series)[0]
    else:
        return None
    return keys if keys.min() >= 0 else None


def _keys_of_polars(series: Any, pl: Any) -> np.ndarray | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    if series.null_count():
        return None
    if series.dtype.is_integer():
        keys = series.to_numpy()
        return keys if keys.dtype.kind in "iu" else None
    if series.dtype == pl.String:
        series = series.cast(pl.Categorical)
    elif series.dtype not in (pl.Categorical, pl.Enum):
        return None
    return series.to_physical().to_numpy()


def _keys_of_pyarrow(column: Any, pa: Any) -> np.ndarray | None:
    """Integers that are equal where the cells are, (row,); None where codes would not tell all cells apart."""
    if column.null_count:
        return None
    kind = column.type
    if pa.types.is_integer(kind):
        return column.to_numpy()
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
    if (keys[1:] >= keys[:-1]).all():
        differs = keys[1:] != keys[:-1]
        code = np.zeros(len(keys), np.int32)
        np.cumsum(differs, dtype=np.int32, out=code[1:])
        return code, np.append(0, np.flatnonzero(differs) + 1)
    low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1
    if span > max(DENSE * len(keys), SHORT_TABLE):
        _, first, rank = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        code = np.empty(len(order), np.int32)
        code[order] = np.arange(len(order), dtype=np.int32)
        return code[rank], first[order]
    if keys.dtype.kind == "u":
        place = (keys - keys.dtype.type(low)).astype(np.int64)
    else:
        place = keys.astype(np.int64, copy=False)
        place = place - low if low else place
    if span <= SHORT_TABLE < len(place):  # most often the first rows show all
        code, first = _numbered(place, np.sort(np.unique(place[:SHORT_TABLE], return_index=True)[1]), span)
        if code.min() >= 0:
            return code, first
    first = np.full(span, len(place), np.int64)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # of equal places the last that is written stays
    return _numbered(place, np.sort(first[first < len(place)]), span)


def _numbered(place: np.ndarray, first: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Code integers below `span` by the rows in which they are first, -1 for others; returns code (row,) and `first`."""
    number = np.full(span, -1, np.int32)
    number[place[first]] = np.arange(len(first), dtype=np.int32)
    return np.take(number, place, mode="clip"), first

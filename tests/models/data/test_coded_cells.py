"""Codes of frames are those of their cells one by one, and rows merged by one integer are those sorted by columns."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from raterzoo.models import DataError, Labels
from raterzoo.models.data import coded_rows
from raterzoo.models.data.coded_rows import CodedRows
from raterzoo.models.data.reading import coded_cells
from raterzoo.models.data.reading.columns import code_values
from raterzoo.models.data.reading.frames import named_columns


def columns_of(n=300):
    rng = np.random.default_rng(3)
    item = rng.integers(-7, 60, n)
    return {
        "item": item.tolist(),
        "rater": [f"r{k}é" for k in rng.integers(0, 9, n)],
        "label": [("no", "yes", "")[k] or "perhaps" for k in rng.integers(0, 3, n)],
    }


CELLS = columns_of()
PANDAS = pd.DataFrame(CELLS)
TEXT = {"rater": "object", "label": "object"}
FRAMES = {
    "pandas": PANDAS,
    "objects": PANDAS.astype(TEXT),
    "int8": PANDAS.astype({"item": "int8"}),
    "nullable": PANDAS.astype({"item": "Int64", "rater": "string"}),
    "categorical": PANDAS.astype("category"),
    "polars": pl.DataFrame(CELLS),
    "polars categorical": pl.DataFrame(CELLS).cast({"rater": pl.Categorical, "label": pl.Categorical}),
    "pyarrow": pa.table(CELLS),
    "pyarrow chunks": pa.concat_tables([pa.table(CELLS)[:90], pa.table(CELLS)[90:]]),
    "pyarrow dictionary": pa.table(CELLS).set_column(1, "rater", pa.chunked_array([
        pa.array(CELLS["rater"][:90]).dictionary_encode(), pa.array(CELLS["rater"][90:]).dictionary_encode()])),
    "pandas of arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas of arrow dictionaries": PANDAS.astype(
        {"item": pd.ArrowDtype(pa.int16())}
        | dict.fromkeys(TEXT, pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    ),
    "arrays": {**CELLS, "item": np.array(CELLS["item"])},
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_codes_are_those_of_the_list_of_cells(name):
    columns = named_columns(FRAMES[name], {role: role for role in CELLS})
    coded = 0
    for role, cells in CELLS.items():
        values = columns[role].values
        code, distinct = code_values(values)
        exact, known = code_values(cells)
        assert distinct == known and [*map(type, distinct)] == [*map(type, known)]
        np.testing.assert_array_equal(code, exact)
        assert code.dtype == np.int32 and [*values] == cells
        coded += isinstance(values, coded_cells.CodedCells)
    assert coded == (1 if name == "arrays" else 3)
    categories = ["no", "perhaps", "yes"]
    assert Labels.from_table(FRAMES[name], categories=categories) == Labels.from_table(
        CELLS, categories=categories
    )


@pytest.mark.parametrize(
    "cells", [["a", None, "b"], [1, True, 2], [1, 1.0, 2], ["a", 1, "b"], [1.0, 2.0, 2.0]], ids=str
)
def test_cells_of_other_kinds_are_listed_and_refused_as_ever(cells):
    table = {"item": [1, 2, 3], "rater": [1, 1, 1], "label": cells}
    frame = pd.DataFrame({**table, "label": pd.Series(cells, dtype=object)})
    assert isinstance(named_columns(frame, {"label": "label"})["label"].values, list)
    said = []
    for door in (table, frame):
        with pytest.raises(DataError) as refused:
            Labels.from_table(door)
        said.append(str(refused.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "categorical"])
def test_an_error_names_the_first_row_of_a_bad_value(name, golden):
    cells = {role: [*values] for role, values in CELLS.items()}
    cells["rater"][200] = cells["rater"][250] = " "
    make = {"polars": pl.DataFrame, "pyarrow": pa.table}.get(name, pd.DataFrame)
    frame = make(cells).astype("category") if name == "categorical" else make(cells)
    with golden.raises(DataError):
        Labels.from_table(frame)
    with golden.warns(UserWarning):
        left = Labels.from_table(frame, missing="drop", categories=["no", "perhaps", "yes"])
    full = [row for row in range(300) if row not in (200, 250)]
    rest = {role: [values[row] for row in full] for role, values in cells.items()}
    assert left == Labels.from_table(rest, categories=["no", "perhaps", "yes"])


def by_dict(keys):
    first = {}
    for row, key in enumerate(keys.tolist()):
        first.setdefault(key, row)
    number = {key: code for code, key in enumerate(first)}
    return [number[key] for key in keys.tolist()], [*first.values()]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("spread", [2, 100, 2**62], ids=["dense", "table", "sparse"])
@pytest.mark.parametrize("ordered", [True, False])
def test_integers_are_numbered_as_they_appear(dtype, spread, ordered, monkeypatch):
    monkeypatch.setattr(coded_cells, "SHORT_TABLE", 16)  # dense, tabled and sparse keys all occur in few rows
    monkeypatch.setattr(coded_cells, "BLOCK", 64)  # and rows are of several blocks
    limit = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    for low in {limit.min, 0, limit.max - min(spread, limit.max // 2)}:
        keys = rng.integers(low, min(low + spread, limit.max), 500, dtype, endpoint=True)
        keys = np.sort(keys) if ordered else np.append(keys, keys.min())
        code, first = coded_cells.by_appearance(keys)
        exact = by_dict(keys)
        assert code.tolist() == exact[0] and first.tolist() == exact[1] and code.dtype == np.int32


def random_rows(seed, anonymous, large, times):
    rng = np.random.default_rng(seed)
    n = 400
    columns = {
        "annotation_item": rng.integers(0, 30, n) * (2**26 if large else 1),
        "annotation_rater": np.full(n, -1) if anonymous else rng.integers(0, 6, n),
        "label_code": rng.integers(0, 3, n) * (2**29 if large == "more" else 1),
    }
    columns = {name: column.astype(np.int32) for name, column in columns.items()}
    return CodedRows(columns, count=rng.integers(0, times + 1, n) if times > 1 else np.ones(n, np.int64))


@pytest.mark.parametrize("anonymous", [True, False])
@pytest.mark.parametrize("large", [False, True, "more"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("ordered", [True, False])
def test_rows_merged_by_one_integer_are_those_sorted_by_columns(
    anonymous, large, times, ordered, monkeypatch
):
    monkeypatch.setattr(coded_cells, "BLOCK", 64)
    rows = random_rows(4, anonymous, large, times)
    if ordered:
        rows = rows.where(np.lexsort([*rows.values()][2::-1]))
    n_raters = 0 if anonymous else 6
    present, merged = rows.merged(n_raters)
    monkeypatch.setattr(coded_rows._Packed, "of", lambda columns: None)
    also_present, by_columns = rows.merged(n_raters)
    np.testing.assert_array_equal(present, also_present)
    assert list(merged) == list(by_columns)
    for name, column in merged.items():
        np.testing.assert_array_equal(column, by_columns[name])
        assert column.dtype == by_columns[name].dtype
    assert merged["count"].sum() == rows["count"].sum()


def test_raters_are_numbered_by_their_least_items_in_long_tables(monkeypatch):
    monkeypatch.setattr(coded_rows, "FEW_ROWS", 10)
    rng = np.random.default_rng(6)
    for raters in (3, 200):  # some of the many have no item among the first
        item, rater = rng.integers(0, 3000, 4000), rng.integers(0, raters, 4000)
        exact = [item[rater == k].min(initial=coded_rows.ABSENT) for k in range(raters + 1)]
        assert coded_rows._least(item, rater, raters + 1).tolist() == exact


@pytest.mark.parametrize("at", [1, 63, 64, 65, 499])
def test_one_fall_is_found_at_the_ends_of_blocks(at, monkeypatch):
    monkeypatch.setattr(coded_cells, "BLOCK", 64)
    keys = np.arange(500)
    assert coded_cells.ascending(keys, strictly=True)
    keys[at] = keys[at - 1]
    assert coded_cells.ascending(keys) and not coded_cells.ascending(keys, strictly=True)
    keys[at] -= 1
    assert not coded_cells.ascending(keys)


LIMITED = """
import resource, sys
import numpy as np, polars as pl
from raterzoo.models import Labels
n = 3_000_000
row = np.arange(n)
frame = pl.DataFrame({"item": row * 7919 % n // 10, "rater": row * 31 % 1000, "label": row % 2})
Labels.from_table(frame[:10])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * n, resource.RLIM_INFINITY))
labels = Labels.from_table(frame)
assert len(labels) == n and "pandas" not in sys.modules
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is one of Linux")
@pytest.mark.parametrize(("bytes_of_a_row", "fits"), [(120, True), (30, False)])
def test_a_table_is_read_in_memory_for_its_codes(bytes_of_a_row, fits):
    """Three lists of cells alone are 24 bytes a row, and their integers 28 each; the result has 20."""
    run = subprocess.run([sys.executable, "-c", LIMITED, str(bytes_of_a_row)], capture_output=True, text=True)
    assert (run.returncode == 0) == fits, run.stderr
    assert fits or "MemoryError" in run.stderr

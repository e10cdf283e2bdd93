"""Every malformed table gives one typed error with row, column, value and remedy."""

import datetime
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from raterzoo.models import DataError, PartialRankings

TEXT = {
    "item": ["i1", "i1", "i1", "i2", "i2", "i3"],
    "rater": ["a", "a", "b", "a", "b", "b"],
    "category": ["flu", "cold", "flu", "cold", "acne", "flu"],
    "rank": [1, 2, 1, 1, 1, 1],
}
NUMBERS = {
    "item": [1, 1, 1, 2, 2, 3],
    "rater": [10, 10, 20, 10, 20, 20],
    "category": [7, 8, 7, 8, 9, 7],
    "rank": [1, 2, 1, 1, 1, 1],
}
IDS = ("item", "rater", "category")

MISSING = (None, math.nan, np.float32("nan"), pd.NA, pd.NaT)
NO_ID = (
    math.inf, 2.0, 0.5, True, np.bool_(False), b"i1", 1j, ["i1"], ("i1",), {"i1": 1}, {1}, object(),
    datetime.date(2020, 1, 1), datetime.timedelta(1), decimal.Decimal(3),
    np.datetime64("2020"), np.timedelta64(3, "s"), np.array([1, 2]),
    pd.Timestamp("2020-01-01"), print,
)  # fmt: skip
NO_TEXT = ("", " ", "\t\r\n", "\u3000", "a\0", "\0", "\ud800", "x" * 10_001, "x" * 5_000_000)
NO_INTEGER = (2**63, -(2**63) - 1, 10**5000)
NO_RANK = (
    *MISSING, math.inf, -math.inf, 0, -1, -(10**5000), 0.5, 1.5, np.float64(2.5), 1e300, 10**5000,
    1_000_001, "", " ", "first", "1.5", "0", "-1", "1e0", "1_0", "nan", "inf", "1,5", "\u0661",
    "9" * 16, "9" * 5000, "1" * 1_000_000, True, False, np.bool_(True), 1j, [1], (1,), {1: 1},
    b"1", decimal.Decimal(1), datetime.date(2020, 1, 1), object(),
)  # fmt: skip


def named(value):
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**30 else "huge"
    return f"{type(value).__name__}-{text[:20]}"


def refused(table, **arguments):
    """Return the one error about this table, after checking what every error has."""
    with pytest.raises(DataError) as caught:
        PartialRankings.from_table(table, **arguments)
    error = caught.value
    message = str(error)
    assert type(error) is DataError
    assert error.remedy
    assert "\n" not in message
    assert len(message) < 600
    return error


def with_cell(table, column, row, value):
    cells = list(table[column])
    cells[row - 1] = value
    return table | {column: cells}


def check_cell(error, column, row, value):
    assert (error.row, error.column) == (row, column)
    assert error.value is value or type(error.value) is type(value)
    assert str(error).startswith(f"row {row}, column '{column}': ")


@pytest.mark.parametrize("row", [1, 4, 6])
@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("table", [TEXT, NUMBERS], ids=["text", "numbers"])
@pytest.mark.parametrize("value", [*MISSING, *NO_ID], ids=named)
def test_cell_that_is_no_id(table, column, row, value):
    check_cell(refused(with_cell(table, column, row, value)), column, row, value)


@pytest.mark.parametrize("row", [1, 6])
@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("value", NO_TEXT, ids=named)
def test_text_that_is_no_id(column, row, value):
    check_cell(refused(with_cell(TEXT, column, row, value)), column, row, value)


@pytest.mark.parametrize("row", [1, 6])
@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("value", NO_INTEGER, ids=named)
def test_integer_that_is_no_id(column, row, value):
    check_cell(refused(with_cell(NUMBERS, column, row, value)), column, row, value)


@pytest.mark.parametrize("row", [1, 3, 6])
@pytest.mark.parametrize("value", NO_RANK, ids=named)
def test_cell_that_is_no_rank(row, value):
    check_cell(refused(with_cell(TEXT, "rank", row, value)), "rank", row, value)


@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("row", [2, 6])
def test_text_and_integers_in_one_column(column, row):
    error = refused(with_cell(TEXT, column, row, 3))
    assert (error.row, error.column, error.value) == (row, column, 3)
    assert "mixed" in str(error)
    error = refused(with_cell(NUMBERS, column, row, "three"))
    assert (error.row, error.column, error.value) == (row, column, "three")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
@pytest.mark.parametrize(
    "column, row, value",
    [
        ("item", 2, None), ("rater", 1, None), ("category", 6, None), ("rank", 3, None),
        ("item", 2, ""), ("category", 3, "OTHER"), ("rank", 1, 0), ("rank", 6, -2),
    ],
)  # fmt: skip
def test_frames_of_every_library_are_refused_alike(frame, column, row, value):
    error = refused(frame(with_cell(TEXT, column, row, value)))
    assert (error.row, error.column) == (row, column)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
@pytest.mark.parametrize("column", IDS)
def test_whole_floats_are_no_ids(frame, column):
    table = NUMBERS | {column: [float(value) for value in NUMBERS[column]]}
    error = refused(frame(table))
    assert (error.row, error.column, error.value) == (1, column, table[column][0])
    assert "integers" in error.remedy
    assert "missing" in error.remedy


@pytest.mark.parametrize("column", IDS)
def test_integers_made_floats_by_a_missing_cell(column):
    error = refused(pd.DataFrame(with_cell(NUMBERS, column, 5, None)))
    assert (error.row, error.column) == (5, column)
    assert "missing" in str(error)


@pytest.mark.parametrize(
    "column, cells",
    [
        ("item", np.arange(6).astype("datetime64[ns]")),
        ("item", np.arange(6).astype("timedelta64[s]")),
        ("rater", np.ones(6, bool)),
        ("category", np.array(list("abcdef"), dtype="S1")),
        ("category", np.arange(6, dtype=complex)),
        ("rank", np.ones(6, bool)),
        ("rank", np.arange(6).astype("datetime64[D]")),
        ("item", np.ma.masked_array([1, 2, 3, 4, 5, 6], mask=[1, 0, 0, 0, 0, 0])),
    ],
    ids=str,
)
def test_arrays_of_other_types(column, cells):
    error = refused(NUMBERS | {column: cells})
    assert (error.row, error.column) == (1, column)


def test_masked_cell_is_missing_and_not_its_hidden_value():
    cells = np.ma.masked_array(NUMBERS["item"], mask=[0, 0, 1, 0, 0, 0])
    error = refused(NUMBERS | {"item": cells})
    assert (error.row, error.column) == (3, "item")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize("column", [*IDS, "rank"])
def test_missing_column(frame, column):
    table = {name: cells for name, cells in TEXT.items() if name != column}
    error = refused(frame(table | {f"{column} x": TEXT[column]}))
    assert error.column == column
    assert f"{column}='{column} x'" in error.remedy
    assert all(name in error.allowed for name in table)
    assert column in str(refused(frame(table)))


def test_no_columns_and_many_columns():
    assert "no column 'item'" in str(refused({}))
    assert "no column 'item'" in str(refused(pd.DataFrame()))
    wide = pd.DataFrame({f"column {i}": [1] for i in range(5000)})
    assert "no column 'item'" in str(refused(wide))
    assert "no column 'item'" in str(refused(pd.DataFrame([[1, 2], [3, 4]])))


def test_one_column_for_two_roles():
    assert "twice" in str(refused(TEXT, item="rater"))


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_one_name(library):
    if library == "pandas":
        frame = pd.DataFrame(TEXT)
        frame = pd.concat([frame, frame[["item"]]], axis=1)
    else:
        frame = pa.table([*map(pa.array, TEXT.values()), pa.array([1] * 6)], [*TEXT, "item"])
    assert "'item' 2 times" in str(refused(frame))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_empty_table(frame):
    assert "no rows" in str(refused(frame({name: [] for name in TEXT})))


@pytest.mark.parametrize(
    "table", [None, 3, "table.csv", [1, 2], np.zeros((2, 4)), pl.LazyFrame(TEXT), object(), iter([])]
)
def test_what_is_no_table(table):
    error = refused(table)
    assert "not a table" in str(error)
    assert ("collect" in error.remedy) == isinstance(table, pl.LazyFrame)


@pytest.mark.parametrize(
    "cells", ["abcdef", 3, None, {1, 2, 3, 4, 5, 6}, np.zeros((6, 1)), iter(range(6)), {1: 2}]
)
def test_what_is_no_column(cells):
    error = refused(TEXT | {"rater": cells})
    assert error.column == "rater"


def test_columns_of_different_lengths():
    error = refused(TEXT | {"rank": [1, 2]})
    assert "2 rows" in str(error)
    assert "6" in str(error)


def test_absurd_number_of_rows_is_refused_before_it_is_read():
    table = dict.fromkeys(TEXT, range(10**12))
    assert "1,000,000,000,000 rows" in str(refused(table))
    assert "ids are listed" in str(refused(TEXT, categories=range(10**12)))


@pytest.mark.slow
def test_absurd_width_is_refused_before_it_is_allocated():
    rows = 40_000
    items = [f"{i:010000}" for i in range(rows)]
    table = {"item": items, "rater": [1] * rows, "category": [1] * rows, "rank": [1] * rows}
    error = refused(table)
    assert error.column == "item"
    assert "GiB" in str(error)


@pytest.mark.parametrize("row", [2, 3, 6])
def test_category_twice_in_one_annotation(row, golden):
    table = {"item": ["i"] * 6, "rater": list("abcdef"), "category": list("123456"), "rank": [1] * 6}
    table["rater"][row - 1] = "a"
    table["category"][row - 1] = "1"
    error = refused(table)
    assert (error.row, error.column, error.value) == (row, "category", "1")
    golden.says(str(error))


def test_first_of_several_repeats_is_named():
    table = {name: cells * 2 for name, cells in TEXT.items()}
    assert refused(table).row == 7


@pytest.mark.parametrize("row", range(1, 7))
def test_category_outside_of_the_closed_set(row):
    error = refused(with_cell(TEXT, "category", row, "flue"), categories=["flu", "cold", "acne", "rash"])
    assert (error.row, error.column, error.value) == (row, "category", "flue")
    assert "'flu'" in error.allowed


@pytest.mark.parametrize(
    "categories, words",
    [
        (["flu", "cold", "flu", "acne"], ["place 3", "'flu' is listed twice"]),
        (["flu", "cold", "acne", "OTHER"], ["place 4", "reserved"]),
        (["flu", "cold", "acne", ""], ["place 4", "empty"]),
        (["flu", "cold", "acne", None], ["place 4", "missing"]),
        (["flu", "cold", "acne", 3], ["place 4", "mixed"]),
        (["flu", "cold", "acne", 3.5], ["place 4", "float"]),
        (["flu", "cold", "acne", ["x"]], ["place 4", "list"]),
        ([1, 2, 3], ["'flu' are text", "integers such as 1"]),
        (["flu"], ["only category"]),
        ([], ["0 ids"]),
        ("flu", ["is a str"]),
        (frozenset({"flu"}), ["is a frozenset"]),
        ({"flu": 0, "cold": 1, "acne": 2}, ["is a dict"]),
        (3, ["is a int"]),
        (np.array([["flu", "cold"]]), ["ndarray"]),
    ],
    ids=str,
)
def test_closed_sets_that_are_none(categories, words):
    message = str(refused(TEXT, categories=categories))
    for word in words:
        assert word in message


def test_text_is_never_matched_with_integers():
    error = refused(NUMBERS, categories=["7", "8", "9"])
    assert (error.row, error.column, error.value) == (1, "category", 7)
    assert "'7'" in str(error)


@pytest.mark.parametrize("categories", [None, ["flu"]])
def test_closed_set_of_one(categories):
    error = refused(TEXT | {"category": ["flu"] * 6, "rater": list("abcdef")}, categories=categories)
    assert "only category" in str(error)
    assert "categories=" in error.remedy


def test_other_is_reserved_in_the_type_of_the_column_too():
    frame = pd.DataFrame(TEXT)
    frame["category"] = pd.Categorical(frame["category"], ["flu", "cold", "acne", "OTHER"])
    assert "reserved" in str(refused(frame))
    error = refused(with_cell(TEXT, "category", 5, "OTHER"))
    assert (error.row, error.column, error.value) == (5, "category", "OTHER")
    assert len(PartialRankings.from_table(with_cell(TEXT, "rater", 5, "OTHER"))) == 5


def test_one_error_names_the_first_column_that_is_wrong():
    table = with_cell(with_cell(TEXT, "rank", 1, 0), "item", 6, "")
    assert refused(table).column == "item"


def test_rows_are_counted_with_separators_in_long_tables():
    rows = 200_000
    table = {
        "item": np.arange(rows),
        "rater": np.zeros(rows, int),
        "category": np.arange(rows) % 3,
        "rank": np.ones(rows),
    }
    table["rank"][123_455] = 0.5
    error = refused(table)
    assert error.row == 123_456
    assert "row 123,456" in str(error)

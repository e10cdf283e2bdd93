"""Scores that are refused: one typed error that names row, column, value and remedy."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import DataError, Scores

GOOD = {"item": ["a", "a", "b"], "rater": ["r", "s", "r"], "score": [1.0, 2.5, -3.0]}


def table(**columns):
    return GOOD | columns


def second(value):
    return table(score=[1.0, value, -3.0])


CELLS = [
    None,
    math.nan,
    pd.NA,
    pd.NaT,
    np.float32("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    "",
    "  ",
    math.inf,
    -math.inf,
    np.float32("inf"),
    Decimal("-Infinity"),
    10**400,
    -(10**400),
    "1e400",
    1e101,
    -(10**200),
    "4,5",
    " -4,25 ",
    "1,234.5",
    "1_000",
    "inf",
    "nan",
    "0x1p3",
    "٣",
    "4/5",
    "good",
    "1e9999999999",
    ".",
    True,
    np.True_,
    1j,
    np.complex64(1),
    Fraction(1, 2),
    b"1",
    [1],
    {1: 2},
    dt.date(2020, 1, 1),
    np.timedelta64(1, "s"),
    2**53 + 1,
]


@pytest.mark.parametrize("cell", CELLS)
def test_cells(cell, golden):
    with golden.raises(DataError) as caught:
        Scores.from_table(second(cell))
    assert caught.value.remedy and caught.value.row == 2 and len(str(caught.value)) < 400
    with golden.raises(DataError):
        Scores.from_table(second(cell), bounds=(-5, 5))


LONG = [
    (table(item=["a", None, "b"]), {}),
    (table(item=["a", 1, "b"]), {}),
    (table(rater=["r", "s", ""]), {}),
    (table(rater=["r", "s", 1.5]), {}),
    (table(n=[1, 1.5, 1]), {"count": "n"}),
    (table(n=[1, -1, 1]), {"count": "n"}),
    (table(n=[1, None, 1]), {"count": "n"}),
    (table(n=[1, 10**12, 1]), {"count": "n"}),
    (table(kind=["p", "m", "m"]), {"rater_attributes": ["kind"]}),
    (table(kind=["p", "m", None]), {"rater_attributes": ["kind"]}),
    (table(kind=["p"] * 3), {"rater_attributes": ["kind"], "rater": None}),
    (GOOD, {"score": "rating"}),
    (GOOD, {"item": "Item"}),
    (GOOD, {"count": "n"}),
    (GOOD, {"rater": "item"}),
    ({k: [] for k in GOOD}, {}),
    ({}, {}),
    (table(item=["a", "b"]), {}),
    (table(score="123"), {}),
    ([1, 2], {}),
    (pl.LazyFrame(GOOD), {}),
    (GOOD, {"bounds": (0, 5)}),
    (GOOD, {"bounds": (-3, 2.25)}),
    (second("9"), {"bounds": (-3, 5)}),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options"), LONG)
def test_long_tables(frame, options, golden):
    with golden.raises(DataError) as caught:
        Scores.from_table(frame, **options)
    assert caught.value.remedy


BOUNDS = [
    (1, 1),
    (-0.0, 0),
    (5, 1),
    (1, math.inf),
    (-math.inf, 1),
    (math.nan, 1),
    (1, 10**400),
    (1, 1e101),
    (None, 1),
    (True, 5),
    ("1", 5),
    (1, 2, 3),
    (1,),
    (),
    5,
    "15",
    {1, 5},
    np.array([[1, 5]]),
    (1j, 5),
]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds(bounds, golden):
    with golden.raises(DataError):
        Scores.from_table(GOOD, bounds=bounds)
    with golden.raises(DataError):
        Scores.from_counts({"item": ["a"], "2": [1]}, bounds=bounds)


def array(cells, item=("a", "b"), level=(1, 2), dims=("item", "level")):
    return xr.DataArray(cells, dict(zip(dims, (list(item), list(level)), strict=True)), dims)


COUNTS = [
    (array([[1, -1], [0, 2]]), {}),
    (array([[1, 1], [0.5, 2]]), {}),
    (array([[1, np.nan], [0, 2]]), {}),
    (array([[1, 1], [0, 2]], item=["a", "a"]), {}),
    (array([[1, 1], [0, 2]], level=[1, 1]), {}),
    (array([[1, 1], [0, 2]], level=["x", "1"]), {}),
    (array([[1, 1], [0, 2]], level=["item", "1"]), {}),
    (array([[1, 1], [0, 2]], level=[1, math.nan]), {}),
    (array([[1, 1], [0, 2]], level=[1, 7]), {"bounds": (1, 5)}),
    (array([[1, 1], [0, 2]]).rename(item="task"), {}),
    (array([[1, 1], [0, 2]]).drop_vars("level"), {}),
    (xr.DataArray([1, 2], {"item": ["a", "b"]}, ["item"]), {}),
    ({"item": ["a"], "1": [1], "1.0": [2]}, {}),
    ({"item": ["a"], "1": [1], "good": [2]}, {}),
    ({"item": ["a"], "1,5": [1]}, {}),
    ({"item": ["a"]}, {}),
    ({"1": [1], "2": [1]}, {}),
    ({"item": [], "2": []}, {}),
    ({"item": [None], "2": [1]}, {}),
    ({"item": [1], "2": [True]}, {}),
    (7, {}),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "options"), COUNTS)
def test_counts(counts, options, golden):
    with golden.raises(DataError) as caught:
        Scores.from_counts(counts, **options)
    assert caught.value.remedy


anything = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text(max_size=5)
    | st.binary(max_size=3) | st.decimals() | st.fractions() | st.dates() | st.lists(st.integers(), max_size=2)
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(anything, min_size=3, max_size=3), st.none() | st.just((-10, 10)))
def test_whatever_the_cells_are_they_are_read_or_refused_by_row(cells, bounds):
    try:
        scores = Scores.from_table(table(score=cells), bounds=bounds)
    except DataError as error:
        assert error.row in (1, 2, 3) and error.column == "score" and error.remedy
    else:
        assert len(scores) == 3 and np.isfinite(scores.score).all()
        assert not bounds or (np.abs(scores.score) <= 10).all()


def test_degenerate_but_legal():
    one = Scores.from_table({"item": [1], "rater": [1], "score": [7]}, bounds=(7, 8))
    assert len(one) == 1 and one.report()
    wide = Scores.from_table({"item": [1] * 3, "rater": [1] * 3, "score": [-1e100, 5e-324, 1e100]})
    assert "nan" not in wide.report() and len(wide) == 3
    many = Scores.from_table({"item": ["a"] * 5000, "rater": range(5000), "score": [0, 1] * 2500})
    assert len(many.raters) == 5000 and many.score.sum() == 2500

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
    (None, "None is a missing cell"),
    (math.nan, "nan is a missing cell"),
    (pd.NA, "<NA> is a missing cell"),
    (pd.NaT, "NaT is a missing cell"),
    (np.float32("nan"), "is a missing cell"),
    (Decimal("NaN"), "is a missing cell"),
    (Decimal("sNaN"), "is a missing cell"),
    ("", "'' is empty"),
    ("  ", "'  ' is empty"),
    (math.inf, "inf is not finite"),
    (-math.inf, "-inf is not finite"),
    (np.float32("inf"), "is not finite"),
    (Decimal("-Infinity"), "is not finite"),
    (10**400, "bits> is not finite"),
    (-(10**400), "bits> is not finite"),
    ("1e400", "'1e400' is not finite"),
    (1e101, r"1e\+101 is larger than 1e\+100 in size.*change the unit"),
    (-(10**200), "is larger than"),
    ("4,5", r"'4,5' is not a number; .*write the decimal point: 4\.5"),
    (" -4,25 ", r"write the decimal point: -4\.25"),
    ("1,234.5", "'1,234.5' is not a number"),
    ("1_000", "'1_000' is not a number"),
    ("inf", "'inf' is not a number"),
    ("nan", "'nan' is not a number"),
    ("0x1p3", "'0x1p3' is not a number"),
    ("٣", "is not a number"),
    ("4/5", "'4/5' is not a number"),
    ("good", "'good' is not a number"),
    ("1e9999999999", "is not a number"),
    (".", r"'\.' is not a number"),
    (True, "True is of type bool, not a number"),
    (np.True_, "is of type bool, not a number"),
    (1j, "1j is of type complex, not a number"),
    (np.complex64(1), "is of type complex64"),
    (Fraction(1, 2), "is of type Fraction"),
    (b"1", "is of type bytes"),
    ([1], "is of type list"),
    ({1: 2}, "is of type dict"),
    (dt.date(2020, 1, 1), "is of type date"),
    (np.timedelta64(1, "s"), "is of type timedelta64"),
    (2**53 + 1, "9007199254740993 has no exact value as a 64-bit float.*round it"),
]


@pytest.mark.parametrize(("cell", "message"), CELLS, ids=[repr(c)[:20] for c, _ in CELLS])
def test_cells(cell, message):
    with pytest.raises(DataError, match=rf"^row 2, column 'score': .*{message}") as caught:
        Scores.from_table(second(cell))
    assert caught.value.remedy and caught.value.row == 2 and len(str(caught.value)) < 400
    with pytest.raises(DataError, match=r"^row 2, column 'score': "):
        Scores.from_table(second(cell), bounds=(-5, 5))


LONG = [
    (table(item=["a", None, "b"]), {}, "row 2, column 'item': None is a missing"),
    (table(item=["a", 1, "b"]), {}, "row 2, column 'item': 1 stands under 'a'.*mixed"),
    (table(rater=["r", "s", ""]), {}, "row 3, column 'rater': '' is empty"),
    (table(rater=["r", "s", 1.5]), {}, "row 3, column 'rater': 1.5 is of type float"),
    (table(n=[1, 1.5, 1]), {"count": "n"}, "row 2, column 'n': 1.5 is not a whole number"),
    (table(n=[1, -1, 1]), {"count": "n"}, "row 2, column 'n': -1 is below 0"),
    (table(n=[1, None, 1]), {"count": "n"}, "row 2, column 'n': None is a missing"),
    (table(n=[1, 10**12, 1]), {"count": "n"}, "is above 2,147,483,647"),
    (table(kind=["p", "m", "m"]), {"rater_attributes": ["kind"]}, "row 3, .*'m' is the kind of rater 'r', who was 'p'"),
    (table(kind=["p", "m", None]), {"rater_attributes": ["kind"]}, "row 3, column 'kind': None is a missing"),
    (table(kind=["p"] * 3), {"rater_attributes": ["kind"], "rater": None}, "argument rater_attributes: .*not told apart"),
    (GOOD, {"score": "rating"}, "there is no column 'rating'.*score=..."),
    (GOOD, {"item": "Item"}, "there is no column 'Item'.*item='item'"),
    (GOOD, {"count": "n"}, "there is no column 'n'"),
    (GOOD, {"rater": "item"}, "one column is named twice"),
    ({k: [] for k in GOOD}, {}, "columns but no rows"),
    ({}, {}, "there is no column 'item'"),
    (table(item=["a", "b"]), {}, "column 'item' has 2 rows and column"),
    (table(score="123"), {}, "column 'score': '123' is a str, not a column"),
    ([1, 2], {}, "a list is not a table"),
    (pl.LazyFrame(GOOD), {}, "is not a table.*collect"),
    (GOOD, {"bounds": (0, 5)}, r"row 3, column 'score': -3.0 is below the lower bound; allowed: numbers from 0 to 5"),
    (GOOD, {"bounds": (-3, 2.25)}, r"row 2, column 'score': 2.5 is above the upper bound; allowed: numbers from -3 to 2.25"),
    (second("9"), {"bounds": (-3, 5)}, "row 2, column 'score': '9' is above the upper bound"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options", "message"), LONG, ids=[m[:40] for *_, m in LONG])
def test_long_tables(frame, options, message):
    with pytest.raises(DataError, match=message) as caught:
        Scores.from_table(frame, **options)
    assert caught.value.remedy


BOUNDS = [
    ((1, 1), r"\(1, 1\) are equal"),
    ((-0.0, 0), "are equal"),
    ((5, 1), r"\(5, 1\) are the wrong way round"),
    ((1, math.inf), "hold inf"),
    ((-math.inf, 1), "hold -inf"),
    ((math.nan, 1), "hold nan"),
    ((1, 10**400), "hold <integer"),
    ((1, 1e101), r"hold 1e\+101"),
    ((None, 1), "hold None, which is not a number"),
    ((True, 5), "hold True, which is not a number"),
    (("1", 5), "hold '1', which is not a number"),
    ((1, 2, 3), "are not two numbers"),
    ((1,), "are not two numbers"),
    ((), "are not two numbers"),
    (5, "5 are not two numbers"),
    ("15", "'15' are not two numbers"),
    ({1, 5}, "are not two numbers"),
    (np.array([[1, 5]]), "are not two numbers"),
    ((1j, 5), "hold 1j"),
]


@pytest.mark.parametrize(("bounds", "message"), BOUNDS, ids=[repr(b)[:20] for b, _ in BOUNDS])
def test_bounds(bounds, message):
    with pytest.raises(DataError, match=rf"^argument bounds: .*{message}.*the lower first"):
        Scores.from_table(GOOD, bounds=bounds)
    with pytest.raises(DataError, match=rf"^argument bounds: .*{message}"):
        Scores.from_counts({"item": ["a"], "2": [1]}, bounds=bounds)


def array(cells, item=("a", "b"), level=(1, 2), dims=("item", "level")):
    return xr.DataArray(cells, dict(zip(dims, (list(item), list(level)), strict=True)), dims)


COUNTS = [
    (array([[1, -1], [0, 2]]), {}, "row 1, column 2: -1 is below 0"),
    (array([[1, 1], [0.5, 2]]), {}, "row 2, column 1: 0.5 is not a whole number"),
    (array([[1, np.nan], [0, 2]]), {}, "row 1, column 2: nan is a missing"),
    (array([[1, 1], [0, 2]], item=["a", "a"]), {}, "row 2, column 'item': 'a' stands in an earlier row"),
    (array([[1, 1], [0, 2]], level=[1, 1]), {}, "column 1 of the counts: 1 stands twice"),
    (array([[1, 1], [0, 2]], level=["x", "1"]), {}, "column 'x' of the counts: 'x' is not a number"),
    (array([[1, 1], [0, 2]], level=["item", "1"]), {}, "column 'item' of the counts: 'item' is the name of the dim"),
    (array([[1, 1], [0, 2]], level=[1, math.nan]), {}, "column nan of the counts: nan is a missing"),
    (array([[1, 1], [0, 2]], level=[1, 7]), {"bounds": (1, 5)}, "column 7 of the counts: 7 is above the upper bound"),
    (array([[1, 1], [0, 2]]).rename(item="task"), {}, "the array has dims"),
    (array([[1, 1], [0, 2]]).drop_vars("level"), {}, "the array has dims"),
    (xr.DataArray([1, 2], {"item": ["a", "b"]}, ["item"]), {}, "the array has dims"),
    ({"item": ["a"], "1": [1], "1.0": [2]}, {}, "column '1.0' of the counts: '1.0' is the score 1, as is an earlier column"),
    ({"item": ["a"], "1": [1], "good": [2]}, {}, "column 'good' of the counts: 'good' is not a number"),
    ({"item": ["a"], "1,5": [1]}, {}, "column '1,5' of the counts: .*write the decimal point: 1.5"),
    ({"item": ["a"]}, {}, "there is no column of counts"),
    ({"1": [1], "2": [1]}, {}, "there is no column 'item'"),
    ({"item": [], "2": []}, {}, "columns but no rows"),
    ({"item": [None], "2": [1]}, {}, "row 1, column 'item': None is a missing"),
    ({"item": [1], "2": [True]}, {}, "row 1, column '2': True is not a number"),
    (7, {}, "a int is not a table"),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "options", "message"), COUNTS, ids=[m[:40] for *_, m in COUNTS])
def test_counts(counts, options, message):
    with pytest.raises(DataError, match=message) as caught:
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

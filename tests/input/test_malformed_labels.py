"""Labels that are refused: one typed error that names row, column, value and remedy."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo.models import DataError, Labels

GOOD = {"item": ["a", "a", "b"], "rater": ["r", "s", "r"], "label": ["x", "y", "y"]}


def table(**columns):
    return GOOD | columns


LONG = [
    (table(label=["x", None, "y"]), {}, r"row 2, column 'label': None is a missing cell"),
    (table(label=["x", math.nan, "y"]), {}, "row 2, column 'label': nan is a missing cell"),
    (table(label=["x", "", "y"]), {}, "row 2, column 'label': '' is empty"),
    (table(item=["a", None, "b"]), {}, "row 2, column 'item': None is a missing"),
    (table(rater=["r", "s", pd.NA]), {}, "row 3, column 'rater': <NA> is a missing"),
    (table(), {"categories": ["x", "z"]}, "row 2, column 'label': 'y' is not one of the categories"),
    (table(), {"categories": ["x", "x"]}, "argument categories, place 2: 'x' is listed twice"),
    (table(label=["x"] * 3), {}, "'x' is the only category"),
    (table(label=["OTHER", "x", "y"]), {}, "row 1, column 'label': 'OTHER' is a reserved label"),
    (table(label=[True, False, True]), {}, "True is of type bool"),
    (table(label=["1", 1, "1"]), {}, "row 2, column 'label': 1 stands under '1'.*mixed"),
    (table(label=[1.0, 2.0, 1.0]), {}, "1.0 is of type float"),
    (table(label=[1, 2, 1]), {"categories": ["1", "2"]}, "1 are integers.*text"),
    (table(count=[1, 1.5, 1]), {"count": "count"}, "row 2, column 'count': 1.5 is not a whole number"),
    (table(count=[1, -1, 1]), {"count": "count"}, "row 2, column 'count': -1 is below 0"),
    (table(count=[1, math.nan, 1]), {"count": "count"}, "row 2, column 'count': nan is a missing"),
    (table(count=[1, math.inf, 1]), {"count": "count"}, "inf is not a whole number"),
    (table(count=[1, True, 1]), {"count": "count"}, "True is not a number"),
    (table(count=[1, 10**12, 1]), {"count": "count"}, "is above 2,147,483,647.*split the row"),
    (table(g=["x", "y", "x"]), {"gold": "g"}, "row 2, column 'g': 'y' is the truth of item 'a', but an earlier row"),
    (table(g=["", "z", ""]), {"gold": "g"}, "row 2, column 'g': 'z' is not one of the categories"),
    (table(g=["", 1, ""]), {"gold": "g"}, "row 2, column 'g': values such as 1 are integers"),
    (table(kind=["p", "m", "m"]), {"rater_attributes": ["kind"]}, "row 3, .*'m' is the kind of rater 'r', who was 'p'"),
    (table(kind=["p", "m", None]), {"rater_attributes": ["kind"]}, "row 3, column 'kind': None is a missing"),
    (GOOD, {"label": "rating"}, "there is no column 'rating'.*label=..."),
    (GOOD, {"rater": "item"}, "one column is named twice"),
    ({k: [] for k in GOOD}, {}, "columns but no rows"),
    (table(item=["a", "b"]), {}, "column 'item' has 2 rows and column"),
    ([1, 2], {}, "a list is not a table"),
    ("part.parquet", {}, r"a str is not a table.*pandas.read_parquet\('part.parquet'\)"),
    (table(item=["x" * 50_000_000, "a", "b"]), {}, "is too long"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options", "message"), LONG, ids=[m[:40] for *_, m in LONG])
def test_long_tables(frame, options, message):
    with pytest.raises(DataError, match=message) as caught:
        Labels.from_table(frame, **options)
    assert caught.value.remedy


WIDE = {"id": ["p", "q"], "a": ["x", "y"], "b": ["y", None], "n": [1, 2]}


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (WIDE, {"raters": ["a", "c"]}, "there is no column 'c'"),
        (WIDE, {"raters": []}, "argument raters: 0 ids"),
        (WIDE, {"raters": "ab"}, "raters='ab' is a str"),
        (WIDE, {"raters": ["a", "b"], "categories": ["x", "z"]}, "row 1, column 'b': 'y' is not one"),
        (WIDE | {"id": ["p", "p"]}, {"raters": ["a"], "item": "id"}, "row 2, column 'id': 'p' stands in an earlier"),
        (WIDE | {"n": [1, -1]}, {"raters": ["a"], "count": "n"}, "row 2, column 'n': -1 is below 0"),
        (WIDE | {"n": [1, 10**9]}, {"raters": ["a"], "count": "n"}, "the counts add up to 1,000,000,001"),
        (WIDE | {"a": [None, ""]}, {"raters": ["a"]}, "no cell of the raters' columns"),
        (WIDE | {"a": [True, False]}, {"raters": ["a"]}, "row 1, column 'a': True is of type bool"),
    ],
)  # fmt: skip
def test_wide_tables(frame, options, message):
    with pytest.raises(DataError, match=message):
        Labels.from_wide(frame, **options)


def array(cells, item=("a", "b"), category=("x", "y")):
    return xr.DataArray(cells, {"item": list(item), "category": list(category)}, ("item", "category"))


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        (array([[1, -1], [0, 2]]), {}, "row 1, column 'y': -1 is below 0"),
        (array([[1, 1], [0.5, 2]]), {}, "row 2, column 'x': 0.5 is not a whole number"),
        (array([[1, np.nan], [0, 2]]), {}, "row 1, column 'y': nan is a missing"),
        (array([[1], [2]], category=["x"]), {}, "'x' is the only category"),
        (array([[1, 1], [0, 2]], item=["a", "a"]), {}, "row 2, column 'item': 'a' stands in"),
        (array([[1, 1], [0, 2]], category=["x", "x"]), {}, "place 2: 'x' is listed twice"),
        (array([[1, 1], [0, 2]]).rename(item="task"), {}, "the array has dims"),
        (array([[1, 1], [0, 2]]), {"categories": ["x", "z"]}, "'z' has no counts"),
        ({"item": ["a"], "x": [1]}, {}, "'x' is the only category"),
        ({"x": [1], "y": [1]}, {}, "there is no column 'item'"),
    ],
)
def test_counts(counts, options, message):
    with pytest.raises(DataError, match=message):
        Labels.from_counts(counts, **options)


@pytest.mark.parametrize("items", [["z"], ["a", "a"], [1], [], "a"])
def test_selection(items):
    with pytest.raises(DataError, match="argument items"):
        Labels.from_table(GOOD).select(items=items)


def test_degenerate_but_legal():
    one = Labels.from_table({"item": [1], "rater": [1], "label": [1]}, categories=[0, 1])
    assert len(one) == 1
    many = {"item": ["a"] * 5000, "rater": list(range(5000)), "label": [0, 1] * 2500}
    assert Labels.from_table(many).counts.tolist() == [[2500, 2500]]

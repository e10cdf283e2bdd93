"""Labels that are refused: one typed error that names row, column, value and remedy."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo.models import DataError, DataWarning, Labels

GOOD = {"item": ["a", "a", "b"], "rater": ["r", "s", "r"], "label": ["x", "y", "y"]}


def table(**columns):
    return GOOD | columns


LONG = [
    (table(label=["x", None, "y"]), {}),
    (table(label=["x", math.nan, "y"]), {}),
    (table(label=["x", "", "y"]), {}),
    (table(item=["a", None, "b"]), {}),
    (table(rater=["r", "s", pd.NA]), {}),
    (table(), {"categories": ["x", "z"]}),
    (table(), {"categories": ["x", "x"]}),
    (table(label=["x"] * 3), {}),
    (table(label=["OTHER", "x", "y"]), {}),
    (table(label=[True, 0, True]), {}),
    (table(label=["1", 1, "1"]), {}),
    (table(label=[1.0, 2.0, 1.0]), {}),
    (table(label=[1, 2, 1]), {"categories": ["1", "2"]}),
    (table(count=[1, 1.5, 1]), {"count": "count"}),
    (table(count=[1, -1, 1]), {"count": "count"}),
    (table(count=[1, math.nan, 1]), {"count": "count"}),
    (table(count=[1, math.inf, 1]), {"count": "count"}),
    (table(count=[1, True, 1]), {"count": "count"}),
    (table(count=[1, 10**12, 1]), {"count": "count"}),
    (table(g=["x", "y", "x"]), {"gold": "g"}),
    (table(g=["", "z", ""]), {"gold": "g"}),
    (table(g=["", 1, ""]), {"gold": "g"}),
    (table(kind=["p", "m", "m"]), {"rater_attributes": ["kind"]}),
    (table(kind=["p", "m", None]), {"rater_attributes": ["kind"]}),
    (GOOD, {"label": "rating"}),
    (GOOD, {"rater": "item"}),
    ({k: [] for k in GOOD}, {}),
    (table(item=["a", "b"]), {}),
    ([1, 2], {}),
    ("part.parquet", {}),
    (table(item=["x" * 50_000_000, "a", "b"]), {}),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options"), LONG)
def test_long_tables(frame, options, golden):
    with golden.raises(DataError) as caught:
        Labels.from_table(frame, **options)
    assert caught.value.remedy


WIDE = {"id": ["p", "q"], "a": ["x", "y"], "b": ["y", None], "n": [1, 2]}


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (WIDE, {"raters": ["a", "c"]}),
        (WIDE, {"raters": []}),
        (WIDE, {"raters": "ab"}),
        (WIDE, {"raters": ["a", "b"], "categories": ["x", "z"]}),
        (WIDE | {"id": ["p", "p"]}, {"raters": ["a"], "item": "id"}),
        (WIDE | {"n": [1, -1]}, {"raters": ["a"], "count": "n"}),
        (WIDE | {"n": [1, 10**9]}, {"raters": ["a"], "count": "n"}),
        (WIDE | {"a": [None, ""]}, {"raters": ["a"]}),
        (WIDE | {"a": [True, 0]}, {"raters": ["a"]}),
    ],
)  # fmt: skip
def test_wide_tables(frame, options, golden):
    with golden.raises(DataError):
        Labels.from_wide(frame, **options)


def array(cells, item=("a", "b"), category=("x", "y")):
    return xr.DataArray(cells, {"item": list(item), "category": list(category)}, ("item", "category"))


@pytest.mark.parametrize(
    ("counts", "options"),
    [
        (array([[1, -1], [0, 2]]), {}),
        (array([[1, 1], [0.5, 2]]), {}),
        (array([[1, np.nan], [0, 2]]), {}),
        (array([[1], [2]], category=["x"]), {}),
        (array([[1, 1], [0, 2]], item=["a", "a"]), {}),
        (array([[1, 1], [0, 2]], category=["x", "x"]), {}),
        (array([[1, 1], [0, 2]]).rename(item="task"), {}),
        (array([[1, 1], [0, 2]]), {"categories": ["x", "z"]}),
        ({"item": ["a"], "x": [1]}, {}),
        ({"x": [1], "y": [1]}, {}),
    ],
)
def test_counts(counts, options, golden):
    with golden.raises(DataError):
        Labels.from_counts(counts, **options)


@pytest.mark.parametrize("items", [["z"], ["a", "a"], [1], [], "a"])
def test_selection(items):
    with pytest.raises(DataError, match="argument items"):
        Labels.from_table(GOOD).select(items=items)


def test_degenerate_but_legal():
    one = Labels.from_table({"item": [1], "rater": [1], "label": [1]}, categories=[0, 1])
    assert len(one) == 1
    many = {"item": ["a"] * 5000, "rater": list(range(5000)), "label": [0, 1] * 2500}
    with pytest.warns(DataWarning, match="a rater of its own"):
        assert Labels.from_table(many).counts.tolist() == [[2500, 2500]]

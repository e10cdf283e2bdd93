"""Comparisons that are refused: one typed error that names row, column, value and remedy."""

import math
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import Comparisons, DataError
from raterzoo.models.data.reading import comparison_tables
from raterzoo.posterior.table_text import folded

TEXT = {
    "rater": ["r", "s", "r", "s"],
    "left": ["a", "b", "c", "a"],
    "right": ["b", "c", "a", "c"],
    "winner": ["left", "c", "tie", "right"],
}
WHOLE = {
    "rater": [1, 2, 1, 2],
    "left": [10, 20, 30, 10],
    "right": [20, 30, 10, 30],
    "winner": ["left", 30, "tie", "right"],
}


def table(**columns):
    return TEXT | columns


CASES = [
    (table(right=["b", "b", "a", "c"]), {}),
    (table(winner=["left", "a", "tie", "right"]), {}),
    (table(winner=["left", "c", "tie", "Rigth"]), {}),
    (table(winner=["left", "c", "drawn", "right"]), {}),
    (table(winner=[1, 2, 1, 2]), {}),
    (table(winner=["left", 1, "tie", "right"]), {}),
    (table(left=["a", "left", "c", "a"]), {}),
    (table(right=["b", "c", "tie", "c"]), {}),
    (table(right=[1, 2, 1, 2]), {}),
    (table(), {"items": ["a", "b"]}),
    (table(), {"items": ["a", "b", "b"]}),
    (table(), {"items": ["a", "b", "c", "tie"]}),
    (table(), {"items": ["a"]}),
    (table(), {"items": []}),
    (table(), {"items": "abc"}),
    (table(), {"items": {"a", "b", "c"}}),
    (table(), {"items": [1, 2, 3]}),
    (table(), {"items": ["a", "b", None]}),
    (table(n=[1, 1.5, 1, 1]), {"count": "n"}),
    (table(n=[1, -1, 1, 1]), {"count": "n"}),
    (table(n=[1, math.nan, 1, 1]), {"count": "n"}),
    (table(n=[1, math.inf, 1, 1]), {"count": "n"}),
    (table(n=[1, True, 1, 1]), {"count": "n"}),
    (table(n=[1, 10**12, 1, 1]), {"count": "n"}),
    (table(n=[0, 0, 0, 0]), {"count": "n"}),
    (table(kind=["p", "m", "m", "m"]), {"rater_attributes": ["kind"]}),
    (table(kind=["p", "m", None, "m"]), {"rater_attributes": ["kind"]}),
    (table(kind=["p"] * 4), {"rater_attributes": ["kind"], "rater": None}),
    (TEXT, {"winner": "best"}),
    (TEXT, {"rater": "judge"}),
    (TEXT, {"left": "right"}),
    ({k: [] for k in TEXT}, {}),
    (table(left=["a", "b"]), {}),
    ([1, 2], {}),
    ("votes.csv", {}),
    (table(left=["x" * 50_000_000, "b", "c", "a"]), {}),
    (WHOLE | {"winner": ["left", "30", "tie", "right"]}, {}),
    (WHOLE | {"winner": [10, 30, 20, 30]}, {}),
    (WHOLE | {"winner": [10, 30, 99, 30]}, {}),
    (WHOLE | {"winner": [10.0, 30.0, math.nan, 30.0]}, {}),
    (WHOLE | {"winner": [10.0, 30.0, 10.0, 30.0]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options"), CASES)
def test_tables(frame, options, golden):
    with golden.raises(DataError) as caught:
        Comparisons.from_table(frame, **options)
    assert caught.value.remedy


BAD_CELLS = [
    None, math.nan, pd.NA, pd.NaT, np.float64("nan"), "", " \t", "\0", "a\0", "\ud800", 1.5, math.inf, True, np.True_, 2**70,
    b"a", [], {}, ["a"], date(2020, 1, 1), np.timedelta64(1, "s"), 1j, object(), "x" * 20_000,
]  # fmt: skip


@pytest.mark.parametrize("row", [1, 3])
@pytest.mark.parametrize("cell", BAD_CELLS, ids=lambda c: f"{type(c).__name__}-{str(c)[:5]!r}")
@pytest.mark.parametrize("column", [*TEXT])
@pytest.mark.parametrize("good", [TEXT, WHOLE], ids=["text", "integers"])
def test_one_bad_cell(good, column, cell, row):
    cells = [*good[column]]
    cells[row] = cell
    with pytest.raises(DataError) as caught:
        Comparisons.from_table(good | {column: cells})
    error = caught.value
    assert (error.row, error.column) == (row + 1, column)
    assert error.remedy and len(str(error)) < 400


@pytest.mark.parametrize(
    "cell", [-1, -0.5, 0.5, math.inf, -math.inf, "two", "", None, True, "-3", 2**31, [], 1j]
)
@pytest.mark.parametrize("row", [0, 3])
def test_one_bad_count(cell, row):
    counts = [1, 2, 0, 1]
    counts[row] = cell
    with pytest.raises(DataError) as caught:
        Comparisons.from_table(TEXT | {"count": counts}, count="count")
    assert (caught.value.row, caught.value.column) == (row + 1, "count")


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        np.empty((0, 2), int),
        5,
        "ab",
        {0: 1},
        [(0, 1), (1,)],
        [(0, 1), (1, 2, 3)],
        [(0, 1), "ab"],
        [(0, 1), 3],
        np.zeros((3, 3), int),
        [(0, 1), (1, 1)],
        [(0, 1), (None, 1)],
        np.array([[0.0, 1.0]]),
        [("a", 1)],
        [("a", "tie")],
    ],
)
def test_pairs(pairs, golden):
    with golden.raises(DataError) as caught:
        Comparisons.from_pairs(pairs)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "winners",
    [["X", "Ignore"], ["X", "Winner.Ignore"], ["X", "left"], ["X", None], ["X", 1], ["X"], "XY", iter("XY")],
)
def test_sequences(winners, golden):
    with golden.raises(DataError):
        Comparisons.from_sequences(["a", "b"], ["b", "c"], winners)


@pytest.mark.slow
@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.data())
def test_a_table_with_anything_in_it_is_read_or_refused(data):
    """Whatever stands in the cells: a container that holds every vote, or one error with a place and a remedy."""
    n = data.draw(st.integers(1, 5))
    usual = st.sampled_from(["a", "b", "c", "left", "tie"])
    whole = st.integers() | st.sampled_from([1, 2, "left", "tie"])
    odd = st.none() | st.floats() | st.booleans() | st.text() | st.binary() | st.dates() | st.just([])
    cells = data.draw(st.sampled_from([usual, whole, usual | odd, whole | odd]))
    drawn = {name: data.draw(st.lists(cells, min_size=n, max_size=n)) for name in TEXT}
    try:
        pairs = Comparisons.from_table(drawn)
    except DataError as error:
        assert error.remedy and "\n" not in str(error)
    else:
        assert len(pairs) == n


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(), st.sampled_from(["left", "right", "winner"]), st.integers(1, 3))
def test_any_text_is_kept_exactly_or_refused_at_its_row(text, column, row):
    cells = [*TEXT[column]]
    cells[row] = text
    try:
        pairs = Comparisons.from_table(TEXT | {column: cells})
    except DataError as error:
        assert error.row == row + 1
    else:
        words = comparison_tables.TIES.union(*comparison_tables.SIDES)  # of an outcome, in whatever case
        assert text in pairs.items.tolist() or (column == "winner" and folded(text) in words)


def test_degenerate_but_legal(golden):
    one = Comparisons.from_table({"rater": [1], "left": [1], "right": [2], "winner": [1]})
    assert len(one) == 1 and one.connected
    golden.says(one.report(), "1 (100.0 %)")
    declared = Comparisons.from_pairs([(0, 1)], items=range(100_000))
    assert len(declared.items) == 100_000 and len(declared.components) == 99_999
    crowd = {"rater": [*range(5000)], "left": [0] * 5000, "right": [1] * 5000, "winner": [0, 1] * 2500}
    assert len(Comparisons.from_table(crowd).raters) == 5000
    heavy = Comparisons.from_table(
        {"left": [0] * 4, "right": [1] * 4, "winner": ["left"] * 4, "n": [2**31 - 1] * 4},
        rater=None,
        count="n",
    )
    assert len(heavy) == 4 * (2**31 - 1)

"""Comparisons that are refused: one typed error that names row, column, value and remedy."""

import math
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import Comparisons, DataError
from raterzoo.models.data.reading.comparison_tables import SIDES, TIES
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
    (table(right=["b", "b", "a", "c"]), {}, r"row 2, column 'right': 'b' is compared with itself: it stands in column"),
    (table(winner=["left", "a", "tie", "right"]), {}, "row 2, column 'winner': 'a' names neither.*the item that won: 'b' or 'c'"),
    (table(winner=["left", "c", "tie", "Rigth"]), {}, "row 4, column 'winner': 'Rigth' names neither"),
    (table(winner=["left", "c", "drawn", "right"]), {}, "row 3, column 'winner': 'drawn' names neither.*'left', 'right', 'tie'"),
    (table(winner=[1, 2, 1, 2]), {}, "row 1, column 'winner': values such as 1 are integers, but the items are text"),
    (table(winner=["left", 1, "tie", "right"]), {}, "row 2, column 'winner': 1 stands under 'left' of row 1.*mixed"),
    (table(left=["a", "left", "c", "a"]), {}, "row 2, column 'left': 'left' is also the word for an outcome.*another name"),
    (table(right=["b", "c", "tie", "c"]), {}, "row 3, column 'right': 'tie' is also the word"),
    (table(right=[1, 2, 1, 2]), {}, "row 1, column 'right': values such as 1 are integers, but the items are text"),
    (table(), {"items": ["a", "b"]}, "row 3, column 'left': 'c' is not one of the items.*add it to items="),
    (table(), {"items": ["a", "b", "b"]}, "argument items, place 3: 'b' is listed twice"),
    (table(), {"items": ["a", "b", "c", "tie"]}, "argument items: 'tie' is also the word"),
    (table(), {"items": ["a"]}, "argument items: 'a' is the only item"),
    (table(), {"items": []}, "argument items: 0 ids"),
    (table(), {"items": "abc"}, "argument items: items='abc' is a str"),
    (table(), {"items": {"a", "b", "c"}}, "argument items: .*is a set"),
    (table(), {"items": [1, 2, 3]}, "'a' are text, but the items are integers"),
    (table(), {"items": ["a", "b", None]}, "argument items, place 3: None is a missing"),
    (table(n=[1, 1.5, 1, 1]), {"count": "n"}, "row 2, column 'n': 1.5 is not a whole number.*a weight is no count"),
    (table(n=[1, -1, 1, 1]), {"count": "n"}, "row 2, column 'n': -1 is below 0"),
    (table(n=[1, math.nan, 1, 1]), {"count": "n"}, "row 2, column 'n': nan is a missing"),
    (table(n=[1, math.inf, 1, 1]), {"count": "n"}, "row 2, column 'n': inf is not a whole number"),
    (table(n=[1, True, 1, 1]), {"count": "n"}, "row 2, column 'n': True is not a number"),
    (table(n=[1, 10**12, 1, 1]), {"count": "n"}, "is above 2,147,483,647.*split the row"),
    (table(n=[0, 0, 0, 0]), {"count": "n"}, "there is no vote left"),
    (table(kind=["p", "m", "m", "m"]), {"rater_attributes": ["kind"]}, "row 3, .*'m' is the kind of rater 'r', who was 'p'"),
    (table(kind=["p", "m", None, "m"]), {"rater_attributes": ["kind"]}, "row 3, column 'kind': None is a missing"),
    (table(kind=["p"] * 4), {"rater_attributes": ["kind"], "rater": None}, "'kind' describes raters who are not told apart"),
    (TEXT, {"winner": "best"}, "there is no column 'best'.*winner=..."),
    (TEXT, {"rater": "judge"}, "there is no column 'judge'.*rater=None"),
    (TEXT, {"left": "right"}, "one column is named twice"),
    ({k: [] for k in TEXT}, {}, "columns but no rows"),
    (table(left=["a", "b"]), {}, "column 'left' has 2 rows and column"),
    ([1, 2], {}, "a list is not a table"),
    ("votes.csv", {}, "a str is not a table"),
    (table(left=["x" * 50_000_000, "b", "c", "a"]), {}, "is too long"),
    (WHOLE | {"winner": ["left", "30", "tie", "right"]}, {}, "row 2, .*'30' is text, but the items are integers such as 10"),
    (WHOLE | {"winner": [10, 30, 20, 30]}, {}, "row 3, column 'winner': 20 names neither.*30 or 10"),
    (WHOLE | {"winner": [10, 30, 99, 30]}, {}, "row 3, column 'winner': 99 names neither"),
    (WHOLE | {"winner": [10.0, 30.0, math.nan, 30.0]}, {}, "row 3, column 'winner': nan is a missing"),
    (WHOLE | {"winner": [10.0, 30.0, 10.0, 30.0]}, {}, "row 1, column 'winner': 10.0 is of type float"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "options", "message"), CASES, ids=[m[:50] for *_, m in CASES])
def test_tables(frame, options, message):
    with pytest.raises(DataError, match=message) as caught:
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
    ("pairs", "message"),
    [
        ([], "pairs hold nothing"),
        (np.empty((0, 2), int), "pairs hold nothing"),
        (5, "pairs hold a int"),
        ("ab", "pairs hold a str"),
        ({0: 1}, "pairs hold a dict"),
        ([(0, 1), (1,)], r"argument pairs, place 2: \(1,\) is not one winner and one loser"),
        ([(0, 1), (1, 2, 3)], "place 2: .*one pair for each loser"),
        ([(0, 1), "ab"], "place 2: 'ab' is not"),
        ([(0, 1), 3], "place 2: 3 is not"),
        (np.zeros((3, 3), int), r"place 1: \[0, 0, 0\] is not"),
        ([(0, 1), (1, 1)], "row 2, column 'loser': 1 is compared with itself"),
        ([(0, 1), (None, 1)], "row 2, column 'winner': None is a missing"),
        (np.array([[0.0, 1.0]]), "row 1, column 'winner': 0.0 is of type float"),
        ([("a", 1)], "1 are integers, but the items are text"),
        ([("a", "tie")], "'tie' is also the word"),
    ],
)
def test_pairs(pairs, message):
    with pytest.raises(DataError, match=message) as caught:
        Comparisons.from_pairs(pairs)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("winners", "message"),
    [
        (["X", "Ignore"], "row 2, column 'winners': 'Ignore' is no outcome.*leave out the votes"),
        (["X", "Winner.Ignore"], "leave out the votes"),
        (["X", "left"], "row 2, column 'winners': 'left' is no outcome.*from_table"),
        (["X", None], "row 2, column 'winners': None is no outcome"),
        (["X", 1], "row 2, column 'winners': 1 is no outcome"),
        (["X"], "column 'winner' has 1 rows and column 'left' has 2"),
        ("XY", "winners are a str"),
        (iter("XY"), "winners are a str_"),
    ],
)
def test_sequences(winners, message):
    with pytest.raises(DataError, match=message):
        Comparisons.from_sequences(["a", "b"], ["b", "c"], winners)


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
        words = TIES.union(*SIDES)  # of an outcome, in whatever case
        assert text in pairs.items.tolist() or (column == "winner" and folded(text) in words)


def test_degenerate_but_legal():
    one = Comparisons.from_table({"rater": [1], "left": [1], "right": [2], "winner": [1]})
    assert len(one) == 1 and one.connected and "1 of 1 (100.0%)" in one.report()
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

"""The container of scores: codes, merged counts, exact values, bounds, counts by level, round trips."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import DataError, DataWarning, Scores

TABLE = {
    "item": ["b", "b", "a", "b", "a", "c", "b"],
    "rater": ["s", "r", "s", "s", "t", "t", "s"],
    "score": [2.5, -1, 0.1, -3, 4, 4, 2.5],
}


def test_codes_are_sorted_and_merged(golden):
    scores = Scores.from_table(TABLE, bounds=(-3, 5))
    assert scores.items.tolist() == ["b", "a", "c"]
    assert scores.raters.tolist() == ["s", "r", "t"]
    assert scores.annotation_item.tolist() == [0, 0, 0, 1, 1, 2]
    assert scores.annotation_rater.tolist() == [0, 0, 1, 0, 2, 2]
    assert scores.score.tolist() == [-3, 2.5, -1, 0.1, 4, 4]
    assert scores.count.tolist() == [1, 2, 1, 1, 1, 1]
    assert scores.bounds == (-3.0, 5.0)
    assert len(scores) == 7 and not scores.anonymous and scores.identified
    golden.says(repr(scores))
    assert scores.annotation_item.dtype == scores.annotation_rater.dtype == np.int32
    assert scores.score.dtype == np.float64 and scores.count.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        scores.score[0] = 3


def test_equality_and_round_trip(golden):
    scores = Scores.from_table(TABLE, bounds=(-3, 5))
    assert Scores.from_table(scores.to_table(), count="count", bounds=[-3.0, 5.0]) == scores
    assert Scores.from_table(TABLE) != scores
    assert Scores.from_table(TABLE | {"score": [2.5, -1, 0.1, -3, 4, 4, 2]}) != scores
    golden.says(repr(Scores.from_table(TABLE)))


def test_values_are_exact_and_minus_zero_is_zero():
    values = [0.1, np.nextafter(0.1, 1), 5e-324, 1e100, -0.0, 0.0, 2**53]
    scores = Scores.from_table(TABLE | {"score": values})
    assert {*scores.score.tolist()} == {*values}
    assert not np.signbit(scores.score[scores.score == 0]).any()
    assert Scores.from_table(TABLE | {"score": [-0.0] * 7}) == Scores.from_table(TABLE | {"score": [0] * 7})


@pytest.mark.parametrize(
    "values",
    [
        [0.5, 2, -1, 3, 4, 4, 10],
        ["0.5", "2", " -1.0", "+3", "4.", "4e0", ".1e2"],
        [Decimal("0.5"), 2, np.int8(-1), np.float32(3), "4", 4.0, np.uint64(10)],
        pa.array([Decimal("0.50"), 2, -1, 3, 4, 4, 10], pa.decimal128(9, 2)).to_pandas(),
        pd.array([0.5, 2, -1, 3, 4, 4, 10], "Float64"),
        np.array([0.5, 2, -1, 3, 4, 4, 10], np.float16),
    ],
)
def test_numbers_of_every_kind(values):
    expected = Scores.from_table(TABLE | {"score": [0.5, 2.0, -1.0, 3.0, 4.0, 4.0, 10.0]})
    assert Scores.from_table(TABLE | {"score": values}) == expected


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_any_frame(make):
    assert Scores.from_table(make(TABLE)) == Scores.from_table(TABLE)


def test_arrow_decimals_and_nullable_columns_without_a_null():
    whole = TABLE | {"score": [2, -1, 0, -3, 4, 4, 2]}
    expected = Scores.from_table(whole)
    decimals = pa.table(whole | {"score": pa.array(map(Decimal, whole["score"]), pa.decimal128(5, 2))})
    assert Scores.from_table(decimals) == expected
    assert Scores.from_table(pl.DataFrame(whole).cast({"score": pl.Decimal(10, 3)})) == expected
    assert Scores.from_table(pd.DataFrame(whole).astype({"score": "Int64"})) == expected


def test_raters_that_are_not_told_apart():
    scores = Scores.from_table(TABLE, rater=None)
    assert scores.anonymous and scores.raters.tolist() == []
    assert scores.annotation_rater.tolist() == [-1] * 6
    assert scores.score.tolist() == [-3, -1, 2.5, 0.1, 4, 4]
    assert scores.count.tolist() == [1, 1, 2, 1, 1, 1]
    assert "rater" not in scores.to_table()
    assert Scores.from_table(scores.to_table(), rater=None, count="count") == scores


def test_counts_of_zero_keep_the_item_and_drop_the_rater(golden):
    table = TABLE | {"count": [1, 1, 1, 1, 0, 0, 2]}
    scores = Scores.from_table(table, count="count", bounds=(-3, 9))
    assert scores.items.tolist() == ["b", "a", "c"] and scores.raters.tolist() == ["s", "r"]
    assert len(scores) == 6
    assert Scores.from_table(scores.to_table(), count="count", bounds=(-3, 9)) == scores
    golden.says(scores.report(), "items without")


def test_attributes_of_raters():
    table = TABLE | {"kind": ["model", "person", "model", "model", "person", "person", "model"]}
    scores = Scores.from_table(table, rater_attributes=["kind"])
    assert scores.rater_attributes["kind"].tolist() == ["model", "person", "person"]
    again = Scores.from_table(scores.to_table(), rater_attributes=["kind"], count="count")
    assert again == scores and scores != Scores.from_table(TABLE)
    one = scores.select(items=["c"])
    assert one.raters.tolist() == ["t"] and one.rater_attributes["kind"].tolist() == ["person"]


def test_crowdkit_names():
    table = {"task": [1, 2], "worker": [7, 7], "score": [0, 1]}
    assert Scores.from_table(table) == Scores.from_table(table, item="task", rater="worker")


def test_select():
    scores = Scores.from_table(TABLE, bounds=(-3, 5))
    some = scores.select(items=["c", "b"])
    assert some.items.tolist() == ["c", "b"] and some.bounds == (-3.0, 5.0)
    assert some.raters.tolist() == ["t", "s", "r"]
    assert some.score.tolist() == [4, -3, 2.5, -1]
    for wrong in (["z"], ["b", "b"], [1], [], "b"):
        with pytest.raises(DataError, match="argument items"):
            scores.select(items=wrong)


def test_counts_by_level():
    frame = pd.DataFrame({"2": [0, 3, 0], "id": ["p", "q", "r"], "-1.5": [4, 1, 0]})
    scores = Scores.from_counts(frame, item="id", bounds=(-2, 2))
    assert scores.items.tolist() == ["p", "q", "r"] and scores.anonymous and len(scores) == 8
    assert scores.annotation_item.tolist() == [0, 1, 1]
    assert scores.score.tolist() == [-1.5, -1.5, 2] and scores.count.tolist() == [4, 1, 3]
    numbers = frame.rename(columns={"2": 2, "-1.5": -1.5, "id": "item"})
    assert Scores.from_counts(numbers, bounds=(-2, 2)) == scores
    for dim in ("category", "level"):
        array = xr.DataArray(
            [[0, 4], [3, 1], [0, 0]], {"item": ["p", "q", "r"], dim: [2.0, -1.5]}, ("item", dim)
        )
        assert Scores.from_counts(array.T, bounds=(-2, 2)) == scores
    again = scores.to_table()
    assert Scores.from_table(again, rater=None, count="count", bounds=(-2, 2)) == scores
    assert scores.select(items=["r"]).identified is False
    assert len(Scores.from_counts({"item": [1], "3": [0]})) == 0


def test_one_level_is_legal_but_reported(golden):
    scores = Scores.from_counts({"item": [1, 2], "3": [5, 1]})
    assert "CONSTANT" in scores.report()
    golden.says(scores.report(), "every score")
    golden.says(scores.report(), "items scored")


def test_report(golden):
    text = Scores.from_table(TABLE, bounds=(-3, 4)).report()
    golden.says(text)
    assert "NOT IDENTIFIED" not in text
    once = Scores.from_table({"item": [1, 2], "rater": [1, 2], "score": [1, 2]})
    assert "NOT IDENTIFIED" in once.report() and not once.identified


def test_nobody_scored_anything(golden):
    scores = Scores.from_counts({"item": ["a", "b"], "1": [0, 0], "2": [0, 0]}, bounds=(1, 2))
    assert len(scores) == 0
    golden.says(scores.report(), "items without")
    assert Scores.from_table(scores.to_table(), rater=None, count="count", bounds=(1, 2)) == scores
    table = {"item": ["a", "b"], "rater": [1, 2], "kind": [3, 4], "score": [1, 1], "n": [0, 0]}
    silent = Scores.from_table(table, rater_attributes=["kind"], count="n", bounds=(1, 2))
    assert silent.anonymous and silent == scores


values = st.floats(-1e100, 1e100) | st.integers(-5, 5)
ids = st.sampled_from(["a", "b", " b", "Ä", "1"]) | st.just("c"), st.integers(-2, 3)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 30))
    column = lambda cells: draw(st.lists(cells, min_size=n, max_size=n))  # noqa: E731
    kind = draw(st.sampled_from(ids))
    return {
        "item": column(kind),
        "rater": column(kind),
        "score": column(values),
        "count": column(st.integers(0, 3)),
    }


@settings(deadline=None, derandomize=True)
@given(tables(), st.randoms(use_true_random=False))
def test_round_trip(table, random):
    scores = Scores.from_table(table, count="count")
    assert len(scores) == sum(table["count"])
    rater = None if scores.anonymous else "rater"
    assert Scores.from_table(scores.to_table(), rater=rater, count="count") == scores
    nobody = Scores.from_table(table, rater=None, count="count")
    assert Scores.from_table(nobody.to_table(), rater=None, count="count") == nobody
    assert len(nobody) == len(scores) and {*nobody.score.tolist()} == {*scores.score.tolist()}
    order = list(range(len(table["item"])))
    random.shuffle(order)
    shuffled = Scores.from_table({k: [v[row] for row in order] for k, v in table.items()}, count="count")
    assert rows(shuffled) == rows(scores)


@settings(deadline=None, derandomize=True)
@given(tables(), st.data())
def test_select_is_the_table_of_these_items(table, data):
    scores = Scores.from_table(table, count="count")
    items = data.draw(st.lists(st.sampled_from(scores.items.tolist()), min_size=1, unique=True))
    chosen = scores.select(items=items)
    assert chosen.items.tolist() == items
    assert rows(chosen) == [row for row in rows(scores) if row[0] in items]


@settings(deadline=None, derandomize=True)
@given(tables())
def test_nothing_is_lost(table):
    counted = {}
    for item, rater, score, count in zip(*table.values(), strict=True):
        if count:
            counted[item, rater, score + 0.0] = counted.get((item, rater, score + 0.0), 0) + count
    assert rows(Scores.from_table(table, count="count")) == sorted((*k, n) for k, n in counted.items())


def rows(scores):
    """Return item, rater, score and count of every annotation, whatever their order."""
    table = [scores.to_table()[name].tolist() for name in ("item", "score", "count")]
    rater = scores.to_table().get("rater", np.array([""] * len(table[0]))).tolist()
    found = zip(table[0], rater, table[1], table[2], strict=True)
    return sorted(row for row in found if row[3])


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table, pl.DataFrame])
def test_bounds_hold_scores_in_32_bits(frame):
    cells = np.array([0.1, 0.2, 0.3], "float32")
    table = {"item": ["a", "a", "b"], "score": cells}
    scores = Scores.from_table(frame(table), bounds=(0.1, 0.3))
    assert sorted(scores.score.tolist()) == [0.1, float(cells[1]), 0.3]
    with pytest.raises(DataError):
        Scores.from_table(frame(table), bounds=(0.1, 0.29))


def test_counts_of_a_level_that_is_no_score_are_said_and_left_out(golden):
    counts = {"item": [*"ab"], "-1": [2, 0], "1": [3, 1], "2": [0, 4]}
    with golden.warns(DataWarning):
        assert len(Scores.from_counts(counts)) == 10
    with golden.warns(DataWarning):
        scores = Scores.from_counts(counts, no_answer=[-1])
    assert len(scores) == 8 and scores.score.min() == 1
    assert len(Scores.from_counts(counts, bounds=(-1, 2))) == 10  # declared: a score it is

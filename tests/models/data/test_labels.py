"""The container of labels: codes, merged counts, gold, other shapes of table, round trips."""

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import raterzoo
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo import models
from raterzoo.evaluation import predictions_from_table
from raterzoo.models import DataError, DataWarning, Labels
from raterzoo.models.data.labels import expand_answers
from raterzoo.reports.study import told_apart

TABLE = {
    "item": ["b", "b", "a", "b", "a", "c"],
    "rater": ["s", "r", "s", "s", "t", "t"],
    "label": ["no", "yes", "yes", "no", "no", "no"],
}


def test_codes_are_sorted_and_merged(golden):
    labels = Labels.from_table(TABLE, categories=["yes", "maybe", "no"])
    assert labels.items.tolist() == ["b", "a", "c"]
    assert labels.raters.tolist() == ["s", "r", "t"]
    assert labels.annotation_item.tolist() == [0, 0, 1, 1, 2]
    assert labels.annotation_rater.tolist() == [0, 1, 0, 2, 2]
    assert labels.label_code.tolist() == [2, 0, 0, 2, 2]
    assert labels.count.tolist() == [2, 1, 1, 1, 1]
    assert len(labels) == 6 and not labels.anonymous
    assert labels.counts.tolist() == [[1, 0, 2], [1, 0, 1], [0, 0, 1]]
    golden.says(repr(labels))
    with pytest.raises(ValueError, match="read-only"):
        labels.count[0] = 3


def test_counts_of_zero_keep_the_item_and_drop_the_rater(golden):
    table = TABLE | {"count": [1, 1, 1, 1, 0, 0]}
    labels = Labels.from_table(table, count="count")
    assert labels.items.tolist() == ["b", "a", "c"] and labels.raters.tolist() == ["s", "r"]
    assert labels.counts.sum(axis=1).tolist() == [3, 1, 0]
    assert Labels.from_table(labels.to_table(), count="count") == labels
    golden.says(labels.report(), "items without")


def test_rows_without_answers_are_none_when_counts_are_expanded():
    """Counts of one and zero, as of a container that is made anew: a largest count of one does not mean one each."""
    labels = Labels.from_table(TABLE)
    count = np.arange(len(labels.count), dtype=labels.count.dtype) % 2
    item, rater, label = expand_answers(replace(labels, count=count))
    assert item.tolist() == labels.annotation_item[1::2].tolist()
    assert rater.tolist() == labels.annotation_rater[1::2].tolist()
    assert label.tolist() == labels.label_code[1::2].tolist()


def test_gold_may_be_known_of_some_items():
    table = TABLE | {"truth": ["", "no", None, "no", float("nan"), "yes"]}
    labels = Labels.from_table(table, gold="truth")
    assert labels.gold.tolist() == [0, -1, 1]
    again = Labels.from_table(labels.to_table(), gold="gold", count="count")
    assert again == labels
    frame = pd.DataFrame(
        {"item": [1, 1, 2], "rater": [1, 2, 1], "label": [3, 4, 3], "truth": [4, None, None]}
    )
    assert Labels.from_table(frame, gold="truth").gold.tolist() == [1, -1]


def test_attributes_of_raters():
    table = TABLE | {"kind": ["model", "person", "model", "model", "person", "person"]}
    labels = Labels.from_table(table, rater_attributes=["kind"])
    assert labels.rater_attributes["kind"].tolist() == ["model", "person", "person"]
    again = Labels.from_table(labels.to_table(), rater_attributes=["kind"], count="count")
    assert again == labels
    assert labels != Labels.from_table(TABLE)
    one = labels.select(items=["c"])
    assert one.raters.tolist() == ["t"] and one.rater_attributes["kind"].tolist() == ["person"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_any_frame(make):
    assert Labels.from_table(make(TABLE)) == Labels.from_table(TABLE)


def test_categorical_declares_the_closed_set():
    frame = pd.DataFrame(TABLE)
    frame["label"] = pd.Categorical(frame["label"], ["yes", "maybe", "no"])
    assert Labels.from_table(frame).categories.tolist() == ["yes", "maybe", "no"]


def test_crowdkit_names():
    table = {"task": [1, 2], "worker": [7, 7], "label": [0, 1]}
    assert len(Labels.from_table(table, item="task", rater="worker")) == 2


def test_counts_without_raters():
    array = xr.DataArray(
        [[2, 0], [1, 3], [0, 0]], {"item": ["a", "b", "c"], "category": [0, 1]}, ("item", "category")
    )
    labels = Labels.from_counts(array)
    assert labels.anonymous and labels.raters.tolist() == []
    assert labels.annotation_rater.tolist() == [-1, -1, -1]
    assert labels.counts.tolist() == array.values.tolist()
    table = pd.DataFrame({"no": [2, 1, 0], "item": ["a", "b", "c"], "yes": [0, 3, 0]})
    assert Labels.from_counts(table).categories.tolist() == ["no", "yes"]
    named = Labels.from_counts(table, categories=["yes", "no"])
    assert named.counts.tolist() == [[0, 2], [3, 1], [0, 0]]
    assert Labels.from_counts(named.to_table()) == named
    assert "anonymous" in named.report()


def test_wide_tables_and_patterns():
    frame = pd.DataFrame({"id": ["p", "q", "r"], "a": [1, 2, None], "b": [1, None, None]})
    labels = Labels.from_wide(frame, raters=["a", "b"], item="id")
    assert labels.items.tolist() == ["p", "q", "r"] and labels.categories.tolist() == [1, 2]
    assert labels.counts.tolist() == [[2, 0], [0, 1], [0, 0]]
    assert labels == Labels.from_wide(frame, item="id")
    patterns = Labels.from_wide({"a": ["x", "y"], "b": ["x", "x"], "n": [2, 1]}, raters=["a", "b"], count="n")
    assert patterns == Labels.from_wide({"a": ["x", "y"], "b": ["x", "x"], "n": [2, 1]}, count="n")
    assert patterns.items.tolist() == ["0.1", "0.2", "1.1"]
    assert patterns.counts.tolist() == [[2, 0], [2, 0], [1, 1]]


@st.composite
def tables(draw):
    n = draw(st.integers(1, 30))
    cells = st.sampled_from(["a", "b", " b", "Ä", "1"]) if draw(st.booleans()) else st.integers(-2, 3)
    table = {name: draw(st.lists(cells, min_size=n, max_size=n)) for name in ("item", "rater", "label")}
    return table | {"count": draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))}


@settings(deadline=None)
@given(tables())
def test_round_trip(table):
    kind = " b" if isinstance(table["label"][0], str) else 9
    categories = [*dict.fromkeys(table["label"]), *([kind] if kind not in table["label"] else ["z"])]
    labels = Labels.from_table(table, count="count", categories=categories)
    assert len(labels) == sum(table["count"])
    if not labels.anonymous:
        assert Labels.from_table(labels.to_table(), count="count", categories=categories) == labels
    backwards = labels.select(items=labels.items[::-1])
    assert backwards.counts.tolist() == labels.counts[::-1].tolist()


folder = os.environ.get("RATERZOO_DATA")


@pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")
def test_real_tables():
    read = lambda name, **options: pd.read_csv(Path(folder) / name, **options)  # noqa: E731
    anesthesia = Labels.from_table(read("anesthesia.csv"), label="rating")
    assert (len(anesthesia.items), len(anesthesia.raters), len(anesthesia)) == (45, 5, 315)
    caries = Labels.from_wide(
        read("caries_grouped.csv"), raters=[f"rater_{k}" for k in range(1, 6)], count="n"
    )
    assert (len(caries.items), len(caries)) == (3859, 5 * 3859)
    truth = read("bluebird_truth.csv").set_index("item")["truth"]
    frame = read("bluebird_answers.csv")
    bluebird = Labels.from_table(frame.assign(truth=truth[frame["item"]].values), gold="truth")
    assert (len(bluebird.items), len(bluebird.raters), (bluebird.gold >= 0).all()) == (108, 39, True)
    panda = read("pandalm_testset_labels.csv", dtype=str)
    raters = ["annotator1", "annotator2", "annotator3", "gpt35", "pandalm7b"]
    panda = Labels.from_wide(
        panda.replace({"gpt35": {"Tie": "0", "garbage": None}}),
        raters=raters,
        item="idx",
        categories=["0", "1", "2"],
    )
    assert len(panda) == 5 * 999 - 25
    toxic = read("toxicity_full.csv")
    toxic["benign"] = toxic["n_labels"] - toxic["n_labelled_attack"]
    counts = Labels.from_counts(toxic, item="rev_id", categories=["benign", "n_labelled_attack"])
    assert len(counts) == toxic["n_labels"].sum()


def test_columns_of_crowd_kit_are_known():
    table = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}
    assert Labels.from_table(table) == Labels.from_table(table, item="task", rater="worker")


def test_counts_in_columns_with_integer_names():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=[0, 1]).assign(item=["a", "b"])
    labels = Labels.from_counts(frame)
    assert labels.categories.tolist() == [0, 1] and labels.counts.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("role", ["rater", "item"])
def test_items_and_raters_cannot_be_left_out(role, golden):
    with golden.raises(DataError):
        Labels.from_table({"item": [1], "rater": ["a"], "label": ["x"]}, **{role: None})


def test_a_category_cannot_be_called_as_the_column_of_ids(golden):
    with golden.raises(DataError):
        Labels.from_counts({"id": ["a", "b"], "item": [1, 2], "y": [2, 3]}, item="id")


class TestOrder:
    """Places of the answers in time, which come with them through selection, renaming and predictions."""

    TABLE: ClassVar = {
        "item": ["b", "a", "a", "b", "a"],
        "rater": ["x", "y", "x", "y", "x"],
        "label": ["p", "q", "p", "q", "p"],
        "time": ["2026-01-02 10:00", "2026-01-01", "2026-01-03", "", "2025-12-31T23:00"],
    }

    def test_it_is_that_of_the_times(self):
        labels = Labels.from_table(self.TABLE, order="time")
        assert labels.items.tolist() == ["b", "a"] and labels.raters.tolist() == ["x", "y"]
        assert labels.order.tolist() == [3, 0, 1, 4, 2]
        assert labels.count.tolist() == [1] * 5
        assert Labels.from_table(labels.to_table(), order="order", count="count") == labels
        assert labels.contradictions() == 0

    def test_it_goes_where_the_answers_go(self):
        labels = Labels.from_table(self.TABLE, order="time")
        assert labels.select(items=["a"]).order.tolist() == [1, 4, 2]
        assert labels.without_duplicates().order.tolist() == [3, 0, 1, 2]
        hidden = labels.anonymized(random_seed=1)
        assert sorted(hidden.order.tolist()) == sorted(labels.order.tolist())
        ranks = {"item": ["a"], "category": ["p"], "rank": [1]}
        joint = labels.with_predictions(predictions_from_table(ranks, rank="rank"))
        assert joint.order[joint.annotation_rater == 2].tolist() == [0]

    def test_numbers_sort_as_numbers(self):
        table = {**self.TABLE, "time": ["10", "9", "8", "7", "11"]}
        assert Labels.from_table(table, order="time").order.tolist() == [4, 1, 2, 5, 3]

    def test_what_is_no_time_is_refused(self):
        with pytest.raises(DataError) as error:
            Labels.from_table({**self.TABLE, "time": ["1", "2", "", "soon", "4"]}, order="time")
        assert (error.value.column, error.value.row) == ("time", 4)


class TestTimes:
    """Times of the answers are kept in UTC, and their order is that of the answers."""

    TABLE: ClassVar = {
        **TestOrder.TABLE,
        "time": ["2026-01-02 10:00", "2026-01-01T01:00+02:00", "2026-01-03", "", "2025-12-31T23:00"],
    }
    UTC = np.array(["2025-12-31T23", "2026-01-02T10", "2026-01-03T00"], "datetime64[us]")

    def test_times_of_several_zones_are_one_scale(self):
        labels = Labels.from_table(self.TABLE, time="time")
        assert (labels.times == self.UTC).all() and labels.times.dtype == self.UTC.dtype
        assert labels.order.tolist() == [2, 0, 1, 3, 1]
        assert labels.order.tolist() == Labels.from_table(self.TABLE, order="time").order.tolist()

    @pytest.mark.parametrize("items", [["b", "a"], ["a"], ["b"]])
    @pytest.mark.parametrize(
        "cells", [None, [3, 1.5, 9, 2, 1], [3, None, 7, 7, 1], ["1.25", "", "3", "2", "2"]]
    )
    def test_a_table_of_a_selection_is_read_as_it_was(self, items, cells):
        table = self.TABLE if cells is None else {**self.TABLE, "time": cells}
        labels = Labels.from_table(table, time="time").select(items=items)
        closed = {"count": "count", "categories": ["p", "q"]}
        assert Labels.from_table(labels.to_table(), time="time", **closed) == labels
        assert raterzoo.read(labels.to_table(), "labels", categories=["p", "q"]) == labels
        assert labels.order.max(initial=0) == len(labels.times)

    def test_other_times_are_other_labels(self):
        labels, later = (
            Labels.from_table({**self.TABLE, "time": own}, time="time") for own in (range(5), range(1, 6))
        )
        assert labels != later and labels.order.tolist() == later.order.tolist()

    def test_they_go_where_the_answers_go(self):
        labels = Labels.from_table(self.TABLE, time="time")
        ranks = {"item": ["a"], "category": ["p"], "rank": [1]}
        joint = labels.with_predictions(predictions_from_table(ranks, rank="rank"))
        assert (joint.times == self.UTC).all() and sorted(joint.order.tolist()) == [0, 0, 1, 1, 2, 3]
        assert (labels.anonymized(random_seed=1).times == self.UTC).all()

    def test_an_order_beside_them_is_the_one_that_counts(self):
        labels = Labels.from_table({**self.TABLE, "step": [5, 4, 3, 2, 1]}, time="time", order="step")
        assert labels.order.tolist() == [5, 2, 1, 3, 4] and not len(labels.times)

    @pytest.mark.parametrize("cells", [["1", "2", "", "soon", "4"], [1, 2, None, "2026-01-01", 4]])
    def test_what_is_no_such_time_is_refused(self, cells):
        with pytest.raises(DataError) as error:
            Labels.from_table({**self.TABLE, "time": cells}, time="time")
        assert (error.value.column, error.value.row) == ("time", 4)

    def test_a_column_of_that_name_may_hold_something_else(self):
        with pytest.warns(DataWarning):
            labels = raterzoo.read({**self.TABLE, "time": ["3 min", "2 min", "", "1 min", "4 min"]}, "labels")
        assert not len(labels.order)
        named = {("when" if name == "time" else name): cells for name, cells in self.TABLE.items()}
        assert (raterzoo.read(named, "labels", columns={"time": "when"}).times == self.UTC).all()


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_whole_numbers_with_a_point_are_those_without(tmp_path, layout):
    """Libraries write 1.0 in columns with a gap, and 1 beside them; versions such as 1.5 remain."""
    long, wide = "item,rater,label\n1,a,0\n1,b,1.0\n2,a,1\n3,b,0.0\n", "item,a,b\n1,0,1.0\n2,1,\n3,,0.0\n"
    file = tmp_path / "table.csv"
    file.write_text({"long": long, "wide": wide}[layout])
    with pytest.warns(models.DataWarning, match="with and without a point"):
        labels = raterzoo.read(file, kind="labels", layout=layout)
    assert labels.categories.tolist() == ["0", "1"] and labels.label_code.tolist() == [0, 1, 1, 0]
    file.write_text("item,rater,label\n1,a,1\n1,b,1.0\n2,a,1.5\n")
    assert raterzoo.read(file, kind="labels").categories.tolist() == ["1", "1.0", "1.5"]


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_floats_that_a_gap_made_are_the_integers_beside_them_in_parquet(tmp_path):
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"item": [1, 2, 3], "a": [1, 0, 1], "b": [1.0, None, 0.0]}), file)
    wide = raterzoo.read(file, "labels", layout="wide")
    assert wide.categories.tolist() == ["0", "1"] and wide.label_code.tolist() == [1, 1, 0, 1, 0]
    gold = [1.0, 1.0, None, None]
    long = {"item": [1, 1, 2, 2], "rater": [*"abab"], "label": [0, 1, 1, 1], "gold": gold}
    pq.write_table(pa.table(long), file)
    assert raterzoo.read(file).gold.tolist() == [1, -1]
    pq.write_table(pa.table({"item": [1, 1, 2], "score": [0.5, 2.0, None]}), file)
    assert raterzoo.read(file, "scores", missing="drop").score.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("column", "proposed"), [("annotation_id", "rater=..."), ("annotator_name", "rater='annotator_name'")]
)
def test_a_key_of_the_rows_is_not_proposed_as_the_rater(column, proposed):
    with pytest.raises(DataError) as refused:
        Labels.from_table({column: [1, 2], "item": [1, 2], "label": [*"ab"]})
    assert proposed in refused.value.remedy


def test_a_predicted_text_among_integers_is_refused():
    labels = models.Labels.from_table({"item": [1, 2], "rater": [*"aa"], "label": [0, 1]})
    rows = {"item": [1, 2], "rank": [1, 1], "category": ["-1", "0"]}
    with pytest.raises(models.DataError, match="'-1'"):
        labels.with_predictions(predictions_from_table(pd.DataFrame(rows), rank="rank"))


def test_gold_with_gaps_is_of_the_categories():
    table = {"item": [*"112"], "rater": [*"aba"], "label": [*"010"], "gold": ["1.0", "1.0", ""]}
    assert models.Labels.from_table(table, gold="gold").gold.tolist() == [1, -1]
    with pytest.raises(models.DataError) as refused:
        models.Labels.from_table({**table, "gold": ["2.0", "2.0", ""]}, gold="gold")
    assert (refused.value.row, refused.value.column) == (1, "gold")


@pytest.mark.parametrize(("n", "warns"), [(12, True), (9, False)])
def test_a_key_in_place_of_the_category_is_said_in_other_containers(n, warns):
    keys = [f"k{place}" for place in range(n)]
    items, half = [place // 2 for place in range(n)], n // 2
    rows = {"item": items, "rater": [*"ab" * n][:n], "category": keys, "rank": [1] * n}
    one = {"item": [1] * n, "rater": ["a"] * n, "category": keys, "rank": [*range(1, n + 1)]}
    wide = {"item": [*range(half)], "a": keys[:half], "b": keys[half : 2 * half]}
    for read, expected in (
        (lambda: models.PartialRankings.from_table(rows), warns),
        (lambda: models.Labels.from_wide(wide), warns),
        (lambda: models.PartialRankings.from_table(one), False),  # one list of all candidates
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            read()
        assert any("key of the rows" in str(own.message) for own in said) == expected


@pytest.mark.parametrize(("n", "warns"), [(12, True), (9, False)])
def test_a_key_in_place_of_the_rater_is_said_in_all_containers(n, warns, golden):
    keys, half, items = [f"k{place}" for place in range(n)], [*"ab" * n][:n], [*range(n)]
    rows = {"item": half, "rater": keys, "label": half, "score": [1] * n}
    votes = {"left": ["a"] * n, "right": ["b"] * n, "winner": half, "rater": keys}
    for read in (
        lambda: models.Labels.from_table(rows, categories=[*"abc"]),
        lambda: models.Scores.from_table(rows),
        lambda: models.Comparisons.from_table(votes),
        lambda: models.Scores.from_wide({"item": items, "Ann": [1] * n, "Bob": [2] * n, "row": items}),
    ):
        if warns:
            with golden.warns(models.DataWarning):
                read()
        else:
            read()


def test_columns_that_are_no_raters_are_said_in_wide_tables(golden):
    wide = {"item": [*range(12)], "Ann": [*"xy"] * 6, "Bob": [*"yx"] * 6}
    with golden.warns(models.DataWarning):
        models.Labels.from_wide(wide | {"uuid": [f"u{row}" for row in range(12)]})
    models.Labels.from_wide(wide | {"Cem": [*"xx"] * 6})
    models.Labels.from_wide(
        wide | {"Cem": ["z"] * 12}, raters=["Ann", "Bob", "Cem"]
    )  # named: raters they are


def test_a_summary_lists_all_words_for_no_answer():
    words = ["nan", "NA", "N/A", "None", "null", "NaN"]
    table = {"item": [*range(8)], "rater": ["a"] * 8, "label": [*words, "pos", "neg"]}
    with pytest.warns(models.DataWarning):
        found = models.Labels.from_table(table).report()
    assert all(repr(word) in found.split("that may be missing")[1] for word in words)


def test_raters_taken_as_one_keep_answers_and_truth():
    table = {"item": [1, 1, 2, 3], "rater": [*"abba"], "label": [*"xyxx"], "gold": ["x", "x", "", ""]}
    labels = models.Labels.from_table({**table, "team": [*"uvvu"]}, gold="gold", rater_attributes=["team"])
    pooled = labels.with_raters_pooled()
    assert pooled.raters.tolist() == ["all raters"] and pooled.rater_attributes == {}
    assert np.array_equal(pooled.counts, labels.counts) and np.array_equal(pooled.gold, labels.gold)
    counted = models.Labels.from_counts({"item": ["a", "b"], "x": [1, 0], "y": [2, 1]})
    assert counted.with_raters_pooled() is counted


@pytest.mark.parametrize(("further", "few"), [([], True), ([0], False)], ids=["two", "three of one rater"])
def test_a_crowd_with_two_answers_each_is_taken_as_one(further, few, monkeypatch, golden):
    rater = [*range(40), *range(40), *further]
    table = {"item": [place // 4 for place in range(len(rater))], "rater": rater}
    labels = models.Labels.from_table(table | {"label": [*"xy" * len(rater)][: len(rater)]})
    assert not labels.two_answers_each and told_apart(labels) is labels
    monkeypatch.setattr("raterzoo.models.data.labels.CROWD", 40)
    assert labels.two_answers_each == few
    if not few:
        return
    with golden.warns(models.DataWarning):
        pooled = told_apart(labels)
    assert pooled.raters.tolist() == ["all raters"] and np.array_equal(pooled.counts, labels.counts)


@pytest.mark.filterwarnings("ignore:each of the")
@pytest.mark.parametrize(
    ("raters", "options", "alone"),
    [
        (range(12), {}, True),
        (range(9), {}, False),
        ([*range(11), 0], {}, False),
        (range(12), {"rater_attributes": ["team"]}, False),
    ],
)
def test_raters_with_one_answer_each(raters, options, alone):
    n = len(raters)
    table = {"item": [place // 2 for place in range(n)], "rater": [*raters], "label": [*"xy" * n][:n]}
    assert models.Labels.from_table(table | {"team": ["t"] * n}, **options).one_answer_each == alone

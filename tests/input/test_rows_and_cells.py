"""Rows and cells as tools write them: rejected rows, answers given again, lists, records, marks, and keys taken for labels."""

import json
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import raterzoo
from raterzoo.models import Comparisons, DataError, DataWarning, Labels, PartialRankings, Scores

from tests.support.command_line import run, write

TABLE = {"item": [*"aab"], "rater": [*"rsr"], "label": ["yes", "no", "no"]}
AGAIN = {
    "item": [*"aabbab"],
    "rater": [*"rsrsrr"],
    "label": [*"xyxyyy"],
    "created_at": [
        "2026-01-05T10:00:00Z",
        "2026-01-05",
        "2026-01-06",
        "2026-01-07",
        "2026-01-01",
        "2026-02-05",
    ],
}
ZOONIVERSE = json.dumps([{"task": "T0", "task_label": "Is it a bird?", "value": "Yes"}])

MARKS = {"item": [*"aab"], "rater": [*"rsr"], "cat": [1, 0, "true"], "dog": ["0", 1.0, None]}
LABEL_STUDIO = {
    "annotation_id": [*range(12)],
    "annotator": [1, 2, 3] * 4,
    "created_at": ["2026-01-05T10:00:00Z"] * 12,
    "id": [place // 3 for place in range(12)],
    "sentiment": ["Positive", "Negative"] * 6,
}


def answers(labels):
    """Return the answers of Labels as a set of item, rater and label."""
    table = labels.to_table()
    return {*zip(*(map(str, table[name]) for name in ("item", "rater", "label")), strict=True)}


class TestAnswersGivenAgain:
    """`keep` chooses among several answers of a rater to an item, by time or by order; it says how many it leaves out."""

    def test_all_count_by_default(self):
        assert len(Labels.from_table(AGAIN)) == 6

    @pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
    def test_by_time(self, frame, golden):
        with golden.warns(DataWarning):
            last = Labels.from_table(frame(AGAIN), keep="last")
        assert answers(last) == {("a", "r", "x"), ("a", "s", "y"), ("b", "r", "y"), ("b", "s", "y")}
        with pytest.warns(DataWarning):
            first = raterzoo.read(frame(AGAIN), keep="first", columns={"time": "created_at"})
        assert answers(first) == {("a", "r", "y"), ("a", "s", "y"), ("b", "r", "x"), ("b", "s", "y")}

    def test_by_order_without_a_column_of_times(self, golden):
        table = {name: AGAIN[name] for name in ("item", "rater", "label")}
        with golden.warns(DataWarning):
            last = Labels.from_table(table, keep="last", categories=["x", "y"])
        assert ("a", "r", "y") in answers(last) and len(last) == 4

    @pytest.mark.parametrize(
        "times",
        [
            [3, 1, 1, 1, 2, 4],
            ["3", "1.5", "1", "1", "2", "4e2"],
            [datetime(2026, 1, day) for day in (3, 1, 1, 1, 2, 4)],
            np.array([3, 1, 1, 1, 2, 4], "datetime64[D]"),
            pd.to_datetime([f"2026-01-0{day}" for day in (3, 1, 1, 1, 2, 4)]),
            [f"Tue Jan 0{day} 12:33:38 PST 2026" for day in (3, 1, 1, 1, 2, 4)],
            [f"2026-01-0{day} 12:00:00 UTC" for day in (3, 1, 1, 1, 2, 4)],
        ],
    )
    def test_times_as_tools_write_them(self, times):
        with pytest.warns(DataWarning):
            last = Labels.from_table({**AGAIN, "when": times}, keep="last", time="when")
        assert {("a", "r", "x"), ("b", "r", "y")} < answers(last)

    def test_what_is_no_time_is_refused_with_its_row(self, golden):
        table = {**AGAIN, "created_at": [*AGAIN["created_at"][:-1], "5/2/2026"]}
        with golden.raises(DataError):
            Labels.from_table(table, keep="last")

    def test_scores_and_votes_too(self):
        with pytest.warns(DataWarning):
            table = {"item": [1, 1], "rater": [1, 1], "score": [2.0, 3.0]}
            assert Scores.from_table(table, keep="last").score.tolist() == [3.0]
        with pytest.warns(DataWarning):
            table = {"rater": [1, 1], "left": ["a", "b"], "right": ["b", "a"], "winner": ["a", "b"]}
            assert Comparisons.from_table(table, keep="first").outcome.tolist() == [0]

    @pytest.mark.filterwarnings("always")
    def test_a_whole_ranking_is_kept(self, tmp_path, golden):
        """Rater r ranked item 1 twice; the rows of a ranking have one time."""
        table = {
            "item": [1, 1, 1, 1, 1, 2],
            "rater": [*"rrrrsr"],
            "category": [*"xyyzxx"],
            "rank": [1, 2, 1, 2, 1, 1],
            "created_at": [
                "2026-01-01",
                "2026-01-01",
                "2026-01-02",
                "2026-01-02",
                "2026-01-03",
                "2026-01-01",
            ],
        }
        with pytest.warns(DataWarning):
            last = PartialRankings.from_table(table, keep="last")
        rest = {name: cells[2:] for name, cells in table.items() if name != "created_at"}
        assert last == PartialRankings.from_table(rest)
        with pytest.warns(DataWarning):
            first = raterzoo.read(table, "rankings", keep="first", columns={"time": "created_at"})
        assert len(first) == 3 and first.category_code.tolist() == [0, 1, 0, 0]
        with golden.raises(DataError):  # the remedy is the one that was followed above
            PartialRankings.from_table(table)
        named = {"stamp" if name == "created_at" else name: cells for name, cells in table.items()}
        path, other = write(tmp_path / "t.csv", table), write(tmp_path / "s.csv", named)
        kept = ("--kind", "rankings", "--keep-answers", "last")
        for found, column in (
            (run("check", path, *kept, "--column", "time=created_at"), "created_at"),
            (run("check", path, *kept), "created_at"),
            (run("check", other, *kept, "--column", "time=stamp"), "stamp"),
        ):
            assert found.exit_code == 0, found.output
            assert f"by column '{column}'" in found.output and "not read" not in found.output
        golden.says(run("check", path, *kept[:2]).output, "ranked twice")

    @pytest.mark.parametrize(
        "read",
        [
            lambda: Labels.from_table(AGAIN, keep="latest"),
            lambda: Scores.from_table({"item": [1], "score": [1.0]}, keep="last"),
            lambda: raterzoo.read(
                {"item": [1], "rater": [1], "category": ["x"], "rank": [1]}, "rankings", keep="last"
            ),
        ],
    )
    def test_other_choices_are_refused(self, read, golden):
        with golden.raises(DataError):
            read()

    @pytest.mark.filterwarnings("always")
    def test_on_the_command_line(self, tmp_path, golden):
        path = write(tmp_path / "t.csv", AGAIN)
        quick = ("--kind", "labels", "--model", "dirichlet", "--draws", 50, "-o", tmp_path / "p.nc")
        golden.says(run("fit", path, *quick).output, "--keep-answers")
        golden.says(run("fit", path, *quick, "--keep-answers", "last").output, "left out")
        found = run(
            "check", path, "--kind", "labels", "--keep-answers", "first", "--column", "time=created_at"
        )
        golden.says(found.output, "left out", "answers by category")
        wide = run("check", path, "--kind", "labels", "--keep-answers", "first", "--layout", "wide")
        assert wide.exit_code == 2
        golden.says(wide.output, "--keep-answers")


def test_the_one_door_reads_a_column_for_each_category():
    table = {"item": [1, 1, 2], "rater": [*"rsr"], "cat": ["true", "false", "true"], "dog": [0, 1, ""]}
    found = raterzoo.read(table, "labels", columns={"label": ["cat", "dog"]})
    assert found.categories[found.label_code].tolist() == ["cat", "dog", "cat"]


class TestRejectedRows:
    """Rows that Mechanical Turk, Figure Eight or Label Studio mark as rejected are left out, which is said."""

    @pytest.mark.parametrize(
        ("column", "marks"),
        [
            ("AssignmentStatus", ["Approved", "Rejected", "Submitted"]),
            ("_tainted", ["false", "true", "false"]),
            ("_tainted", [False, True, False]),
            ("was_cancelled", ["False", "True", "False"]),
            ("status", ["APPROVED", "REJECTED", "AWAITING REVIEW"]),
            ("Status", ["APPROVED", "TIMED-OUT", ""]),
        ],
    )
    def test_they_are_left_out(self, column, marks, golden):
        with golden.warns(DataWarning):
            labels = Labels.from_table({**TABLE, column: marks})
        assert answers(labels) == {("a", "r", "yes"), ("b", "r", "no")}

    def test_no_other_column_rejects(self):
        assert len(Labels.from_table({**TABLE, "status": ["ok", "rejected", "ok"]})) == 3
        assert len(Labels.from_table({**TABLE, "AssignmentStatus": ["Approved"] * 3})) == 3
        with pytest.warns(DataWarning, match="'status'"):  # kept, and said
            assert len(raterzoo.read({**TABLE, "status": ["ok", "rejected", "ok"]})) == 3
        assert len(raterzoo.read({**TABLE, "status": ["APPROVED"] * 3})) == 3

    def test_rows_keep_their_numbers(self):
        table = {**TABLE, "label": ["yes", "no", ""], "_tainted": [True, False, False]}
        with pytest.raises(DataError) as error, pytest.warns(DataWarning):
            Labels.from_table(table)
        assert error.value.row == 3


class TestCells:
    """Labels in lists, records and truth values are read where they are one; what is several is refused with its row."""

    @pytest.mark.parametrize(
        ("cells", "labels"),
        [
            ([["x"], ["y"], ["x"]], ["x", "y"]),
            (["['x']", "['y']", "['x']"], ["x", "y"]),
            (['["x"]', '["y"]', '["x"]'], ["x", "y"]),
            ([ZOONIVERSE, ZOONIVERSE.replace('"Yes"', '"No"'), ZOONIVERSE], ["No", "Yes"]),
            ([{"value": 3}, {"value": 4}, {"value": 3}], [3, 4]),
            (['[{"q":{"label":"x"}}]', '[{"q":{"label":"y"}}]', '[{"q":{"label":"x"}}]'], ["x", "y"]),
            ([{"x": True, "y": False}, {"x": False, "y": True}, {"x": True, "y": False}], ["x", "y"]),
        ],
    )
    def test_one_label_of_each(self, cells, labels, golden):
        with golden.warns(DataWarning):
            found = Labels.from_table({**TABLE, "label": cells})
        assert found.categories.tolist() == labels and found.counts.sum() == 3

    @pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
    def test_truth_values(self, frame):
        found = Labels.from_table(
            frame({**TABLE, "label": [True, False, False], "gold": [True, True, False]}), gold="gold"
        )
        assert found.categories.tolist() == ["False", "True"] and found.gold.tolist() == [1, 0]

    @pytest.mark.parametrize(
        "cell",
        [
            ["x", "y"],
            [],
            {"task": "T0", "x": 1},
            {"x": True, "y": True},
            json.dumps([{"value": 1}, {"value": 2}]),
        ],
    )
    def test_several_are_refused(self, cell, golden):
        with golden.raises(DataError):
            Labels.from_table({**TABLE, "label": [["x"], ["y"], cell]})

    def test_the_text_of_a_list_of_several_is_a_label(self):
        found = Labels.from_table({**TABLE, "label": ["['x', 'y']", "[x]", "{x}"]})
        assert len(found.categories) == 3

    def test_rankings_and_wide_tables(self):
        table = {"item": [1, 1], "rater": [1, 1], "category": [["x"], ["y"]], "rank": [1, 2]}
        with pytest.warns(DataWarning):
            assert PartialRankings.from_table(table).categories.tolist() == ["x", "y"]
        with pytest.warns(DataWarning):
            found = Labels.from_wide({"item": [1, 2], "Ann": [["x"], ["y"]], "Bob": [["x"], None]})
        assert found.counts.tolist() == [[2, 0], [0, 1]]

    def test_gold_that_accepts_several_is_unknown(self, golden):
        table = {**TABLE, "gold": ["yes\nno", "yes\nno", "no"]}
        with golden.warns(DataWarning):
            assert Labels.from_table(table, gold="gold").gold.tolist() == [-1, 0]
        with golden.raises(DataError):
            Labels.from_table({**TABLE, "gold": ["yes\nmaybe", "", ""]}, gold="gold")


class TestMarks:
    """A column for each category, 1 or true where it was given."""

    def test_they_are_labels(self):
        labels = Labels.from_table(MARKS, label=["cat", "dog"])
        assert answers(labels) == {("a", "r", "cat"), ("a", "s", "dog"), ("b", "r", "cat")}

    def test_two_none_and_other_marks_are_refused(self, golden):
        for dog in ([1, 1, 0], [0, 0, 0], [0, 2, 0]):
            with golden.raises(DataError):
                Labels.from_table({**MARKS, "dog": dog}, label=["cat", "dog"])
        with pytest.warns(DataWarning):
            assert (
                len(Labels.from_table({**MARKS, "dog": [0, 0, 0]}, label=["cat", "dog"], missing="drop")) == 2
            )

    def test_the_remedy_names_them(self, tmp_path, golden):
        with golden.raises(DataError):
            Labels.from_table(MARKS)
        path = write(tmp_path / "t.csv", MARKS)
        golden.says(run("check", path, "--kind", "labels").output, "remedy")
        found = run("check", path, "--kind", "labels", "--column", "label=cat", "--column", "label=dog")
        golden.says(found.output, "answers by category")


TURK = {"HITId": ["h1", "h1", "h2"], "WorkerId": ["w1", "w2", "w1"], "Input.text": ["a", "a", "b"]}


class TestMechanicalTurk:
    """Results of Mechanical Turk: answers are columns Answer.*, one for each option of a question."""

    @pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
    @pytest.mark.parametrize(
        ("answers", "categories"),
        [
            (("Answer.cat.on", "Answer.dog.on"), ["cat", "dog"]),  # check boxes
            (("Answer.q.cat", "Answer.q.dog"), ["cat", "dog"]),  # buttons
            (("Answer.cat.on", "Answer.cat.off"), ["on", "off"]),
        ],
    )
    def test_columns_of_options_are_categories(self, frame, answers, categories, tmp_path):
        marks = ([True, False, False], [False, True, True])
        table = TURK | dict(zip(answers, marks, strict=True))
        named = {"item": "HITId", "rater": "WorkerId", "label": answers}
        for read in (lambda own: raterzoo.read(own), lambda own: Labels.from_table(own, **named)):
            with warnings.catch_warnings(action="ignore"):
                found = read(frame(table))
            assert found.categories.tolist() == categories and found.counts.tolist() == [[1, 1], [0, 1]]
        found = run("check", write(tmp_path / "batch.csv", table), "--kind", "labels")
        assert found.exit_code == 0 and f"{categories[1]!r} 2" in found.output

    def test_one_question_is_the_label(self):
        table = TURK | {"Answer.sentiment": ["x", "y", "x"]}
        with pytest.warns(DataWarning, match="Answer.sentiment"):
            assert raterzoo.read(table).counts.tolist() == [[1, 1], [1, 0]]

    def test_one_question_is_the_score(self, tmp_path):
        table = TURK | {"Answer.rating": [3, 4, 1]}
        with pytest.warns(DataWarning, match="Answer.rating"):
            assert Scores.from_table(table, item="HITId", rater="WorkerId").score.tolist() == [3.0, 4.0, 1.0]
        found = run("check", write(tmp_path / "batch.csv", table), "--kind", "scores")
        assert found.exit_code == 0 and "1: 1, 3: 1, 4: 1" in found.output
        with pytest.raises(DataError):  # options are no scores
            Scores.from_table(TURK | {"Answer.a.on": [1, 0, 1], "Answer.b.on": [0, 1, 0]})

    @pytest.mark.parametrize(
        "answers",
        [
            ("Answer.cat", "Answer.dog"),
            ("Answer.q.cat", "Answer.r.dog"),
            ("Answer.a.on", "Answer.a.off", "Answer.b.on", "Answer.b.off"),
        ],
    )
    def test_several_questions_are_not_guessed_among(self, answers):
        table = TURK | {name: [True, False, False] for name in answers}
        with pytest.raises(DataError) as error:
            Labels.from_table(table, item="HITId", rater="WorkerId")
        assert error.value.column == "label"

    def test_several_options_are_refused_with_their_row(self):
        table = TURK | {"Answer.cat.on": [1, 1, 0], "Answer.dog.on": [0, 1, 1]}
        with pytest.raises(DataError) as error, pytest.warns(DataWarning):
            raterzoo.read(table)
        assert (error.value.row, error.value.column) == (2, "Answer.dog.on")


class TestKeys:
    """A key of the rows is no column of labels: it is not proposed, and said where it is taken for one."""

    def test_it_is_not_proposed(self, tmp_path, golden):
        with golden.raises(DataError):
            Labels.from_table(LABEL_STUDIO)
        found = run("check", write(tmp_path / "t.csv", LABEL_STUDIO), "--kind", "labels")
        assert found.exit_code == 2 and "label=annotation_id" not in found.output
        named = Labels.from_table(LABEL_STUDIO, item="id", rater="annotator", label="sentiment")
        assert len(named) == 12

    def test_it_is_said_where_it_is_taken(self, golden):
        own = {"item": "id", "rater": "annotator", "label": "sentiment"}
        for role in ("label", "rater"):
            with golden.warns(DataWarning):
                Labels.from_table(LABEL_STUDIO, **{**own, role: "annotation_id"})
        with warnings.catch_warnings(action="error"):
            few = {name: cells[:3] for name, cells in LABEL_STUDIO.items()}
            Labels.from_table(few, **{**own, "label": "annotation_id"})


@pytest.mark.filterwarnings("always")
def test_columns_of_time_confidence_and_prompt_that_are_not_read_are_named(tmp_path, golden):
    table = {**TABLE, "created_at": [1, 2, 3], "confidence": [0.5] * 3, "prompt": [*"xyz"], "note": [*"xyz"]}
    with golden.warns(DataWarning):
        raterzoo.read(table, "labels")
    golden.says(run("check", write(tmp_path / "t.csv", table), "--kind", "labels").output, "not read")
    prompts = {"prompt": TABLE["item"], "judge": TABLE["rater"], "label": TABLE["label"]}
    with pytest.warns(DataWarning) as found:
        raterzoo.read(prompts, "labels")
    assert not [own for own in found if "not read" in str(own.message)]

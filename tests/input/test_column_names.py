"""Columns under the names of the trade, ambiguous and missing ones, and rows with empty cells."""

import numpy as np
import pandas as pd
import pytest
from raterzoo.models import Comparisons, DataError, DataWarning, Labels, PartialRankings, Scores

LABELS = {"item": [1, 1, 2], "rater": ["a", "b", "a"], "label": ["x", "y", "x"]}
VOTES = {"left": ["g", "h", "g"], "right": ["h", "k", "k"], "winner": ["left", "right", "tie"]}


def renamed(table, **names):
    return {names.get(role, role): cells for role, cells in table.items()}


@pytest.mark.parametrize(
    "item", ["task_id", "Task ID", "doc-id", "DocumentId", "example", "question_id", "id", "image"]
)
@pytest.mark.parametrize("rater", ["annotator", "Worker ID", "coder", "judge", "user", "labeler"])
@pytest.mark.parametrize(
    "label", ["choice", "Answer", "annotation", "class", "response", "verdict", "category"]
)
def test_names_of_the_trade_are_understood_and_said(item, rater, label):
    with pytest.warns(DataWarning) as said:
        found = Labels.from_table(renamed(LABELS, item=item, rater=rater, label=label))
    assert found == Labels.from_table(LABELS)
    text = str(said[0].message)
    assert all(
        f"'{name}' as {role}" in text for role, name in (("item", item), ("rater", rater), ("label", label))
    )
    assert f"item='{item}'" in text and said[0].filename == __file__
    assert found == Labels.from_table(
        renamed(LABELS, item=item, rater=rater, label=label), item=item, rater=rater, label=label
    )


def test_the_other_kinds_have_names_of_the_trade_too():
    scores = {"item": ["a", "b"], "rater": ["r", "s"], "score": [1, 2]}
    rankings = {"item": ["a", "a"], "rater": ["r", "s"], "category": ["x", "y"], "rank": [1, 1]}
    for kind, table, names in (
        (Scores, scores, {"item": "document", "rater": "reviewer", "score": "stars"}),
        (
            PartialRankings,
            rankings,
            {"item": "case", "rater": "reader", "category": "diagnosis", "rank": "position"},
        ),
        (Comparisons, VOTES, {"left": "model_a", "right": "model_b", "winner": "preference"}),
    ):
        with pytest.warns(DataWarning, match="reading"):
            assert kind.from_table(renamed(table, **names)) == kind.from_table(table)


def test_an_exact_name_and_an_argument_win_over_a_synonym():
    more = LABELS | {"task_id": [7, 8, 9], "annotator": list("uvw"), "Label": list("pqr")}
    assert Labels.from_table(more) == Labels.from_table(LABELS)
    assert Labels.from_table(more, item="task_id").items.tolist() == [7, 8, 9]
    crowd = renamed(LABELS, item="task", rater="worker")  # crowd-kit's names need no message
    assert Labels.from_table(crowd) == Labels.from_table(renamed(LABELS, item="Item", rater="RATER"))


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_two_columns_for_one_role_are_refused(frame, golden):
    table = renamed(LABELS, item="task_id") | {"document": [1, 2, 3]}
    with golden.raises(DataError):
        Labels.from_table(frame(table))


def test_all_missing_columns_are_in_one_message_with_the_kind_they_look_like(golden):
    with golden.raises(DataError):
        Labels.from_table({"itm": [1], "rater": [2]})
    with golden.raises(DataError):
        PartialRankings.from_table({"item": [1], "rater": [2], "stars": [3]})
    with golden.raises(DataError):
        Labels.from_table({"model_a": [1], "model_b": [2], "winner": [3]})
    with golden.raises(DataError):
        Scores.from_table({"item": [1], "rater": [1], "score": [1]}, score="rating")


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("model_a", "model_b", "tie (bothbad)"), [0, 1, 2]),
        (("A", "b", "both"), [0, 1, 2]),
        (("Left", "RIGHT", "draw"), [0, 1, 2]),
        (("a", "tie", "tie"), [0, 2, 2]),
    ],
)
def test_words_for_the_winner(words, outcome):
    found = Comparisons.from_table(VOTES | {"winner": words, "rater": [0, 1, 2]})
    assert found.outcome[[0, 2, 1]].tolist() == outcome  # sorted by the pair


@pytest.mark.parametrize("items", ["ab", "AB", "aB"])
def test_an_item_is_no_word_for_a_side(items):
    table = {"left": [items[1], "c"], "right": [items[0], items[1]], "winner": [items[0], items[1]]}
    assert Comparisons.from_table(table | {"rater": [0, 1]}).outcome.tolist() == [1, 1]
    with pytest.raises(DataError, match="names neither"):
        Comparisons.from_table(table | {"winner": [items[0].swapcase(), items[1]]})


def test_without_a_column_of_raters_votes_are_anonymous(golden):
    assert Comparisons.from_table(VOTES).anonymous
    assert Comparisons.from_table(VOTES) == Comparisons.from_table(VOTES, rater=None)
    assert Scores.from_table({"item": ["a"], "score": [1]}).anonymous
    with pytest.raises(DataError, match=r"no column 'rater'"):
        Labels.from_table({"item": ["a"], "label": ["x"]})
    with golden.raises(DataError):
        Comparisons.from_table(VOTES | {"kind": list("ppp")}, rater_attributes=["kind"])


@pytest.mark.parametrize("empty", ["", None, np.nan, "  "])
@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_rows_with_an_empty_cell_are_dropped_on_request(frame, empty, golden):
    table = {"item": [1, 2, 3, 4], "rater": ["a", empty, "b", "c"], "label": ["x", "y", empty, empty]}
    with golden.raises(DataError):
        Labels.from_table(frame(table))
    with golden.warns(DataWarning):
        found = Labels.from_table(frame(table), missing="drop", categories=["x", "y"])
    assert found.items.tolist() == [1] and len(found) == 1


def test_rows_keep_their_numbers_and_ids_their_type_when_others_are_dropped(golden):
    table = pd.DataFrame({"item": [1, None, 3, 4], "rater": [7, 8, 9, 7], "label": ["x", "y", "x", "z"]})
    with pytest.warns(DataWarning), golden.raises(DataError):
        Labels.from_table(table, missing="drop", categories=["x", "y"])
    with pytest.warns(DataWarning):
        assert Labels.from_table(table, missing="drop").items.tolist() == [1, 3, 4]
    ranked = {"item": ["", "i", "i"], "rater": list("rrr"), "category": list("xyy"), "rank": [1, 1, 2]}
    with pytest.warns(DataWarning), golden.raises(DataError):
        PartialRankings.from_table(ranked, missing="drop", categories=["x", "y"])
    gold = LABELS | {"gold": ["x", "", ""]}
    assert (
        len(Labels.from_table(gold, gold="gold", missing="drop")) == 3
    )  # an unknown truth is no missing answer
    assert Labels.from_table(LABELS, missing="drop") == Labels.from_table(LABELS)


def test_nothing_left_and_unknown_treatments_are_refused(golden):
    with golden.raises(DataError):
        Labels.from_table(LABELS | {"rater": [""] * 3}, missing="drop")
    with pytest.raises(DataError, match="missing='ignore'"):
        Labels.from_table(LABELS, missing="ignore")


def test_one_column_is_not_suggested_twice():
    with pytest.raises(DataError) as refused:
        Comparisons.from_table({"item": ["a"], "rater": ["r"], "label": ["x"]})
    assert "left=..., right=..." in str(refused.value)

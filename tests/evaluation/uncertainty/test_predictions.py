"""Tables of predictions, of any kind of frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from raterzoo import evaluation

TABLE = {
    "item": ["b", "b", "a", "a", "a"],
    "category": ["flu", "cold", "cold", "flu", "pox"],
    "score": [0.3, 0.7, 0.2, 0.5, 0.3],
    "rank": [2, 1, 3, 1, 2],
    "model": ["m", "m", "m", "m", "m"],
}


@pytest.mark.parametrize("frame", [TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE)])
def test_ranks_become_positions(frame):
    found = evaluation.predictions_from_table(frame, rank="rank")
    assert found.dims == ("item", "position")
    assert found["item"].to_numpy().tolist() == ["b", "a"]
    assert found.to_numpy().tolist() == [["cold", "flu", ""], ["flu", "pox", "cold"]]


@pytest.mark.parametrize("frame", [TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE).to_arrow()])
def test_scores_become_a_table(frame):
    found = evaluation.predictions_from_table(frame, score="score")
    assert found.dims == ("item", "category")
    assert found["category"].to_numpy().tolist() == ["cold", "flu", "pox"]
    assert found.to_numpy().tolist() == [[0.7, 0.3, -np.inf], [0.2, 0.5, 0.3]]


def test_classifiers_are_a_dim():
    table = {key: [*value, *value[:1]] for key, value in TABLE.items()}
    table["model"][-1] = "n"
    found = evaluation.predictions_from_table(table, rank="rank", classifier="model")
    assert found.dims == ("classifier", "item", "position")
    assert found["classifier"].to_numpy().tolist() == ["m", "n"]
    assert found.sel(classifier="n").to_numpy().tolist() == [["flu", "", ""], ["", "", ""]]


def test_integer_ids_stay_integers():
    table = {"item": [3, 3, 1], "category": [10, 9, 9], "score": [1, 2, 3], "rank": [1, 2, 1]}
    found = evaluation.predictions_from_table(table, score="score")
    assert found["item"].to_numpy().tolist() == [3, 1]
    assert found["category"].to_numpy().tolist() == [9, 10]
    ranked = evaluation.predictions_from_table(table, rank="rank")
    assert ranked.to_numpy().tolist() == [["10", "9"], ["9", ""]]


@pytest.mark.parametrize(("item", "category"), [("a", "flu"), (2**40, 7)])
def test_one_row_is_a_table(item, category):
    table = {"item": [item], "category": [category], "score": [0.4]}
    found = evaluation.predictions_from_table(pd.DataFrame(table, dtype=object), score="score")
    assert found["item"].to_numpy().tolist() == [item]
    assert found["category"].to_numpy().tolist() == [category]
    assert found.to_numpy().tolist() == [[0.4]]


def changed(**columns):
    return {**TABLE, **columns}


REFUSED = [
    (TABLE, {}),
    (TABLE, {"score": "score", "rank": "rank"}),
    (TABLE, {"score": "p"}),
    (pl.DataFrame(TABLE), {"score": "p"}),
    (pd.DataFrame(TABLE), {"score": "p"}),
    (changed(score=[1, 2, np.nan, 4, 5]), {"score": "score"}),
    (changed(score=[1, 2, "x", 4, 5]), {"score": "score"}),
    (changed(score=[1, None, 3, 4, 5]), {"score": "score"}),
    (changed(score=[1, 2, 3]), {"score": "score"}),
    (changed(item=["a", None, "b", "c", "d"]), {"score": "score"}),
    (changed(item=["a", "", "b", "c", "d"]), {"score": "score"}),
    (changed(item=[1.5] * 5), {"score": "score"}),
    (changed(item=["b"] * 5), {"score": "score"}),
    (changed(rank=[2, 0, 3, 1, 2]), {"rank": "rank"}),
    (changed(rank=[1, 1, 3, 1, 2]), {"rank": "rank"}),
    (changed(category=["a", np.nan, "b", "c", "d"]), {"rank": "rank"}),
    (changed(category=["a", 3, "b", "c", "d"]), {"rank": "rank"}),
    ({key: [] for key in TABLE}, {"rank": "rank"}),
]


@pytest.mark.parametrize(("table", "arguments"), REFUSED)
def test_refused(table, arguments, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.predictions_from_table(table, **arguments)


NAMED = {"task": ["a", "a", "b"], "prediction": ["x", "y", "y"], "prob": [0.7, 0.3, 0.9]}
PLAIN = {"item": NAMED["task"], "category": NAMED["prediction"], "score": NAMED["prob"]}


class TestNamesOfTheTrade:
    """Columns are found by the names of the tables of annotations, and said."""

    def test_synonyms_are_understood_and_said(self, golden):
        with golden.warns(UserWarning) as said:
            found = evaluation.predictions_from_table(NAMED, score="score")
        assert said[0].filename == __file__
        xr.testing.assert_identical(found, evaluation.predictions_from_table(PLAIN, score="score"))

    def test_named_columns_need_no_words(self):
        evaluation.predictions_from_table(NAMED, item="task", category="prediction", score="prob")

    def test_a_classifier_may_be_a_model(self):
        with pytest.warns(UserWarning, match="'model' as classifier"):
            found = evaluation.predictions_from_table(
                {**PLAIN, "model": [*"uuu"]}, score="score", classifier="classifier"
            )
        assert found["classifier"].values.tolist() == ["u"]

    def test_two_synonyms_are_refused(self, golden):
        table = {**PLAIN, "doc": [1, 2, 3], "task": [1, 2, 3]}
        del table["item"]
        with golden.raises(evaluation.EvaluationError):
            evaluation.predictions_from_table(table, score="score")

    def test_a_column_that_was_named_is_not_guessed(self):
        with pytest.raises(evaluation.EvaluationError, match=r"no column 'itme'.*item=\.\.\."):
            evaluation.predictions_from_table(PLAIN, item="itme", score="score")


def positive(n=40, threshold=0.5):
    """Label predicted and P(bad) of items."""
    p = np.round(np.random.default_rng(1).random(n), 3)
    return {
        "item": [f"i{k}" for k in range(n)],
        "label": np.where(p > threshold, "bad", "ok").tolist(),
        "score": p,
    }


def test_a_probability_of_one_of_two_labels_beside_the_label_predicted_is_turned():
    table = positive()
    with pytest.warns(UserWarning, match="'bad'"):
        found = evaluation.predictions_from_table(table, category="label", score="score")
    assert found["category"][found.argmax("category")].to_numpy().tolist() == table["label"]
    np.testing.assert_allclose(found.sel(category="bad"), table["score"])
    np.testing.assert_allclose(found.sum("category"), 1)


def test_a_probability_of_the_label_predicted_stays():
    table = positive()
    table["score"] = np.maximum(table["score"], 1 - table["score"])
    found = evaluation.predictions_from_table(table, category="label", score="score")
    assert found.to_numpy().max(axis=1).tolist() == table["score"].tolist()
    table = positive() | {"label": ["bad"] * 40}  # the probability of one label
    found = evaluation.predictions_from_table(table, category="label", score="score")
    assert found.sel(category="bad").to_numpy().tolist() == table["score"].tolist()


@pytest.mark.parametrize("threshold", [0.2, 0.8])
def test_scores_that_the_label_predicted_cannot_have_are_refused(threshold):
    with pytest.raises(evaluation.EvaluationError, match="leave out the scores"):
        evaluation.predictions_from_table(positive(threshold=threshold), category="label", score="score")


@pytest.mark.parametrize("digits, said", [(2, True), (3, True), (4, True), (12, False)])
def test_rounded_probabilities_are_divided_by_their_sum(digits, said):
    p = np.round(np.random.default_rng(2).dirichlet(np.ones(3), 60), digits)
    table = {"item": np.repeat([*range(60)], 3), "category": [*"abc"] * 60, "score": p.ravel()}
    if said:
        with pytest.warns(UserWarning, match="divided by"):
            found = evaluation.predictions_from_table(table, score="score")
        np.testing.assert_allclose(found.sum("category"), 1, atol=1e-12)
    else:
        found = evaluation.predictions_from_table(table, score="score")
    np.testing.assert_allclose(found, p, atol=1.5 * 10.0**-digits)


def test_scores_that_do_not_sum_to_one_stay():
    p = np.round(np.random.default_rng(2).dirichlet(np.ones(3), 60), 3)
    p[0] *= 0.9
    table = {"item": np.repeat([*range(60)], 3), "category": [*"abc"] * 60, "score": p.ravel()}
    np.testing.assert_array_equal(evaluation.predictions_from_table(table, score="score"), p)
    one = {"item": [1, 2], "category": ["a", "b"], "score": [0.99, 0.99]}  # of one label each
    assert evaluation.predictions_from_table(one, score="score").to_numpy().max() == 0.99

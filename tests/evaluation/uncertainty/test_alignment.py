"""Predictions that do not fit a posterior are refused, by name."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.evaluation_trees import as_dense, as_flat, random_case

CASE = random_case(np.random.default_rng(11), 4, 6)


def predicted(rows, items=CASE.items):
    return xr.DataArray(np.array(rows), {"item": items}, ("item", "position"))


def scored(values, items=CASE.items, categories=CASE.categories):
    return xr.DataArray(values, {"item": items, "category": categories}, ("item", "category"))


GOOD = [["label 0"], ["label 1"], ["label 2"], ["label 3"]]
NAN = np.ones((4, 6))
NAN[2, 1] = np.nan


REFUSED = [
    (predicted(GOOD[:3], CASE.items[:3]), "no prediction for item 'case 3'"),
    (predicted([*GOOD, *GOOD], [*CASE.items, *"abcd"]), "item 'a' and 3 more, not in the posterior"),
    (predicted(GOOD, ["case 0", "case 1", "case 2", "case 2"]), "item 'case 2' is duplicated"),
    (predicted(GOOD, range(4)), r"posterior are text \('case 0'\), of the predictions integers \(0\)"),
    (predicted([[1], [2], [3], [4]]), r"posterior are text \(label .\), of the predictions integers"),
    (predicted([["", "label 0"]] * 4), 'item case 0: a label after "" at position 0'),
    (predicted([["label 0", "label 0"]] * 4), "item case 0: label label 0 is duplicated"),
    (predicted([["label 0", "nonsense"]] * 4), "'nonsense' is not one of the 6 categories"),
    (predicted(np.array([["label 0", None]] * 4, object)), "label (nan|None) is no text"),
    (predicted([[0.5]] * 4), "labels have dtype float64"),
    (scored(NAN), "score of item case 2, category label 1 is NaN"),
    (scored(np.ones((4, 6)), categories=["label 1"] * 6), "category 'label 1' is duplicated"),
    (scored(np.full((4, 6), "a")), "scores have dtype <U1"),
    (predicted(GOOD).rename(position="place"), r"expected dims \(item, position\)"),
    (predicted(GOOD).drop_vars("item"), "dim item has no coordinate"),
    (GOOD, "found list; predictions_from_table makes one"),
]


@pytest.mark.parametrize(("predictions", "message"), REFUSED)
def test_refused(predictions, message):
    with pytest.raises(evaluation.EvaluationError, match=message):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_dense(CASE), predictions)


def test_integer_items_against_text():
    tree = as_dense(CASE)
    posterior = tree["posterior"].to_dataset().assign_coords(item=np.arange(4))
    array = posterior["plausibility"]
    with pytest.raises(evaluation.EvaluationError, match=r"integers \(0\).* text \('case 0'\)"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), array, predicted(GOOD))
    evaluation.uncertainty_adjusted(evaluation.overlap(2), array, predicted(GOOD, range(4)))


@pytest.mark.parametrize("name", ["\u0663", "03", "3_0", "+3", "3 "])
def test_integer_categories_have_one_text(name):
    """Arabic digits, leading zeros and blanks are no further category that would be counted as wrong."""
    law = as_flat(CASE, integers=True)
    with pytest.raises(evaluation.EvaluationError, match="categories of the posterior are integers"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), law, predicted([[name]] * 4))


def test_integer_categories_against_text():
    with pytest.raises(evaluation.EvaluationError, match=r"integers \(.\), .* text \('label 0'\)"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(CASE, integers=True), predicted(GOOD))


def test_more_categories_than_were_declared():
    rows = [[*CASE.categories, "typo"]] * 4
    with pytest.raises(evaluation.EvaluationError, match="7 categories are named but 6 were declared"):
        evaluation.uncertainty_adjusted(evaluation.overlap(7), as_flat(CASE), predicted(rows))


def test_other_is_not_a_label():
    rows = [["OTHER"]] * 4
    with pytest.raises(evaluation.EvaluationError, match="is a set of categories"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(CASE), predicted(rows))


def test_metrics_are_checked():
    with pytest.raises(evaluation.EvaluationError, match="truth='best'"):
        evaluation.Metric("m", "best", np.equal)
    with pytest.raises(evaluation.EvaluationError, match="k=0: expected a whole number from 1"):
        evaluation.top_k_accuracy(0)
    with pytest.raises(evaluation.EvaluationError, match="reduce='draw'"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_dense(CASE), predicted(GOOD), reduce="draw")

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
    predicted(GOOD[:3], CASE.items[:3]),
    predicted([*GOOD, *GOOD], [*CASE.items, *"abcd"]),
    predicted(GOOD, ["case 0", "case 1", "case 2", "case 2"]),
    predicted(GOOD, range(4)),
    predicted([[1], [2], [3], [4]]),
    predicted([["", "label 0"]] * 4),
    predicted([["label 0", "label 0"]] * 4),
    predicted([["label 0", "nonsense"]] * 4),
    predicted(np.array([["label 0", None]] * 4, object)),
    predicted([[0.5]] * 4),
    scored(NAN),
    scored(np.ones((4, 6)), categories=["label 1"] * 6),
    scored(np.full((4, 6), "a")),
    predicted(GOOD).rename(position="place"),
    predicted(GOOD).drop_vars("item"),
    GOOD,
]


@pytest.mark.parametrize("predictions", REFUSED)
def test_refused(predictions, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_dense(CASE), predictions)


def test_integer_items_against_text(golden):
    tree = as_dense(CASE)
    posterior = tree["posterior"].to_dataset().assign_coords(item=np.arange(4))
    array = posterior["plausibility"]
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), array, predicted(GOOD))
    evaluation.uncertainty_adjusted(evaluation.overlap(2), array, predicted(GOOD, range(4)))


@pytest.mark.parametrize("name", ["\u0663", "03", "3_0", "+3", "3 "])
def test_integer_categories_have_one_text(name, golden):
    """Arabic digits, leading zeros and blanks are no further category that would be counted as wrong."""
    law = as_flat(CASE, integers=True)
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), law, predicted([[name]] * 4))


def test_integer_categories_against_text(golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(CASE, integers=True), predicted(GOOD))


def test_more_categories_than_were_declared(golden):
    rows = [[*CASE.categories, "typo"]] * 4
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(7), as_flat(CASE), predicted(rows))


def test_other_is_not_a_label(golden):
    rows = [["OTHER"]] * 4
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(CASE), predicted(rows))


def test_metrics_are_checked(golden):
    with pytest.raises(evaluation.EvaluationError, match="truth='best'"):
        evaluation.Metric("m", "best", np.equal)
    with golden.raises(evaluation.EvaluationError):
        evaluation.top_k_accuracy(0)
    with pytest.raises(evaluation.EvaluationError, match="reduce='draw'"):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), as_dense(CASE), predicted(GOOD), reduce="draw")

"""Numbers that say little have a note where they stand: one item, tied scores, gold that contradicts the raters."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import intervals
from sklearn.metrics import log_loss

ITEMS, CATEGORIES = ["a", "b", "c"], ["x", "y"]
QUIET = {"resamples": 3, "random_seed": 1, "progressbar": False}
ACCURACY = evaluation.top_k_accuracy(1)


def tree(gold=(-1, -1, -1), label=(0, 0, 1, 0, 1, 1)):
    """Two answers for each item; of item a both are x."""
    p = np.random.default_rng(1).dirichlet([1, 1], (2, 20, 3))
    coords, said = {"item": ITEMS, "category": CATEGORIES}, {"truth": "category"}
    law = xr.DataArray(p, coords, ("chain", "draw", "item", "category"), attrs=said)
    constant = {"gold": ("item", np.array(gold)), "annotation_item": ("annotation", np.repeat([0, 1, 2], 2))}
    groups = {
        "posterior": law.to_dataset(name="plausibility"),
        "constant_data": xr.Dataset(constant),
        "observed_data": xr.Dataset({"observed_label": ("annotation", np.array(label))}),
    }
    return xr.DataTree.from_dict(groups)


def predicted(*shares):
    """Classifiers with the same two scores for every item, but for the order of the second."""
    values = np.array([[[share, 1 - share], [1 - share, share], [share, 1 - share]] for share in shares])
    coords = {"classifier": [f"m{i}" for i in range(len(shares))], "item": ITEMS, "category": CATEGORIES}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def test_tied_scores_are_noted_at_their_classifier():
    both = predicted(0.5, 0.8)
    for function in (evaluation.metric_draws, evaluation.metric_intervals, evaluation.compare):
        found = function(ACCURACY, tree(), both, **QUIET)
        assert found["note"].to_series().to_dict() == {"m0": intervals.ALL_TIED, "m1": ""}, function
    alone = evaluation.metric_intervals(ACCURACY, tree(), both.isel(classifier=0, drop=True), **QUIET)
    assert alone["note"].item() == intervals.ALL_TIED


@pytest.mark.parametrize(
    ("metric", "noted"),
    [
        (evaluation.kendall_tau(), True),
        (evaluation.roc_auc(), True),
        (evaluation.calibration_error(), True),  # of the category with the largest score
        (evaluation.brier_score(), False),
        (evaluation.cross_entropy(), False),
        (log_loss, False),
    ],
)
def test_equal_probabilities_are_a_prediction_where_no_rule_for_ties_matters(metric, noted):
    options = QUIET | ({"response": "probabilities"} if metric is log_loss else {})
    found = evaluation.metric_intervals(metric, tree(), predicted(0.5), **options)
    assert found["note"].values.tolist() == [intervals.ALL_TIED if noted else ""]


def test_labels_and_sets_are_not_tied():
    law = tree()["posterior"].to_dataset()["plausibility"].assign_attrs(truth="distribution")
    found = evaluation.metric_intervals(evaluation.set_accuracy(2), law, predicted(0.5) > 0, **QUIET)
    assert found["note"].item() == ""


def test_a_group_of_one_item_is_noted():
    by = xr.DataArray(["g", "h", "h"], {"item": ITEMS}, ("item",))
    found = evaluation.compare(ACCURACY, tree(), predicted(0.7, 0.8), by=by, **QUIET)
    assert found["note"].sel(group="g").values.tolist() == [intervals.ONE_ITEM] * 2
    assert found["note"].sel(group="h").values.tolist() == [""] * 2
    empty = xr.DataArray(np.eye(3)[:, :2] > 0, {"item": ITEMS, "group": ["g", "h"]}, ("item", "group"))
    none = evaluation.metric_intervals(ACCURACY, tree(), predicted(0.7), by=empty & False, **QUIET)
    assert none["note"].values.tolist() == [[""] * 2]  # not defined, and so not of one item


def test_gold_that_no_rater_gave_is_noted(golden):
    against = tree(gold=[1, 0, -1])
    for function in (evaluation.metric_draws, evaluation.metric_intervals, evaluation.compare):
        found = function(ACCURACY, against, predicted(0.7, 0.8), **QUIET)
        golden.says(found.attrs["note"], "gold label")
    first = evaluation.metric_intervals(ACCURACY, tree(gold=[-1, -1, 0]), predicted(0.7), **QUIET)
    golden.says(first.attrs["note"], "rater gave:")  # gold of the first category alone
    for source in (tree(), tree(gold=[0, 1, 1]), against["posterior"].to_dataset()["plausibility"]):
        assert evaluation.metric_intervals(ACCURACY, source, predicted(0.7), **QUIET).attrs["note"] == ""
    counts = tree(gold=[1, 0, -1])
    counts["observed_data"] = xr.Dataset({"observed_label": (("item", "answer"), np.ones((3, 2), int))})
    assert evaluation.metric_intervals(ACCURACY, counts, predicted(0.7), **QUIET).attrs["note"] == ""

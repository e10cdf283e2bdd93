"""What metrics refuse of predictions and posteriors, and what they make of few items, few draws and short lists."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, uncertainty_adjusted
from sklearn import metrics

from tests.support.any_metric_cases import ITEMS, NAMES, QUIET, tree_and_predictions
from tests.support.evaluation_trees import Case, as_dense, as_flat

EVERY = [
    evaluation.top_k_accuracy(1),
    evaluation.f1(),
    evaluation.cross_entropy(),
    evaluation.roc_auc(),
    evaluation.calibration_error(),
    evaluation.kendall_tau(),
    evaluation.ndcg(),
    metrics.accuracy_score,
    metrics.log_loss,
]
OF_PROBABILITIES = (EVERY[2], EVERY[4], metrics.log_loss)


@pytest.fixture(scope="module")
def given():
    tree, predictions, _ = tree_and_predictions(NAMES, certain=False)
    return tree, predictions


def name(metric):
    return getattr(metric, "name", None) or metric.__name__


def spoilt(predictions, **cells):
    """Return predictions with one number changed, at item 7."""
    changed = predictions.copy()
    for category, value in cells.items():
        changed.loc[{"item": 7, "category": category}] = value
    return changed


@pytest.mark.parametrize("metric", EVERY, ids=name)
def test_predictions_that_do_not_match(metric, given):
    tree, predictions = given
    twice = predictions.isel(item=[0, 0, *range(2, ITEMS)])
    refusals = [
        (predictions.isel(item=slice(1, None)), "no prediction for item 0"),
        (predictions.assign_coords(item=np.arange(1, ITEMS + 1)), "no prediction for item 0"),
        (twice, "item 0 is duplicated"),
        (predictions.assign_coords(item=predictions["item"].astype(str)), "convert one"),
        (predictions.assign_coords(category=["pear", "apple", "fig", "plum"]), "plum|needs all|'lemon'"),
        (predictions.isel(category=[0, 1, 2, 2]), "duplicated|is missing"),
        (predictions.assign_coords(category=np.arange(4)), "convert one|categories"),
        (spoilt(predictions, fig=np.nan), "item 7, category fig is NaN"),
        (predictions.rename(category="label"), r"expected dims .*found \('item', 'label'\)"),
        (predictions.expand_dims("draw"), r"found \('draw', 'item', 'category'\)"),
        (predictions.drop_vars("item"), "dim item has no coordinate"),
        (predictions.astype(str), "dtype|of <U32"),
        (predictions.to_numpy(), "expected a DataArray .*found ndarray"),
    ]
    for wrong, message in refusals:
        with pytest.raises(EvaluationError, match=message):
            uncertainty_adjusted(metric, tree, wrong, **QUIET)


@pytest.mark.parametrize("metric", OF_PROBABILITIES, ids=name)
def test_numbers_that_are_no_probabilities(metric, given):
    tree, predictions = given
    labels = xr.DataArray([["fig"]] * ITEMS, {"item": np.arange(ITEMS)}, ("item", "position"))
    refusals = [
        (spoilt(predictions, fig=0.9, pear=0.9), r"those of item 7 sum to \d"),
        (spoilt(predictions, fig=-0.25), "item 7, category fig is -0.25"),
        (spoilt(predictions, fig=np.inf), "item 7, category fig is inf"),
        (labels, "needs predictions .*of probabilities"),
        (predictions > 0.5, "needs predictions .*of probabilities, found .* of bool"),
        (predictions.isel(category=slice(3)), "needs all 4, each once; 'lemon' is missing"),
    ]
    for wrong, message in refusals:
        with pytest.raises(EvaluationError, match=message):
            uncertainty_adjusted(metric, tree, wrong, **QUIET)


@pytest.mark.parametrize("metric", EVERY, ids=name)
def test_posteriors_that_do_not_serve(metric, given):
    tree, predictions = given
    array = tree["posterior"]["plausibility"]
    broken = array.copy()
    broken[0, 5, 7, 1] = np.nan
    refusals = [
        (xr.DataTree.from_dict({"posterior": array.rename("p").to_dataset()}), "no variable plausibility"),
        (xr.DataTree(), "no group posterior"),
        (broken, "plausibility of item 7 is NaN: a draw failed"),
        (array.rename(category="label"), "expected candidate, or item and category"),
    ]
    for wrong, message in refusals:
        with pytest.raises(EvaluationError, match=message):
            uncertainty_adjusted(metric, wrong, predictions, **QUIET)


@pytest.mark.parametrize("metric", EVERY, ids=name)
def test_one_draw_and_no_draws(metric, given):
    tree, predictions = given
    array = tree["posterior"]["plausibility"]
    every = uncertainty_adjusted(metric, array, predictions, **QUIET)
    one = uncertainty_adjusted(metric, array.isel(draw=[4]), predictions, **QUIET)
    point = uncertainty_adjusted(metric, array.isel(chain=0, draw=4, drop=True), predictions, **QUIET)
    assert one.dims == ("chain", "draw") and point.dims == ()
    alone = evaluation.metric_draws(metric, array.isel(draw=[4]), predictions, resamples=3, **QUIET)
    assert alone.sizes["resample"] == 3
    np.testing.assert_allclose([float(one[0, 0]), float(point)], float(every[0, 4]), rtol=1e-12)


@pytest.mark.parametrize("metric", [*EVERY[:3], *EVERY[4:7], metrics.accuracy_score], ids=name)
def test_one_item(metric, given):
    tree, predictions = given
    array = tree["posterior"]["plausibility"]
    found = uncertainty_adjusted(metric, array.isel(item=[3]), predictions.isel(item=[3]), **QUIET)
    assert found.dims == ("chain", "draw") and bool(np.isfinite(found).all())


def test_one_item_has_no_roc_curve(given):
    tree, predictions = given
    one = tree["posterior"]["plausibility"].isel(item=[3])
    found = uncertainty_adjusted(evaluation.roc_auc(), one, predictions.isel(item=[3]))
    assert bool(np.isnan(found).all())


def test_shorter_lists_are_shorter_lists():
    """A list of one label is right or wrong by it, and is no set of two."""
    case = Case([[0, 1, 2]], [np.array([[[0.5, 0.3, 0.15, 0.05]]])], 5, 0.5)
    short = xr.DataArray([["label 0", ""]], {"item": ["case 0"]}, ("item", "position"))
    values = {
        evaluation.top_k_accuracy(3): 1,
        evaluation.set_accuracy(2): 0,
        evaluation.overlap(2): 1 / 2,
        evaluation.average_overlap(2): (1 + 1 / 2) / 2,
        evaluation.rank_biased_overlap(0.5, 2): 1 / 2 + (1 / 4 + 1 / 4) / 2,
        evaluation.kendall_tau(1): 1,
        evaluation.spearman_footrule(1): 0,
        evaluation.ndcg(1): 1,
    }
    for metric, expected in values.items():
        for tree in (as_dense(case), as_flat(case)):
            found = uncertainty_adjusted(metric, tree, short, other="exclude")
            assert float(found[0, 0]) == pytest.approx(expected, rel=1e-6), metric.name


def test_only_metrics_and_functions_are_metrics(given, golden):
    tree, predictions = given
    with golden.raises(EvaluationError):
        uncertainty_adjusted("accuracy", tree, predictions)
    for metric in (evaluation.f1(), evaluation.kendall_tau()):
        with golden.raises(EvaluationError):
            uncertainty_adjusted(metric, tree, predictions, average="macro")
    with golden.raises(EvaluationError):
        uncertainty_adjusted(metrics.accuracy_score, tree, predictions, truth="top")


METRICS = [
    name
    for name in dir(evaluation)
    if getattr(getattr(evaluation, name), "__annotations__", {}).get("return")
    in (evaluation.Metric, "Metric")
]


@pytest.mark.parametrize("name", METRICS)
def test_metric_without_parentheses_suggests_them(name):
    tree = xr.Dataset({"plausibility": (("chain", "draw", "item", "category"), np.full((1, 2, 3, 2), 0.5))})
    tree = xr.DataTree.from_dict({"posterior": tree.assign_coords(item=list("abc"), category=["no", "yes"])})
    predictions = tree["posterior"]["plausibility"].isel(chain=0, draw=0, drop=True)
    factory = getattr(evaluation, name)
    with pytest.raises(evaluation.EvaluationError, match=rf"pass evaluation\.{name}\("):
        evaluation.uncertainty_adjusted(factory, tree, predictions)
    both = xr.concat([predictions, predictions], "classifier")
    with pytest.raises(evaluation.EvaluationError, match=rf"pass evaluation\.{name}\("):
        evaluation.compare(factory, tree, both)


def test_metrics_are_found():
    assert {"f1", "top_k_accuracy", "cross_entropy", "kendall_tau"} <= set(METRICS)

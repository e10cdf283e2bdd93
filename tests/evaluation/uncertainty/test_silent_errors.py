"""What would give a wrong number without a word: order, names, kinds and signs of what is passed."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError
from sklearn.metrics import mean_absolute_error

from tests.support.evaluation_trees import as_dense, random_case

METRIC = evaluation.top_k_accuracy(1)


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(41), 10, 5, shape=(2, 50))


@pytest.fixture(scope="module")
def scores(case):
    values = np.random.default_rng(42).dirichlet(np.ones(5), (3, 10))
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def plausibility(case):
    return as_dense(case)["posterior"]["plausibility"]


def test_metrics_of_numbers_get_the_numbers():
    values = np.array([0, 10, 100])
    coords = {"item": ["a", "b"], "category": values}
    truth = xr.DataArray(
        np.eye(3)[[2, 0]][None, None],
        coords,
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    guess = xr.DataArray(np.eye(3)[[1, 1]], coords, ("item", "category"))
    found = evaluation.uncertainty_adjusted(mean_absolute_error, truth, guess, progressbar=False)
    assert float(found.squeeze()) == 50.0


def test_groups_of_classifiers_are_matched_by_name(case, scores, golden):
    by = scores.argmax("category").drop_vars("category", errors="ignore")
    one, other = (
        evaluation.metric_draws(METRIC, plausibility(case), scores, by=groups, resamples=3, random_seed=1)
        for groups in (by, by.isel(classifier=[2, 0, 1]))
    )
    xr.testing.assert_identical(one, other)
    with golden.raises(EvaluationError):
        evaluation.metric_draws(METRIC, plausibility(case), scores, by=by.isel(classifier=[0, 1]))


def test_groups_of_draws_are_in_their_order(case, scores, golden):
    groups = plausibility(case).argmax("category").assign_coords(draw=np.arange(50), chain=[0, 1])
    tree = plausibility(case).assign_coords(draw=np.arange(50), chain=[0, 1])
    turned = groups.isel(draw=slice(None, None, -1))
    with golden.raises(EvaluationError):
        evaluation.metric_draws(METRIC, tree, scores, by=turned)


def test_a_point_estimate_is_its_most_probable_label(case, scores):
    point = plausibility(case).mean(("chain", "draw")).assign_attrs(truth="category")
    found = evaluation.uncertainty_adjusted(METRIC, point, point.copy())
    assert float(found) == 1.0


def test_losses_are_told_from_gains(case, scores, golden):
    def cost(truth, predicted, sample_weight=None):
        return np.average(truth != predicted, weights=sample_weight)

    with golden.raises(EvaluationError):
        evaluation.compare(cost, plausibility(case), scores)
    options = {"resamples": 3, "random_seed": 1, "progressbar": False}
    found = evaluation.compare(cost, plausibility(case), scores, larger_is_better=False, **options)
    gain = evaluation.compare(METRIC, plausibility(case), scores, **options)
    xr.testing.assert_allclose(
        found["probability_best"].sel(source="raters"), gain["probability_best"].sel(source="raters")
    )


@pytest.mark.parametrize(("value", "said"), [(-0.5, "-0.5"), (np.inf, "inf"), (np.nan, "NaN")])
def test_plausibilities_are_probabilities(case, scores, value, said, golden):
    wrong = plausibility(case).copy()
    wrong[1, 3, 4, 0] = value
    with golden.raises(EvaluationError):
        evaluation.uncertainty_adjusted(METRIC, wrong, scores)
    with golden.raises(EvaluationError):
        evaluation.uncertainty_adjusted(METRIC, wrong.astype(str), scores)


def test_the_order_of_dims_does_not_matter(case, scores):
    tree = plausibility(case)
    turned = tree.transpose("draw", "category", "chain", "item")
    one, other = (
        evaluation.metric_intervals(METRIC, t, scores, resamples=3, random_seed=1) for t in (tree, turned)
    )
    xr.testing.assert_identical(one, other)


def test_ties_go_by_the_order_of_the_categories_not_of_the_columns(case):
    equal = xr.DataArray(
        np.ones((10, 5)), {"item": case.items, "category": case.categories}, ("item", "category")
    )
    one, other = (
        evaluation.uncertainty_adjusted(METRIC, plausibility(case), guess)
        for guess in (equal, equal.isel(category=[2, 4, 0, 1, 3]))
    )
    xr.testing.assert_identical(one, other)


def test_a_category_too_many_is_refused(case, scores):
    more = scores.pad(category=(0, 1), constant_values=0.0).assign_coords(category=[*case.categories, "typo"])
    for metric in (evaluation.brier_score(), evaluation.roc_auc()):
        with pytest.raises(EvaluationError, match="'typo'"):
            evaluation.uncertainty_adjusted(metric, plausibility(case), more)


def test_a_group_that_is_empty_in_some_draws_has_an_error_still(case, scores):
    by = dict(zip(case.categories, "abcde", strict=True))
    varies = [int(plausibility(case).argmax("category").std(("chain", "draw")).argmax("item"))]
    found = evaluation.metric_intervals(
        METRIC, plausibility(case).isel(item=varies), scores.isel(item=varies), by=by, resamples=3
    ).sel(source="raters")
    some = (found["undefined"] > 0) & (found["undefined"] < 1)
    assert bool(some.any())
    assert bool(found["mcse"].where(some, 0).notnull().all())


@pytest.mark.parametrize(
    "options",
    [{"top": 3}, {"random_seed": -1}, {"random_seed": "a"}, {"resamples": 1.5}, {"probability": "90%"}],
)
def test_wrong_arguments_are_named(case, scores, options, golden):
    with golden.raises(EvaluationError):
        evaluation.metric_intervals(METRIC, plausibility(case), scores, **options)


def test_what_is_no_metric_is_refused(case, scores, golden):
    with pytest.raises(EvaluationError, match="max: a built-in"):
        evaluation.uncertainty_adjusted(max, plausibility(case), scores)
    with pytest.raises(EvaluationError, match="plausibility is empty"):
        evaluation.uncertainty_adjusted(METRIC, plausibility(case).isel(item=[]), scores.isel(item=[]))
    with golden.raises(EvaluationError):
        evaluation.compare(METRIC, plausibility(case), scores, points={"draws": plausibility(case)})
    with pytest.raises(EvaluationError, match="points=list"):
        evaluation.compare(METRIC, plausibility(case), scores, points=[1])

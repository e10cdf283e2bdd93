"""Classifiers compared draw by draw, against loops and known orders."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from sklearn.metrics import zero_one_loss

from tests.support.evaluation_trees import as_dense, random_case


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(31), 15, 4, shape=(2, 200))


@pytest.fixture(scope="module")
def scores(case):
    values = np.random.default_rng(32).dirichlet(np.ones(4), (3, 15))
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


METRIC = evaluation.top_k_accuracy(1)
OPTIONS = {"resamples": 50, "random_seed": 5}


def test_differences_are_those_of_the_same_draws(case, scores):
    drawn = evaluation.metric_draws(METRIC, as_dense(case), scores, **OPTIONS)
    found = evaluation.compare(METRIC, as_dense(case), scores, **OPTIONS)
    for source in ("raters", "items", "both"):
        for a in "ABC":
            for b in "ABC":
                one, other = (drawn[source].sel(classifier=c).to_numpy().ravel() for c in (a, b))
                own = found.sel(source=source, classifier=a, other=b)
                difference = one - other
                np.testing.assert_allclose(own["difference"], difference.mean(), atol=1e-12)
                np.testing.assert_allclose(
                    own["difference_interval"], np.quantile(difference, [0.05, 0.95]), atol=1e-12
                )
                better = (difference > 0).mean() + 0.5 * (difference == 0).mean()
                np.testing.assert_allclose(own["probability_better"], better)
    np.testing.assert_allclose(found["probability_best"].sum("classifier"), 1)
    np.testing.assert_allclose(found["mean_rank"].sum("classifier"), 6)
    again = evaluation.metric_intervals(METRIC, as_dense(case), scores, **OPTIONS)
    xr.testing.assert_allclose(found["interval"], again["interval"])


def test_pairing_makes_differences_surer_than_their_parts(case, scores):
    alike = scores.sel(classifier=["A", "B"]).copy()
    alike[1] = alike[0]
    alike[1, :3] = scores[1, :3]
    found = evaluation.compare(METRIC, as_dense(case), alike, **OPTIONS).sel(source="both")
    drawn = evaluation.metric_draws(METRIC, as_dense(case), alike, **OPTIONS)["both"]
    apart = np.hypot(*drawn.std(("chain", "draw")).to_numpy())
    together = (drawn.sel(classifier="A") - drawn.sel(classifier="B")).std()
    assert float(together) < 0.8 * apart
    assert float(found["difference_mcse"].sel(classifier="A", other="A")) == 0


@pytest.mark.slow
def test_where_less_is_better_the_order_is_turned(case, scores):
    more = evaluation.compare(METRIC, as_dense(case), scores, **OPTIONS).sel(source="raters")
    options = {**OPTIONS, "resamples": 2, "progressbar": False}
    less = evaluation.compare(zero_one_loss, as_dense(case), scores, **options).sel(source="raters")
    np.testing.assert_allclose(less["difference"], -more["difference"], atol=1e-12)
    np.testing.assert_allclose(less["probability_better"], more["probability_better"])
    np.testing.assert_allclose(less["mean_rank"], more["mean_rank"])


def test_a_point_estimate_flatters_its_own_best_guess(case):
    posterior = as_dense(case)["posterior"]["plausibility"]
    point = posterior.mean(("chain", "draw"))
    guess = xr.concat(
        [point, point[:, ::-1].assign_coords(category=point["category"])],
        xr.DataArray(["best", "turned"], dims="classifier", name="classifier"),
    )
    found = evaluation.compare(METRIC, as_dense(case), guess, points={"mean": point}, **OPTIONS)
    assert float(found["point"].sel(estimate="mean", classifier="best")) == 1.0
    expected = 1 - found["mean"].sel(source="raters", classifier="best")
    np.testing.assert_allclose(found["optimism"].sel(estimate="mean", classifier="best"), expected)
    assert float(expected) > 0.1


def test_several_posteriors_show_how_the_order_depends_on_them(case, scores):
    tree = as_dense(case)
    sharp = tree.copy(deep=True)
    sharp["posterior"]["plausibility"] = tree["posterior"]["plausibility"] ** 4
    found = evaluation.compare(METRIC, {4.0: sharp, 1.0: tree}, scores, **OPTIONS)
    assert found["reliability"].to_numpy().tolist() == [1.0, 4.0]
    one = evaluation.compare(METRIC, tree, scores, **OPTIONS)
    xr.testing.assert_allclose(found.sel(reliability=1.0, drop=True), one)


def test_groups_are_compared_too(case, scores):
    by = dict(zip(case.categories, ["a", "a", "b", "b"], strict=True))
    point = as_dense(case)["posterior"]["plausibility"].mean(("chain", "draw"))
    found = evaluation.compare(METRIC, as_dense(case), scores, by=by, points={"mean": point}, **OPTIONS)
    assert set(found["difference"].dims) == {"source", "classifier", "other", "group"}
    drawn = evaluation.metric_draws(METRIC, as_dense(case), scores, by=by, **OPTIONS)["raters"]
    one, other = drawn.sel(classifier="A", group="b"), drawn.sel(classifier="C", group="b")
    better = ((one > other) + 0.5 * (one == other)).where(one.notnull() & other.notnull()).mean()
    own = found["probability_better"].sel(source="raters", classifier="A", other="C", group="b")
    np.testing.assert_allclose(own, better)
    truth = point.argmax("category").to_numpy()
    hit = scores.argmax("category").to_numpy() == truth
    for g, name in enumerate("ab"):
        expected = hit[:, truth // 2 == g].mean(axis=1)
        np.testing.assert_allclose(found["point"].sel(estimate="mean", group=name), expected)


def test_one_classifier_has_none_to_be_compared_with(case, scores):
    for predictions in (scores.sel(classifier="A"), scores.sel(classifier=["A"])):
        with pytest.raises(evaluation.EvaluationError, match="two classifiers"):
            evaluation.compare(METRIC, as_dense(case), predictions)
    with pytest.raises(evaluation.EvaluationError, match="trees is empty"):
        evaluation.compare(METRIC, {}, scores)

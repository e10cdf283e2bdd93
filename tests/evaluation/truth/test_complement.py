"""Predictions of one category for each item: with two categories the other has the complement, never nothing."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models

ITEMS = [f"item {i}" for i in range(40)]
RNG = np.random.default_rng(8)
P = RNG.uniform(0.05, 0.95, 40)
LAW = xr.DataArray(
    np.stack([1 - P, P], axis=-1)[None, None] * np.ones((1, 5, 1, 1)),
    {"item": ITEMS, "category": ["no", "yes"]},
    ("chain", "draw", "item", "category"),
    attrs={"truth": "distribution"},
)
BOTH = LAW.isel(chain=0, draw=0) * 0.8 + 0.1
ALONE = BOTH.sel(category=["yes"])


def scored(metric, predictions, truth=LAW):
    return evaluation.uncertainty_adjusted(metric, truth, predictions).mean().item()


@pytest.mark.parametrize(
    "metric", [evaluation.top_k_accuracy(1), evaluation.brier_score(), evaluation.roc_auc(), evaluation.f1()]
)
def test_the_other_category_has_the_complement(metric, golden):
    with golden.warns(UserWarning):
        found = scored(metric, ALONE)
    assert found == pytest.approx(scored(metric, BOTH), abs=1e-12)
    if metric.name == "top_1_accuracy":  # a twin: every item is said to be "yes"
        wrong = scored(metric, xr.ones_like(ALONE))
        assert abs(found - wrong) > 0.1


def test_the_table_of_one_probability_an_item():
    table = {"item": ITEMS, "category": ["yes"] * 40, "score": ALONE.to_numpy()[:, 0]}
    read = evaluation.predictions_from_table(table, score="score")
    with pytest.warns(UserWarning, match="complement"):
        found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), LAW, read)
    right = evaluation.metric_intervals(evaluation.top_k_accuracy(1), LAW, BOTH)
    xr.testing.assert_allclose(found, right)


def test_probabilities_of_the_predicted_label_are_completed_too():
    label = np.where(BOTH.sel(category="yes") > 0.5, "yes", "no")
    table = {"item": ITEMS, "category": label, "score": BOTH.max("category").to_numpy()}
    read = evaluation.predictions_from_table(table, score="score")
    with pytest.warns(UserWarning, match="complement"):
        found = scored(evaluation.brier_score(), read)
    assert found == pytest.approx(scored(evaluation.brier_score(), BOTH), abs=1e-12)


def test_conformal_sets_and_surveys_complete_them():
    with pytest.warns(UserWarning, match="complement"):
        found = evaluation.conformal_sets(LAW, ALONE, ITEMS[:20], 0.7)
    xr.testing.assert_allclose(
        found, evaluation.conformal_sets(LAW, BOTH, ITEMS[:20], 0.7).astype(found.dtypes)
    )
    yes = RNG.binomial(6, P)
    labels = models.Labels.from_counts({"item": ITEMS, "no": 6 - yes, "yes": yes})
    with pytest.warns(UserWarning, match="complement"):
        found = evaluation.survey_equivalence(labels, ALONE, bootstrap=0)
    assert found["score"].item() == evaluation.survey_equivalence(labels, BOTH, bootstrap=0)["score"].item()


def test_of_three_categories_one_score_says_nothing_of_the_others(golden):
    law = xr.DataArray(
        RNG.dirichlet([1, 1, 1], (1, 5, 40)),
        {"item": ITEMS, "category": ["a", "b", "c"]},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    alone = law.isel(chain=0, draw=0).sel(category=["b"])
    with golden.raises(evaluation.EvaluationError):
        scored(evaluation.top_k_accuracy(1), alone, law)
    # labels with a confidence, and one label for all items, are predictions of labels
    table = {"item": ITEMS, "category": [*"abc"] * 13 + ["a"], "score": 0.5 + P / 2}
    scored(evaluation.top_k_accuracy(1), evaluation.predictions_from_table(table, score="score"), law)
    scored(evaluation.top_k_accuracy(1), xr.ones_like(alone), law)


def test_scores_that_are_no_probabilities_have_no_complement(golden):
    with golden.raises(evaluation.EvaluationError):
        scored(evaluation.top_k_accuracy(1), np.log(ALONE / (1 - ALONE)))

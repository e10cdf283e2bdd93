"""A misspelt option is refused with the nearest name before anything is computed."""

import pytest
import xarray as xr
from raterzoo import evaluation, papers
from sklearn.metrics import accuracy_score

LAW = xr.DataArray(
    [[[[0.6, 0.4]], [[0.3, 0.7]]]],
    {"item": ["a"], "category": ["x", "y"]},
    ("chain", "draw", "item", "category"),
    attrs={"truth": "distribution"},
)
PREDICTED = xr.DataArray(
    [[["x"]], [["y"]]], {"classifier": ["u", "w"], "item": ["a"]}, ("classifier", "item", "position")
)
CALLS = {
    "uncertainty_adjusted": lambda metric, **options: evaluation.uncertainty_adjusted(
        metric, LAW, PREDICTED, **options
    ),
    "metric_draws": lambda metric, **options: evaluation.metric_draws(metric, LAW, PREDICTED, **options),
    "metric_intervals": lambda metric, **options: evaluation.metric_intervals(
        metric, LAW, PREDICTED, **options
    ),
    "compare": lambda metric, **options: evaluation.compare(metric, LAW, PREDICTED, **options),
    "reliability_sweep": lambda metric, **options: evaluation.reliability_sweep(
        {1: LAW}, metric, PREDICTED, **options
    ),
}


def takes_anything(truth, predicted, sample_weight=None, **options):
    return 1.0 + 0 * len(options)


@pytest.mark.parametrize("metric", [evaluation.top_k_accuracy(1), accuracy_score])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("option", "meant"), [("seed", "random_seed"), ("trut", "truth"), ("progresbar", "progressbar")]
)
def test_the_nearest_name_is_said(name, metric, option, meant, golden):
    with golden.raises(evaluation.EvaluationError):
        CALLS[name](metric, **{option: 1})


def test_options_passed_on_are_known(golden):
    with golden.raises(evaluation.EvaluationError):
        CALLS["uncertainty_adjusted"]("f1")
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(LAW, evaluation.f1(), PREDICTED)
    with golden.raises(evaluation.EvaluationError):
        CALLS["compare"](accuracy_score, resample=10)
    with golden.raises(evaluation.EvaluationError):
        CALLS["metric_intervals"](accuracy_score, normalise=False)
    CALLS["metric_intervals"](accuracy_score, normalize=False, resamples=5, larger_is_better=True)
    CALLS["metric_draws"](takes_anything, resample=5, resamples=5)


def test_a_wrong_probability_is_refused_before_the_draws(monkeypatch):
    monkeypatch.setattr("raterzoo.evaluation.uncertainty.intervals.metric_draws", None)
    with pytest.raises(evaluation.EvaluationError, match="probability=2"):
        CALLS["metric_intervals"](accuracy_score, probability=2)


def test_rules_of_a_survey(golden):
    votes = xr.DataArray([[3, 0], [1, 2]], {"item": ["a", "b"], "category": ["x", "y"]}, ("item", "category"))
    for option in ("seed", "scorerr", "max_expert"):
        with golden.raises(evaluation.EvaluationError):
            papers.rater_equivalence(votes, votes, **{option: 1})

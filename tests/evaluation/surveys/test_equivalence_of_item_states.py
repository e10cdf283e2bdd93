"""The public door given a tree of item states: the posterior's curve and equivalence, beyond the labels there were."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.papers import survey_summary

from tests.support.survey_parts import posterior_power_curve, posterior_survey_equivalence

LABELS = 6


@pytest.fixture(scope="module")
def survey():
    """Return a tree of 300 items with 6 labels each, and the predictions of a noisy classifier."""
    drawn = models.simulators.urn_items(items=300, raters=LABELS, random_seed=1)
    model = models.item_states(drawn.data)
    tree = inference.sample(model, draws=100, thin=20, random_seed=1, progressbar=False)
    items, categories = drawn.data.items, [str(name) for name in drawn.data.categories]
    coords = {"item": items, "category": categories}
    return tree, xr.DataArray(drawn.truth["score"], coords, ("item", "category"))


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_curve_goes_beyond_the_labels_there_were(survey):
    tree, _ = survey
    found = evaluation.survey_power_curve(tree, max_raters=20)
    xr.testing.assert_identical(found, posterior_power_curve(tree, longest=20))
    assert found["k"].max() == 20 > LABELS
    assert (found["power_curve"] <= found["asymptote"] + 1e-12).all()
    assert found["checked_k"].to_numpy().tolist() == list(range(LABELS))
    assert 0 < found.attrs["check_p"] <= 1


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_equivalence_has_the_asymptote_ratio_and_check(survey):
    tree, predictions = survey
    found = evaluation.survey_equivalence(tree, predictions, clip=0.01, base=10, max_raters=30)
    xr.testing.assert_identical(
        found, posterior_survey_equivalence(tree, predictions, clip=0.01, base=10, longest=30)
    )
    room = found["asymptote"] - found["baseline"]
    np.testing.assert_allclose(found["performance_ratio"], (found["score"] - found["baseline"]) / room)
    said = survey_summary(found)
    assert said["equivalence_interval"].dims == ("bound",) and "check_p" in said
    named = predictions.expand_dims(classifier=["noisy", "same"])
    both = evaluation.survey_equivalence(tree, named, max_raters=30)
    assert both["equivalence"].dims == ("chain", "draw", "classifier")


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_votes_are_scored_by_agreement(survey):
    tree, predictions = survey
    options = {"combiner": "plurality", "scorer": "agreement", "max_raters": 9}
    found = evaluation.survey_equivalence(tree, predictions, **options)
    assert found.attrs["combiner"] == "plurality" and found.attrs["scorer"] == "agreement"
    assert (found["power_curve"] <= 1).all()


ALONE = [
    {"reference": 3},
    {"items": "common"},
    {"relearn": True},
    {"samples": 3},
    {"bootstrap": 0},
    {"probability": 0.5},
    {"draws": True},
]


@pytest.mark.filterwarnings("ignore:NOT converged")
@pytest.mark.parametrize("wrong", ALONE)
def test_what_is_for_counts_alone_is_refused(survey, wrong):
    tree, predictions = survey
    said = f"{next(iter(wrong))}=.* with item states pass combiner, scorer"
    with pytest.raises(evaluation.EvaluationError, match=said):
        evaluation.survey_equivalence(tree, predictions, **wrong)
    with pytest.raises(evaluation.EvaluationError, match=said):
        evaluation.survey_power_curve(tree, **wrong)


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_clip_is_for_predictions(survey, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.survey_power_curve(survey[0], clip=0.1)


@pytest.mark.parametrize("wrong", [None, xr.Dataset(), "curve"])
def test_only_draws_are_summed_up(wrong):
    with pytest.raises(evaluation.EvaluationError, match="drawn: no draws"):
        survey_summary(wrong)


@pytest.mark.parametrize("probability", ["x", 0, 1, np.nan, True, None])
def test_probability_of_a_summary(probability):
    with pytest.raises(evaluation.EvaluationError, match="probability="):
        survey_summary(xr.Dataset(), probability=probability)

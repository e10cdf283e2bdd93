"""The section "Does the model fit?" of reports on labels: first in the summary box where raters share errors."""

import warnings
from functools import cache

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models, reports
from raterzoo.evaluation.checks.checks import needs_replicates
from raterzoo.reports.sections import model_fit

from tests.support.report_parts import page_text

ITEMS = 300


def dependent(copied, kinds=True):
    """Three people who are right in .8 and nine judges who are right in .7, and copy a guess; the true labels."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=ITEMS)

    def told(right, raters):
        return np.where(rng.random((ITEMS, raters)) < right, truth[:, None], 1 - truth[:, None])

    guess, own = told(0.7, 1), told(0.7, 9)
    label = np.c_[told(0.8, 3), np.where(rng.random(own.shape) < copied, guess, own)]
    item, rater = np.indices(label.shape)
    columns = {"item": item.ravel(), "rater": rater.ravel(), "label": np.array(["no", "yes"])[label.ravel()]}
    if kinds:
        columns["kind"] = np.where(columns["rater"] < 3, "person", "llm")
    return models.Labels.from_table(columns, rater_attributes=["kind"] if kinds else ()), truth


@cache
def fitted(copied, kinds=True):
    data, truth = dependent(copied, kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(models.dawid_skene(data), draws=150, random_seed=1, progressbar=False)
    return tree, data, truth


@pytest.mark.slow
def test_groups_that_copy_are_said_first_and_fitted_again(golden):
    tree, data, truth = fitted(0.8)
    report = reports.make(tree, annotations=data, group="kind")
    (rely,) = (own for own in report.answers if own.grade == "red")
    golden.says(rely.text)
    page = page_text("", "", report.sections, report.answers)
    assert page.count("9 raters of kind llm count as 1.") == 1
    (section,) = (own for own in report.sections if own.title == "Does the model fit?")
    assert section.alarm and section.facts["fits"] is False
    refit = section.facts["shared_guess"]
    assert refit["lower"] < refit["mean"] < refit["upper"]
    claimed = tree["posterior"]["plausibility"].mean(("chain", "draw")).max("category").mean()
    before = tree["posterior"]["plausibility"].mean(("chain", "draw")).argmax("category").to_numpy()
    assert claimed > 0.97 and (before == truth).mean() < 0.8  # the claim that the check warns of
    assert refit["independent"] == ["person"] and 1 < refit["effective"]["llm"] < 2.5
    assert refit["changed"] > 0.1


def test_raters_without_groups_are_offered_other_models(golden):
    tree, data, _ = fitted(0.8, kinds=False)
    section, checks = model_fit.fit_sections(model_fit.checked(tree, 1), tree, data, 1)
    golden.says(section.facts["verdict"], "These raters")
    assert "ebcc" in section.facts["verdict"]
    golden.says(section.text, "correlated_votes allows")
    assert checks.part and {row["check"] for row in checks.rows} >= {
        "log likelihood ratio of a set of raters who share errors",
        "distinct answers by item",
    }
    assert "shared_guess" not in section.facts


def test_errors_that_all_share_alike_are_said_first_without_alarm_where_the_model_allows_for_them():
    tree, data, _ = fitted(0.8, kinds=False)
    allowing = tree.copy()
    allowing.attrs["model"] = "correlated_votes"
    independent, correlated = (
        model_fit.fit_sections(model_fit.checked(own, 1), own, data, 1)[0] for own in (tree, allowing)
    )
    assert independent.alarm and not correlated.alarm and correlated.facts["fits"] is False


def test_independent_raters_look_as_expected(golden):
    tree, data, _ = fitted(0.0)
    report = reports.make(tree, annotations=data, group="kind")
    (section,) = (own for own in report.sections if own.key == "fit")
    assert not section.alarm and section.facts["fits"] is True
    golden.says(section.facts["verdict"], "model expects:")


@pytest.mark.slow
def test_answers_of_models_with_effects_of_items_are_simulated_by_the_model(monkeypatch, golden):
    tree, data, _ = fitted(0.0)
    of_items = tree.copy()
    of_items["posterior"] = (
        tree["posterior"]
        .to_dataset()
        .assign(expected_effect=tree["posterior"]["plausibility"].isel(category=0))
    )
    of_items.attrs["model"] = "logistic_random_effects"
    asked = []

    def predict(own, model, **options):
        asked.append(model)
        replicates = np.random.default_rng(1).integers(2, size=(1, 120, len(data)))
        found = own.copy()
        dims = ("chain", "draw", "annotation")
        found["posterior_predictive"] = xr.Dataset({"observed_label": (dims, replicates)})
        return found

    monkeypatch.setattr(inference, "predict", predict)
    sections = reports.make(of_items, annotations=data, group="kind", model="m").sections
    found = {section.key: section for section in sections}
    assert asked == ["m"] and not needs_replicates(tree)  # other models have a law of their own
    assert found["fit"].facts["fits"] is False and found["worth"].facts["effective"] is not None
    (section,) = model_fit.fit_sections(model_fit.checked(of_items, 1), of_items, data, 1)
    golden.says(section.text, "checked: each")


@pytest.mark.slow
def test_groups_count_as_independent_raters_beside_their_worth(golden):
    facts, texts = {}, {}
    for copied in (0.0, 0.8):
        tree, data, _ = fitted(copied)
        report = reports.make(tree, annotations=data, group="kind")
        (section,) = (own for own in report.sections if own.key == "worth")
        facts[copied], texts[copied] = section.facts["effective"], section.text
    assert facts[0.0]["llm"]["effective"] > 8 and facts[0.0]["person"]["raters"] == 3
    # errors of nine raters turn the inferred truth round, and those of the people, who are outvoted, are seen
    assert facts[0.8]["person"]["effective"] < 2.5
    golden.says(texts[0.8], "of llm as", "such correlation")


def test_what_was_not_checked_is_said():
    tree, data, _ = fitted(0.0)
    bare = tree.copy()
    del bare["observed_data"]
    (section,) = model_fit.fit_sections(model_fit.checked(bare, 1), bare, data, 1)
    assert section.text.startswith("Not checked: ") and section.facts["fits"] is None and not section.alarm

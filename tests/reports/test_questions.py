"""Which question the metrics of a report answer, in its sections and in the summary box."""

import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import questions
from raterzoo.reports import Section
from raterzoo.reports.sections.metrics import metrics_section
from raterzoo.reports.sections.risk import risk_sections


def found(question, by=None):
    draws = [[[[0.6, 0.4], [0.3, 0.7]], [[0.7, 0.3], [0.8, 0.2]]]]
    coords = {"item": ["a", "b"], "category": ["x", "y"]}
    truth = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "category"})
    predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    options = {"resamples": 5, "random_seed": 1, "progressbar": False, "by": by}
    own = evaluation.metric_intervals(evaluation.top_k_accuracy(1), truth, predicted, **options)
    return {"accuracy": own.assign_attrs(question=question)}


@pytest.mark.parametrize(
    "question",
    [
        questions.RATERS,
        questions.OF_DISTRIBUTION,
        questions.TRUTH,
        "Of 'a': x. Of 'b': y",
    ],
)  # fmt: skip
def test_metrics_and_summary_say_the_question(question, golden):
    section = metrics_section(found(question), {"accuracy": True}, None, "")
    assert section.facts["question"] == question
    golden.says(section.text)


def test_metrics_within_groups_say_the_question(golden):
    groups = {"x": "low", "y": "high"}
    certainty = xr.DataArray([1.0, 0.5], {"item": ["a", "b"], "group": ("item", ["low", "low"])}, "item")
    masses = xr.DataArray([[[[0.6, 0.4]] * 2] * 2], dims=("chain", "draw", "item", "category"))
    masses = masses.assign_coords(item=["a", "b"], category=["low", "high"])
    *_, within = risk_sections(certainty, masses, None, found(questions.RATERS, groups), [None, None])
    assert isinstance(within, Section)
    golden.says(within.text, "agreement with")

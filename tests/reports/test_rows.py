"""Rows of metrics and comparisons hold what evaluation computed, whichever way is better."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.reports.sections import metrics

OPTIONS = {"random_seed": 3, "progressbar": False}
ITEMS = [f"item {i}" for i in range(30)]


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(8)
    mean = rng.dirichlet(np.ones(3), 30)
    draws = np.stack([rng.dirichlet(9 * p, (2, 200)) for p in mean], axis=2)
    dims = ("chain", "draw", "item", "category")
    coords, said = {"item": ITEMS, "category": list("xyz")}, {"truth": "distribution"}
    return xr.DataArray(draws, coords, dims, attrs=said), mean


@pytest.fixture(scope="module")
def predicted(drawn):
    _, mean = drawn
    rng = np.random.default_rng(9)
    each = [0.8 * mean + 0.2 * rng.dirichlet(np.ones(3), 30), rng.dirichlet(np.ones(3), 30)]
    coords = {"classifier": ["good", "random"], "item": ITEMS, "category": list("xyz")}
    return xr.DataArray(np.stack(each), coords, ("classifier", "item", "category"))


def test_rows_are_the_figures_of_the_intervals(drawn, predicted):
    found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), drawn[0], predicted, **OPTIONS)
    rows = metrics.metric_rows({"accuracy": found})
    assert [row["classifier"] for row in rows] == ["good", "random"]
    for row in rows:
        own = found.sel(classifier=row["classifier"])
        assert row["mean"] == float(own["mean"].sel(source="raters"))
        for start, source in (("", "both"), ("raters_", "raters"), ("items_", "items")):
            ends = own["interval"].sel(source=source).to_numpy().tolist()
            assert [row[f"{start}lower"], row[f"{start}upper"]] == ends
        assert row["sd_items"] == float(own["sd"].sel(source="items"))
        assert row["mcse"] == float(own["mcse"].sel(source="raters")) > 0
        part = row["sd_raters"] ** 2 / (row["sd_raters"] ** 2 + row["sd_items"] ** 2)
        assert row["raters_share"] == pytest.approx(part, abs=1e-15)


def test_groups_have_their_share(drawn, predicted):
    by = {"x": "a", "y": "a", "z": "b"}
    found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), drawn[0], predicted, by=by, **OPTIONS)
    rows = metrics.metric_rows({"accuracy": found})
    assert [(row["classifier"], row["group"]) for row in rows[:2]] == [("good", "a"), ("good", "b")]
    assert rows[0]["share"] + rows[1]["share"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("metric", [evaluation.top_k_accuracy(1), evaluation.brier_score()])
def test_the_better_classifier_comes_first(drawn, predicted, metric):
    points = {"mean": drawn[0].mean(("chain", "draw"))}
    found = {"m": evaluation.compare(metric, drawn[0], predicted, points=points, **OPTIONS)}
    assert metrics.order_of(found["m"]) == ["good", "random"]
    (pair,) = metrics.pair_rows(found)
    assert (pair["classifier"], pair["other"]) == ("good", "random")
    assert pair["probability_better"] > 0.95
    assert (pair["difference"] > 0) == metric.larger_is_better
    assert pair["lower"] < pair["difference"] < pair["upper"]
    best = metrics.best_rows(found)
    assert sum(row["probability_best"] for row in best) == pytest.approx(1, abs=1e-12)
    for row in metrics.optimism_rows(found):
        sign = 1 if metric.larger_is_better else -1
        assert row["optimism"] == pytest.approx(sign * (row["point"] - row["mean"]), abs=1e-12)
        assert row["lower"] <= row["optimism"] <= row["upper"]


def test_a_metric_without_a_value_is_said_to_have_none():
    names = ("mean", "sd", "mcse", "undefined")
    nothing = xr.Dataset({name: ("source", np.full(3, np.nan)) for name in names})
    ends = np.full((3, 2), np.nan)
    nothing = nothing.assign(
        interval=(("source", "bound"), ends), interval_mcse=(("source", "bound"), ends), note=""
    ).assign_coords(source=["raters", "items", "both"])
    (shown,) = metrics.shown_metrics(metrics.metric_rows({"m": nothing}))
    assert shown["mean"] == shown["90 % interval"] == "not defined"
    (shown,) = metrics.shown_metrics(metrics.metric_rows({"m": nothing.fillna(np.inf)}))
    assert shown["mean"] == "infinite"

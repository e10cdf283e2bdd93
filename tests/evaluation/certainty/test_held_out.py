"""Log score and calibration against a known truth: exact values, errors of items and draws, wrong twins, refusals."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, plots
from scipy.stats import beta

ITEMS, CATEGORIES = ["a", "b", "c"], ["ham", "spam"]
P = np.array([[[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9], [0.4, 0.6]]]])
DIMS = ("chain", "draw", "item", "category")
TREE = xr.DataArray(P, {"item": ITEMS, "category": CATEGORIES}, DIMS)


def posterior(p, categories=CATEGORIES):
    return xr.DataArray(p, {"item": np.arange(p.shape[-2]), "category": categories}, DIMS[-p.ndim :])


def test_log_score_is_of_the_mean_probability():
    found = evaluation.log_score(TREE, {"c": "ham", "a": "ham"})
    assert found["item"].values.tolist() == ["a", "c"]
    np.testing.assert_allclose(found["log_score"], np.log([0.8, 0.3]), rtol=1e-14)
    np.testing.assert_allclose(found["mean"], np.log([0.8, 0.3]).mean(), rtol=1e-14)
    np.testing.assert_allclose(found["sampling_error"], np.log(8 / 3) / 2, rtol=1e-13)
    point = evaluation.log_score(TREE.mean(("chain", "draw")), {"a": "spam"})
    np.testing.assert_allclose(point["mean"], np.log(0.2), rtol=1e-14)
    assert point["monte_carlo_error"] == 0 and np.isnan(point["sampling_error"])


@pytest.mark.parametrize(
    "truth",
    [
        {"a": "ham", "b": "spam", "c": None},
        pd.Series({"a": "ham", "b": "spam", "c": np.nan}),
        xr.DataArray(["ham", "spam", ""], {"item": ITEMS}, ("item",)),
    ],
)
def test_forms_of_the_truth_are_alike(truth):
    found = evaluation.log_score(TREE, truth)
    np.testing.assert_allclose(found["log_score"], np.log([0.8, 0.7]), rtol=1e-14)


def test_truth_of_probability_zero_has_minus_infinity():
    found = evaluation.log_score(posterior(np.array([[[[1.0, 0.0]]], [[[1.0, 0.0]]]])), {0: "spam"})
    assert found["mean"] == -np.inf and np.isnan(found["monte_carlo_error"])


def test_monte_carlo_error_is_that_of_the_draws():
    rng, runs = np.random.default_rng(5), 200
    noise = rng.normal(size=(runs, 2, 220, 4))
    for t in range(1, 220):  # autocorrelated, so that the draws are fewer than they seem
        noise[:, :, t] = 0.8 * noise[:, :, t - 1] + 0.6 * noise[:, :, t]
    p = 1 / (1 + np.exp(-1 - 0.5 * noise[:, :, 20:]))
    found = [
        evaluation.log_score(posterior(np.stack([q, 1 - q], -1)), dict.fromkeys(range(4), "ham")) for q in p
    ]
    spread = np.std([own["mean"] for own in found], ddof=1)
    said = np.mean([own["monte_carlo_error"] for own in found])
    assert abs(said / spread - 1) < 0.2  # the standard deviation of 200 runs is known to 5 %
    independent = np.mean([np.std((q / q.mean((0, 1))).mean(-1)) / 20 for q in p])
    assert independent / spread < 0.6  # the twin that takes the draws for independent


def test_calibration_curve_by_hand():
    p = np.array([0.9, 0.6, 0.1, 0.4, 0.75, 0.75])
    truth = dict(enumerate(["ham", "spam", "spam", "spam", "ham", "spam"]))
    curve = evaluation.calibration_curve(posterior(np.stack([p, 1 - p], -1)), truth, bins=3, probability=0.8)
    np.testing.assert_allclose(curve["predicted"], [0.6, 0.75, 0.9], rtol=1e-14)
    np.testing.assert_allclose(curve["observed"], [0.5, 0.5, 1], rtol=1e-14)
    assert curve["count"].values.tolist() == [2, 2, 2]
    np.testing.assert_allclose(curve["sampling_error"], np.sqrt([0.24 / 2, 0.1875 / 2, 0.09 / 2]), rtol=1e-13)
    np.testing.assert_allclose(curve["lower"], beta.ppf(0.1, [1.5, 1.5, 2.5], [1.5, 1.5, 0.5]), rtol=1e-13)
    np.testing.assert_allclose(curve["upper"][:2], beta.ppf(0.9, 1.5, 1.5), rtol=1e-13)
    assert curve["upper"][2] == 1 and (curve["monte_carlo_error"] == 0).all()
    of_ham = evaluation.calibration_curve(posterior(np.stack([p, 1 - p], -1)), truth, bins=2, category="ham")
    np.testing.assert_allclose(of_ham["predicted"], [(0.1 + 0.4 + 0.6) / 3, 0.8], rtol=1e-14)
    np.testing.assert_allclose(of_ham["observed"], [0, 2 / 3], rtol=1e-14)


def departure(curve):
    """Sum over bins of squared departures in units of their error: chi-squared, if the probabilities are right."""
    return float((((curve["observed"] - curve["predicted"]) / curve["sampling_error"]) ** 2).sum())


def test_probabilities_of_the_truth_are_calibrated_and_sharpened_ones_are_not():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], 4_000)
    names = ["x", "y", "z"]
    truth = dict(enumerate(np.array(names)[(p.cumsum(1) < rng.random((4_000, 1))).sum(1)].tolist()))
    curve = evaluation.calibration_curve(posterior(p, names), truth)
    assert len(curve["bin"]) == 10 and departure(curve) < 29.6  # the 99.9 % quantile of 10 degrees of freedom
    sharp = p**1.3 / (p**1.3).sum(1, keepdims=True)
    assert departure(evaluation.calibration_curve(posterior(sharp, names), truth)) > 45
    assert (
        evaluation.log_score(posterior(p, names), truth)["mean"]
        > evaluation.log_score(posterior(sharp, names), truth)["mean"]
    )


def test_equal_probabilities_stay_in_one_bin():
    p = np.full(20, 0.7)
    curve = evaluation.calibration_curve(posterior(np.stack([p, 1 - p], -1)), dict.fromkeys(range(20), "ham"))
    assert curve["count"].values.tolist() == [20]


def test_integer_categories_and_ids():
    array = xr.DataArray([[0.3, 0.7]], {"item": [4], "category": [0, 1]}, ("item", "category"))
    np.testing.assert_allclose(evaluation.log_score(array, {4: 1})["mean"], np.log(0.7), rtol=1e-14)


@pytest.mark.parametrize(
    "truth",
    [
        {},
        {"a": None},
        {"z": "ham"},
        {1: "ham"},
        {"a": "eggs"},
        ["ham"],
        pd.Series(["ham", "ham"], ["a", "a"]),
    ],
)
def test_refusals(truth, golden):
    with golden.raises(EvaluationError):
        evaluation.log_score(TREE, truth)


def test_options_out_of_range_are_refused(golden):
    for options in ({"bins": 0}, {"probability": 1.0}, {"category": "eggs"}):
        with pytest.raises(EvaluationError, match="|".join(options) + "|eggs"):
            evaluation.calibration_curve(TREE, {"a": "ham"}, **options)
    flat = TREE.stack(candidate=("item", "category"))
    with golden.raises(EvaluationError):
        evaluation.log_score(flat, {"a": "ham"})


def test_plot_shows_every_bin():
    curve = evaluation.calibration_curve(TREE, {"a": "ham", "b": "spam", "c": "ham"}, bins=3)
    axes = plots.calibration_curve(curve).axes[0]
    clouds = [c for c in axes.collections if len(c.get_offsets()) == curve.sizes["bin"]]
    marks = np.concatenate([c.get_offsets() for c in clouds])
    spans = [c for c in axes.collections if c not in clouds]
    colours = [c.get_edgecolor()[0, :3] for c in (*spans, *clouds)]
    assert spans and all((own == colours[0]).all() for own in colours)  # an interval is that of its point
    np.testing.assert_allclose(marks, np.stack([curve["predicted"], curve["observed"]], 1), rtol=1e-12)
    with pytest.raises(EvaluationError, match="calibration_curve"):
        plots.calibration_curve(xr.Dataset())

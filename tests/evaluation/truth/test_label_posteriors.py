"""Certainty of the true category, quality of raters, agreement beyond chance."""

import os
from pathlib import Path
from types import SimpleNamespace

import krippendorff
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import EvaluationError
from scipy import stats
from sklearn.metrics import accuracy_score, cohen_kappa_score

from tests.support.monte_carlo import bonferroni_threshold

folder = os.environ.get("RATERZOO_DATA")


def tree(confusion, prevalence, plausibility=None):
    """Two draws of one chain."""
    names = ["x", "y"]
    posterior = {
        "confusion": (("chain", "draw", "rater", "category", "answer"), np.asarray(confusion)[None]),
        "prevalence": (("chain", "draw", "category"), np.asarray(prevalence)[None]),
    }
    if plausibility is not None:
        dims = ("chain", "draw", "item", "category")
        posterior["plausibility"] = (dims, np.asarray(plausibility)[None], {"truth": "category"})
    raters = [f"r{k}" for k in range(np.shape(confusion)[1])]
    coords = {"category": names, "answer": names, "rater": raters}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior, coords)})


PERFECT, COIN, ADVERSARY = np.eye(2), np.full((2, 2), 0.5), 1 - np.eye(2)


def test_quality_of_known_raters():
    quality = evaluation.rater_quality(tree([[PERFECT, COIN, ADVERSARY]] * 2, [[0.5, 0.5], [0.25, 0.75]]))
    assert quality["accuracy"].dims == ("chain", "draw", "rater")
    np.testing.assert_allclose(quality["accuracy"][0], [[1, 0.5, 0], [1, 0.5, 0]])
    entropy = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    np.testing.assert_allclose(quality["information"][0], [[1, 0, 1], [entropy, 0, entropy]], atol=1e-12)
    np.testing.assert_allclose(quality["bias"][0, 1], [[0, 0], [0.25, -0.25], [0.5, -0.5]], atol=1e-12)
    np.testing.assert_allclose(quality["bias"].sum("answer"), 0, atol=1e-12)


def test_intervals_are_quantiles(golden):
    draws = np.random.default_rng(1).dirichlet([1, 1], (500, 1, 2))
    intervals = evaluation.confusion_intervals(tree(draws, np.full((500, 2), 0.5)), 0.8)
    np.testing.assert_allclose(intervals["mean"], draws.mean(axis=0))
    np.testing.assert_allclose(intervals["lower"], np.quantile(draws, 0.1, axis=0))
    with golden.raises(EvaluationError):
        evaluation.confusion_intervals(tree(draws, np.full((500, 2), 0.5)), 1.0)


def test_certainty_is_of_the_truth_and_not_of_its_probability():
    """Whoever is sure that it is .6 against .4 is not sure which of the two it is."""
    steady = np.tile([[0.6, 0.4], [0.0, 1.0]], (2, 1, 1))
    found = evaluation.truth_certainty(tree([[PERFECT]] * 2, [[0.5, 0.5]] * 2, steady))
    assert found["certainty"].values.tolist() == [0.6, 1.0]
    assert found["label"].values.tolist() == ["x", "y"]
    np.testing.assert_allclose(found["probability"], steady[0])


def certainty_by_quadrature(concentration):
    """Largest probability that one entry of a Dirichlet law is the largest: of Gammas, the largest of independent ones."""
    u = (np.arange(4000) + 0.5) / 4000
    value = stats.gamma.ppf(u[:, None], concentration)  # of each entry
    wins = [
        np.prod(np.delete(stats.gamma.cdf(value[:, [k]], concentration), k, axis=1), axis=1).mean()
        for k in range(len(concentration))
    ]
    assert sum(wins) == pytest.approx(1, abs=1e-3)
    return max(wins)


@pytest.mark.slow
def test_certainty_of_counts_is_the_integral_of_their_dirichlet_law():
    """Images as in CIFAR-10H: ten categories, fifty people, most of one mind."""
    rng = np.random.default_rng(10)
    share = rng.dirichlet(np.r_[6.0, 5.0, 3.0, np.full(7, 0.3)], 12)
    counts = xr.DataArray(
        np.stack([rng.multinomial(51, p) for p in share]),
        {"item": np.arange(12), "category": list("abcdefghij")},
        ("item", "category"),
    )
    counts[0], counts[1] = 0, [25, 26] + 8 * [0]  # nobody, and two of equal right
    labels = models.Labels.from_counts(counts)
    for reliability in (1.0, 3.0):
        model = models.dirichlet(labels, concentration=0.5, reliability=reliability)
        tree = inference.sample(model, draws=5000, random_seed=4, progressbar=False)
        found = evaluation.annotation_certainty(tree).to_numpy()
        exact = [certainty_by_quadrature(0.5 + reliability * n) for n in counts.to_numpy()]
        error = np.sqrt(np.multiply(exact, np.subtract(1, exact)) / 20_000)
        z = (found - exact)[2:] / np.maximum(error, 1e-4)[2:]
        assert np.abs(z).max() < bonferroni_threshold(20)
        assert found[0] == pytest.approx(0.1, abs=0.01)  # the largest of ten equal frequencies
        assert found[1] == pytest.approx(exact[1], abs=0.015)
        twin = [certainty_by_quadrature(0.5 + 2 * reliability * n) for n in counts.to_numpy()]
        assert np.abs((found - twin)[2:] / np.maximum(error, 1e-4)[2:]).max() > 10


def test_intervals_of_agreement_are_quantiles_of_resampled_items():
    """The bootstrap by hand, with the same resampled items; and they cover the agreement of the population."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 60)
    table = np.where(rng.random((60, 3)) < 0.8, truth[:, None], 1 - truth[:, None]).astype(float)
    ratings = xr.DataArray(table, {"rater": ["a", "b", "c"]}, ("item", "rater"))
    found = evaluation.label_agreement(ratings, bootstrap=200, probability=0.8, random_seed=9)
    resampled = np.random.default_rng(9)
    rows = [resampled.integers(0, 60, 60) for _ in range(200)]
    alpha = [krippendorff.alpha(reliability_data=table[r].T, level_of_measurement="nominal") for r in rows]
    np.testing.assert_allclose(found["alpha_interval"], np.quantile(alpha, [0.1, 0.9]))
    kappa = [cohen_kappa_score(table[r, 0], table[r, 1]) for r in rows]
    own = found["kappa_interval"].sel(rater="a", other="b")
    np.testing.assert_allclose(own, np.quantile(kappa, [0.1, 0.9]))
    lower, upper = found["ac1_interval"]
    assert lower < found["ac1"] < upper
    # of balanced labels that are right with probability .8, alpha = kappa = AC1 = (.68 - .5) / .5
    assert all(
        float(found[f"{name}_interval"][0]) < 0.36 < float(found[f"{name}_interval"][1])
        for name in ("alpha", "ac1")
    )


def test_trees_that_lack_something_are_named(golden):
    rankings = models.published_ddx_cases().select(items=["fig3"])
    flat = inference.sample(models.prirn(rankings), draws=5, random_seed=1, progressbar=False)
    for function in (
        evaluation.rater_quality,
        evaluation.confusion_intervals,
        evaluation.truth_certainty,
        evaluation.ratings_of,
    ):
        with golden.raises(EvaluationError):
            function(flat)


@pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")
def test_pandalm():
    """Its three people: kappas .852, .879 and .862, alpha .8642."""
    raters = ["annotator1", "annotator2", "annotator3"]
    frame = pd.read_csv(Path(folder) / "pandalm_testset_labels.csv")
    ratings = xr.DataArray(frame[raters].to_numpy(float), {"rater": raters}, ("item", "rater"))
    agreement = evaluation.label_agreement(ratings, bootstrap=20, random_seed=1)
    kappa = agreement["kappa"].to_numpy()
    found = sorted([kappa[0, 1], kappa[0, 2], kappa[1, 2]])
    np.testing.assert_allclose(found, [0.852, 0.862, 0.879], atol=5e-4)
    assert float(agreement["alpha"]) == pytest.approx(0.8642, abs=5e-5)
    lower, upper = agreement["alpha_interval"].values
    assert lower < 0.8642 < upper and upper - lower < 0.1


def test_truth_of_dawid_skene_is_one_category_and_not_the_likeliest(golden):
    """Who predicts the likeliest category of items that are open is right as often as it is likely, and no more."""
    steady = np.tile([[0.6, 0.4], [0.7, 0.3]], (2000, 1, 1))
    one = tree([[PERFECT]] * 2000, [[0.5, 0.5]] * 2000, steady)
    predicted = xr.DataArray([["x"], ["x"]], {"item": [0, 1]}, ("item", "position"))
    posterior = one["posterior"].to_dataset().assign_coords(item=[0, 1])
    of = {}
    for truth in ("category", "distribution"):
        posterior["plausibility"].attrs["truth"] = truth
        of[truth] = xr.DataTree.from_dict({"posterior": posterior.copy(deep=True)})
    marked, itself = of["category"], of["distribution"]
    accuracy = evaluation.top_k_accuracy(1)
    options = {"random_seed": 1, "reduce": None}
    found = evaluation.uncertainty_adjusted(accuracy, marked, predicted, **options)
    assert np.abs(found.mean(("chain", "draw")) - [0.6, 0.7]).max() < 0.05
    by_scikit_learn = evaluation.uncertainty_adjusted(accuracy_score, marked, predicted, random_seed=1)
    assert float(by_scikit_learn.mean()) == pytest.approx(0.65, abs=0.03)
    wrong = evaluation.uncertainty_adjusted(accuracy, itself, predicted, **options)
    assert (wrong == 1).all()  # the twin: as if the plausibilities were the truth
    np.testing.assert_allclose(evaluation.annotation_certainty(marked), [0.6, 0.7])
    assert (evaluation.annotation_certainty(itself) == 1).all()
    grouped = evaluation.annotation_certainty(marked, groups={"x": "g", "y": "g"}, random_seed=1)
    assert (grouped == 1).all()
    coarse = evaluation.coarsen(marked, {"x": "g", "y": "h"})
    np.testing.assert_allclose(evaluation.annotation_certainty(coarse), [0.6, 0.7])
    both = xr.DataArray([["x", "y"]] * 2, {"item": [0, 1]}, ("item", "position"))
    with golden.raises(EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.set_accuracy(2), marked, both)


def foreign_tree(**observed):
    """Return a Dawid-Skene posterior as another program leaves it: p(true category | draw) without a word of what that is."""
    p = np.tile([[0.9, 0.1], [0.6, 0.4]], (2, 500, 1, 1))
    posterior = xr.Dataset({"plausibility": (("chain", "draw", "item", "category"), p)})
    groups = {"posterior": posterior}
    if observed:
        groups["observed_data"] = xr.Dataset(observed)
    return xr.DataTree.from_dict(groups)


def test_what_a_foreign_plausibility_is_must_be_said(golden):
    """Taken for a distribution of labels, a certainty of .9 would be 1."""
    data = SimpleNamespace(items=np.array(["a", "b"]), categories=np.array(["x", "y"]))
    predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    for observed in ({}, {"observed_label": (("item", "rater"), [[0, 0], [0, 1]])}):
        unmarked = inference.label(foreign_tree(**observed), data)
        for ask in (
            lambda tree: evaluation.annotation_certainty(tree),
            lambda tree: evaluation.truth_certainty(tree),
            lambda tree: evaluation.coarsen(tree, {"x": "g", "y": "h"}),
            lambda tree: evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), tree, predicted),
        ):
            with golden.raises(EvaluationError):
                ask(unmarked)
        with golden.raises(ValueError):
            inference.design.next_to_ask(unmarked)
    marked = inference.label(foreign_tree(), data, truth="category")
    np.testing.assert_allclose(evaluation.annotation_certainty(marked), [0.9, 0.6])
    assert "truth" not in foreign_tree()["posterior"]["plausibility"].attrs
    accuracy = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), marked, predicted, random_seed=1)
    assert float(accuracy.mean()) == pytest.approx(0.75, abs=0.05)
    again = inference.label(marked, data, truth="distribution")  # the twin
    assert (evaluation.annotation_certainty(again) == 1).all()
    for truth in ("vote", None):
        with golden.raises(ValueError):
            wrong = inference.label(marked, data, truth=truth)
            wrong["posterior"]["plausibility"].attrs["truth"] = "vote"
            evaluation.annotation_certainty(wrong)


def test_trees_say_what_their_plausibilities_are(golden):
    labels = models.simulators.labels(items=8, raters=3, random_seed=1).data
    options = {"draws": 1000, "random_seed": 1, "progressbar": False}
    category = inference.sample(models.one_coin(labels), **options)
    itself = inference.sample(models.dirichlet(labels), **options)
    truths = [t["posterior"]["plausibility"].attrs["truth"] for t in (category, itself)]
    assert truths == ["category", "distribution"]
    with golden.raises(ValueError):
        inference.label(category, labels, truth="distribution")
    certainty = evaluation.truth_certainty(category)["certainty"]
    np.testing.assert_allclose(evaluation.annotation_certainty(category), certainty)
    with pytest.raises(EvaluationError, match="use annotation_certainty"):
        evaluation.truth_certainty(itself)


def test_agreement_where_all_agree(golden):
    """AC1 is 1 where kappa and alpha are not defined; resamples in which they are not leave the intervals alone."""
    ratings = xr.DataArray(np.zeros((20, 2)), {"rater": ["a", "b"]}, ("item", "rater"))
    found = evaluation.label_agreement(ratings, bootstrap=20, random_seed=1)
    assert float(found["ac1"]) == 1 and np.isnan(found["alpha"])
    ratings[0, 1] = 1
    found = evaluation.label_agreement(ratings, bootstrap=200, random_seed=1)
    assert np.isfinite(found["alpha_interval"]).all() and int(found["alpha_undefined"]) > 10
    three = ratings.assign_attrs(categories=3)
    assert evaluation.label_agreement(three, bootstrap=0)["ac1"] > found["ac1"]  # less is due to chance
    for wrong in ({"probability": 2}, {"bootstrap": -1}):
        with golden.raises(EvaluationError):
            evaluation.label_agreement(ratings, **wrong)
    with golden.raises(EvaluationError):
        evaluation.label_agreement(np.zeros((3, 2)))


def test_agreement_of_a_hand_made_table(golden):
    """Gwet's AC1 by hand: agreement 3/4, chance 2 * (5/8) (3/8) = 15/32."""
    table = xr.DataArray(
        [[0.0, 0], [0, 0], [1, 1], [0, 1]], dims=("item", "rater"), coords={"rater": ["a", "b"]}
    )
    agreement = evaluation.label_agreement(table, bootstrap=0)
    assert float(agreement["ac1"]) == pytest.approx((3 / 4 - 15 / 32) / (1 - 15 / 32))
    assert float(agreement["kappa"].sel(rater="a", other="b")) == pytest.approx(0.5)
    with golden.raises(EvaluationError):
        evaluation.label_agreement(
            xr.DataArray([[0.0, np.nan]], dims=("item", "rater"), coords={"rater": [1, 2]})
        )


def test_ratings_come_back_from_a_tree():
    labels = models.Labels.from_table(
        {"item": [1, 1, 1, 1, 2], "rater": ["a", "a", "a", "b", "b"], "label": ["y", "x", "y", "y", "x"]}
    )
    tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
    np.testing.assert_array_equal(evaluation.ratings_of(tree), [[1, 1], [np.nan, 0]])

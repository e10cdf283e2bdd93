"""Prediction of items that nobody annotated: the law given the features, ids, draws, errors, questions to ask."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.design import plans
from raterzoo.posterior import prior_of_items
from scipy.special import softmax

from tests.support.data_parts import item_features

CHAINS, DRAWS, FEATURES = 2, 40, 3
CATEGORIES = np.array(["cat", "dog", "eel"])
RAW = np.random.default_rng(3).normal(size=(6, FEATURES)) * [1, 10, 0.1] + [5, 0, -2]
NAMES = np.array(["size", "weight", "age"], object)
FITTED = np.array([f"item {k}" for k in range(6)])


def features_of(raw, items):
    return xr.DataArray(raw, {"item": items, "feature": NAMES}, ("item", "feature"))


def posterior_of(variables):
    """Return a tree with these draws and the features of `FITTED`, as a fit with features has them."""
    fitted = item_features(features_of(RAW, FITTED), FITTED)
    coords = {
        "item": FITTED,
        "feature": NAMES,
        "category": CATEGORIES,
        "answer": CATEGORIES,
        "rater": ["r", "s"],
    }
    constant = {
        "features": (("item", "feature"), fitted.values),
        "feature_mean": ("feature", fitted.mean),
        "feature_sd": ("feature", fitted.scale),
        "gold": ("item", np.full(6, -1)),
    }
    draws = {name: (("chain", "draw", *dims), values) for name, (dims, values) in variables.items()}
    used = {dim for dims, _ in variables.values() for dim in dims}
    groups = {
        "posterior": xr.Dataset(draws, {dim: coords[dim] for dim in used}),
        "constant_data": xr.Dataset(constant, {dim: coords[dim] for dim in ("item", "feature")}),
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"seed": 7, "model": "dawid_skene"}
    return tree


@pytest.fixture(scope="module")
def of_labels():
    rng = np.random.default_rng(1)
    sample = (CHAINS, DRAWS)
    variables = {
        "prevalence": (("category",), rng.dirichlet([5, 3, 2], sample)),
        "feature_effect": (("feature", "category"), rng.normal(size=(*sample, FEATURES, 3))),
        "feature_scale": ((), rng.gamma(3, size=sample)),
        "confusion": (("rater", "category", "answer"), rng.dirichlet([1, 1, 1], (*sample, 2, 3))),
        "plausibility": (("item", "category"), rng.dirichlet([1, 1, 1], (*sample, 6)).astype(np.float32)),
    }
    tree = posterior_of(variables)
    tree["posterior"]["plausibility"].attrs["truth"] = "category"
    return tree


@pytest.fixture(scope="module")
def of_scores():
    rng = np.random.default_rng(2)
    sample = (CHAINS, 2_000)
    variables = {
        "location_mean": ((), np.full(sample, 4.0)),
        "location_spread": ((), np.full(sample, 0.5)),
        "feature_effect": (("feature",), np.broadcast_to([1.0, 0.0, -2.0], (*sample, FEATURES))),
        "location": (("item",), rng.normal(size=(*sample, 6))),
    }
    return posterior_of(variables)


def test_plausibility_is_the_softmax_of_prevalence_and_features(of_labels):
    raw = RAW[:2] + np.array([[0.3, 2, 0.05], [0, 0, 0]])
    new = inference.predict(of_labels, features_of(raw, ["new", "item 1"])[:, ::-1])
    found, posterior = new["posterior"]["plausibility"], of_labels["posterior"]
    assert found.dims == ("chain", "draw", "item", "category") and found.dtype == np.float32
    assert found["item"].values.tolist() == ["new", "item 1"]
    x = (raw - RAW.mean(axis=0)) / RAW.std(axis=0)
    logits = (
        np.log(posterior["prevalence"].to_numpy())[:, :, None] + x @ posterior["feature_effect"].to_numpy()
    )
    np.testing.assert_allclose(found, softmax(logits, axis=-1), rtol=1e-5)
    np.testing.assert_allclose(found.sum("category"), 1, rtol=1e-6)
    assert found.attrs == {"truth": "category", "given": "features"}
    assert new.attrs == {"seed": 7, "model": "dawid_skene", "predicted_from": "features"}
    xr.testing.assert_identical(new["posterior"]["confusion"], posterior["confusion"])
    assert "gold" not in new["constant_data"] and new["constant_data"]["features"].shape == (2, FEATURES)


def test_predictions_are_taken_by_evaluation_and_by_the_choice_of_the_next_item(of_labels):
    new = inference.predict(of_labels, features=features_of(RAW, [f"new {k}" for k in range(6)]))
    assert evaluation.annotation_certainty(new).sizes == {"item": 6}
    truth = evaluation.plausible_labels(new)
    metric = evaluation.uncertainty_adjusted(
        evaluation.cross_entropy(), new, new["posterior"]["plausibility"].mean(("chain", "draw"))
    )
    assert metric.sizes == {"chain": CHAINS, "draw": DRAWS} and truth.sizes["item"] == 6
    asked = inference.design.next_to_ask(new)
    assert {*asked["item"].values.tolist()} == {f"new {k}" for k in range(6)} and asked.sizes[
        "question"
    ] == 12
    assert (asked["gain"] >= 0).all()
    again = inference.predict(new, features_of(RAW, FITTED))  # a prediction predicts, too
    old = inference.predict(of_labels, features_of(RAW, FITTED))
    xr.testing.assert_identical(again["posterior"].to_dataset(), old["posterior"].to_dataset())


def shares_of(tree):
    return prior_of_items.shares_of_categories(tree, tree["posterior"]["prevalence"])


def test_studies_like_a_pilot_have_the_shares_of_its_items(of_labels, monkeypatch):
    found = shares_of(of_labels)
    prior = inference.predict(of_labels, features_of(RAW, FITTED))["posterior"]["plausibility"]
    np.testing.assert_allclose(found, prior.mean("item"), rtol=1e-5)
    assert (
        np.abs(found - of_labels["posterior"]["prevalence"]).max() > 0.1
    )  # of an item with the mean features
    monkeypatch.setattr(prior_of_items, "MOST_PROBABILITIES", 2 * of_labels["posterior"]["prevalence"].size)
    np.testing.assert_allclose(shares_of(of_labels), prior[:, :, [0, 5]].mean("item"), rtol=1e-5)
    skills = plans._Skills.of(of_labels, ["s"], None)
    np.testing.assert_allclose(skills.prevalence, shares_of(of_labels).to_numpy().reshape(-1, 3))
    without = of_labels.copy()
    without["posterior"] = of_labels["posterior"].to_dataset().drop_vars("feature_effect")
    xr.testing.assert_identical(shares_of(without), of_labels["posterior"]["prevalence"])


def test_draws_are_thinned_evenly(of_labels):
    new = inference.predict(of_labels, features_of(RAW, FITTED), draws=10)
    whole = inference.predict(of_labels, features_of(RAW, FITTED))
    assert new["posterior"].sizes["draw"] == 5
    chosen = whole["posterior"].to_dataset().isel(draw=slice(3, None, 8))
    xr.testing.assert_identical(new["posterior"].to_dataset()["plausibility"], chosen["plausibility"])


def test_locations_are_drawn_from_the_population_given_the_features(of_scores):
    new = inference.predict(of_scores, features_of(RAW, FITTED), random_seed=1)
    found = new["posterior"]["location"]
    x = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
    error = (found.mean(("chain", "draw")) - (4 + x @ [1, 0, -2])) / (0.5 / np.sqrt(4_000))
    assert np.abs(error).max() < 4
    np.testing.assert_allclose(found.std(("chain", "draw")), 0.5, rtol=4 / np.sqrt(8_000))
    assert np.abs(az.ess(new)["location"]).min() > 3_000  # independent noise in every draw
    same = inference.predict(of_scores, features_of(RAW, FITTED), random_seed=1)
    xr.testing.assert_identical(found, same["posterior"]["location"])
    by_tree = [
        inference.predict(of_scores, features_of(RAW, FITTED))["posterior"]["location"] for _ in range(2)
    ]
    xr.testing.assert_identical(*by_tree)
    assert not by_tree[0].equals(found)


def test_arguments_that_do_not_fit_are_refused(of_labels, monkeypatch, golden):
    features = features_of(RAW, FITTED)
    with golden.raises(ValueError):
        inference.predict(of_labels)
    with golden.raises(ValueError):
        inference.predict(of_labels, features, features=features)
    without = of_labels.copy()
    without["posterior"] = of_labels["posterior"].to_dataset().drop_vars("feature_effect")
    with golden.raises(ValueError):
        inference.predict(without, features)
    without["posterior"] = of_labels["posterior"].to_dataset().drop_vars("prevalence")
    with golden.raises(ValueError):
        inference.predict(without, features)
    with golden.raises(models.DataError):
        inference.predict(of_labels, {"item": ["a"], "sice": [1], "weight": [2], "age": [3]})
    monkeypatch.setenv("RATERZOO_MEMORY_GB", "0.000001")
    with golden.raises(ValueError):
        inference.predict(of_labels, features)


def test_further_items_are_asked_for_among_those_that_have_answers(of_labels, golden):
    features = features_of(RAW + np.array([0.1, 1, 0.01]), [*FITTED[:4], "new 1", "new 2"])
    asked = inference.design.next_to_ask(of_labels, features=features)
    assert {*asked["item"].values.tolist()} == {*FITTED.tolist(), "new 1", "new 2"}
    assert asked.sizes["question"] == 16 and (np.diff(asked["gain"]) <= 0).all()
    alone = inference.design.next_to_ask(of_labels)
    new = inference.design.next_to_ask(inference.predict(of_labels, features.isel(item=[4, 5])))
    for part in (alone, new):  # the gain about an item does not depend on the others
        for question in range(part.sizes["question"]):
            own = part.isel(question=question)
            same = (asked["item"] == own["item"]) & (asked["rater"] == own["rater"])
            np.testing.assert_allclose(asked["gain"].values[same.values], own["gain"], rtol=1e-5, atol=1e-9)
    with golden.raises(models.DataError):
        inference.design.next_to_ask(of_labels, features=features_of(RAW, FITTED))

"""Checks of labels with features: replicates draw the truth by the features of each item, and a curved law is found."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.checks import label_laws, labels
from raterzoo.evaluation.checks.label_laws import answers_of
from scipy.special import softmax

ITEMS, RATERS, CATEGORIES, DRAWS = 250, 6, 3, 99
CONFUSION = np.full((RATERS, CATEGORIES, CATEGORIES), 0.1) + 0.7 * np.eye(CATEGORIES)
EFFECT = np.array([[2.5, -2.5, 0.0], [0.0, 0.0, 0.0]])
TOTALS = "totals of the labels"


def tree_of(seed, curve=0.0):
    """Labels and known parameters; with a curve the log odds of the first category follow the square of the first feature."""
    rng = np.random.default_rng(seed)
    # skew, so that an item with the mean features is not a typical one
    x = rng.normal(size=(ITEMS, 2)) if curve else rng.standard_gamma(1.0, (ITEMS, 2))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    prevalence = np.array([0.3, 0.3, 0.4])
    odds = np.log(prevalence) + x @ EFFECT
    odds[:, 0] += curve * (x[:, 0] ** 2 - 1)
    truth = np.array([rng.choice(CATEGORIES, p=own) for own in softmax(odds, axis=1)])
    label = np.array([[rng.choice(CATEGORIES, p=own) for own in CONFUSION[:, t]] for t in truth])
    item, rater = np.indices(label.shape)
    names, dims = list("abc"), ("chain", "draw")
    posterior = {
        "prevalence": ((*dims, "category"), np.tile(prevalence, (1, DRAWS, 1))),
        "feature_effect": ((*dims, "feature", "category"), np.tile(EFFECT, (1, DRAWS, 1, 1))),
        "confusion": ((*dims, "rater", "category", "answer"), np.tile(CONFUSION, (1, DRAWS, 1, 1, 1))),
        "plausibility": ((*dims, "item", "category"), np.tile(np.eye(3)[truth], (1, DRAWS, 1, 1))),
    }
    coords = {"rater": [f"r{k}" for k in range(RATERS)], "category": names, "answer": names}
    constants = {
        "annotation_item": ("annotation", item.ravel()),
        "annotation_rater": ("annotation", rater.ravel()),
        "features": (("item", "feature"), x),
    }
    observed = {"observed_label": ("annotation", label.ravel())}
    groups = {"posterior": xr.Dataset(posterior, coords), "constant_data": xr.Dataset(constants)}
    return xr.DataTree.from_dict({**groups, "observed_data": xr.Dataset(observed)})


def failed(tree):
    found = evaluation.model_checks(tree, replicates=DRAWS, random_seed=1)
    return {*found["check"].to_numpy()[found["fails"].to_numpy()].tolist()}


@pytest.mark.slow
def test_replicates_draw_the_truth_of_each_item_by_its_features():
    fits = [failed(tree_of(seed)) for seed in range(8)]
    assert sum(map(bool, fits)) <= 2  # binomial of 8 studies at .05: more has the probability .006
    assert not any(TOTALS in own for own in fits)


def test_replicates_by_the_prevalence_alone_are_false_alarms():
    # the wrong twin: the prevalence of a model with features is that of an item with the mean features
    for seed in range(2):
        tree = tree_of(seed)
        posterior = tree["posterior"].to_dataset().drop_vars("feature_effect")
        groups = {k: v.to_dataset() for k, v in tree.children.items()} | {"posterior": posterior}
        assert TOTALS in failed(xr.DataTree.from_dict(groups))


@pytest.mark.parametrize("curve", [2.0, -2.0])
def test_log_odds_that_are_curved_are_found(curve):
    tree = tree_of(3, curve)
    found = evaluation.model_checks(tree, replicates=DRAWS, random_seed=1)
    assert labels.FEATURES in failed(tree)
    assert any("do not follow the features as the model says" in own for own in found.attrs["sentences"])


def test_items_are_in_fifths_by_features_with_the_largest_effects(monkeypatch):
    monkeypatch.setattr(label_laws, "MOST_FEATURES", 1)
    tree = tree_of(1)
    own = answers_of(tree, None, labels.MOST_ANSWERS, np.random.default_rng(1))[0].by_features
    order = np.argsort(tree["constant_data"]["features"].to_numpy()[:, 0])
    np.testing.assert_array_equal(own.contrast[order, 0], np.repeat([2, -1, -2, -1, 2], ITEMS // 5))
    np.testing.assert_allclose(own.weight, EFFECT[:1] ** 2)


def test_without_features_there_is_no_such_check():
    tree = tree_of(1)
    posterior = tree["posterior"].to_dataset().drop_vars("feature_effect")
    groups = {k: v.to_dataset() for k, v in tree.children.items()} | {"posterior": posterior}
    found = evaluation.model_checks(xr.DataTree.from_dict(groups), replicates=DRAWS)
    assert labels.FEATURES not in found["check"].to_numpy().tolist()

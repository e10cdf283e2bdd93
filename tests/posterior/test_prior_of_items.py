"""Shares of the categories among items with features, by which quality and worth of raters count: by hand, blocks, refusals."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError
from raterzoo.posterior import prior_of_items
from scipy.special import softmax

X = np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0], [0.5, 0.3]])
PREVALENCE = np.array([[[0.5, 0.5], [0.2, 0.8], [0.0, 1.0]]])  # (chain, draw, category)
EFFECT = np.random.default_rng(1).normal(size=(1, 3, 2, 2)) * 2
CONFUSION = np.array([[0.9, 0.1], [0.4, 0.6]])


def tree_of(**groups):
    dims, names = ("chain", "draw"), ["no", "yes"]
    posterior = {
        "prevalence": ((*dims, "category"), PREVALENCE),
        "feature_effect": ((*dims, "feature", "category"), EFFECT),
        "confusion": ((*dims, "rater", "category", "answer"), np.tile(CONFUSION, (1, 3, 2, 1, 1))),
    }
    coords = {"rater": ["r", "s"], "category": names, "answer": names}
    constants = xr.Dataset({"features": (("item", "feature"), X)})
    return xr.DataTree.from_dict(
        {"posterior": xr.Dataset(posterior, coords), "constant_data": constants} | groups
    )


def shares():
    with np.errstate(divide="ignore"):
        return softmax(np.log(PREVALENCE)[:, :, None] + X @ EFFECT, axis=-1).mean(axis=2)


def test_quality_and_worth_of_raters_are_by_the_shares_of_the_items():
    accuracy = (shares() * np.diag(CONFUSION)).sum(axis=-1)
    quality = evaluation.rater_quality(tree_of())
    np.testing.assert_allclose(quality["accuracy"], np.repeat(accuracy[..., None], 2, axis=-1))
    np.testing.assert_allclose(evaluation.rater_worth(tree_of())["accuracy"], quality["accuracy"])
    twin = (PREVALENCE * np.diag(CONFUSION)).sum(axis=-1)  # of an item with the mean features
    assert np.abs(twin - accuracy).max() > 0.02


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_blocks_of_draws_do_not_change_shares(monkeypatch, size):
    monkeypatch.setattr(prior_of_items, "BLOCK_SIZE", size)
    tree = tree_of()
    found = prior_of_items.shares_of_categories(tree, tree["posterior"]["prevalence"])
    np.testing.assert_allclose(found, shares())


def test_of_many_items_evenly_spaced_ones_are_taken(monkeypatch):
    monkeypatch.setattr(prior_of_items, "MOST_PROBABILITIES", 2 * PREVALENCE.size)
    tree = tree_of()
    found = prior_of_items.shares_of_categories(tree, tree["posterior"]["prevalence"])
    with np.errstate(divide="ignore"):
        own = softmax(np.log(PREVALENCE)[:, :, None] + X[[0, 3]] @ EFFECT, axis=-1).mean(axis=2)
    np.testing.assert_allclose(found, own)


def test_effects_without_their_features_are_refused(golden):
    with golden.raises(EvaluationError):
        evaluation.rater_quality(tree_of(constant_data=xr.Dataset()))

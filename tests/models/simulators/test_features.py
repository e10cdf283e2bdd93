"""Simulated features of items: the true categories follow them, and nothing else changes."""

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models import simulators
from scipy.special import softmax

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


@pytest.mark.parametrize("model", ["one_coin", "mace", "shared_guess"])
def test_true_categories_follow_the_features(model):
    seed = seed_of(f"features {model}")
    drawn = simulators.labels(model=model, items=3000, features=3, useless_features=1, random_seed=seed)
    truth, table = drawn.truth, drawn.features
    assert [*table] == ["item", *(f"feature {k}" for k in range(1, 5))]
    assert (table["item"] == drawn.data.items).all()
    x = np.stack([*table.values()][1:], axis=1)
    np.testing.assert_allclose(truth["feature_effect"].sum(axis=1), 0, atol=1e-12)
    assert not truth["feature_effect"][3].any() and truth["feature_effect"][:3].all()
    chosen = np.eye(3)[truth["true_category"]]

    def check(effect):
        """Scores of the effects and of the prevalence have mean zero."""
        p = softmax(np.log(truth["prevalence"]) + x @ effect, axis=1)
        z = x.T @ (chosen - p) / np.sqrt((x**2).T @ (p * (1 - p)))
        assert np.abs(z).max() < bonferroni_threshold(12)

    check(truth["feature_effect"])
    assert_rejects_twin(check, np.roll(truth["feature_effect"], 1, axis=0))


def test_without_features_draws_remain():
    drawn = simulators.labels(items=40, random_seed=3)
    assert drawn.features is None and "feature_effect" not in drawn.truth
    rng = np.random.default_rng(3)
    for _ in range(40):
        rng.permutation(10)
    np.testing.assert_array_equal(drawn.truth["prevalence"], rng.dirichlet(np.ones(3)))


def test_locations_follow_the_features(golden):
    drawn = simulators.scores(
        items=4000,
        features=3,
        useless_features=1,
        explained=0.8,
        spread=2.0,
        center=1.0,
        random_seed=seed_of("locations"),
    )
    x, truth = np.stack([*drawn.features.values()][1:], axis=1), drawn.truth
    assert [*drawn.features] == ["item", *(f"feature {k}" for k in range(1, 5))]
    assert not truth["feature_effect"][3] and (truth["feature_effect"] ** 2).sum() == pytest.approx(0.8 * 4)

    def check(effect):
        """Residuals have mean zero, the variance that is left, and nothing to do with the features."""
        left = (truth["location"] - 1.0 - x @ effect) / np.sqrt(0.2 * 4)
        z = np.r_[left.sum(), (left**2 - 1).sum() / np.sqrt(2), left @ x] / np.sqrt(4000)
        assert np.abs(z).max() < bonferroni_threshold(6)

    check(truth["feature_effect"])
    assert_rejects_twin(check, np.roll(truth["feature_effect"], 1))
    plain = simulators.scores(items=40, random_seed=3)
    assert plain.features is None and "feature_effect" not in plain.truth
    with golden.raises(ValueError):
        simulators.scores(model="normal_scores", features=1)


def test_models_without_a_true_category_to_tell_about_refuse_them(golden):
    with golden.raises(ValueError):
        models.simulators.labels(model="dirichlet", features=2)
    with golden.raises(ValueError):
        models.simulators.labels(useless_features=-1)

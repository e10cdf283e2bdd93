"""Ambiguous items: the plausibilities are Bayes' rule, raters and classes follow them, the classifier is as wrong as said."""

import numpy as np
import pytest
from raterzoo.models import simulators
from scipy.stats import norm

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


@pytest.fixture(scope="module")
def drawn():
    return simulators.ambiguous_items(items=20_000, raters=4, random_seed=seed_of("ambiguous"))


def test_plausibility_is_that_of_bayes(drawn):
    x = drawn.truth["input"]
    angle = 2 * np.pi * np.arange(5) / 5
    density = [norm.pdf(x[:, 0], 1.5 * np.cos(a)) * norm.pdf(x[:, 1], 1.5 * np.sin(a)) for a in angle]
    expected = np.transpose(density / np.sum(density, axis=0))
    np.testing.assert_allclose(drawn.truth["plausibility"], expected, rtol=1e-9)


def check_law(hits, law):
    """Hits (item, category) against their expectations, by the plausibility of the category."""
    z = []
    for k in range(law.shape[1]):
        for low in (0, 0.2, 0.5):
            chosen = law[:, k] >= low
            spread = np.sqrt((law * (1 - law))[chosen, k].sum() * hits.sum(axis=1).mean())
            expected = law[chosen, k].sum() * hits.sum(axis=1).mean()
            z.append((hits[chosen, k].sum() - expected) / spread)
    assert np.abs(z).max() < bonferroni_threshold(len(z))


def test_raters_and_classes_follow_the_plausibilities(drawn):
    assert drawn.data.counts.sum(axis=1).tolist() == [4] * 20_000
    assert len(drawn.data.raters) == 4
    classes = np.eye(5)[drawn.truth["true_category"]]
    for hits in (drawn.data.counts, classes):
        check_law(hits, drawn.truth["plausibility"])
        assert_rejects_twin(check_law, hits, drawn.truth["score"])


def test_a_classifier_without_error_knows_the_plausibilities():
    exact = simulators.ambiguous_items(error=0.0, random_seed=1).truth
    np.testing.assert_allclose(exact["score"], exact["plausibility"], rtol=1e-12)
    sure = simulators.ambiguous_items(error=0.0, sharpness=2.0, random_seed=1).truth
    squared = exact["plausibility"] ** 2
    np.testing.assert_allclose(sure["score"], squared / squared.sum(axis=1, keepdims=True), rtol=1e-9)


def test_separation_is_what_makes_items_clear():
    clear, vague = (
        simulators.ambiguous_items(separation=s, random_seed=2).truth["plausibility"] for s in (8.0, 0.0)
    )
    assert np.quantile(clear.max(axis=1), 0.01) > 0.99
    np.testing.assert_allclose(vague, 0.2, rtol=1e-12)


@pytest.mark.parametrize("centers", [(-1, 0, 1), [(-1, 0), (0, 0), (1, 0)]])
def test_toy_of_figure_2_has_one_label_a_rater_from_the_posterior_of_its_input(centers):
    toy = simulators.ambiguous_items(
        items=20_000, raters=1, centers=centers, spread=0.5, random_seed=seed_of("figure 2")
    )
    x = toy.truth["input"].reshape(20_000, -1)[:, 0]
    density = norm.pdf(x[:, None], [-1, 0, 1], 0.5)
    expected = density / density.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(toy.truth["plausibility"], expected, rtol=1e-9)
    assert len(toy.data.categories) == 3
    check_law(toy.data.counts, expected)
    assert_rejects_twin(check_law, toy.data.counts, toy.truth["score"])


@pytest.mark.parametrize(
    "options",
    [
        {"items": 0}, {"raters": 1.5}, {"categories": 1}, {"error": -1}, {"separation": np.inf},
        {"spread": 0.0}, {"centers": [1.0]}, {"centers": 1.0}, {"centers": [0.0, np.nan]},
    ],
)  # fmt: skip
def test_wrong_numbers_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        simulators.ambiguous_items(**options)

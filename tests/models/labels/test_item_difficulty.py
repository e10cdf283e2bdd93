"""Item difficulty and logistic random effects: the law against fine integration, its parts, priors, refusals."""

import numpy as np
import pytest
from raterzoo import models
from scipy.integrate import quad
from scipy.special import softmax
from scipy.stats import norm

from tests.support.item_effect_designs import drawn_point, outputs_at
from tests.support.label_designs import TINY, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, seed_of

TWO = tiny_labels()
THREE = models.Labels.from_table(TINY, count="count", gold="gold", categories=["x", "y", "z"])
NAMES = ["item_difficulty", "logistic_random_effects"]
PARTS = ("plausibility", "confusion", "expected_effect")


def log_odds(name, point, rater, category, z):
    """Return the log odds of the labels of one rater at effects z, shape (node, label), and the effects."""
    spread = point["effect_spread"][category] * z
    if name == "item_difficulty":
        effect = point["effect_mean"][category] + spread
        odds = effect
    else:
        effect = spread
        own = point["population_spread"] * point["rater_deviation"][rater]
        odds = (point["population_mean"] + own)[category] - effect
    return np.concatenate([odds, np.zeros((len(z), 1))], axis=1), effect


def of_item(labels, name, point, item, z):
    """Return p(answers | category, z) times the category's prevalence, shape (category, node), and the effects."""
    own = labels.annotation_item == item
    answers = np.array([labels.annotation_rater[own], labels.label_code[own], labels.count[own]]).T
    joint, effects = [], []
    for j, p in enumerate(point["prevalence"]):
        known = labels.gold[item] in (-1, j)
        product = np.full(len(z), p * known)
        for rater, label, count in answers:
            odds, _ = log_odds(name, point, rater, j, z)
            product = product * softmax(odds, axis=1)[:, label] ** count
        joint.append(product)
        effects.append(log_odds(name, point, 0, j, z)[1])
    return np.array(joint), np.array(effects)


def integrated(labels, name, point, z, weight):
    """Return log p and the parts of all items by the sum over nodes."""
    log_p, plausibility, expected = [], [], []
    for i in range(len(labels.items)):
        joint, effects = of_item(labels, name, point, i, z)
        state = joint * weight / (joint @ weight).sum()
        log_p.append(np.log((joint @ weight).sum()))
        plausibility.append(state.sum(axis=1))
        expected.append(np.einsum("jq,jqe->e", state, effects))
    confusion = [
        [weight @ softmax(log_odds(name, point, r, j, z)[0], axis=1) for j in range(z.shape[1] + 1)]
        for r in range(len(labels.raters))
    ]
    confusion = np.array(confusion[0] if name == "item_difficulty" else confusion)
    return log_p, plausibility, confusion, expected


def fine_grid(dims, n, reach=8.0):
    line = np.linspace(-reach, reach, n)
    z = np.stack(np.meshgrid(*[line] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weight = norm.pdf(z).prod(axis=1)
    return z, weight / weight.sum()


@pytest.mark.parametrize("name", NAMES)
def test_two_labels_are_integrated_to_eight_digits(name):
    model = getattr(models, name)(TWO)
    point = drawn_point(model, seed_of(f"two {name}"))
    found = outputs_at(model, point, *PARTS)
    z, weight = fine_grid(1, 1001)

    def check(weight):
        for one, exact in zip(found, integrated(TWO, name, point, z, weight), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-8, atol=1e-9)

    check(weight)
    assert_rejects_twin(check, np.full(1001, 1 / 1001))  # the weights of the nodes forgotten

    def by_category(j):
        return quad(
            lambda t: of_item(TWO, name, point, 0, np.array([[t]]))[0][j, 0] * norm.pdf(t), -9, 9, epsabs=0
        )[0]

    assert found[0][0] == pytest.approx(np.log(by_category(0) + by_category(1)), abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_three_labels_are_integrated_as_well_as_is_said(name):
    model = getattr(models, name)(THREE)
    point = drawn_point(model, seed_of(f"three {name}"))
    point["effect_spread"] = np.minimum(point["effect_spread"], 1.0)
    found = outputs_at(model, point, *PARTS)
    tolerance = 1e-8 if name == "item_difficulty" else 1e-4  # 29 or 11 nodes of each dimension
    z, weight = fine_grid(2, 121)
    for one, exact in zip(found, integrated(THREE, name, point, z, weight), strict=True):
        np.testing.assert_allclose(one, exact, rtol=tolerance, atol=tolerance)


def test_priors_favour_the_diagonal_and_are_named(golden):
    for name, mean in (("item_difficulty", "effect_mean"), ("logistic_random_effects", "population_mean")):
        model = getattr(models, name)(THREE, diagonal=1.5)
        favoured = model[mean].owner.op.dist_params(model[mean].owner)[0].eval()
        assert favoured.tolist() == [[1.5, 0.0], [0.0, 1.5], [-1.5, -1.5]]
        build = getattr(models, name)
        for wrong in [{"diagonal": np.nan}, {"spread": 0.0}, {"nodes": 1}, {"nodes": 400}]:
            with golden.raises(ValueError):
                build(THREE, **wrong)


def test_anonymous_raters_have_difficult_items_but_no_effects_of_their_own(golden):
    counts = models.Labels.from_counts({"item": ["a", "b"], "x": [1, 2], "y": [0, 3]})
    models.item_difficulty(counts)
    with golden.raises(ValueError):
        models.logistic_random_effects(counts)

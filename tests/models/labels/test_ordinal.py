"""Ordinal: the law against integration, gold items, order of the labels, raters who are not told apart."""

import numpy as np
import pytensor.tensor as pt
import pytest
from raterzoo import models
from raterzoo.models.labels.ordinal import PartlyCentred
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from tests.support.item_effect_designs import drawn_point, outputs_at
from tests.support.monte_carlo import assert_rejects_twin, seed_of

TABLE = {
    "item": ["a", "a", "a", "b", "b", "c", "d", "d", "e"],
    "rater": ["r", "r", "s", "r", "s", "s", "r", "t", "t"],
    "label": ["mid", "low", "high", "mid", "mid", "low", "high", "mid", "low"],
    "count": [1, 1, 1, 2, 1, 1, 1, 1, 0],
    "gold": ["", "", "", "", "", "", "high", "high", ""],
}
ORDER = ["low", "mid", "high"]
Z = np.linspace(-9, 9, 4001)
WEIGHT = norm.pdf(Z) / norm.pdf(Z).sum()
PARTS = ("plausibility", "expected_location", "prevalence")


def read(**columns):
    return models.Labels.from_table(TABLE | columns, count="count", categories=["high", "low", "mid"], gold="gold")  # fmt: skip


GOLD, PLAIN = read(), read(gold=[""] * 9)


def thresholds(point, n):
    steps = np.concatenate([[0.0], np.cumsum(np.exp(point.get("log_increment", np.zeros(n - 2))))])
    return point["centre"] + steps - steps.mean()


def label_probability(threshold, scale, z):
    """Differences of the distribution function, from lowest to highest, shape (node, label)."""
    reached = expit((threshold - z[:, None]) / scale)
    return np.diff(reached, axis=1, prepend=0, append=1)


def integrated(labels, point, order):
    """Return log p, plausibility and expected location of all items, and the share of labels, by a fine sum."""
    place = [order.index(name) for name in labels.categories.tolist()]
    c, s, result = thresholds(point, len(order)), np.exp(point["log_scale"]), []
    typical = label_probability(c, s, Z)[:, place]
    for i in range(len(labels.items)):
        density = WEIGHT.copy()
        for a in np.flatnonzero(labels.annotation_item == i):
            k, shift, wider = labels.annotation_rater[a], 0.0, 0.0
            if k >= 0:
                shift = point["rater_centre"][k] - point["centre"]
                wider = point["rater_log_scale"][k] - point["log_scale"]
            p = label_probability(c + shift, s * np.exp(wider), Z)
            density *= p[:, place[labels.label_code[a]]] ** labels.count[a]
        joint = density[:, None] * typical
        if labels.gold[i] >= 0:
            joint[:, np.arange(len(order)) != labels.gold[i]] = 0
        total = joint.sum()
        result.append((np.log(total), joint.sum(axis=0) / total, Z @ joint.sum(axis=1) / total))
    return [*(np.array(part) for part in zip(*result, strict=True)), WEIGHT @ typical]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [GOLD, PLAIN], ids=["gold", "plain"])
def test_law_equals_fine_integration(labels):
    model = models.ordinal(labels, order=ORDER)
    point = drawn_point(model, seed_of("ordinal law"))
    found = outputs_at(model, point, *PARTS)

    def check(order):
        for one, exact in zip(found, integrated(labels, point, order), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-8, atol=1e-9)

    check(ORDER)
    assert_rejects_twin(check, ["mid", "low", "high"])


@pytest.mark.parametrize("answers", [0, 3, 4000])
def test_coordinates_of_raters_keep_their_law(answers):
    mean, sd = 0.4, 0.3
    moved = PartlyCentred(np.array([answers]))
    z = np.array([-0.7])

    def check(volume):
        x = moved.backward(z, mean, sd).eval()
        step = (moved.backward(z + 1e-6, mean, sd).eval() - x) / 1e-6
        np.testing.assert_allclose(moved.forward(x, mean, sd).eval(), z, rtol=1e-9)
        np.testing.assert_allclose(np.log(step), volume, rtol=1e-6)

    volume = moved.log_jac_det(pt.as_tensor(z), mean, sd).eval()
    check(volume)
    assert_rejects_twin(check, volume + 0.1)


def test_one_item_by_adaptive_quadrature():
    one = PLAIN.select(items=["a"])
    model = models.ordinal(one, order=ORDER)
    point = drawn_point(model, seed_of("adaptive"))

    def joint(z):
        shift = point["rater_centre"] - point["centre"]
        scale = np.exp(point["rater_log_scale"])
        at, here = thresholds(point, 3), np.array([z])
        said = [(0, 1), (0, 0), (1, 2)]  # rater, place of the label
        p = [label_probability(at + shift[k], scale[k], here)[0, place] for k, place in said]
        return np.prod(p) * norm.pdf(z)

    exact = quad(joint, -9, 9, epsabs=0, points=[-1, 0, 1])[0]
    assert outputs_at(model, point)[0][0] == pytest.approx(np.log(exact), abs=1e-8)


def test_two_labels_are_a_logistic_model():
    yes = ["yes" if label == "high" else "no" for label in TABLE["label"]]
    labels = models.Labels.from_table(TABLE | {"label": yes}, count="count")
    model = models.ordinal(labels, order=["no", "yes"])
    assert "log_increment" not in model.named_vars
    point = drawn_point(model, seed_of("two ordered labels"))
    log_p, plausibility = outputs_at(model, point, "plausibility")
    at, scale = point["rater_centre"], np.exp(point["rater_log_scale"])
    for i in range(len(labels.items)):
        own = labels.annotation_item == i
        k, sign = labels.annotation_rater[own], 2 * labels.label_code[own] - 1
        p = expit(sign * (Z[:, None] - at[k]) / scale[k]) ** labels.count[own]
        p = WEIGHT * p.prod(axis=1)
        assert log_p[i] == pytest.approx(np.log(p.sum()), rel=1e-9)
        typical = p @ expit((Z - point["centre"]) / np.exp(point["log_scale"])) / p.sum()
        assert plausibility[i, 1] == pytest.approx(typical, rel=1e-8)


def test_integers_and_text_in_order_are_the_same_labels():
    code = {"low": -1, "mid": 0, "high": 2}
    numbers = [code[label] for label in TABLE["label"]]
    gold = [None] * 9
    integers = models.Labels.from_table(
        TABLE | {"label": numbers, "gold": gold}, count="count", categories=[2, -1, 0]
    )
    model = models.ordinal(integers)
    point = drawn_point(model, seed_of("ordinal law"))
    one = outputs_at(model, point, "plausibility", "threshold")
    other = outputs_at(models.ordinal(PLAIN, order=ORDER), point, "plausibility", "threshold")
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    assert list(model.coords["cut"]) == ["-1|0", "0|2"]


@pytest.mark.slow
def test_anonymous_raters_share_thresholds():
    counts = {"item": ["a", "b"], "low": [1, 5], "mid": [2, 0], "high": [0, 3]}
    model = models.ordinal(models.Labels.from_counts(counts), order=ORDER)
    assert [rv.name for rv in model.free_RVs] == ["centre", "log_increment", "log_scale"]
    point = drawn_point(model, seed_of("anonymous"))
    found = outputs_at(model, point, *PARTS)
    exact = integrated(models.Labels.from_counts(counts), point, ORDER)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": ["low", "high"]},
        {"order": ["low", "mid", "top"]},
        {"order": ["low", "mid", "mid"]},
        {"order": set(ORDER)},
        {"order": iter(ORDER)},
        {"order": 5},
        {"order": [["low"], ["mid"], ["high"]]},
        {"order": [0, 1, 2]},
        {"order": ORDER, "spread": -1},
        {"order": ORDER, "nodes": 2.5},
        {"order": ORDER, "nodes": 100_001},
    ],
)
def test_what_is_wrong_is_named(options, golden):
    with golden.raises(ValueError):
        models.ordinal(PLAIN, **options)

"""The law of item responses against the sum over truths and difficulties; its nodes, its key, its arguments."""

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models.labels.item_response import item_nodes
from scipy.special import log_expit, logsumexp
from scipy.stats import norm

from tests.support.monte_carlo import assert_rejects_twin
from tests.support.rater_laws import at_values

# Ragged, a model that answers an item twice, an item with a key alone, and one of known truth.
TABLE = {
    "item": [1, 1, 1, 1, 2, 2, 3, 4, 4],
    "rater": list("aabcabcab"),
    "label": list("xyxzyyzxy"),
    "gold": [""] * 7 + ["z"] * 2,
}
LABELS = models.Labels.from_table(TABLE, gold="gold")
KEY = {1: "x", 3: "y", 4: "z"}
ABILITY, SPREAD, RELIABILITY = np.array([1.3, -0.4, 0.6]), 1.1, 0.8


def by_truths(ability, spread, reliability, discrimination, prevalence=(1 / 3,) * 3):
    """Log p of every item's answers and key, p(true category) and expected difficulty, one answer at a time."""
    difficulty, sharp, log_weight = item_nodes(4, discrimination=discrimination)
    log_weight = log_weight - 0.5 * (difficulty / spread) ** 2
    log_weight -= logsumexp(log_weight)
    joint = np.full((4, 3, len(difficulty)), -np.inf)
    for i, item in enumerate(LABELS.items.tolist()):
        for j in range(3) if LABELS.gold[i] < 0 else [LABELS.gold[i]]:
            joint[i, j] = np.log(prevalence[j]) + log_weight
            for a in np.flatnonzero(LABELS.annotation_item == i):
                odds = sharp * (ability[LABELS.annotation_rater[a]] - difficulty)
                right = LABELS.label_code[a] == j
                joint[i, j] += LABELS.count[a] * (log_expit(odds) if right else log_expit(-odds) - np.log(2))
            if item in KEY:
                joint[i, j] += np.log(reliability if KEY[item] == "xyz"[j] else (1 - reliability) / 2)
    log_p = logsumexp(joint, axis=(1, 2))
    state = np.exp(joint - log_p[:, None, None])
    return log_p, state.sum(axis=2), (state * difficulty).sum(axis=(1, 2))


@pytest.mark.parametrize("discrimination", [False, True])
def test_law_is_the_sum_over_truths_and_nodes(discrimination):
    model = models.item_response(LABELS, key=KEY, discrimination=discrimination)
    assert [rv.name for rv in model.free_RVs] == ["ability", "difficulty_spread", "key_reliability"]
    log_p, computed = at_values(model, ABILITY, SPREAD, [RELIABILITY])

    def check(ability, spread, reliability):
        exact = by_truths(ability, spread, reliability, discrimination)
        found = (log_p, computed["plausibility"], computed["expected_difficulty"])
        for theirs, ours in zip(exact, found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)

    check(ABILITY, SPREAD, RELIABILITY)
    for twin in (
        (ABILITY * 1.001, SPREAD, RELIABILITY),
        (ABILITY, 1.101, RELIABILITY),
        (ABILITY, SPREAD, 0.801),
    ):
        assert_rejects_twin(check, *twin)
    assert ("expected_discrimination" in computed) == discrimination
    assert computed["confusion"].shape == (4, 3, 3)
    np.testing.assert_allclose(computed["confusion"].sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.diag(computed["confusion"][3]), RELIABILITY, rtol=1e-12)


@pytest.mark.parametrize("answers", [3, 30, 300])
@pytest.mark.parametrize("spread", [0.7, 1.5])
def test_nodes_integrate_a_normal_difficulty(answers, spread):
    rng = np.random.default_rng(answers)
    ability = rng.normal(0, 1.5, answers)
    right = rng.random((40, answers)) < 1 / (1 + np.exp(rng.normal(0, spread, (40, 1)) - ability))

    def log_p(difficulty, log_weight):
        odds = ability[:, None] - difficulty
        joint = right @ log_expit(odds) + ~right @ log_expit(-odds) + log_weight
        return logsumexp(joint, axis=1)

    fine = np.linspace(-9, 9, 20_001)
    exact = log_p(fine, norm.logpdf(fine, 0, spread) + np.log(fine[1] - fine[0]))
    difficulty, _, _ = item_nodes(answers, discrimination=False)

    def check(difficulty):
        weight = norm.logpdf(difficulty, 0, spread)
        np.testing.assert_allclose(log_p(difficulty, weight - logsumexp(weight)), exact, atol=1e-4)

    check(difficulty)
    assert_rejects_twin(check, difficulty[::4])


def test_a_key_is_the_answers_of_one_more_rater():
    rows = [(item, "key", category, {1: "", 3: "", 4: "z"}[item]) for item, category in KEY.items()]
    table = {name: [*TABLE[name], *(row[k] for row in rows)] for k, name in enumerate(TABLE)}
    joint = models.Labels.from_table(table, gold="gold")
    ours = models.item_response(LABELS, key=KEY)
    theirs = models.item_response(joint, key_makers=["key"])
    assert ours.coords["model"] == theirs.coords["model"] == ("a", "b", "c")
    assert ours.coords["key_maker"] == theirs.coords["key_maker"] == ("key",)
    found, expected = (at_values(model, ABILITY, SPREAD, [0.8])[0] for model in (ours, theirs))
    np.testing.assert_array_equal(found, expected)


def test_one_category_is_the_key_of_all_items_of_a_matrix_of_right_and_wrong():
    table = {"item": [1, 1, 2, 2], "rater": list("abab"), "label": [1, 0, 0, 0]}
    model = models.item_response(models.Labels.from_table(table), key=1)
    _, computed = at_values(model, [2.0, 0.0], 1.0, [0.9])
    # the better model is right: the key is; both are wrong: the key may be
    assert computed["plausibility"][0, 1] > 0.9 > computed["plausibility"][1, 1]
    assert model.coords["rater"] == ("a", "b", "key")


def test_without_a_key_the_truth_is_learnt_from_the_models():
    model = models.item_response(LABELS, prevalence_concentration=2.0)
    assert [rv.name for rv in model.free_RVs] == ["prevalence", "ability", "difficulty_spread"]
    log_p, _ = at_values(model, [0.2, 0.5, 0.3], ABILITY, SPREAD)
    own = models.item_response(LABELS, key_makers=["c"], prevalence_concentration=2.0)
    assert own.coords["model"] == ("a", "b")
    assert np.isfinite(log_p).all()


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, {"key": {5: "x"}}),
        ({}, {"key": {1: "w"}}),
        ({}, {"key": {}}),
        ({}, {"key": "w"}),
        ({}, {"key_makers": ["d"]}),
        ({}, {"key_makers": "a"}),
        ({}, {"key_makers": ["a", "b"]}),
        ({"rater": list("aakcakcak")}, {"key": KEY, "key_makers": ["k", "c"]}),
        ({"rater": ["key", *"abcabcab"]}, {"key": KEY}),
        ({}, {"ability": (0.0, 0.0)}),
        ({}, {"difficulty_scale": -1.0}),
        ({}, {"key_reliability": (0.0, 1.0)}),
    ],
)
def test_wrong_arguments_are_named(change, options, golden):
    labels = models.Labels.from_table(TABLE | change, gold="gold")
    with golden.raises(ValueError):
        models.item_response(labels, **options)


def test_anonymous_counts_are_refused(golden):
    with golden.raises(ValueError):
        models.item_response(models.Labels.from_counts({"item": [1], "x": [1], "y": [2]}))

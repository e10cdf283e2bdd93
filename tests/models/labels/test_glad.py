"""The law of GLAD against many nodes and the sum over true categories; its derivative, its arguments."""

import numpy as np
import pytest
from raterzoo import models
from scipy.special import expit, log_expit, logsumexp

from tests.support.data_parts import easiness_nodes
from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin
from tests.support.rater_laws import at_values

LABELS = tiny_labels()


def by_nodes(labels, prevalence, ability, nodes):
    """Log p of every item's answers, p(true category) and the expected difficulty, with Normal(1, 1) on so many nodes."""
    point, weight = easiness_nodes(3, nodes)
    beta, n = np.exp(1 + point), len(prevalence)
    log_odds = ability[:, None] * beta
    joint = np.full((len(labels.items), n, nodes), -np.inf)
    for i, gold in enumerate(labels.gold):
        own = np.flatnonzero(labels.annotation_item == i)
        for j in range(n) if gold < 0 else [gold]:
            joint[i, j] = np.log(prevalence[j]) + np.log(weight)
            for a in own:
                of = log_odds[labels.annotation_rater[a]]
                right = labels.label_code[a] == j
                log_p = log_expit(of) if right else log_expit(-of) - np.log(n - 1)
                joint[i, j] += labels.count[a] * log_p
    log_p = logsumexp(joint, axis=(1, 2))
    state = np.exp(joint - log_p[:, None, None])
    return log_p, state.sum(axis=2), (state / beta).sum(axis=(1, 2))


def test_law_is_the_sum_over_truths_and_difficulties():
    prevalence, ability = np.array([0.3, 0.7]), np.array([1.7, -0.4, 0.6])
    model = models.glad(LABELS, nodes=101)
    log_p, computed = at_values(model, prevalence, ability)

    def check(ability):
        exact = by_nodes(LABELS, prevalence, ability, 101)
        found = (log_p, computed["plausibility"], computed["expected_difficulty"])
        for theirs, ours in zip(exact, found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)

    check(ability)
    assert_rejects_twin(check, ability * 1.001)
    np.testing.assert_allclose(computed["confusion"].sum(axis=-1), 1, rtol=1e-12)


def law_on(nodes, prevalence, ability, labels, easiness=(1.0, 1.0)):
    """Log p of items that all raters answered, given nodes and weights."""
    point, weight = nodes
    log_odds = ability[:, None] * np.exp(easiness[0] + easiness[1] * point)
    right, wrong = log_expit(log_odds), log_expit(-log_odds) - np.log(len(prevalence) - 1)
    joint = np.stack([
        np.tensordot(labels == j, right, 1) + np.tensordot(labels != j, wrong, 1) + np.log(p)
        for j, p in enumerate(prevalence)
    ])  # fmt: skip
    return logsumexp(joint + np.log(weight), axis=(0, 2))


@pytest.mark.parametrize(("answers", "most"), [(1, 1e-6), (5, 1e-6), (40, 1e-6), (200, 1e-4), (1000, 2e-3)])
def test_quadrature_against_many_nodes(answers, most):
    """Random raters, whose abilities spread twice as far as the prior says, and items of which half are answered at random."""
    rng = np.random.default_rng(answers)
    prevalence, ability = np.array([0.5, 0.3, 0.2]), rng.normal(1, 2, answers)
    p = expit(ability * np.exp(1 + rng.normal(size=(100, 1)))) * (rng.random((100, 1)) < 0.5)
    labels = np.where(rng.random(p.shape) < p, 0, rng.integers(0, 3, p.shape))
    exact = law_on(_wide(1500), prevalence, ability, labels)
    found = law_on(easiness_nodes(answers), prevalence, ability, labels)
    worst = np.abs(found - exact).max()
    assert worst < most
    if answers <= 200:
        assert np.abs(law_on(_wide(400), prevalence, ability, labels) - exact).max() < 1e-10
    point, weight = np.polynomial.hermite_e.hermegauss(len(easiness_nodes(answers)[0]))
    gauss = law_on((point, weight / weight.sum()), prevalence, ability, labels)
    assert np.abs(gauss - exact).max() > 3 * worst


@pytest.mark.parametrize("easiness", [(1, 3), (1, 10), (1, 0.1), (3, 0.3), (8, 1), (10, 10), (-10, 10)])
def test_nodes_follow_the_law_of_the_easiness(easiness):
    """However wide, narrow or far off it is, while a third of the items are answered at random."""
    rng = np.random.default_rng(200)
    prevalence, ability = np.array([0.5, 0.3, 0.2]), rng.normal(1, 1, 200)
    beta = np.exp(easiness[0] + easiness[1] * rng.normal(size=(20, 1)))
    p = expit(ability * beta) * (rng.random((20, 1)) < 0.7)
    labels = np.where(rng.random(p.shape) < p, 0, rng.integers(0, 3, p.shape))
    exact = law_on(_wide(2500, -25), prevalence, ability, labels, easiness)

    def check(of):
        point, weight = easiness_nodes(200, None, of)
        found = law_on((point, weight), prevalence, ability, labels, easiness)
        assert np.abs(found - exact).max() < 2e-4
        assert np.isfinite(np.exp(-easiness[0] - easiness[1] * point)).all()

    check(easiness)
    assert_rejects_twin(check, (1, 1))


def _wide(nodes, least=-10):
    point = np.linspace(least, 9, nodes)
    weight = np.exp(-0.5 * point**2)
    return point, weight / weight.sum()


@pytest.mark.slow
def test_gradient_is_the_derivative():
    model = models.glad(LABELS, prevalence_concentration=2.0)
    function = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    function.set_extra_values({})
    rng = np.random.default_rng(3)
    for point in (rng.normal(size=4), np.array([0.1, 900.0, -900.0, 3.0])):  # odds beyond doubles
        gradient, step = function(point)[1], 1e-5 * np.maximum(1, np.abs(point))
        ends = [[function(point + s * e)[0] for s in (-1, 1)] for e in np.diag(step)]
        numeric = np.diff(ends, axis=1)[:, 0] / (2 * step)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"ability": (1.0, 0.0)},
        {"ability": 2.0},
        {"ability": ("a", "b")},
        {"ability": (1.0, [2.0, 3.0])},
        {"easiness": (np.nan, 1.0)},
        {"easiness": (1e6, 1)},
        {"easiness": (1, 1e6)},
        {"nodes": 4},
        {"nodes": 10**9},
        {"prevalence_concentration": -1},
    ],
)
def test_wrong_arguments_are_named(options, golden):
    with golden.raises(ValueError):
        models.glad(LABELS, **options)


def test_uniform_prevalence_is_the_papers():
    model = models.glad(LABELS, prevalence_concentration="uniform")
    assert [rv.name for rv in model.free_RVs] == ["ability"]
    np.testing.assert_array_equal(model["prevalence"].eval(), [0.5, 0.5])

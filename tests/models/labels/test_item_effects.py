"""States of category and node: the law against enumeration, gold items, replicates, backends; nodes against fine integration."""

import math
from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo import models
from raterzoo.models import DataWarning
from raterzoo.models.distributions import marginal_labels
from raterzoo.models.labels import item_effects
from scipy.special import expit, log_softmax, logsumexp, softmax

from tests.support.item_effect_designs import drawn_point, outputs_at
from tests.support.label_designs import tiny_labels
from tests.support.laws import Answers, answer_sweeps
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

LABELS = tiny_labels()
FAST = "FAST_COMPILE"


def random_states(rng, raters, categories, nodes):
    prevalence, weight = rng.dirichlet(np.ones(categories)), rng.dirichlet(np.ones(nodes))
    return prevalence, weight, rng.dirichlet(np.ones(categories), (raters, categories, nodes))


def by_enumeration(labels, prevalence, weight, confusion):
    """Sum over category and node of one item after the other."""
    joint = np.zeros((len(labels.items), *confusion.shape[1:3]))
    for i, j, q in product(*map(range, joint.shape)):
        if labels.gold[i] in (-1, j):
            own = labels.annotation_item == i
            p = confusion[labels.annotation_rater[own], j, q, labels.label_code[own]]
            joint[i, j, q] = prevalence[j] * weight[q] * np.prod(p ** labels.count[own])
    total = joint.sum(axis=(1, 2))
    return np.log(total), joint / total[:, None, None]


def observed(labels, prevalence, weight, confusion):
    """Return log p by item, plausibility and p(state), of constants."""
    coords = {"item": labels.items, "category": labels.categories, "annotation": range(len(labels))}
    with pm.Model(coords=coords) as model:
        p, pi = map(pt.as_tensor_variable, (prevalence, confusion))
        state = item_effects.observe_states(labels, p, weight, pi)
    (log_p,) = model.logp(vars=model.observed_RVs, sum=False)
    return pytensor.function([], [log_p, model["plausibility"], state], mode=FAST)()


@pytest.mark.slow
def test_states_equal_enumeration_with_gold_items():
    rng = np.random.default_rng(seed_of("states"))
    parameters = random_states(rng, 3, 2, 4)
    log_p, plausibility, state = observed(LABELS, *parameters)
    exact, joint = by_enumeration(LABELS, *parameters)
    np.testing.assert_allclose(log_p, exact, rtol=1e-12)
    np.testing.assert_allclose(state, joint, rtol=1e-12)
    np.testing.assert_allclose(plausibility, joint.sum(axis=2), rtol=1e-12)
    assert plausibility[LABELS.gold >= 0].tolist() == [[0.0, 1.0]]


def test_sums_to_one_over_all_patterns():
    patterns = list(product("xyz", repeat=3))
    table = {
        "item": np.repeat(np.arange(len(patterns)), 3),
        "rater": ["r", "s", "s"] * len(patterns),
        "label": np.ravel(patterns),
    }
    parameters = random_states(np.random.default_rng(seed_of("patterns")), 2, 3, 5)
    log_p, _, _ = observed(models.Labels.from_table(table), *parameters)
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)


def design(rng, items, states, nodes, answers):
    item = np.sort(rng.integers(0, items, answers))
    start = np.searchsorted(item, np.arange(items + 1)).astype(np.int64)
    known = np.where(rng.random(items) < 0.3, rng.integers(0, states // nodes, items), -1)
    return Answers(start, rng.integers(0, 12, answers), known)


def log_table_law(probability, table, answers, nodes):
    """Enumerate in logs, also of complex parameters, which are probabilities of states and of codes."""
    total = []
    for i, g in enumerate(answers.gold_category):
        own = answers.code[answers.start[i] : answers.start[i + 1]]
        block = slice(None) if g < 0 else slice(g * nodes, (g + 1) * nodes)
        total.append(np.log((probability * np.prod(table[own], axis=0))[block].sum()))
    return np.array(total)


@pytest.mark.slow
@pytest.mark.parametrize("unrolled", [0, 6])
def test_passes_leave_gold_items_their_block(unrolled):
    rng = np.random.default_rng(seed_of("passes"))
    answers = design(rng, 40, 6, 3, 200)
    for scale in (1.0, 1e-180):  # the second leaves the range of doubles, and is repeated in logs
        probability, table = rng.dirichlet(np.ones(6)), scale * rng.dirichlet(np.ones(6), 12)
        sweeps = answer_sweeps(unrolled, 3)
        log_p, state = np.empty(40), np.empty((40, 6))
        sweeps.log_p(probability, table, answers, log_p, state)
        exact = log_table_law(probability, table / scale, answers, 3)
        exact = exact + np.diff(answers.start) * np.log(scale)
        np.testing.assert_allclose(log_p, exact, rtol=1e-12)
        gold = np.flatnonzero(answers.gold_category >= 0)
        blocks = state.reshape(40, 2, 3).sum(axis=2)
        np.testing.assert_allclose(blocks[gold, answers.gold_category[gold]], 1, rtol=1e-12)
        expected = (np.empty(6), np.empty_like(table))
        total = sweeps.log_p_and_counts(probability, table, answers, np.ones(40), expected)
        assert total == pytest.approx(exact.sum(), rel=1e-12)
        np.testing.assert_allclose(expected[0], state.sum(axis=0), rtol=1e-11)


@pytest.mark.slow
def test_backends_and_gradient_agree_beyond_the_unrolled():
    rng = np.random.default_rng(seed_of("backends"))
    answers = design(rng, 30, 40, 20, 100)
    probability, confusion = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(3), (4, 40))
    p, pi = pt.vector("p", shape=(40,)), pt.tensor("pi", shape=(4, 40, 3))
    log_p, state = marginal_labels.label_logp(p, pi, answers, 20)
    outputs = [log_p, state, *pt.grad(log_p.sum(), [p, pi])]
    found = [
        pytensor.function([p, pi], outputs, mode=m)(probability, confusion) for m in (FAST, "NUMBA", "JAX")
    ]
    for other in found[1:]:
        for one, same in zip(other, found[0], strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-9, atol=1e-12)
    for index in [(0, 3, 1), (2, 39, 0), (3, 20, 2)]:
        shifted = confusion.astype(complex)
        shifted[index] += 1e-30j
        table = shifted.transpose(0, 2, 1).reshape(12, 40)
        slope = log_table_law(probability, table, answers, 20).sum().imag / 1e-30
        assert found[0][3][index] == pytest.approx(slope, rel=1e-8, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [FAST, "NUMBA"])
def test_replicates_follow_the_law(mode):
    rng = np.random.default_rng(seed_of(f"replicates {mode}"))
    prevalence, weight, confusion = random_states(rng, 2, 2, 2)
    probability = (prevalence[:, None] * weight).ravel()
    by_state = confusion.reshape(2, 4, 2)
    start, rater, known = np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([-1, 0])
    n, source = 40_000, pt.random.shared_rng(rng)
    options = {"nodes": 2, "size": n, "rng": source}
    law = marginal_labels.RaterLabels.dist(
        probability, by_state, (np.repeat(np.arange(2), np.diff(start)), rater), gold=known, **options
    )
    draws = pytensor.function([], law, mode=mode)()
    patterns = np.array(list(product(range(2), repeat=3)))
    found = np.array([(draws == pattern).all(axis=1).sum() for pattern in patterns])

    def check(nodes, known):
        table = by_state.transpose(0, 2, 1).reshape(4, 4)
        of = [Answers(start, 2 * rater + y, known) for y in patterns]
        p = np.exp([log_table_law(probability, table, a, nodes).sum() for a in of])
        p = p / p.sum()  # a gold item is as probable as its category
        z = (found - n * p) / np.sqrt(n * p * (1 - p))
        assert np.abs(z).max() < bonferroni_threshold(len(patterns))

    check(2, known)
    assert_rejects_twin(check, 1, known)
    assert_rejects_twin(check, 2, np.array([-1, -1]))


def test_items_alike_are_computed_once():
    rng = np.random.default_rng(seed_of("alike"))
    start = np.arange(0, 301, 3)
    answers = Answers(start, rng.integers(0, 2, 300), rng.integers(-1, 2, 100))
    own, kind = marginal_labels.distinct_items(answers)
    assert len(own.gold_category) <= 3 * 4 < len(kind) == 100
    for i in range(100):
        k = kind[i]
        mine, kept = (answers.code[start[i] : start[i + 1]], own.code[own.start[k] : own.start[k + 1]])
        assert sorted(mine) == sorted(kept) and answers.gold_category[i] == own.gold_category[k]
    empty, kind = marginal_labels.distinct_items(Answers(np.array([0, 0]), np.array([], int), np.array([-1])))
    assert empty.start.tolist() == [0, 0] and kind.tolist() == [0]


@pytest.mark.slow
def test_nodes_keep_their_bound():
    rng = np.random.default_rng(seed_of("nodes"))
    fine = np.linspace(-9, 9, 4001)
    density = np.exp(-(fine**2) / 2) / np.exp(-(fine**2) / 2).sum()
    for factors in (2, 5, 30):
        slope = rng.uniform(0.2, 4, (300, 1, 1)) * rng.choice([-1, 1], (300, factors, 1))
        at = rng.normal(0, 1.5, (300, factors, 1))

        def averaged(point, weight, slope=slope, at=at):
            return expit(slope * (point - at)).prod(axis=1) @ weight

        exact = averaged(fine, density)

        def check(step, exact=exact, averaged=averaged):
            point = np.arange(-7, 7 + step / 2, step)
            weight = np.exp(-(point**2) / 2)
            np.testing.assert_allclose(averaged(point, weight / weight.sum()), exact, rtol=1e-8)

        nodes = item_effects.normal_nodes(1, factors)
        np.testing.assert_allclose(averaged(nodes.point[:, 0], nodes.weight), exact, rtol=1e-8)
        check(item_effects.trapezoid_step(factors))
        assert_rejects_twin(check, 3 * item_effects.trapezoid_step(factors))
    assert item_effects.trapezoid_step(5) > item_effects.trapezoid_step(50) and item_effects.trapezoid_step(
        5, 2.0
    ) > item_effects.trapezoid_step(5)


@pytest.mark.parametrize("dims", [2, 3, 4, 6])
def test_nodes_of_more_dimensions_have_the_moments_of_normals(dims):
    point, weight = item_effects.normal_nodes(dims, 5)
    assert weight.sum() == pytest.approx(1, abs=1e-14)
    tolerance = {2: 2e-3, 3: 0.02}.get(dims, 0.05)
    np.testing.assert_allclose(weight @ point, 0, atol=tolerance)
    np.testing.assert_allclose((weight * point.T) @ point, np.eye(dims), atol=tolerance)


def items_of_softmax(rng, labels, answers, spread):
    """Draw counts of labels of 20 items from the law with odds of zero, or of 2 for the first label."""
    favoured = np.zeros((20, labels - 1))
    favoured[:10, 0] = 2
    odds = np.c_[favoured + spread * rng.normal(size=favoured.shape), np.zeros(20)]
    return favoured, np.array([rng.multinomial(answers, p) for p in softmax(odds, axis=1)])


def log_p_of_counts(favoured, counts, spread, nodes):
    """Return the log probability of the answers to each item."""
    odds = favoured[:, None] + spread * nodes.point
    odds = np.concatenate([odds, np.zeros((*odds.shape[:2], 1))], axis=2)
    each = np.einsum("iql,il->iq", log_softmax(odds, axis=2), counts)
    return logsumexp(each, axis=1, b=nodes.weight)


@pytest.mark.parametrize(
    ("labels", "error", "most"), [(3, None, 0.06), (3, 1e-4, 1e-4), (4, None, 0.3), (4, 0.02, 0.02)]
)
@pytest.mark.parametrize("answers", [5, 30])
def test_products_follow_the_number_of_answers(labels, error, most, answers):
    rng = np.random.default_rng(seed_of(f"products {labels} {answers}"))
    favoured, counts = items_of_softmax(rng, labels, answers, 2.0)
    of_items = (favoured, counts, 2.0)
    exact = log_p_of_counts(*of_items, item_effects.normal_nodes(labels - 1, 30, {3: 101, 4: 45}[labels]))

    def check(factors):
        nodes = item_effects.normal_nodes(labels - 1, factors, error=error)
        np.testing.assert_allclose(log_p_of_counts(*of_items, nodes), exact, rtol=0, atol=most)

    check(answers)
    if answers == 30:
        assert_rejects_twin(check, 5)


def test_nodes_asked_for_refine_a_product():
    rng = np.random.default_rng(seed_of("asked"))
    of_items = (*items_of_softmax(rng, 3, 30, 2.0), 2.0)
    found = [log_p_of_counts(*of_items, item_effects.normal_nodes(2, 30, n)) for n in (15, 31, 61, 121)]
    off = [np.abs(one - found[-1]).max() for one in found[:-1]]
    assert off[0] > 10 * off[1] > 100 * off[2]


def test_many_answers_have_steps_without_overflow():
    with np.errstate(all="raise", under="ignore"):
        steps = [item_effects.trapezoid_step(factors) for factors in (100, 1000, 10_000)]
    np.testing.assert_allclose(np.divide(steps[:-1], steps[1:]), math.sqrt(10), rtol=0.05)
    many = {"item": ["a", "b"], 1: [600, 10], 2: [300, 800], 3: [100, 190]}
    model = models.ordinal(models.Labels.from_counts(many))
    assert np.isfinite(outputs_at(model, drawn_point(model, 1))[0]).all()


def test_few_nodes_for_many_answers_are_said(golden):
    with golden.warns(DataWarning):
        item_effects.normal_nodes(4, 10)
    assert (
        len(item_effects.normal_nodes(4, 9).weight) == 512
        and len(item_effects.normal_nodes(4, 30, 600).weight) == 600
    )
    with golden.raises(ValueError):
        item_effects.normal_nodes(3, 900)


def test_what_cannot_be_is_refused(golden):
    for nodes in (2, 5.0, True):
        with golden.raises(ValueError):
            item_effects.normal_nodes(1, 5, nodes)
    with golden.raises(ValueError):
        item_effects.check_size(LABELS, 3, 10_000_000)
    with pytest.raises(ValueError, match=r"use models\.hierarchical_dawid_skene"):
        item_effects.check_size(LABELS, 10_000_000, 6)
    with golden.raises(ValueError):
        marginal_labels.RaterLabels.dist(
            np.full(6, 1 / 6), np.full((1, 6, 2), 0.5), ([0], [0]), gold=[2], nodes=3
        )

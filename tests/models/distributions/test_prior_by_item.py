"""Laws of labels with a prior of each item's true category: enumeration, gradient, backends and replicates."""

from itertools import product

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.special import softmax
from raterzoo.models.distributions import marginal_labels, shared_guesses

from tests.support.monte_carlo import bonferroni_threshold, rejects, seed_of

ITEMS, RATERS, ANSWERS = 9, 4, 20
GROUP = np.array([0, 0, -1, 0])


def ragged_design(rng, n):
    """Answers of a few items, some by one rater twice; an item without any, gold items with and without."""
    item = np.sort(rng.integers(0, ITEMS - 2, ANSWERS))
    start = np.searchsorted(item, np.arange(ITEMS + 1)).astype(np.int64)
    known = np.where(np.arange(ITEMS) % 4 == 1, rng.integers(0, n, ITEMS), -1)
    known[ITEMS - 1] = 0  # without an answer
    return start, rng.integers(0, RATERS, ANSWERS), rng.integers(0, n, ANSWERS), known


def parameters_of(rng, n, shared):
    """Log odds of the items, and the other parameters of the law."""
    rows = rng.dirichlet(np.ones(n), (RATERS, n))
    if not shared:
        return rng.normal(0, 2, (ITEMS, n)), rows
    copies = np.where(GROUP >= 0, rng.random(RATERS), 0.0)
    return rng.normal(0, 2, (ITEMS, n)), rows, rng.dirichlet(np.ones(n), (1, n)), copies


def joint_probability(parameters, design):
    """p(answers and true category) of each item, (item, category), summed over the guesses; complex parameters may go in."""
    odds, confusion, *others = parameters
    start, rater, label, known = design
    n = odds.shape[1]
    prior = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    joint = np.zeros(odds.shape, np.result_type(*parameters))
    for i, j in product(range(ITEMS), range(n)):
        if known[i] not in (-1, j):
            continue
        own = [(rater[a], label[a]) for a in range(start[i], start[i + 1])]
        if not others:
            joint[i, j] = prior[i, j] * np.prod([confusion[k, j, y] for k, y in own])
            continue
        guess, shared = others
        seen = any(GROUP[k] >= 0 for k, _ in own)
        for h in range(n if seen else 1):
            p = prior[i, j] * (guess[0, j, h] if seen else 1.0)
            for k, y in own:
                p *= shared[k] * (h == y) + (1 - shared[k]) * confusion[k, j, y]
            joint[i, j] += p
    return joint


def outputs_of(odds, others, design, of_prior=softmax):
    start, rater, label, known = design
    prior = of_prior(odds, axis=1)
    if len(others) == 1:
        return marginal_labels.label_logp(prior, *others, (start, rater * odds.type.shape[1] + label, known))
    return shared_guesses.guess_logp(prior, *others, (start, rater, label, GROUP, known))


def compiled(parameters, design, mode="FAST_COMPILE", weight=None, of_prior=softmax):
    """Function of the log odds and other parameters to log p, p(true category) and the gradient of the weighted sum."""
    inputs = [pt.tensor(dtype="float64", shape=x.shape) for x in parameters]
    log_p, plausibility = outputs_of(inputs[0], inputs[1:], design, of_prior)
    free = inputs[:3]  # shares of raters of no group are no parameters
    gradient = pt.grad((log_p * (np.ones(ITEMS) if weight is None else weight)).sum(), free)
    return pytensor.function(inputs, [log_p, plausibility, *gradient], mode=mode)


@pytest.mark.parametrize("shared", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", [2, 3])
def test_equals_enumeration_with_its_gradient(n, shared):
    rng = np.random.default_rng(seed_of(f"prior by item {n} {shared}"))
    weight = np.linspace(-1, 2, ITEMS)
    for _ in range(2):
        design, parameters = ragged_design(rng, n), parameters_of(rng, n, shared)
        log_p, plausibility, *gradient = compiled(parameters, design, weight=weight)(*parameters)
        joint = joint_probability(parameters, design)
        np.testing.assert_allclose(log_p, np.log(joint.sum(axis=1)), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(plausibility, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
        for k, found in enumerate(gradient):
            for index in np.ndindex(found.shape):
                shifted = [x.astype(complex) for x in parameters]
                shifted[k][index] += 1e-30j
                slope = (weight * np.log(joint_probability(shifted, design).sum(axis=1)).imag).sum() / 1e-30
                assert found[index] == pytest.approx(slope, rel=1e-8, abs=1e-12)


def prior_twice(parameters, design):
    return joint_probability([2 * parameters[0], *parameters[1:]], design)


def prior_of_the_next_item(parameters, design):
    return joint_probability([np.roll(parameters[0], 1, axis=0), *parameters[1:]], design)


def no_prior_of_gold_items(parameters, design):
    odds, known = parameters[0], design[3]
    prior = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    own = np.where(known >= 0, prior[np.arange(ITEMS), known], 1.0)
    return joint_probability(parameters, design) / own[:, None]


@pytest.mark.parametrize("twin", [prior_twice, prior_of_the_next_item, no_prior_of_gold_items])
def test_enumeration_tells_wrong_laws(twin):
    rng = np.random.default_rng(seed_of("wrong laws by item"))
    design, parameters = ragged_design(rng, 3), parameters_of(rng, 3, False)
    inputs = [pt.tensor(dtype="float64", shape=x.shape) for x in parameters]
    log_p, _ = outputs_of(inputs[0], inputs[1:], design)
    found = log_p.eval(dict(zip(inputs, parameters, strict=True)), mode="FAST_COMPILE")

    def check(joint):
        np.testing.assert_allclose(found, np.log(joint(parameters, design).sum(axis=1)), atol=1e-12)

    check(joint_probability)
    assert rejects(check, twin)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_backends_agree(shared):
    rng = np.random.default_rng(seed_of("prior by item"))
    design, parameters = ragged_design(rng, 3), parameters_of(rng, 3, shared)
    weight = np.linspace(-1, 2, ITEMS)
    modes = ("FAST_COMPILE", "NUMBA", "JAX")
    found = [compiled(parameters, design, mode, weight)(*parameters) for mode in modes]
    for same in zip(*found, strict=True):
        for other in same[1:]:
            np.testing.assert_allclose(same[0], other, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("shared", [False, True])
def test_one_prior_for_all_items_is_the_prevalence(shared):
    rng = np.random.default_rng(seed_of("prior of all"))
    design, (odds, *others) = ragged_design(rng, 3), parameters_of(rng, 3, shared)
    prevalence = np.exp(odds[0]) / np.exp(odds[0]).sum()
    rows = pt.as_tensor_variable(np.tile(prevalence, (ITEMS, 1)))
    constants = [pt.as_tensor_variable(x) for x in others]
    found = outputs_of(rows, constants, design, lambda x, axis: x)
    start, rater, label, known = design
    if shared:
        exact = shared_guesses.guess_logp(
            pt.as_tensor_variable(prevalence), *constants, (start, rater, label, GROUP, known)
        )
    else:
        exact = marginal_labels.label_logp(
            pt.as_tensor_variable(prevalence), *constants, (start, rater * 3 + label, known)
        )
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one.eval(mode="FAST_COMPILE"), other.eval(mode="FAST_COMPILE"), atol=1e-14)


def test_probabilities_need_not_be_a_softmax():
    rng = np.random.default_rng(seed_of("probabilities by item"))
    design, parameters = ragged_design(rng, 3), parameters_of(rng, 3, False)

    def mixed(odds, axis):  # another expression of the same probabilities
        return pt.exp(odds) / pt.exp(odds).sum(axis=axis, keepdims=True)

    found = [compiled(parameters, design, of_prior=p)(*parameters) for p in (softmax, mixed)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_priors_beyond_the_range_of_doubles(mode):
    """The answers leave but one category, whose prior is e^-900."""
    odds = np.array([[0.0, -900.0], [0.0, -900.0]])
    confusion = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    start, rater, known = np.array([0, 1, 1]), np.zeros(1, int), np.array([-1, 1])
    p, pi = pt.matrix("p", shape=(2, 2)), pt.tensor("pi", shape=(1, 2, 2))
    outputs = marginal_labels.label_logp(softmax(p, axis=1), pi, (start, rater * 2 + 1, known))
    log_p, plausibility = pytensor.function([p, pi], list(outputs), mode=mode)(odds, confusion)
    np.testing.assert_allclose(log_p, [-900 + np.log(0.75), -900.0], rtol=1e-14)
    assert plausibility.tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize("shared", [False, True])
def test_sums_to_one_over_all_patterns(shared):
    rng = np.random.default_rng(seed_of("patterns by item"))
    odds, *others = parameters_of(rng, 3, shared)
    patterns = np.array(list(product(range(3), repeat=3)))
    start, rater = np.arange(0, patterns.size + 1, 3), np.tile([0, 1, 1], len(patterns))
    known = np.full(len(patterns), -1)
    prior = softmax(pt.as_tensor_variable(np.tile(odds[0], (len(patterns), 1))), axis=1)
    constants = [pt.as_tensor_variable(x) for x in others]
    if shared:
        log_p = shared_guesses.guess_logp(prior, *constants, (start, rater, patterns.ravel(), GROUP, known))[
            0
        ]
    else:
        log_p = marginal_labels.label_logp(prior, *constants, (start, rater * 3 + patterns.ravel(), known))[0]
    assert np.exp(log_p.eval(mode="FAST_COMPILE")).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_replicates_follow_the_law(mode, shared):
    rng = np.random.default_rng(seed_of(f"replicates by item {mode}"))
    prior = np.array([[0.8, 0.2], [0.1, 0.9]])
    confusion, guess = rng.dirichlet(np.ones(2), (2, 2)), rng.dirichlet(np.ones(2), (1, 2))
    start, rater, known, n = np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([-1, -1]), 40_000
    source, copies, group = pt.random.shared_rng(rng), np.array([0.5, 0.7]), np.array([0, 0])
    options = {"size": n, "rng": source}
    if shared:
        options |= {"guess": guess, "shared": copies, "group": group}
        law = shared_guesses.SharedGuess.dist(
            prior, confusion, (np.repeat(np.arange(2), np.diff(start)), rater), gold=known, **options
        )
    else:
        law = marginal_labels.RaterLabels.dist(
            prior, confusion, (np.repeat(np.arange(2), np.diff(start)), rater), gold=known, **options
        )
    draws = pytensor.function([], law, mode=mode)()
    patterns = np.array(list(product(range(2), repeat=3)))
    found = np.array([(draws == pattern).all(axis=1).sum() for pattern in patterns])

    def probability(prior, pattern):
        total = 1.0
        for i, own in enumerate(([0, 1], [2])):
            each = 0.0
            for j, h in product(range(2), range(2)):
                s = copies[rater[own]] if shared else np.zeros(len(own))
                said = s * (pattern[own] == h) + (1 - s) * confusion[rater[own], j, pattern[own]]
                each += prior[i, j] * guess[0, j, h] * np.prod(said)
            total *= each
        return total

    def check(prior):
        p = np.array([probability(prior, pattern) for pattern in patterns])
        assert np.abs((found - n * p) / np.sqrt(n * p * (1 - p))).max() < bonferroni_threshold(8)

    check(prior)
    assert rejects(check, prior[::-1])


def test_a_prior_of_other_items_is_refused(golden):
    third = np.full((4, 3), 1 / 3)
    with golden.raises(ValueError):
        marginal_labels.RaterLabels.dist(third, np.full((2, 3, 3), 1 / 3), ([0, 1], [0, 1]), gold=[-1, -1])

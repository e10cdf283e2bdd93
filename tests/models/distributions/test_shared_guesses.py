"""The law of raters who share guesses against enumeration, with its gradient, extremes and replicates."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo.models.distributions import shared_guesses, shared_guesses_kernels

from tests.support.laws import Answers
from tests.support.monte_carlo import bonferroni_threshold, rejects, seed_of

GROUP = np.array([0, 1, -1, 0, 1, 1])  # of six raters


def random_design(rng, items=10, answers=40, categories=3, group=GROUP):
    """Ragged answers, some repeated by the same rater, items without any, and gold."""
    item = np.sort(rng.integers(0, items, answers))
    start = np.searchsorted(item, np.arange(items + 1)).astype(np.int64)
    known = np.where(rng.random(items) < 0.2, rng.integers(0, categories, items), -1)
    rater, label = rng.integers(0, len(group), answers), rng.integers(0, categories, answers)
    return shared_guesses_kernels.GroupedAnswers(start, rater, label, group, known)


def random_parameters(rng, categories=3, group=GROUP, concentration=1.0):
    alpha = np.full(categories, concentration)
    shared = np.where(group >= 0, rng.random(len(group)), 0.0)
    n_groups = group.max() + 1
    return (
        rng.dirichlet(alpha),
        rng.dirichlet(alpha, (len(group), categories)),
        rng.dirichlet(alpha, (n_groups, categories)),
        shared,
    )


def by_enumeration(prevalence, confusion, guess, shared, answers):
    """Sum over the categories and over the guesses of all groups with answers together, of one item after the other."""
    start, rater, label, group, known = answers
    n, items = len(prevalence), len(known)
    joint = np.zeros((items, n), np.result_type(prevalence, confusion, guess, shared))
    for i, j in product(range(items), range(n)):
        if known[i] not in (-1, j):
            continue
        seen = sorted({*group[rater[start[i] : start[i + 1]]].tolist()} - {-1})
        for found in product(range(n), repeat=len(seen)):
            guessed = dict(zip(seen, found, strict=True))
            p = prevalence[j] * np.prod([guess[g, j, h] for g, h in guessed.items()])
            for k, y in zip(*(x[start[i] : start[i + 1]] for x in (rater, label)), strict=True):
                copied = group[k] >= 0 and guessed[group[k]] == y
                p = p * (shared[k] * copied + (1 - shared[k]) * confusion[k, j, y])
            joint[i, j] += p
    total = joint.sum(axis=1)
    return np.log(total), joint / total[:, None]


def graph(parameters, answers):
    inputs = [pt.tensor(dtype="float64", shape=x.shape) for x in parameters]
    return inputs, shared_guesses.guess_logp(*inputs, answers)


@pytest.mark.parametrize("categories", [2, 3])
def test_equals_enumeration(categories):
    rng = np.random.default_rng(seed_of(f"shared enumeration {categories}"))
    for _ in range(10):
        answers = random_design(rng, categories=categories)
        parameters = random_parameters(rng, categories)
        inputs, outputs = graph(parameters, answers)
        found = pytensor.function(inputs, list(outputs), mode="FAST_COMPILE")(*parameters)
        for one, exact in zip(found, by_enumeration(*parameters, answers), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-12, atol=1e-12)


def test_gradient_equals_complex_steps():
    rng = np.random.default_rng(seed_of("shared gradient"))
    answers, parameters = random_design(rng), random_parameters(rng)
    inputs, (log_p, _) = graph(parameters, answers)
    weight = np.linspace(-1, 2, len(answers.gold_category))
    gradient = pt.grad((weight * log_p).sum(), inputs)
    found = pytensor.function(inputs, gradient, mode="FAST_COMPILE")(*parameters)
    for k, parameter in enumerate(parameters):
        for index in np.ndindex(parameter.shape):
            if k == 3 and answers.group[index] < 0:
                continue  # zero, and no parameter
            shifted = [x.astype(complex) for x in parameters]
            shifted[k][index] += 1e-30j
            slope = (weight * by_enumeration(*shifted, answers)[0].imag).sum() / 1e-30
            assert found[k][index] == pytest.approx(slope, rel=1e-8, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "JAX"])
def test_backends_agree(mode):
    rng = np.random.default_rng(seed_of("shared backends"))
    group = np.array([0, 0, 1, 1, -1, -1, 1])
    answers, parameters = random_design(rng, 100, 400, 4, group), random_parameters(rng, 4, group, 0.3)
    inputs, outputs = graph(parameters, answers)
    weight = np.linspace(-1, 2, 100)
    outputs = [*outputs, *pt.grad((weight * outputs[0]).sum(), inputs[:3])]
    found = [pytensor.function(inputs, outputs, mode=m)(*parameters) for m in ("FAST_COMPILE", mode)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def passes(parameters, answers):
    """Return log p, plausibility and expected counts."""
    prevalence, confusion, guess, shared = parameters
    n = len(prevalence)
    own = (confusion * (1 - shared)[:, None, None]).swapaxes(1, 2).reshape(-1, n)
    law = shared_guesses_kernels.GuessLaw(prevalence, np.ascontiguousarray(own), guess, shared)
    items = len(answers.gold_category)
    log_p, plausibility = np.empty(items), np.empty((items, n))
    shared_guesses_kernels.guess_log_p(answers, law, log_p, plausibility)
    counts = tuple(np.empty(x.shape) for x in law)
    total = shared_guesses_kernels.guess_counts(answers, law, np.ones(items), counts)
    np.testing.assert_allclose(total, log_p.sum(), rtol=1e-12)
    return log_p, plausibility, counts


@pytest.mark.parametrize("share", [0.0, 1.0, 1e-300, 1 - 1e-16])
def test_shares_of_zero_and_one(share):
    """Nobody copies: Dawid-Skene. Everybody does: an answer that no guess explains has probability zero."""
    rng = np.random.default_rng(seed_of("extreme shares"))
    answers = random_design(rng)._replace(gold_category=np.full(10, -1))
    if share > 0.5:  # raters of a group then agree on every item
        label = np.array([(7 * i) % 3 for i in range(10)])[np.repeat(np.arange(10), np.diff(answers.start))]
        answers = answers._replace(label=label)
    prevalence, confusion, guess, _ = random_parameters(rng)
    parameters = (prevalence, confusion, guess, np.where(GROUP >= 0, share, 0.0))
    log_p, plausibility, counts = passes(parameters, answers)
    exact = by_enumeration(*parameters, answers)
    np.testing.assert_allclose(log_p, exact[0], rtol=1e-12)
    np.testing.assert_allclose(plausibility, exact[1], rtol=1e-11, atol=1e-15)
    items, labels, guesses, copied = counts
    assert items.sum() == pytest.approx(10)
    assert labels.sum() + copied.sum() == pytest.approx(len(answers.label))
    seen = {(i, g) for i in range(10) for g in answers.group[answers.rater[answers.start[i] : answers.start[i + 1]]]}  # fmt: skip
    assert guesses.sum() == pytest.approx(sum(g >= 0 for _, g in seen))
    if share in (0.0, 1.0):
        assert (copied if share == 0 else labels[np.repeat(GROUP, 3) >= 0]).sum() == 0


def test_answers_that_no_category_explains():
    rng = np.random.default_rng(1)
    prevalence, confusion, guess, _ = random_parameters(rng)
    answers = shared_guesses_kernels.GroupedAnswers(
        np.array([0, 2, 3]), np.array([0, 3, 0]), np.array([0, 1, 2]), GROUP, np.full(2, -1)
    )
    shared = np.where(GROUP >= 0, 1.0, 0.0)  # two copies of one guess that differ
    log_p, plausibility, _ = passes((prevalence, confusion, guess, shared), answers)
    assert log_p[0] == -np.inf and np.isfinite(log_p[1]) and np.isnan(plausibility[0]).all()


@pytest.mark.parametrize("many", [30, 3000])
def test_products_beyond_the_range_of_doubles(many):
    """Answers of an item are so many, or so improbable, that products underflow, or ratios overflow."""
    rng = np.random.default_rng(seed_of("many answers"))
    parameters = random_parameters(rng, concentration=0.5)
    rater, label = rng.integers(0, 6, many), rng.integers(0, 3, many)
    answers = shared_guesses_kernels.GroupedAnswers(np.array([0, many]), rater, label, GROUP, np.array([-1]))
    log_p, plausibility, _ = passes(parameters, answers)
    prevalence, confusion, guess, shared = parameters
    joint = np.log(prevalence)
    for g in (-1, 0, 1):
        own = GROUP[rater] == g
        k, y = rater[own], label[own]
        p = (1 - shared[k, None]) * confusion[k, :, y]  # (answer, category)
        if g < 0:
            joint = joint + np.log(p).sum(axis=0)
            continue
        both = np.log(p[:, :, None] + (shared[k, None] * (y[:, None] == np.arange(3)))[:, None, :])
        joint = joint + np.logaddexp.reduce(np.log(guess[g]) + both.sum(axis=0), axis=1)
    total = np.logaddexp.reduce(joint)
    assert log_p[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(plausibility[0], np.exp(joint - total), rtol=1e-9, atol=1e-300)


def test_sums_to_one_over_all_patterns():
    rng = np.random.default_rng(seed_of("shared patterns"))
    parameters, rater = random_parameters(rng), np.array([0, 1, 3, 3])
    patterns = np.array(list(product(range(3), repeat=4)))
    start, known = np.arange(0, patterns.size + 1, 4), np.full(len(patterns), -1)
    answers = shared_guesses_kernels.GroupedAnswers(
        start, np.tile(rater, len(patterns)), patterns.ravel(), GROUP, known
    )
    assert np.exp(passes(parameters, answers)[0]).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_replicates_follow_the_law(mode):
    rng = np.random.default_rng(seed_of(f"shared replicates {mode}"))
    group = np.array([0, 0, -1])
    parameters = (*random_parameters(rng, 2, group)[:3], np.array([0.7, 0.4, 0.0]))
    start, rater, known = np.array([0, 3, 4]), np.array([0, 1, 2, 1]), np.array([-1, 0])
    n, source = 40_000, pt.random.shared_rng(rng)
    prior, confusion, guess, shared = parameters
    own = {"guess": guess, "shared": shared, "group": group, "gold": known}
    law = shared_guesses.SharedGuess.dist(
        prior, confusion, (np.repeat(np.arange(2), np.diff(start)), rater), **own, size=n, rng=source
    )
    draws = pytensor.function([], law, mode=mode)()
    patterns = np.array(list(product(range(2), repeat=4)))
    found = np.array([(draws == pattern).all(axis=1).sum() for pattern in patterns])

    def check(shared):
        given = (*parameters[:3], shared)
        p = [
            by_enumeration(*given, shared_guesses_kernels.GroupedAnswers(start, rater, y, group, known))[
                0
            ].sum()
            for y in patterns
        ]
        p = np.exp(p) / parameters[0][0]
        z = (found - n * p) / np.sqrt(n * p * (1 - p))
        assert np.abs(z).max() < bonferroni_threshold(len(patterns))

    check(parameters[3])
    assert rejects(check, np.array([0.4, 0.7, 0.0]))


def test_codes_that_are_not_there_are_refused(golden):
    law = [np.full(x, 1 / 3) for x in ((3,), (2, 3, 3), (1, 3, 3), (2,))]
    prior, confusion, guess, shared = law

    def built_of(rater, group):
        own = {"guess": guess, "shared": shared, "group": group}
        return shared_guesses.SharedGuess.dist(prior, confusion, ([0, 1, 1], rater), **own)

    for rater, group in (([0, 1, 1], [0, 1]), ([0, 2, 1], [0, -1])):
        with golden.raises(ValueError):
            built_of(rater, group)
    built = built_of([0, 1, 1], [0, -1])
    for label in ([0, 1, 3], [-1, 1, 2]):
        assert (pm.logp(built, np.array(label)).eval() == -np.inf).all()


def test_codes_are_split_into_raters_and_labels():
    found = shared_guesses_kernels.grouped_answers(
        Answers(np.array([0, 2]), np.array([5, 7], np.int32), np.array([-1])), GROUP, 3
    )
    assert found.rater.tolist() == [1, 2] and found.label.tolist() == [2, 1]

"""Information of the joint answers of raters who copy a guess, against enumeration and limits with a closed form."""

from itertools import product

import numpy as np
import pytest
from raterzoo.evaluation.raters import joint_answers
from raterzoo.evaluation.raters.worth import information_and_accuracy

RATERS, CATEGORIES = 3, 3


def law_of(shared, seed=1, draws=2):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(CATEGORIES), (draws, RATERS + 1, CATEGORIES)) + 2 * np.eye(CATEGORIES)
    rows /= rows.sum(axis=-1, keepdims=True)
    prevalence = rng.dirichlet(np.full(CATEGORIES, 5.0), draws)
    return joint_answers.JointLaw(
        prevalence, rows[:, 1:], rows[:, :1], np.full((draws, RATERS), shared), np.zeros(RATERS, int)
    )


def enumerated(law, draw):
    """Joint law (category, outcome) of all answers, one term at a time."""
    joint = []
    for told in product(range(CATEGORIES), repeat=RATERS):
        for truth in range(CATEGORIES):
            p = 0.0
            for guess in range(CATEGORIES):
                term = law.guess[draw, 0, truth, guess]
                for k, label in enumerate(told):
                    s = law.shared[draw, k]
                    term *= s * (label == guess) + (1 - s) * law.own[draw, k, truth, label]
                p += term
            joint.append(law.prevalence[draw, truth] * p)
    return np.array(joint).reshape(-1, CATEGORIES).T


@pytest.mark.parametrize("shared", [0.0, 0.4, 1.0])
def test_information_is_that_of_the_enumerated_law(shared, monkeypatch):
    law, members = law_of(shared), np.arange(RATERS)
    found = joint_answers.joint_information(law, members, np.random.default_rng(1))
    right = [information_and_accuracy(enumerated(law, draw))[0] for draw in range(2)]
    np.testing.assert_allclose(found, right, rtol=1e-9)
    if shared == 1:  # all answers are one
        one = law.prevalence[:, :, None] * law.guess[:, 0]
        np.testing.assert_allclose(found, information_and_accuracy(one)[0], rtol=1e-9)
    monkeypatch.setattr(joint_answers, "MOST_OUTCOMES", 1)
    monkeypatch.setattr(joint_answers, "SIMULATED", 20_000)
    np.testing.assert_allclose(
        joint_answers.joint_information(law, members, np.random.default_rng(1)), right, atol=0.02
    )


def test_shared_guesses_are_worth_less_than_independent_answers():
    # the wrong twin: the marginal matrices, as if the raters were independent
    law, members = law_of(0.8), np.arange(RATERS)
    alone = joint_answers.JointLaw(
        law.prevalence, law.confusion(members), law.guess[:, :0], 0 * law.shared, np.full(RATERS, -1)
    )
    rng = np.random.default_rng(1)
    assert (
        joint_answers.joint_information(alone, members, rng)
        > 1.2 * joint_answers.joint_information(law, members, rng)
    ).all()


def test_residual_correlation_is_that_of_simulated_answers():
    law, members = law_of(0.6, draws=1), np.arange(RATERS)
    rng, n = np.random.default_rng(2), 200_000
    truth = rng.choice(CATEGORIES, n, p=law.prevalence[0])
    guess = joint_answers.drawn(law.guess[0, 0][truth], rng)
    above = below = 0.0
    residuals = []
    for k in range(RATERS):
        own = joint_answers.drawn(law.own[0, k][truth], rng)
        told = np.where(rng.random(n) < 0.6, guess, own)
        residuals.append(np.eye(CATEGORIES)[told] - law.confusion(members)[0, k][truth])
    sd = [np.sqrt(1 - (law.confusion(members)[0, k] ** 2).sum(axis=-1))[truth] for k in range(RATERS)]
    for k in range(RATERS):
        for other in range(k):
            above += (residuals[k] * residuals[other]).sum()
            below += (sd[k] * sd[other]).sum()
    # six standard errors of a mean of 200,000 items
    assert joint_answers.residual_correlation(law, members)[0] == pytest.approx(
        above / below, abs=6 / np.sqrt(n)
    )
    assert joint_answers.residual_correlation(law_of(0.0), members).max() == 0

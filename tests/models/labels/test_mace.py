"""The law of MACE against the sum over true categories and spam, one answer at a time; its arguments."""

from itertools import product

import numpy as np
import pytest
from raterzoo import models

from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin
from tests.support.rater_laws import at_values, given_truth, truths

LABELS = tiny_labels()


def drawn(seed, n_raters=3, n=2):
    rng = np.random.default_rng(seed)
    spam = rng.dirichlet(np.ones(n), n_raters)
    return rng.dirichlet(np.ones(n)), rng.beta(2.0, 1.0, n_raters), spam


def by_sums(labels, prevalence, competence, spam):
    """Probability of all answers, and of every item's true category and all answers."""
    total, truth = 0.0, np.zeros((len(labels.items), len(prevalence)))
    for category in truths(labels):
        ways = given_truth(labels, category, (competence, spam))
        p = prevalence[category].prod() * sum(p for p, _ in ways)
        total += p
        truth[np.arange(len(category)), category] += p
    return total, truth


def test_law_is_the_sum_over_truths_and_spam():
    prevalence, competence, spam = drawn(1)
    log_p, computed = at_values(models.mace(LABELS), prevalence, competence, spam)

    def check(spam):
        total, truth = by_sums(LABELS, prevalence, competence, spam)
        np.testing.assert_allclose(log_p.sum(), np.log(total), rtol=1e-12)
        np.testing.assert_allclose(computed["plausibility"], truth / total, rtol=1e-12)

    check(spam)
    assert_rejects_twin(check, np.full_like(spam, 0.5))
    np.testing.assert_allclose(computed["confusion"].sum(axis=-1), 1, rtol=1e-15)


@pytest.mark.parametrize("name", ["mace", "glad"])
def test_law_sums_to_one_over_all_answers(name):
    """Every item has one of all patterns of three answers, of which two are of one rater."""
    label = np.array(list(product(range(3), repeat=3)))
    table = {"item": np.repeat(np.arange(27), 3), "rater": [0, 1, 1] * 27, "label": label.ravel()}
    values = drawn(2, n_raters=2, n=3)
    values = values if name == "mace" else (values[0], np.array([-0.7, 2.0]))
    log_p, _ = at_values(getattr(models, name)(models.Labels.from_table(table)), *values)
    np.testing.assert_allclose(np.exp(log_p).sum(), 1, rtol=1e-12)


def test_uniform_prevalence_is_the_papers():
    labels = models.Labels.from_table({"item": [1, 1], "rater": list("ab"), "label": list("xy")})
    model = models.mace(labels, prevalence_concentration="uniform")
    assert [rv.name for rv in model.free_RVs] == ["competence", "spam"]
    np.testing.assert_array_equal(model["prevalence"].eval(), [0.5, 0.5])


@pytest.mark.parametrize(
    "options",
    [
        {"competence_concentration": 3},
        {"competence_concentration": ("a", "b")},
        {"spam_concentration": True},
        {"competence_concentration": (1, 0)},
        {"spam_concentration": np.ones(3)},
        {"spam_concentration": np.nan},
        {"prevalence_concentration": "flat"},
    ],
)
def test_wrong_priors_are_named(options, golden):
    with golden.raises(ValueError):
        models.mace(LABELS, **options)


@pytest.mark.parametrize("name", ["mace", "glad"])
def test_anonymous_counts_are_refused(name):
    counts = models.Labels.from_counts({"item": ["a", "b"], "x": [1, 2], "y": [0, 3]})
    with pytest.raises(ValueError, match=rf"{name} describes each rater.*anonymous"):
        getattr(models, name)(counts)

"""GLAD's EM: its objective written out, stationary, never falling, and what it says."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raterzoo import inference, papers
from raterzoo.inference.labels.kernels import glad as glad_ascent
from raterzoo.models import Labels
from scipy.special import expit, log_expit, logsumexp

from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin
from tests.support.source_twins import altered


def quietly(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return papers.glad_em(labels, **options)


def crowd(items=60, raters=8, seed=1, each=4, categories=3):
    rng = np.random.default_rng(seed)
    truth, item = rng.integers(0, categories, items), np.repeat(np.arange(items), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in truth])
    odds = rng.normal(1, 1, raters)[rater] * np.exp(rng.normal(1, 1, items))[item]
    other = (truth[item] + rng.integers(1, categories, len(item))) % categories
    label = np.where(rng.random(len(item)) < expit(odds), truth[item], other)
    return Labels.from_table({"item": item, "rater": rater, "label": label}, categories=range(categories))


def objective(labels, prevalence, ability, log_easiness):
    """Log posterior density, up to a constant; and p(true category)."""
    n = len(prevalence)
    joint = np.tile(np.log(prevalence), (len(labels.items), 1))
    for i, gold in enumerate(labels.gold):
        if gold >= 0:
            joint[i, np.arange(n) != gold] = -np.inf
    for i, k, y, count in zip(
        labels.annotation_item, labels.annotation_rater, labels.label_code, labels.count, strict=True
    ):
        odds = ability[k] * np.exp(log_easiness[i])
        joint[i] += count * np.where(np.arange(n) == y, log_expit(odds), log_expit(-odds) - np.log(n - 1))
    log_p = logsumexp(joint, axis=1)
    priors = ((ability - 1) ** 2).sum() + ((log_easiness - 1) ** 2).sum()
    total = log_p.sum() - 0.5 * priors + np.log(prevalence).sum()
    return total, np.exp(joint - log_p[:, None])  # fmt: skip


@pytest.mark.parametrize("labels", [tiny_labels(), crowd()], ids=["ragged, repeats and gold", "crowd"])
def test_estimate_is_a_maximum_of_the_posterior(labels):
    found = quietly(labels, prevalence_concentration=1.0, restarts=0, tolerance=1e-16, max_iterations=5000)
    at = [
        found["prevalence"].to_numpy(),
        found["ability"].to_numpy(),
        -np.log(found["difficulty"].to_numpy()),
    ]
    value, truth = objective(labels, *at)
    assert found.attrs["objective"] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found["plausibility"], truth, atol=1e-12)

    def check(at):
        point, step = np.concatenate(at[1:]), 1e-5
        n = len(at[1])
        for k in range(len(point)):
            e = step * (np.arange(len(point)) == k)
            ends = [objective(labels, at[0], *np.split(point + s * e, [n]))[0] for s in (-1, 1)]
            assert abs(ends[1] - ends[0]) / (2 * step) < 1e-4

    check(at)
    assert_rejects_twin(check, [at[0], at[1] * 1.01, at[2]])
    np.testing.assert_allclose(at[0], (1 + truth.sum(axis=0)) / (len(truth) + len(at[0])), rtol=1e-5)


def falls(module):
    """Tell whether the objective ever falls when the skills rise by this module."""
    fallen = False
    for seed in range(20):
        labels = crowd(20, 5, seed, 3)
        _, item, rater = None, labels.annotation_item, labels.annotation_rater
        start = np.searchsorted(item, np.arange(21))
        code = (rater * 3 + labels.label_code).astype(np.int32)
        answers = glad_ascent.Answers(start, code, labels.gold.astype(np.int64))
        by_rater = glad_ascent.answers_by_rater(answers, 3, len(labels.raters))
        rng = np.random.default_rng(seed)
        skills = rng.normal(1, 2, len(labels.raters)), rng.normal(1, 2, 20)
        third, weight, p = np.full(3, 1 / 3), np.ones(20), np.empty((20, 3))
        for _ in range(10):
            before = objective(labels, third, *skills)[0]
            module.e_step(answers, (np.log(third), *skills), p, weight)
            module.m_step(answers, by_rater, (p, weight), (1.0, 1.0, 1.0, 1.0), skills)
            fallen |= objective(labels, third, *skills)[0] < before - 1e-10
    return fallen


@pytest.mark.slow
def test_objective_never_falls_from_anywhere():
    assert not falls(glad_ascent)
    unchecked = (("if found[0] >= value:", "if True:"), ("if not found[0] > value:", "if False:"))
    assert falls(altered("_newton_increase", *unchecked))


@pytest.mark.parametrize("prevalence", [2.0, "uniform"])
def test_objective_never_falls(prevalence):
    for seed in range(5):
        found = quietly(crowd(seed=seed, categories=2 + seed), prevalence_concentration=prevalence,
                        restarts=1, tolerance=-1.0, max_iterations=200, random_seed=seed)  # fmt: skip
        assert (np.diff(found["trace"]) > -1e-12 * np.abs(found["trace"][1:])).all()
        assert found.attrs["converged"] == 0


def test_able_raters_and_hard_items_are_found():
    rng = np.random.default_rng(7)
    ability, truth = np.repeat([2.0, 0.1], 6), rng.integers(0, 2, 400)
    easiness = np.where(np.arange(400) < 200, 2.0, 0.1)
    right = rng.random((400, 12)) < expit(ability * easiness[:, None])
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    item, rater = (x.ravel() for x in np.indices(label.shape))
    found = quietly(
        Labels.from_table({"item": item, "rater": rater, "label": label.ravel()}), restarts=2, random_seed=1
    )
    by_rater = found["ability"].to_numpy()
    assert by_rater[:6].min() > by_rater[6:].max()
    difficulty = found["difficulty"].to_numpy()
    assert np.median(difficulty[:200]) < 0.5 * np.median(difficulty[200:])
    assert (found["plausibility"].argmax("category").to_numpy() == truth)[:200].mean() > 0.98


@pytest.mark.skipif("RATERZOO_DATA" not in os.environ, reason="RATERZOO_DATA names no folder of data")
def test_birds_by_the_prevalence_of_the_paper():
    """Uniform by default, as in the paper; an estimated prevalence drifts to .92 of the category of 60 of 108 birds."""
    folder = Path(os.environ["RATERZOO_DATA"])
    labels = Labels.from_table(pd.read_csv(folder / "bluebird_answers.csv"))
    truth = pd.read_csv(folder / "bluebird_truth.csv").set_index("item")["truth"][labels.items]
    for options, right in (({}, 78), ({"prevalence_concentration": 1.0}, 64)):
        chosen = quietly(labels, restarts=0, **options)["plausibility"].argmax("category").to_numpy()
        assert (labels.categories[chosen] == truth.to_numpy()).sum() == right


def test_identical_items_count_as_often_as_they_occur():
    table = {"item": np.repeat(np.arange(30), 2), "rater": [0, 1] * 30, "label": [0, 0, 0, 1, 1, 1] * 10}
    labels = Labels.from_table(table)
    found = quietly(labels, prevalence_concentration=1.0, restarts=0)
    at = (
        found["prevalence"].to_numpy(),
        found["ability"].to_numpy(),
        -np.log(found["difficulty"].to_numpy()),
    )
    assert found.attrs["objective"] == pytest.approx(objective(labels, *at)[0], rel=1e-12)


def test_what_is_uncertain_is_said(golden):
    with golden.warns(inference.EstimateWarning):
        papers.glad_em(crowd(), restarts=1, max_iterations=2, random_seed=1)


@pytest.mark.parametrize("prior", [(1.0, -1.0), ("a", "b"), None, [[1.0, 2.0]], (1.0, [2.0, 3.0])])
@pytest.mark.parametrize("name", ["ability", "easiness"])
def test_wrong_priors_are_named(name, prior, golden):
    with golden.raises(ValueError):
        papers.glad_em(tiny_labels(), **{name: prior})


@pytest.mark.parametrize("easiness", [(800, 1), (1, 11), (-11, 1)])
def test_easiness_beyond_all_reason_is_refused(easiness, golden):
    with golden.raises(ValueError):
        papers.glad_em(tiny_labels(), easiness=easiness)
    at_the_limit = quietly(tiny_labels(), easiness=(10, 10), restarts=0)
    assert np.isfinite(at_the_limit["difficulty"]).all()

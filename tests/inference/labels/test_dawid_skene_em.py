"""EM against its published and its closed-form results; what it warns of; every optimum it finds."""

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from raterzoo import inference
from raterzoo.inference.labels.em_search import distinct_optima
from raterzoo.inference.labels.kernels import em
from raterzoo.inference.labels.kernels import em as label_ascent
from raterzoo.models import DataError, Labels, dawid_skene, one_coin

folder = os.environ.get("RATERZOO_DATA")
needs_data = pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")


def quietly(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return inference.dawid_skene_em(labels, **options)


def anesthesia():
    return Labels.from_table(pd.read_csv(Path(folder) / "anesthesia.csv"), label="rating")


def expected(name):
    return json.loads((Path(folder).parent / "expected" / name).read_text())


ALONE = """
import sys
from raterzoo import inference, models
rows = {"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "label": [0, 0, 1, 1]}
import pandas as pd
found = inference.dawid_skene_em(models.Labels.from_table(pd.DataFrame(rows)), random_seed=1)
print(found["plausibility"].argmax("category").values.tolist(), {"pymc", "pytensor"} & {*sys.modules})
"""


def test_first_labels_do_not_wait_for_pymc():
    run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == "[0, 1] set()"


@needs_data
def test_patients_of_dawid_and_skene():
    """Their tables 2 and 4; the maximum is elsewhere."""
    estimate = quietly(anesthesia(), prior=None, restarts=0)
    published = expected("anesthesia_expected.json")["computed_EM_from_majority_vote_start"]
    assert estimate.attrs["log_likelihood"] == pytest.approx(-192.890881, abs=1e-6)
    assert estimate.attrs["converged"] == 1
    np.testing.assert_allclose(estimate["prevalence"], published["prevalence"], atol=1e-5)
    np.testing.assert_allclose(estimate["confusion"], published["theta_rater_true_label"], atol=1e-4)
    np.testing.assert_allclose(estimate["prevalence"], [0.40, 0.42, 0.11, 0.07], atol=0.005)
    many = quietly(anesthesia(), prior=None, restarts=100, random_seed=1)
    found = many["optimum_log_likelihood"].to_numpy()
    assert found[0] == pytest.approx(-191.5689, abs=1e-4)
    assert found[int(many["vote_optimum"])] == pytest.approx(-192.890881, abs=1e-5)
    assert int(many["optimum_found"].sum()) == 101
    best, vote = (many["optimum_plausibility"][k] for k in (0, int(many["vote_optimum"])))
    changed = best.argmax("category") != vote.argmax("category")
    assert many["item"].to_numpy()[changed.to_numpy()].tolist() == [12]


def em_by_sums(item, rater, label, n, iterations):
    """Dawid and Skene's iteration as they wrote it, one sum at a time; the probabilities and the log likelihood."""
    n_items, cell = item.max() + 1, rater * n + label
    votes = np.zeros((n_items, n))
    np.add.at(votes, (item, label), 1)
    truth = votes / votes.sum(axis=1, keepdims=True)
    for _ in range(iterations):
        prevalence = truth.mean(axis=0)
        counts = np.stack([np.bincount(cell, truth[item, j]) for j in range(n)], axis=1)
        table = counts.reshape(-1, n, n)
        table = (table / table.sum(axis=1, keepdims=True)).reshape(-1, n)
        logs = np.log(table)[cell]
        joint = np.stack([np.bincount(item, logs[:, j]) for j in range(n)], axis=1)
        joint += np.log(prevalence)
        largest = joint.max(axis=1, keepdims=True)
        mass = np.exp(joint - largest).sum(axis=1, keepdims=True)
        truth = np.exp(joint - largest) / mass
    return truth, float((np.log(mass) + largest).sum())


@pytest.mark.parametrize("least_part", [400_000, 100_000], ids=["whole", "in parts"])
def test_half_a_million_answers_at_equal_iterations(least_part, monkeypatch):
    """Passes over more answers are cut into parts for threads, and the parts do not show."""
    monkeypatch.setattr(label_ascent, "LEAST_PART", least_part)
    rng = np.random.default_rng(5)
    item, n = np.repeat(np.arange(100_000), 5), 5
    rater = (item * 7 + np.tile(np.arange(5), 100_000) * 211) % 1000
    truth = rng.integers(0, n, 100_000)
    label = np.where(rng.random(500_000) < 0.6, truth[item], rng.integers(0, n, 500_000))
    labels = Labels.from_table({"item": item, "rater": rater, "label": label})
    options = {"prior": None, "restarts": 0, "tolerance": -np.inf, "max_iterations": 12}
    estimate = quietly(labels, **options)
    place = np.argsort(labels.raters)  # raters are numbered as they come
    assert (labels.raters[place] == np.arange(1000)).all()
    exact, log_likelihood = em_by_sums(item, rater, label, n, 12)
    assert estimate.attrs["log_likelihood"] == pytest.approx(log_likelihood, rel=1e-12)
    np.testing.assert_allclose(estimate["plausibility"], exact, atol=1e-9)


def test_parts_are_passed_over_by_as_many_threads_as_there_are(monkeypatch):
    asked = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads):
            asked.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(label_ascent, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(label_ascent.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(label_ascent, "LEAST_PART", 8)
    item, rater = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    patterns = em.answer_patterns(em.coded_answers(item, rater, item >> rater & 1, np.full(8, -1), 2))
    label_ascent.e_step(patterns, np.full(2, 0.5), np.full((6, 2), 0.5))
    assert asked == [2]


def test_log_prior_is_the_sum_over_pseudo_counts():
    """Pseudo-counts below one count, too."""
    rng = np.random.default_rng(1)
    alpha, beta, categories, counts = (rng.random(shape) for shape in (2, (4, 2), 2, (4, 2)))
    beta[3, 1] = 0
    (prevalence, table), found = label_ascent.m_step((alpha, beta), (categories, counts))
    np.testing.assert_allclose(prevalence, (alpha + categories) / (alpha + categories).sum(), rtol=1e-12)
    rows = (beta + counts).reshape(2, 2, 2)
    np.testing.assert_allclose(table, (rows / rows.sum(axis=1, keepdims=True)).reshape(4, 2), rtol=1e-12)
    expected = (alpha * np.log(prevalence)).sum() + (beta * np.log(table)).sum()
    assert found == pytest.approx(expected, rel=1e-12)


def test_objectives_are_the_same_optimum_by_their_relative_difference():
    objectives = (-1e6, -1e6 - 0.5, -1e6 - 2)
    runs = [SimpleNamespace(trace=[objective], parameters=None) for objective in objectives]
    optima, ended = distinct_optima(runs, lambda parameters: np.array([[0.3, 0.7]]))
    assert [run.trace for run, _ in optima] == [[-1e6], [-1e6 - 2]] and ended.tolist() == [0, 0, 1]


@needs_data
def test_teeth_of_espeland_and_handelman():
    frame = pd.read_csv(Path(folder) / "caries_grouped.csv")
    labels = Labels.from_wide(frame, raters=[f"rater_{k}" for k in range(1, 6)], count="n")
    estimate = quietly(labels, prior=None, restarts=0, tolerance=1e-14, max_iterations=5000)
    assert estimate.attrs["log_likelihood"] == pytest.approx(-7410.941976, abs=1e-6)
    published = expected("caries_expected.json")
    np.testing.assert_allclose(estimate["prevalence"], published["prevalence"], atol=1e-5)
    np.testing.assert_allclose(estimate["confusion"], published["theta_rater_true_label"], atol=1e-4)


@needs_data
def test_birds():
    labels = Labels.from_table(pd.read_csv(Path(folder) / "bluebird_answers.csv"))
    truth = pd.read_csv(Path(folder) / "bluebird_truth.csv").set_index("item")["truth"]
    truth = truth[labels.items].to_numpy().astype(str)
    vote = inference.majority_vote(labels)
    assert (vote["label"].to_numpy() == truth).mean() == pytest.approx(0.7593, abs=5e-5)
    plausibility = quietly(labels)["plausibility"]
    chosen = plausibility["category"].to_numpy()[plausibility.argmax("category")]
    assert (chosen.astype(str) == truth).mean() == pytest.approx(0.8889, abs=5e-5)


def small():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 60)
    item, rater = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    label = np.where(rng.random(240) < 0.7, truth[item], rng.integers(0, 3, 240))
    return Labels.from_table(
        {"item": item, "rater": rater, "label": label, "truth": truth[item]}, gold="truth"
    ), truth


def test_known_truth_is_the_closed_form():
    labels, truth = small()
    estimate = quietly(labels, prior=None, restarts=0)
    counts = np.zeros((4, 3, 3))
    at = (labels.annotation_rater, truth[labels.annotation_item], labels.label_code)
    np.add.at(counts, at, labels.count)
    np.testing.assert_allclose(estimate["confusion"], counts / counts.sum(axis=2, keepdims=True))
    np.testing.assert_allclose(estimate["prevalence"], np.bincount(truth) / 60)
    np.testing.assert_array_equal(estimate["plausibility"].argmax("category"), truth)


@pytest.mark.parametrize("prior", [None, "diagonal"])
def test_objective_never_falls_and_is_stationary(prior):
    labels, _ = small()
    labels = Labels.from_table({k: v for k, v in labels.to_table().items() if k != "gold"}, count="count")
    estimate = quietly(labels, prior=prior, restarts=3, random_seed=1)
    gain = np.diff(estimate["trace"])
    assert gain.min() > -1e-10 * abs(estimate["objective"])
    if prior:  # the mode of the posterior of the log odds: a fixed point of the smoothed counts
        plausibility = estimate["plausibility"].to_numpy()
        counts = np.full((4, 3, 3), 1.6) + 3.2 * np.eye(3)
        for r, i, y in zip(labels.annotation_rater, labels.annotation_item, labels.label_code, strict=True):
            counts[r, :, y] += plausibility[i]
        fixed = counts / counts.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(estimate["confusion"], fixed, atol=1e-4)


def test_likelihood_does_not_depend_on_the_order_of_categories():
    labels, _ = small()
    table = {k: v for k, v in labels.to_table().items() if k != "gold"}
    one = Labels.from_table(table, count="count", categories=[0, 1, 2])
    other = Labels.from_table(table, count="count", categories=[2, 0, 1])
    first, second = (quietly(labels, prior=None, restarts=5, random_seed=2) for labels in (one, other))
    assert first.attrs["log_likelihood"] == pytest.approx(second.attrs["log_likelihood"], rel=1e-8)
    np.testing.assert_allclose(
        first["prevalence"], second["prevalence"].sel(category=first["category"]), atol=1e-4
    )


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"item": [1, 2], "rater": ["a", "b"], "label": [0, 1]}, {}, "no item has two answers"),
        ({"item": [1, 1], "rater": ["a", "b"], "label": [0, 0]}, {"prior": None}, "2 rows .*NaN: first rater 'a' .* category 1"),
        ({"item": [1, 1], "rater": ["a", "b"], "label": [0, 0]}, {"prior": None}, "maximum likelihood is overconfident"),
        ({"item": [1, 1, 2, 2], "rater": ["a", "b"] * 2, "label": [0, 1, 1, 1]}, {"max_iterations": 2}, "have not converged"),
    ],
)  # fmt: skip
def test_warnings(table, options, message):
    labels = Labels.from_table(table, categories=[0, 1])
    with pytest.warns(inference.EstimateWarning, match=message):
        estimate = inference.dawid_skene_em(labels, restarts=1, random_seed=1, **options)
    if "NaN" in message:
        assert np.isnan(estimate["confusion"].sel(rater="a", category=1)).all()
        assert np.isfinite(estimate["plausibility"]).all()


def test_a_row_without_evidence_is_not_an_estimate(golden):
    """Of a rater whose items are of category 0 all but certainly, 1e-20 of an answer says nothing on category 1."""
    rng = np.random.default_rng(2)
    truth = np.arange(60) % 2
    answered = np.where(rng.random((60, 12)) < 0.9, truth[:, None], 1 - truth[:, None])
    item, rater = (x.ravel() for x in np.indices(answered.shape))
    easy = np.flatnonzero((answered.sum(axis=1) <= 1) & (truth == 0))[:5]  # the others agree on these
    table = {
        "item": np.r_[item, easy],
        "rater": np.r_[rater, np.full(len(easy), 12)],
        "label": np.r_[answered.ravel(), np.zeros(len(easy), int)],
    }
    with golden.warns(inference.EstimateWarning):
        estimate = inference.dawid_skene_em(Labels.from_table(table), prior=None, restarts=0)
    share = estimate["plausibility"].sel(item=easy, category=1).sum()
    assert 0 < share < 1e-6
    rows = estimate["confusion"].sel(rater=12)
    assert np.isnan(rows.sel(category=1)).all()
    np.testing.assert_allclose(rows.sel(category=0), [1, 0], atol=1e-12)
    assert np.isfinite(estimate["confusion"].sel(rater=range(12))).all()


@pytest.mark.parametrize(
    "options",
    [
        {"start": "truth"},
        {"prior": "flat"},
        {"restarts": -1},
        {"max_iterations": 0},
        {"random_seed": -1},
        {"random_seed": 1.5},
    ],
)
def test_wrong_arguments(options, golden):
    with golden.raises(ValueError):
        inference.dawid_skene_em(small()[0], **options)
    counts = Labels.from_counts({"item": ["a"], "x": [1], "y": [0]})
    with pytest.raises(ValueError, match="anonymous raters"):
        inference.dawid_skene_em(counts)


def test_patterns_are_exact():
    rng = np.random.default_rng(4)
    item = np.sort(rng.integers(0, 500, 1000))
    rater, label = rng.integers(0, 3, 1000), rng.integers(0, 2, 1000)
    order = np.lexsort((label, rater, item))
    answers = em.coded_answers(item, rater[order], label[order], rng.integers(-1, 2, 500), 2)
    patterns = em.answer_patterns(answers)
    assert len(patterns.multiplicity) < 300 and patterns.multiplicity.sum() == 500
    for i, p in enumerate(patterns.pattern):
        one = answers.code[answers.start[i] : answers.start[i + 1]]
        other = patterns.answers.code[patterns.answers.start[p] : patterns.answers.start[p + 1]]
        np.testing.assert_array_equal(one, other)
        assert answers.gold_category[i] == patterns.answers.gold_category[p]


def test_vote_shares_are_of_weighted_answers_and_one_for_gold():
    item, rater, label = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), np.array([1, 1, 2, 0, 0])
    answers = em.coded_answers(item, rater, label, np.array([-1, 2, -1, 1]), 3)
    uniform = [1 / 3, 1 / 3, 1 / 3]  # of an item without answers
    gold = [[0, 0, 1], [0, 1, 0]]
    np.testing.assert_allclose(em.vote_share(answers, 3), [[0, 2 / 3, 1 / 3], gold[0], uniform, gold[1]])
    weighted = em.vote_share(answers, 3, np.array([0.5, 0.5, 3.0, 1.0, 1.0]))
    np.testing.assert_allclose(weighted, [[0, 0.25, 0.75], gold[0], uniform, gold[1]])


def test_there_is_something_to_learn_from_and_not_too_much(golden):
    silent = Labels.from_table(
        {"item": [1, 2], "rater": [1, 1], "label": ["b", "a"], "count": [0, 0]}, count="count"
    )
    many = Labels.from_table(
        {"item": [1, 2], "rater": [1, 1], "label": ["b", "a"], "count": [2_000_000_000, 1]}, count="count"
    )
    for door in (inference.dawid_skene_em, dawid_skene, one_coin):
        with golden.raises(DataError):
            door(silent)
        with pytest.raises(DataError, match="2,000,000,001 answers"):
            door(many)
    with pytest.raises(ValueError, match="tolerance=nan"):
        few = {"item": [1, 1, 2], "rater": [1, 2, 1], "label": ["b", "a", "a"]}
        inference.dawid_skene_em(Labels.from_table(few), tolerance=np.nan)


def test_votes():
    labels = Labels.from_table(
        {"item": [1, 1, 2, 3], "rater": [1, 2, 1, 1], "label": ["b", "a", "b", "a"], "count": [1, 1, 2, 0]},
        count="count",
    )
    vote = inference.majority_vote(labels)
    assert vote["label"].values.tolist() == ["a", "b", ""]
    assert vote["tied"].values.tolist() == [True, False, False]
    np.testing.assert_array_equal(vote["plausibility"], [[0.5, 0.5], [0, 1], [np.nan, np.nan]])


def test_a_row_without_answers_and_prior_has_no_probabilities():
    nothing = np.zeros(2), np.zeros((4, 2))
    counts = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]])  # (rater * label, category)
    (prevalence, table), log_prior = label_ascent.m_step(nothing, (np.array([3.0, 1.0]), counts))
    np.testing.assert_array_equal(prevalence, [0.75, 0.25])
    np.testing.assert_array_equal(table, [[0.75, 0.0], [0.25, 0.0], [0.0, 0.5], [0.0, 0.5]])
    assert log_prior == 0

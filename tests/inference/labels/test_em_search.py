"""Short runs of many starts and long ones of the best: the optima are those of long runs of all, or better."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raterzoo import inference, papers
from raterzoo.inference.labels import em_search
from raterzoo.inference.scale.confusion_em import ConfusionEm
from raterzoo.models import Labels

from tests.support.executors import InThisProcess

folder = os.environ.get("RATERZOO_DATA")
needs_data = pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")


def found(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return inference.dawid_skene_em(labels, **options)


GROUPED = {  # estimators that are searched alike, with the raters in two groups where the model has groups
    "mace_em": {},
    "mace_em by likelihood": {"variational": False},
    "glad_em": {"prevalence_concentration": 1.0},
    "shared_guess_em": {},
}


def found_by(estimator, labels, **options):
    name = estimator.partition(" ")[0]
    if name == "shared_guess_em":
        options["groups"] = {rater: "ab"[k % 2] for k, rater in enumerate(labels.raters.tolist())}
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return getattr(papers, name)(labels, **GROUPED[estimator], random_seed=1, **options)


def published(name, times=1):
    frame = pd.read_csv(Path(folder) / name).rename(columns={"rating": "label"})
    copies = [frame.assign(item=frame["item"].astype(str) + f" {k}") for k in range(times)]
    return Labels.from_table(pd.concat(copies))


def is_among(plausibility, others):
    return any(np.abs(plausibility - other).max() < 0.02 for other in others)


@needs_data
@pytest.mark.parametrize(
    ("name", "prior"),
    [("gold_cf", "diagonal")]  # by likelihood alone every start there has an optimum of its own
    + [
        (name, prior)
        for name in ("anesthesia", "bluebird_answers", "gold_dog", "gold_temp")
        for prior in (None, "diagonal")
    ],
)
def test_optima_are_no_worse_and_no_fewer_than_of_twenty_runs_to_the_end(name, prior):
    labels = published(f"{name}.csv")
    long = found(labels, prior=prior, restarts=20, random_seed=1)
    search = found(labels, prior=prior, random_seed=1)
    assert search.attrs["converged"] == 1 and search["optimum_found"].sum() >= 21
    assert search["objective"] >= long["objective"] * (1 + 1e-9)  # negative
    for plausibility in long["optimum_plausibility"].to_numpy():
        assert is_among(plausibility, search["optimum_plausibility"].to_numpy())


@needs_data
@pytest.mark.parametrize(
    "name",
    [
        "anesthesia",
        "gold_temp",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("bluebird_answers", "gold_cf", "gold_dog")),
    ],
)
@pytest.mark.parametrize("estimator", GROUPED)
def test_optima_of_other_models_are_no_worse_and_no_fewer(estimator, name):
    labels = published(f"{name}.csv")
    long = found_by(estimator, labels, restarts=20)
    search = found_by(estimator, labels)
    assert search.attrs["converged"] == 1
    assert search.attrs["objective"] >= long.attrs["objective"] * (1 + 1e-9)  # negative
    for plausibility in long["optimum_plausibility"].to_numpy():
        assert is_among(plausibility, search["optimum_plausibility"].to_numpy())
    for one in (long, search):
        objective = one["optimum_objective"].to_numpy()
        assert objective[0] == one.attrs["objective"] and (np.diff(objective) <= 0).all()
        assert one["optimum_found"].sum() == one.sizes["start"] >= 21
        vote = one["start_objective"][0].item()
        assert vote == pytest.approx(objective[int(one["vote_optimum"])], rel=1e-6)
        np.testing.assert_array_equal(one["plausibility"], one["optimum_plausibility"][0])


@needs_data
def test_wrong_twin_any_end_is_a_known_optimum(monkeypatch):
    """The test above sees that a search that takes every run for one to the optimum of the vote names too few."""
    monkeypatch.setattr(em_search, "_near", lambda objective, run: True)
    monkeypatch.setattr(em_search, "SAME_PLAUSIBILITY", 2.0)
    labels = published("gold_temp.csv")
    search = found_by("glad_em", labels)
    monkeypatch.undo()
    long = found_by("glad_em", labels, restarts=20)
    others = search["optimum_plausibility"].to_numpy()
    assert not all(is_among(own, others) for own in long["optimum_plausibility"].to_numpy())


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(em_search, "LARGE", 1000)
    monkeypatch.setattr(em_search, "SAMPLE", 10_000)
    monkeypatch.setattr(em_search, "SAMPLE_OF_RATER", 1)


@needs_data
def test_a_sample_of_the_items_leads_to_a_better_optimum_than_the_vote(small_samples):
    """A hundred times the patients of Dawid and Skene have their optima, of which the vote does not lead to the best."""
    labels = published("anesthesia.csv", times=100)
    search = found(labels, prior=None, random_seed=1)
    objective = search["optimum_objective"].to_numpy() / 100
    assert objective[0] == pytest.approx(-191.5689, abs=1e-4)
    assert objective[int(search["vote_optimum"])] == pytest.approx(-192.890881, abs=1e-5)
    there = found(labels, prior=None, random_seed=1, shards=3, executor=InThisProcess())
    np.testing.assert_allclose(there["optimum_objective"] / 100, objective, rtol=1e-10)
    np.testing.assert_array_equal(there["optimum_found"], search["optimum_found"])


@needs_data
def test_wrong_twin_long_run_of_the_vote_alone(small_samples, monkeypatch):
    monkeypatch.setattr(em_search, "LONG", 0)
    search = found(published("anesthesia.csv", times=100), prior=None, random_seed=1)
    assert search["objective"] / 100 == pytest.approx(-192.890881, abs=1e-5)


@needs_data
@pytest.mark.parametrize("estimator", GROUPED)
def test_long_runs_of_other_models_start_from_a_sample(small_samples, estimator):
    labels = published("gold_temp.csv", times=8)
    long = found_by(estimator, labels, restarts=3)
    search = found_by(estimator, labels)
    assert search.attrs["converged"] == 1
    assert search.attrs["objective"] >= long.attrs["objective"] * (1 + 1e-9)
    vote = found_by(estimator, labels, restarts=0)
    assert search["start_objective"][0] == pytest.approx(vote.attrs["objective"], rel=1e-9)


def test_runs_that_come_to_the_optimum_of_the_vote_are_not_followed(monkeypatch):
    passes = []
    m_step = ConfusionEm.m_step
    monkeypatch.setattr(ConfusionEm, "m_step", lambda *a: passes.append(1) or m_step(*a))
    rng = np.random.default_rng(1)
    truth = rng.random(300) < 0.5
    item, rater = (x.ravel() for x in np.indices((300, 6)))
    label = (truth[item] ^ (rng.random(1800) < 0.3)).astype(int)
    labels = Labels.from_table({"item": item, "rater": rater, "label": label})
    of_vote = found(labels, restarts=0)
    from_vote = len(passes)
    assert from_vote == of_vote.attrs["iterations"] > 15
    long = found(labels, restarts=20, random_seed=1)
    to_the_end = len(passes) - from_vote
    search = found(labels, random_seed=1)
    assert len(passes) - from_vote - to_the_end < 0.8 * to_the_end
    assert search["optimum_found"].to_numpy().tolist() == [21] == long["optimum_found"].to_numpy().tolist()
    np.testing.assert_allclose(search["confusion"], long["confusion"], atol=1e-4)

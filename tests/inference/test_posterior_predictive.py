"""Replicates of the data: their law against enumeration, leave-one-out PIT, draws, ids, memory and errors."""

import tracemalloc
from dataclasses import replace

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import inference, models
from scipy import stats

ITEMS = 400
PREVALENCE = np.array([0.7, 0.3])
CONFUSION = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]])  # (rater, category, answer)


def answers_of_two(items=ITEMS, seed=0):
    rng = np.random.default_rng(seed)
    rows = {"item": np.repeat(np.arange(items), 2), "rater": np.tile([0, 1], items)}
    return pd.DataFrame(rows | {"label": rng.integers(0, 2, 2 * items)})


def at_a_point(items):
    """Return the Dawid-Skene model of two raters, and a tree of 2 x 50 draws that are all the same point."""
    table = answers_of_two(items)
    model = models.dawid_skene(models.Labels.from_table(table, item="item", rater="rater", label="label"))
    dims = {"prevalence": ("category",), "confusion": ("rater", "category", "answer")}
    values = {"prevalence": PREVALENCE, "confusion": CONFUSION}
    draws = {
        n: (("chain", "draw", *d), np.broadcast_to(values[n], (2, 50, *values[n].shape)))
        for n, d in dims.items()
    }
    return model, xr.DataTree.from_dict({"posterior": xr.Dataset(draws)})


@pytest.fixture(scope="module")
def fitted():
    """Model and tree of `at_a_point` with few items."""
    return at_a_point(ITEMS)


def p_value(pairs, law):
    """Chi-squared test of the numbers of pairs of answers (pair, 2) to items against p(first, second)."""
    found = np.bincount(2 * pairs[:, 0] + pairs[:, 1], minlength=4)
    return stats.chisquare(found, law.ravel() * found.sum()).pvalue


def test_replicates_are_of_the_marginal_law(fitted):
    model, tree = fitted
    predicted = inference.predict(tree, model, random_seed=1, progressbar=False)
    pairs = predicted["posterior_predictive"]["observed_label"].to_numpy().reshape(-1, 2)
    law = np.einsum("t,ta,tb->ab", PREVALENCE, *CONFUSION)  # one truth behind both answers to an item
    assert p_value(pairs, law) > 0.001
    separate = np.outer(PREVALENCE @ CONFUSION[0], PREVALENCE @ CONFUSION[1])  # a truth for each answer
    assert p_value(pairs, separate) < 1e-6


def test_draws_are_evenly_spaced_reproducible_and_of_the_tree(fitted):
    model, tree = fitted
    first, again = (inference.predict(tree, model, draws=8, progressbar=False) for _ in range(2))
    xr.testing.assert_identical(first["posterior_predictive"], again["posterior_predictive"])
    assert first["posterior"]["prevalence"].sizes == {"chain": 2, "draw": 4, "category": 2}
    other = inference.predict(tree, model, draws=8, random_seed=2, progressbar=False)
    assert (
        (other["posterior_predictive"] != first["posterior_predictive"]).any().to_dataset()["observed_label"]
    )
    numbered = tree.copy()
    numbered["posterior"] = numbered["posterior"].to_dataset().assign_coords(draw=np.arange(50))
    kept = inference.predict(numbered, model, draws=8, progressbar=False)["posterior_predictive"]["draw"]
    assert kept.to_numpy().tolist() == [6, 18, 30, 42]
    assert inference.predict(tree, model, draws=1, progressbar=False)["posterior"].sizes["draw"] == 1


def test_memory_is_that_of_the_replicates():
    model, tree = at_a_point(20_000)
    peaks = []
    for draws in (2, 100):
        tracemalloc.start()
        predicted = inference.predict(tree, model, draws=draws, progressbar=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    replicates = predicted["posterior_predictive"]["observed_label"]
    assert replicates.dtype == np.int8
    assert peaks[1] - peaks[0] < 1.3 * replicates.nbytes


def test_fewer_replicates_of_large_data(fitted, monkeypatch, golden):
    model, tree = fitted
    monkeypatch.setattr("raterzoo.inference.posterior_predictive.MOST_BYTES_OF_REPLICATES", 2 * ITEMS * 20)
    assert inference.predict(tree, model, progressbar=False)["posterior"].sizes["draw"] == 10
    assert inference.predict(tree, model, draws=60, progressbar=False)["posterior"].sizes["draw"] == 30
    monkeypatch.setenv("RATERZOO_MEMORY_GB", "1e-6")
    with golden.raises(ValueError):
        inference.predict(tree, model, progressbar=False)


@pytest.fixture(scope="module")
def sampled():
    """Model of labels in which item "b" has neither an answer nor a gold label, and its tree."""
    table = pd.DataFrame({"item": [*"aabccdd"], "rater": [*"xyxxyxy"], "label": [0, 1, 0, 1, 1, 0, 0]})
    labels = models.Labels.from_table(table.assign(count=[1, 1, 0, 1, 1, 1, 1]), count="count")
    model = models.multinomial(labels)
    tree = inference.sample(model, draws=200, random_seed=1, progressbar=False, predictive=True)
    return labels, model, tree


@pytest.mark.slow
def test_log_likelihood_is_that_of_the_item_of_each_answer(sampled):
    _, model, tree = sampled
    assert tree["log_likelihood"]["item"].to_numpy().tolist() == [*"acd"]
    predicted = inference.predict(tree, model, progressbar=False)
    step = tree["posterior"].sizes["draw"] // predicted["posterior"].sizes["draw"]
    by_item = tree["log_likelihood"]["observed_label"].isel(draw=slice((step - 1) // 2, None, step))
    by_answer = predicted["log_likelihood"]["observed_label"].to_numpy()
    np.testing.assert_array_equal(by_answer, by_item.sel(item=[*"aaccdd"]).to_numpy())
    assert az.loo_pit(predicted)["observed_label"].sizes == {"annotation": 6}


def test_sample_adds_the_replicates_of_predict(sampled):
    _, model, tree = sampled
    predicted = inference.predict(tree, model, log_likelihood=False, progressbar=False)
    xr.testing.assert_identical(
        tree["posterior_predictive"].to_dataset(), predicted["posterior_predictive"].to_dataset()
    )
    assert "log_likelihood" not in predicted.children
    assert tree["log_likelihood"].sizes["draw"] == tree["posterior"].sizes["draw"] == 200


def test_large_log_likelihoods_are_left_out_unless_asked_for(sampled, monkeypatch, golden):
    _, model, tree = sampled
    monkeypatch.setattr("raterzoo.inference.posterior_predictive.MOST_BYTES", 100)
    assert "log_likelihood" not in inference.predict(tree, model, progressbar=False).children
    asked = inference.predict(tree, model, log_likelihood=True, progressbar=False)
    assert "log_likelihood" in asked.children
    bare = tree.drop_nodes("log_likelihood")
    with golden.raises(ValueError):
        inference.predict(bare, model, log_likelihood=True, progressbar=False)


def test_tree_of_another_model_or_other_data_is_refused(sampled, golden):
    labels, model, tree = sampled
    other = replace(labels, label_code=1 - labels.label_code)
    wrong = [
        (tree, models.multinomial(other)),
        (tree, models.one_coin(labels)),
        (tree, models.dawid_skene(labels)),
        (tree.drop_nodes("posterior"), model),
        (tree, tree),
    ]
    for given, of in wrong:
        with golden.raises(ValueError):
            inference.predict(given, of, progressbar=False)
    with pytest.raises(ValueError, match="draws=0"):
        inference.predict(tree, model, draws=0)


def test_sampling_refuses_replicates_that_cannot_be_drawn_before_it_draws(tmp_path, golden):
    rankings = models.simulators.rankings(items=4, raters=3, categories=4, random_seed=1).data
    with golden.raises(ValueError):
        inference.sample(models.plackett_luce(rankings), predictive=True)
    with golden.raises(ValueError):
        inference.sample(models.prirn(rankings), predictive=True)
    model = models.plackett_luce(rankings, candidates="all")
    with golden.raises(ValueError):
        inference.sample(model, predictive=True, store=tmp_path / "run.zarr")
    assert not (tmp_path / "run.zarr").exists()

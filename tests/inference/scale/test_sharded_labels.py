"""EM and Gibbs of Dawid and Skene's model in shards: as without them, for any number of shards and workers."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference
from raterzoo.inference.kernels.random_streams import item_streams
from raterzoo.inference.labels.kernels.sharded import count_drawn_categories
from raterzoo.inference.scale import sharded_answers
from raterzoo.inference.scale import sharded_gibbs as shared_chains
from raterzoo.inference.scale.sharded_answers import shard_edges
from raterzoo.models import Labels

from tests.support.executors import InThisProcess, Stopped, Stops
from tests.support.label_designs import exact_means, favoured, tiny_labels
from tests.support.monte_carlo import bonferroni_threshold, mc_z, seed_of


def crowd(items=300, each=4, categories=3, raters=10):
    rng = np.random.default_rng(1)
    truth, item = rng.integers(0, categories, items), np.repeat(np.arange(items), each)
    guess = rng.integers(0, categories, len(item))
    label = np.where(rng.random(len(item)) < 0.6, truth[item], guess)
    gold = np.where(item % 50 == 0, truth[item].astype(str), "")
    frame = {"item": item, "rater": rng.integers(0, raters, len(item)), "label": label.astype(str)}
    return Labels.from_table(frame | {"gold": gold}, gold="gold")


def em(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return inference.dawid_skene_em(labels, **options)


@pytest.mark.parametrize("prior", ["diagonal", None])
@pytest.mark.parametrize("shards", [1, 7])
def test_em_in_shards_is_em(prior, shards):
    labels = crowd()
    whole = em(labels, prior=prior, restarts=0)
    there = em(labels, prior=prior, restarts=0, shards=shards, executor=InThisProcess())
    assert there.attrs["iterations"] == whole.attrs["iterations"] > 5
    for name, values in whole.data_vars.items():
        np.testing.assert_allclose(there[name], values, rtol=0, atol=1e-10 * max(1, abs(values).max()))


def test_a_lost_shard_is_noticed(monkeypatch):
    """The wrong twin of the test above: one shard does not answer."""
    labels = crowd()
    whole = em(labels, restarts=0)
    monkeypatch.setattr("raterzoo.inference.scale.sharded_em.total", lambda parts: next(iter(parts)))
    there = em(labels, restarts=0, shards=7, executor=InThisProcess())
    assert abs(there["prevalence"] - whole["prevalence"]).max() > 1e-3


def test_em_does_not_depend_on_who_works():
    labels = crowd()
    own, threads = (
        em(labels, restarts=2, shards=5, random_seed=3, executor=executor)
        for executor in (InThisProcess(), ThreadPoolExecutor(3))
    )
    xr.testing.assert_identical(own, threads)
    other = em(labels, restarts=2, shards=2, random_seed=3, executor=InThisProcess())
    np.testing.assert_allclose(other["plausibility"], own["plausibility"], atol=1e-10)


@pytest.mark.slow  # processes import and compile
def test_em_in_processes_is_that_of_one():
    labels = crowd()
    own, processes = (
        em(labels, restarts=2, shards=5, random_seed=3, executor=executor)
        for executor in (InThisProcess(), 2)
    )
    xr.testing.assert_identical(own, processes)


def test_restarts_are_drawn_near_the_vote():
    labels = crowd()
    found = em(labels, restarts=5, shards=3, random_seed=3, executor=InThisProcess())
    whole = em(labels, restarts=5, random_seed=3)
    assert int(found["optimum_found"].sum()) == 6
    best = found["optimum_log_likelihood"][0]
    assert float(best) == pytest.approx(float(whole["optimum_log_likelihood"][0]), rel=1e-6)


@pytest.mark.parametrize("shards", [0, True, 1.5])
def test_shards_are_counted(shards):
    with pytest.raises(ValueError, match="shards="):
        em(crowd(), shards=shards, executor=InThisProcess())


def test_shards_are_named_by_their_items():
    work = sharded_answers.LabelWork(crowd(items=5), [None] * 2, np.array([0, 2, 5]), None)
    assert [work.named(number) for number in range(3)] == [
        "the labels of items 0 to 1",
        "the labels of items 2 to 4",
        "the labels of items 0 to 1",
    ]


def test_draws_that_are_not_stored_send_counts_alone(tmp_path):
    labels = crowd(items=5)
    (shard,) = sharded_answers.write_label_shards(labels, np.array([0, 5]), tmp_path)
    table = np.full((len(labels.raters) * 3, 3), 1 / 3)
    sweep = sharded_answers.Sweep(1, 0, 0)
    counts, stored = sharded_answers.draw_categories(shard, (np.full(3, 1 / 3), table), sweep, None)
    assert stored is None and counts[0].sum() == 5


def test_shards_hold_about_as_many_answers():
    labels = crowd()
    edges = shard_edges(labels, 7)
    answers = np.diff(np.searchsorted(labels.annotation_item, edges))
    assert edges[0] == 0 and edges[-1] == 300 and len(edges) == 8
    assert np.ptp(answers) <= 8
    assert shard_edges(labels, 10_000).tolist() == list(range(301))


def gibbs(labels, store, **options):
    given = {"draws": 60, "chains": 2, "tune": 10, "progressbar": False, "random_seed": 4}
    return inference.dawid_skene_gibbs(labels, store=store, **(given | options))


def assert_same(one, other):
    assert set(one.children) == set(other.children)
    for name, node in one.children.items():
        xr.testing.assert_identical(node.to_dataset().load(), other[name].to_dataset().load())


@pytest.mark.slow
def test_gibbs_is_the_same_for_any_shards_and_workers(tmp_path):
    labels = crowd(items=60)
    first = gibbs(labels, tmp_path / "0.zarr", shards=1, executor=InThisProcess())
    for number, (shards, executor) in enumerate([(7, ThreadPoolExecutor(3)), (3, 2)], 1):
        store = tmp_path / f"{number}.zarr"
        assert_same(first, gibbs(labels, store, shards=shards, executor=executor))


def test_gibbs_looks_like_sample(tmp_path):
    """Groups, variables, dims, coordinates and types; the draws themselves are others."""
    from raterzoo.models import dawid_skene

    labels = tiny_labels()
    options = {"draws": 60, "chains": 2, "random_seed": 4, "progressbar": False, "tune": 10}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        whole = inference.sample(dawid_skene(labels), thin=1, **options)
    tree = gibbs(labels, tmp_path / "0.zarr", executor=InThisProcess())
    assert set(tree.children) == set(whole.children)
    for name, node in whole.children.items():
        there, ours = tree[name].to_dataset(), node.to_dataset()
        assert set(there.variables) == set(ours.variables), name
        for variable, values in ours.variables.items():
            own = there.variables[variable]
            assert (own.dims, own.shape, own.attrs) == (values.dims, values.shape, values.attrs)
            assert own.dtype == values.dtype, (name, variable)
        if name in ("constant_data", "observed_data"):
            xr.testing.assert_identical(there.load(), ours)
        else:
            xr.testing.assert_identical(there.coords.to_dataset().load(), ours.coords.to_dataset())


LONG = {"draws": 1000, "chains": 2, "tune": 50, "shards": 2}


def z_of(tree, labels):
    beta = np.broadcast_to(favoured(2), (len(labels.raters), 2, 2))
    exact = exact_means(labels, np.ones(2), beta)
    z = [mc_z(tree["posterior"][name].to_numpy(), exact[name]) for name in exact]
    flat = np.concatenate([np.ravel(own) for own in z])
    return flat[~np.isnan(flat)]


@pytest.mark.slow
def test_gibbs_against_enumeration(tmp_path):
    labels = tiny_labels()
    seed = seed_of("test_gibbs_against_enumeration")
    options = LONG | {"random_seed": seed, "dtype": "float64", "executor": InThisProcess()}
    z = z_of(gibbs(labels, tmp_path / "0.zarr", **options), labels)
    finite = np.abs(z[np.isfinite(z)])
    assert finite.max() < bonferroni_threshold(len(z))


@pytest.mark.slow
def test_wrong_twin_counts_of_one_shard_are_lost(tmp_path, monkeypatch):
    def forgetful(shard, *arguments):
        counts, stored = sharded_answers.draw_categories(shard, *arguments)
        return (counts[0] * (shard.number == 0), counts[1] * (shard.number == 0)), stored

    monkeypatch.setattr(shared_chains, "draw_categories", forgetful)
    labels = tiny_labels()
    options = LONG | {"random_seed": 1, "dtype": "float64", "executor": InThisProcess()}
    z = z_of(gibbs(labels, tmp_path / "0.zarr", **options), labels)
    assert np.abs(z).max() > bonferroni_threshold(len(z))


def test_an_interrupted_chain_goes_on(tmp_path, monkeypatch):
    labels, run = tiny_labels(), partial(gibbs, tiny_labels(), draws=9)
    monkeypatch.setattr("raterzoo.inference.scale.sharded_gibbs.BUFFER", 240)  # two draws at a time
    whole = run(tmp_path / "0.zarr", executor=InThisProcess())
    with pytest.raises(Stopped):
        run(tmp_path / "1.zarr", executor=Stops(2 * (1 + 10 + 5)))
    rest = InThisProcess()
    assert_same(whole, run(tmp_path / "1.zarr", executor=rest, shards=2))
    assert rest.done == 2 * 2 * (9 - 4)  # four of nine draws were there
    with pytest.raises(ValueError, match="draws=9, not 10"):
        run(tmp_path / "1.zarr", draws=10)
    with pytest.raises(ValueError, match="labels="):
        gibbs(labels.select(items=["a", "b"]), tmp_path / "1.zarr", draws=9)


def test_drawn_categories_have_their_probabilities():
    p = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
    pattern = np.repeat([0, 1], [40_000, 10])
    counts = np.zeros((2, 3))
    words = np.array([1, 2, 3, 4], np.uint64)
    streams = item_streams(np.arange(len(pattern), dtype=np.uint64), words)
    count_drawn_categories(streams, pattern, p, counts)
    assert counts[1].tolist() == [0, 0, 10]
    z = (counts[0] - 40_000 * p[0]) / np.sqrt(40_000 * p[0] * (1 - p[0]))
    assert np.abs(z).max() < bonferroni_threshold(3)


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"thin": 1.5}, {"dtype": "int8"}])
def test_numbers_are_checked(wrong, tmp_path):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gibbs(tiny_labels(), tmp_path / "0.zarr", **wrong)


def test_anonymous_raters_are_refused(tmp_path):
    labels = Labels.from_counts({"item": ["a"], "x": [2], "y": [1]})
    with pytest.raises(ValueError, match="anonymous"):
        gibbs(labels, tmp_path / "0.zarr")

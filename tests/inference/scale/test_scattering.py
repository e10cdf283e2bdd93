"""Scattered draws are those of `sample` to the bit, whoever draws them and however they are divided; what cannot be scattered."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.scale import scatter
from raterzoo.inference.scale.item_shards import sample_shard
from raterzoo.posterior import plausibility

from tests.support.executors import Stopped, Stops

FEW = {"draws": 20, "chains": 2, "random_seed": 5, "progressbar": False}


def ddx():
    return models.published_ddx_cases()


def votes():
    """Answers to 15 items, of which one has none."""
    rng = np.random.default_rng(0)
    frame = {"item": rng.integers(0, 15, 60).astype(str), "label": rng.choice(["x", "y", "z"], 60)}
    frame |= {"rater": rng.integers(0, 4, 60).astype(str), "count": np.ones(60, int)}
    frame["count"][frame["item"] == "3"] = 0
    return models.Labels.from_table(frame, count="count")


def scores():
    score = np.random.default_rng(0).normal(size=60)
    place = np.arange(60)
    return models.Scores.from_table({"item": place % 12, "rater": place % 5, "score": score})


def powers():
    return {rater: 1 + place % 2 for place, rater in enumerate(ddx().raters.tolist())}


CASES = {
    "plackett_luce": (partial(models.plackett_luce, reliability=2), ddx),
    "every category": (partial(models.plackett_luce, candidates="all", reliability=powers()), ddx),
    "prirn": (models.prirn, ddx),
    "dirichlet": (models.dirichlet, votes),
    "normal_scores": (partial(models.normal_scores, mean=0.1, mean_weight=0.3, rate=0.7), scores),
}


def quietly(function, *arguments, **options):
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return function(*arguments, **options)


def assert_same_bits(tree, whole):
    assert set(tree.children) == set(whole.children)
    for name, node in whole.children.items():
        there, ours = tree[name].to_dataset().load(), node.to_dataset()
        xr.testing.assert_identical(there, ours)
        assert all(there[v].dtype == ours[v].dtype for v in ours.data_vars)


@pytest.mark.parametrize(("case", "shard"), [("plackett_luce", 1), *((case, 5) for case in CASES)])
def test_same_bits_as_sample(case, shard, tmp_path):
    build, data = CASES[case][0], CASES[case][1]()
    whole = quietly(inference.sample, build(data), **FEW)
    with ThreadPoolExecutor(2) as threads:
        store = tmp_path / "draws.zarr"
        tree = quietly(inference.scatter, build, data, threads, store=store, shard=shard, **FEW)
    assert_same_bits(tree, whole)
    assert {tree.attrs[k] for k in ("model", "method", "seed")} == {
        whole.attrs[k] for k in ("model", "method", "seed")
    }


@pytest.mark.parametrize("keep", ["thinned", "summary"])
def test_the_same_is_kept_as_by_sample(keep, tmp_path, monkeypatch):
    monkeypatch.setattr(plausibility, "BLOCK_SIZE", 1_000)  # many blocks
    build, data = CASES["plackett_luce"][0], ddx()
    whole = quietly(inference.sample, build(data), keep=keep, **FEW)
    with ThreadPoolExecutor(2) as threads:
        store = tmp_path / "draws.zarr"
        tree = quietly(inference.scatter, build, data, threads, store=store, keep=keep, **FEW)
    assert set(tree.children) == set(whole.children)
    for name in set(whole.children) - {"diagnosis"}:
        xr.testing.assert_equal(tree[name].to_dataset().load(), whole[name].to_dataset())
    ours, theirs = inference.diagnose(tree), inference.diagnose(whole)
    assert (ours.attrs, ours.equals(theirs)) == (theirs.attrs, True)
    assert tree.attrs["keep"] == keep
    xr.testing.assert_equal(
        evaluation.annotation_certainty(tree, 2), evaluation.annotation_certainty(whole, 2)
    )


def killing(submit, pids, at):
    """Return `submit`, which kills one of the processes `pids()` at some of its calls."""
    calls = iter(range(10**6))

    def submitting(*task, **options):
        future = submit(*task, **options)
        if next(calls) in at:
            os.kill(next(iter(pids())), signal.SIGKILL)
        return future

    return submitting


@pytest.mark.slow  # processes import and compile; workers that die are also those of test_workers.py
def test_a_killed_process_stops_a_call_that_goes_on(tmp_path, monkeypatch):
    build, data = CASES["plackett_luce"][0], ddx()
    scattered = partial(
        quietly, inference.scatter, build, data, store=tmp_path / "draws.zarr", shard=1, **FEW
    )
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(RuntimeError, match="dask"):
        monkeypatch.setattr(pool, "submit", killing(pool.submit, lambda: pool._processes, [4]))
        scattered(pool)
    assert_same_bits(scattered(1), quietly(inference.sample, build(data), **FEW))


@pytest.mark.slow
def test_an_interrupted_call_goes_on_with_what_is_missing(tmp_path):
    build, data = CASES["plackett_luce"][0], ddx()
    whole, store = quietly(inference.sample, build(data), **FEW), tmp_path / "draws.zarr"
    again = partial(quietly, inference.scatter, build, data, store=store, **FEW)
    with pytest.raises(Stopped):
        again(Stops(3), shard=1)  # of which two have come
    rest = Stops(3)
    tree = again(rest, shard=2)
    assert rest.done == 3  # the first of four shards was there
    assert_same_bits(tree, whole)
    assert_same_bits(again(Stops(0)), whole)  # a finished one is opened
    for wrong in ({"draws": 21}, {"random_seed": 6}, {"thin": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            again(Stops(0), **{k: v for k, v in wrong.items()})
    other = models.PartialRankings.select(data, items=data.items[:3])
    with pytest.raises(ValueError, match="data="):
        inference.scatter(build, other, Stops(0), store=store, **FEW)


CHILD = """
import sys, functools
from raterzoo import evaluation, inference, models
from raterzoo.posterior import plausibility
if __name__ == "__main__":
    build = functools.partial(models.plackett_luce, reliability=2)
    inference.scatter(build, models.published_ddx_cases(), 1, store=sys.argv[1], shard=1, draws=20, chains=2, random_seed=5)
"""


def test_a_stopped_call_says_that_its_repetition_goes_on(tmp_path, monkeypatch):
    add, store = scatter.ShardWriter.add, tmp_path / "r.zarr"

    def interrupted(own, *drawn):
        add(own, *drawn)
        raise KeyboardInterrupt

    monkeypatch.setattr(scatter.ShardWriter, "add", interrupted)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt) as stopped:
        quietly(inference.scatter, models.dirichlet, votes(), pool, store=store, shard=5, **FEW)
    assert str(stopped.value) == f"stopped: {store} keeps what was drawn; the same call goes on with it"


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_a_store_to_go_on_with(tmp_path):
    build, data, store = CASES["plackett_luce"][0], ddx(), tmp_path / "draws.zarr"
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    journal = Path(f"{store}.journal") / "state.npz"
    child = subprocess.Popen([sys.executable, str(script), str(store)], stderr=subprocess.DEVNULL)
    while not journal.exists() and child.poll() is None:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert journal.exists()
    with ThreadPoolExecutor(1) as thread:
        tree = quietly(inference.scatter, build, data, thread, store=store, shard=1, **FEW)
    assert_same_bits(tree, quietly(inference.sample, build(data), **FEW))


def test_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    build, data = CASES["dirichlet"][0], votes()
    options = {"processes": False, "dashboard_address": ":0", "n_workers": 1}
    with (
        distributed.LocalCluster(threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        store = tmp_path / "draws.zarr"
        tree = inference.scatter(lambda d: build(d), data, client, store=store, shard=5, **FEW)
    assert_same_bits(tree, inference.sample(build(data), **FEW))


@pytest.mark.long
def test_workers_of_dask_that_are_killed_lose_nothing(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    build, data = CASES["dirichlet"][0], votes()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        pids = [*client.run(os.getpid).values()]
        monkeypatch.setattr(client, "submit", killing(client.submit, lambda: [pids.pop()], [2, 9]))
        store = tmp_path / "draws.zarr"
        tree = inference.scatter(lambda d: build(d), data, client, store=store, shard=1, **FEW)
    assert not pids
    assert_same_bits(tree, inference.sample(build(data), **FEW))


def hierarchical(data):
    return models.hierarchical_scores(data)


@pytest.mark.parametrize(
    ("build", "data", "message"),
    [
        (models.dawid_skene, votes, "dawid_skene_gibbs"),
        (models.hierarchical_dawid_skene, votes, "step size"),
        (hierarchical, scores, "not independent"),
        (models.tempered_plackett_luce, ddx, "step size"),
    ],
)
def test_models_whose_items_are_not_independent_are_refused(build, data, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        inference.scatter(build, data(), Stops(0), store=tmp_path / "d.zarr", **FEW)


def test_a_prior_that_is_taken_from_the_data_is_refused(tmp_path):
    with pytest.raises(ValueError, match="differs from their prior") as refused:
        inference.scatter(models.normal_scores, scores(), Stops(9), store=tmp_path / "d.zarr", shard=3, **FEW)
    assert "3 items from 0 to 2" in refused.value.__notes__[0]


def test_a_builder_that_cannot_be_sent_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"functools\.partial"):
        inference.scatter(lambda data: models.prirn(data), ddx(), 1, store=tmp_path / "d.zarr")


@pytest.mark.parametrize("wrong", [{"shard": 0}, {"draws": 0}, {"chains": True}, {"dtype": "int8"}])
def test_numbers_are_checked(wrong, tmp_path):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        inference.scatter(models.prirn, ddx(), Stops(0), store=tmp_path / "d.zarr", **wrong)


def test_executor_is_checked(tmp_path):
    with pytest.raises(ValueError, match="has no method submit"):
        inference.scatter(models.prirn, ddx(), "processes", store=tmp_path / "d.zarr")


def test_a_store_of_something_else_is_not_written_to(tmp_path):
    store = tmp_path / "d.zarr"
    xr.DataTree.from_dict({"posterior": xr.Dataset({"x": 1.0})}).to_zarr(store, consolidated=False)
    with pytest.raises(ValueError, match="name another store"):
        inference.scatter(models.prirn, ddx(), Stops(0), store=store, **FEW)


def test_wrong_twin_a_seed_by_shard_is_noticed(tmp_path, monkeypatch):
    """Draws whose seed depends on the shard differ from those of all items."""

    def seeded_by_shard(shard, build, options):
        first = len(shard.data.items[0]) + len(shard.data.annotation_item)
        return sample_shard(shard, build, options | {"random_seed": options["random_seed"] + first})

    monkeypatch.setattr("raterzoo.inference.scale.scatter.sample_shard", seeded_by_shard)
    build, data = CASES["plackett_luce"][0], ddx()
    whole = quietly(inference.sample, build(data), **FEW)
    with ThreadPoolExecutor(1) as thread:
        store = tmp_path / "d.zarr"
        tree = quietly(inference.scatter, build, data, thread, store=store, shard=2, **FEW)
    with pytest.raises(AssertionError):
        assert_same_bits(tree, whole)
    assert json.loads(tree.attrs["asked"])["random_seed"] == 5

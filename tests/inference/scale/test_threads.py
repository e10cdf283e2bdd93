"""Shards on threads of one process: graphs are compiled by one thread at a time, and nothing of the process is changed."""

import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import numpy as np
import pymc as pm
import pytest
from pytensor import config
from pytensor.compile import maker
from raterzoo import inference, models

from tests.support.executors import InThisProcess

BUILD = partial(models.normal_scores, mean=0.1, mean_weight=0.3, rate=0.7)

USERS = ("runs.model_graph", "runs.trees", "methods", "sampling", "scale.scatter", "scale.item_shards")


def with_a_deterministic(data):
    """Scores with a variable that PyTensor computes from every draw."""
    model = BUILD(data)
    with model:
        pm.Deterministic("twice", 2 * model["location"], dims="item")
    return model


def scores(items=12):
    score = np.random.default_rng(0).normal(size=5 * items)
    place = np.arange(5 * items)
    return models.Scores.from_table({"item": place % items, "rater": place % 5, "score": score})


def scattered(build, data, executor, store, **options):
    options = {"draws": 20, "chains": 2, "random_seed": 5, "progressbar": False, "shard": 1} | options
    return inference.scatter(build, data, executor, store=store, **options)


@pytest.fixture
def compiling(monkeypatch):
    """Numbers of threads that PyTensor compiles in at each compilation, which is slowed down."""
    at_work, found, guard = [0], [], threading.Lock()

    def slowly(*arguments, **options):
        with guard:
            at_work[0] += 1
            found.append(at_work[0])
        time.sleep(0.01)
        inserted(*arguments, **options)
        with guard:
            at_work[0] -= 1

    inserted = maker.insert_deepcopy  # called while the mode of the process is changed
    monkeypatch.setattr(maker, "insert_deepcopy", slowly)
    return found


@pytest.mark.slow
def test_one_thread_at_a_time_compiles(compiling, tmp_path):
    mode, interval = config.mode, sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for repetition in range(3):
            with ThreadPoolExecutor(4) as threads:
                scattered(with_a_deterministic, scores(), threads, tmp_path / f"{repetition}.zarr")
            assert config.mode is mode
    finally:
        sys.setswitchinterval(interval)
    assert len(compiling) >= 3 * 2 * 12  # the scale and the deterministic, in every shard
    assert max(compiling) == 1


def test_wrong_twin_without_the_lock_is_noticed(compiling, monkeypatch, tmp_path):
    for module in USERS:
        monkeypatch.setattr(f"raterzoo.inference.{module}.graph_lock", nullcontext())
    with config.change_flags(mode=config.mode), ThreadPoolExecutor(4) as threads:
        scattered(with_a_deterministic, scores(), threads, tmp_path / "draws.zarr")
        assert max(compiling) > 1


@pytest.mark.slow
def test_warnings_of_shards_are_counted_and_no_filter_is_left(tmp_path):
    """Rankings of few draws: every shard warns; the filters of warnings belong to the process, not to a thread."""
    build, data = partial(models.plackett_luce, reliability=2), models.published_ddx_cases()
    filters, show = [*warnings.filters], warnings.showwarning
    found = []
    for executor in (InThisProcess(), ThreadPoolExecutor(4)):
        with pytest.warns(inference.ConvergenceWarning, match="shards failed a convergence check"):
            found.append(scattered(build, data, executor, tmp_path / f"{len(found)}.zarr").attrs)
        assert warnings.filters == filters and warnings.showwarning is show
    assert found[0]["shards_warned"] == found[1]["shards_warned"] == len(data.items)

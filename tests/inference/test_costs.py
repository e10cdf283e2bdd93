"""Memory of a run is estimated before its first draw, said if large, and refused beyond the machine."""

import tracemalloc
import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference import checkpoints, kept_draws, sampling
from raterzoo.inference.runs.run import SinglePrecisionError
from raterzoo.inference.storage.store import MOST_BYTES

from tests.support.monte_carlo import assert_rejects_twin
from tests.support.runs import Draws, route_of
from tests.support.stores import read_draws

SIZE = {"draws": 300, "chains": 4, "random_seed": 1, "progressbar": False}


def plan(**changed):
    """Options of `sample` as it passes them on."""
    asked = {"draws": 300, "tune": None, "chains": 4, "cores": 2, "seed": 1, "progressbar": False, "thin": 1}
    return Draws(**asked | {"dtype": "float32", "densities": True} | changed)


def labels(items=200, raters=20, categories=8, answers=5):
    size = {"items": items, "raters": raters, "categories": categories, "answers": answers}
    return models.simulators.labels(**size, random_seed=1).data


def builders():
    rankings = models.simulators.rankings(items=60, block_sizes=(1, 2), random_seed=1).data
    pairs = models.simulators.comparisons(items=80, raters=30, degree=4, random_seed=1).data
    return {
        "dawid_skene": lambda: models.dawid_skene(labels()),
        "dirichlet": lambda: models.dirichlet(labels(2000)),
        "plackett_luce": lambda: models.plackett_luce(rankings),
        "bradley_terry": lambda: models.bradley_terry(pairs),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dirichlet",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("dawid_skene", "plackett_luce", "bradley_terry")),
    ],
)
def test_memory_is_within_a_factor_of_two(name):
    """The peak of all arrays that `sample` makes, by Python's own count."""
    model = builders()[name]()
    estimate = kept_draws.Costs(model, plan()).of_run(route_of(model).method).memory
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        inference.sample(model, **SIZE | {"draws": 4}, thin=1)  # compiles and imports
        tracemalloc.start()
        inference.sample(model, **SIZE, thin=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    def check(estimate):
        assert peak / 2 < estimate < 2 * peak

    check(estimate)
    assert_rejects_twin(check, estimate / 4)


def huge():
    """As many categories as nobody should ask raters to keep apart."""
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200)
    table = {"item": item, "rater": rater, "label": rng.integers(0, 300, 600)}
    return models.dawid_skene(models.Labels.from_table(table, categories=range(300)))


def test_three_hundred_categories_are_said_before_the_first_draw(monkeypatch, golden):
    model = huge()
    own = kept_draws.Costs(model, plan(draws=1000, thin="pilot"))
    monkeypatch.setenv(kept_draws.ALLOWED, "4")
    with golden.raises(ValueError):
        own.check_run("gibbs")
    monkeypatch.setenv(kept_draws.ALLOWED, "1000")
    with golden.warns(inference.CostWarning):
        own.check_run("gibbs")
    with warnings.catch_warnings(action="error"):
        own.check_run("gibbs")  # once


def test_an_allowance_must_be_a_number(monkeypatch, golden):
    monkeypatch.setenv(kept_draws.ALLOWED, "much")
    monkeypatch.setattr(kept_draws, "SMALL", 0)
    with golden.raises(ValueError):
        inference.sample(builders()["dirichlet"](), **SIZE)


def test_nuts_is_estimated_before_it_is_compiled(monkeypatch, golden):
    model = models.glad(labels())
    monkeypatch.setattr(kept_draws, "SMALL", 0)
    monkeypatch.setenv(kept_draws.ALLOWED, ".01")
    with golden.raises(ValueError):
        inference.sample(model, **SIZE)


def test_a_pilot_run_may_be_larger_than_the_run():
    numbers = kept_draws.SMALL // 1200 + 1  # in the 4 x 300 draws of a pilot run

    def is_small(thin):
        own = kept_draws.Costs(models.dirichlet(labels()), plan(draws=1, chains=1, thin=thin))
        own._sizes = {"x": numbers}
        return own._is_small(1)

    assert is_small(1) and not is_small("pilot")


@pytest.mark.parametrize("method", ["gibbs", "hmc", "exact"])
def test_a_store_needs_the_memory_of_a_block_and_of_one_variable_of_the_posterior(method):
    model, long = models.dirichlet(labels(6000)), plan(draws=2000)

    def memory(**in_store):
        return kept_draws.Costs(model, long, **in_store).of_run(method).memory

    found = memory(in_store=True)
    variable = 4 * 2000 * 48_000 * (8 if method == "hmc" else 4)  # chains, draws, numbers, bytes
    if method == "exact":  # not diagnosed
        assert 3 * MOST_BYTES < found <= 4 * MOST_BYTES
    else:
        assert variable < found <= 2 * variable
    if method != "hmc":
        assert found < memory() / 1.2
    double = kept_draws.Costs(model, long, in_store=True).in_double_precision().of_run(method).memory
    assert double == pytest.approx(found * (2 if method == "gibbs" else 1), rel=0.05)


def test_thinned_draws_of_items_need_less_where_items_come_in_blocks():
    own = kept_draws.Costs(models.dirichlet(labels(6000)), plan(draws=2000), kept_every=100)
    whole = kept_draws.Costs(models.dirichlet(labels(6000)), plan(draws=2000)).of_run("gibbs").memory
    assert own.of_run("gibbs").memory < whole / 50
    assert own.of_run("gibbs", in_blocks=False).memory == whole


@pytest.mark.parametrize("confusion", [False, True])
def test_diagnosis_of_a_store_holds_one_variable_at_a_time(tmp_path, confusion):
    """What is read of a variable, and the pieces that are decoded at once."""
    dims = ("rater", "category", "answer") if confusion else ("item",)
    size = (200, 5, 5) if confusion else (5000,)
    draws = np.random.default_rng(1).random((2, 400, *size), dtype=np.float32)
    names = ["confusion"] if confusion else ["a", "b", "c", "d"]
    posterior = xr.Dataset({name: (("chain", "draw", *dims), draws) for name in names})
    pieces = {"/posterior": {name: {"chunks": (2, 20, *size)} for name in names}}
    tree = xr.DataTree.from_dict({"posterior": posterior}, name="root")
    tree.to_zarr(tmp_path / "a.zarr", encoding=pieces, consolidated=False)
    inference.diagnose(read_draws(tmp_path / "a.zarr"), threads=1)  # compiles and imports
    tracemalloc.start()
    inference.diagnose(read_draws(tmp_path / "a.zarr"), threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert draws.nbytes < peak < 2.5 * draws.nbytes


@pytest.mark.parametrize("stored", [False, True])
def test_a_second_run_in_double_precision_is_not_said_again(monkeypatch, tmp_path, stored):
    begin = sampling.begin_run

    def begin_in_double(model, plan, *args, **options):
        if plan.dtype == "float32":
            raise SinglePrecisionError
        return begin(model, plan, *args, **options)

    monkeypatch.setattr(kept_draws, "SMALL", 0)
    monkeypatch.setattr(kept_draws, "SAID_BYTES", 0)
    monkeypatch.setattr(checkpoints if stored else sampling, "begin_run", begin_in_double)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        options = {"store": tmp_path / "a.zarr"} if stored else {}
        tree = inference.sample(models.dirichlet(labels(20)), **SIZE | {"draws": 10}, **options)
    assert tree["posterior"]["plausibility"].dtype == np.float64
    assert len([w for w in said if w.category is inference.CostWarning]) == 1

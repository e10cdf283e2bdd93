"""Memory and time of a run are estimated before its first draw, said if large, and refused beyond the machine."""

import time
import tracemalloc
import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference import checkpoints, costs, sampling
from raterzoo.inference.methods import Route, route_of
from raterzoo.inference.runs.run import Draws, SinglePrecisionError
from raterzoo.inference.storage.store import MOST_BYTES, read_draws

from tests.support.monte_carlo import assert_rejects_twin

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
    route = route_of(model)
    tuning = None
    if route.method == "hmc":
        tuning = inference.methods.begin_run(model, plan(), route=route).tuning
    estimate = costs.Costs(model, plan()).of_run(route, tuning).memory
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)
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


def test_three_hundred_categories_are_said_before_the_first_draw(monkeypatch):
    model = huge()
    route, own = route_of(model), costs.Costs(model, plan(draws=1000, thin="pilot"))
    monkeypatch.setenv(costs.ALLOWED, "4")
    with pytest.raises(
        ValueError,
        match=r"GB of memory and .*4\.0 GB are available\. Less: fewer draws=.*rare categories pooled",
    ):
        own.check_run(route)
    monkeypatch.setenv(costs.ALLOWED, "1000")
    with pytest.warns(
        inference.CostWarning,
        match=r"330,300 numbers \(confusion has most\) take about .* GB of memory and \d",
    ):
        own.check_run(route)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own.check_run(route)  # once


def test_an_allowance_must_be_a_number(monkeypatch):
    monkeypatch.setenv(costs.ALLOWED, "much")
    monkeypatch.setattr(costs, "SMALL", 0)
    with pytest.raises(ValueError, match="RATERZOO_MEMORY_GB=much is not a number of gigabytes"):
        inference.sample(builders()["dirichlet"](), **SIZE)


def test_nuts_is_estimated_before_it_is_compiled(monkeypatch):
    model = models.glad(labels())
    monkeypatch.setattr(costs, "SMALL", 0)
    monkeypatch.setenv(costs.ALLOWED, ".01")
    with pytest.raises(
        ValueError, match=r"4 x 300 draws of .* numbers .* GB of memory, estimated .* are available"
    ):
        inference.sample(model, **SIZE)


def test_durations_are_said_in_their_unit():
    seconds = (0.2, 89, 90, 5399, 5400)
    assert [costs._duration(s) for s in seconds] == ["1 s", "89 s", "2 minutes", "90 minutes", "1.5 hours"]


def test_a_pilot_run_may_be_larger_than_the_run():
    numbers = costs.SMALL // 1200 + 1  # in the 4 x 300 draws of a pilot run

    def is_small(thin):
        own = costs.Costs(models.dirichlet(labels()), plan(draws=1, chains=1, thin=thin))
        own._sizes = {"x": numbers}
        return own._is_small(1)

    assert is_small(1) and not is_small("pilot")


def test_small_runs_are_not_tried(monkeypatch):
    monkeypatch.setattr(costs, "begin_run", None)
    model = models.dirichlet(labels())
    costs.Costs(model, plan()).check_run(route_of(model))


@pytest.mark.parametrize("method", ["gibbs", "hmc", "exact"])
def test_a_store_needs_the_memory_of_a_block_and_of_one_variable_of_the_posterior(monkeypatch, method):
    shape = {
        "confusion": (1, 1, 20_000),
        "plausibility": (1, 1, 50_000),
        "log_likelihood observed": (1, 1, 90_000),
    }
    drawn = xr.Dataset(
        {n: (("chain", "draw", f"{n} dim"), np.zeros(s, np.float32)) for n, s in shape.items()}
    )
    monkeypatch.setattr(costs, "_trial", lambda *_: (0.0, 0.0, drawn, False))
    model, long = models.dirichlet(labels(50)), plan(draws=2000)
    found = costs.Costs(model, long, in_store=True).of_run(Route("dawid_skene", method, "", None)).memory
    variable = 4 * 2000 * 50_000 * 4  # chains, draws, numbers, bytes
    if method == "exact":  # not diagnosed
        assert 3 * MOST_BYTES < found <= 4 * MOST_BYTES
    else:
        assert variable < found <= 2 * variable
    assert found < costs.Costs(model, long).of_run(Route("dawid_skene", method, "", None)).memory / 2
    double = costs.Costs(model, long, in_store=True).in_double_precision()
    assert double.of_run(Route("dawid_skene", method, "", None)).memory == pytest.approx(
        found * (1 if method == "exact" else 2), rel=0.05
    )


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
def test_a_second_run_in_double_precision_is_neither_tried_nor_said_again(monkeypatch, tmp_path, stored):
    begin, trials, tried = sampling.begin_run, [], costs._trial

    def begin_in_double(model, plan, *args, **options):
        if plan.dtype == "float32":
            raise SinglePrecisionError
        return begin(model, plan, *args, **options)

    monkeypatch.setattr(costs, "SMALL", 0)
    monkeypatch.setattr(costs, "SAID_BYTES", 0)
    monkeypatch.setattr(costs, "_trial", lambda *args: trials.append(args) or tried(*args))
    monkeypatch.setattr(checkpoints if stored else sampling, "begin_run", begin_in_double)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        options = {"store": tmp_path / "a.zarr"} if stored else {}
        tree = inference.sample(models.dirichlet(labels(20)), **SIZE | {"draws": 10}, **options)
    assert tree["posterior"]["plausibility"].dtype == np.float64
    assert len(trials) == 1
    assert len([w for w in said if w.category is inference.CostWarning]) == 1


def test_a_pause_in_a_trial_is_not_counted():
    """The collector of garbage may take a second in the midst of it."""

    class Paused:
        """A run whose draws cost nothing, but for the one when the collector comes."""

        def __init__(self, *pauses):
            self.calls, self.pauses = 0, pauses

        def advance(self, draws):
            self.calls += 1
            if self.calls in self.pauses:
                end = time.process_time() + 0.15
                while time.process_time() < end:
                    pass
            return {}

    for call in (2, 3, 6):  # the first compiles
        assert costs._seconds_of_draw(Paused(call))[0] < 1e-3
    assert costs._seconds_of_draw(Paused(*range(100)))[0] == pytest.approx(0.15, rel=0.2)  # it is slow

"""Models of item effects drawn by NUTS: what the tree carries, and calibration."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.label_designs import TINY
from tests.support.monte_carlo import seed_of
from tests.support.nuts_calibration import calibrated, nuts_ranks
from tests.support.runs import Draws, draw_with_nuts, route_of

LABELS = models.Labels.from_table(TINY, count="count", gold="gold", categories=["x", "y", "z"])
OPTIONS = {"item_difficulty": {"nodes": 5}, "logistic_random_effects": {"nodes": 5}}
OPTIONS["ordinal"] = {"order": ["y", "x", "z"]}
EXPECTED = dict.fromkeys(OPTIONS, "expected_effect") | {"ordinal": "expected_location"}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("name", OPTIONS)
def test_route(name):
    route = route_of(getattr(models, name)(LABELS, **OPTIONS[name]))
    assert (route.name, route.method) == (name, models.catalog[name].methods[0])


class Asked(Exception):
    """What `pymc.sample` was asked for."""


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("item_difficulty", {}, 0.95),
        ("logistic_random_effects", {}, 0.95),
        ("logistic_random_effects", {"target_accept": 0.9}, 0.9),
        ("logistic_random_effects", {"nuts": {"target_accept": 0.9}}, None),
        ("ordinal", {}, 0.9),
    ],
)
def test_steps_are_short_on_the_ridge_of_effects(name, given, expected, monkeypatch):
    def sample(**options):
        raise Asked(options)

    monkeypatch.setattr(pm, "sample", sample)
    model = getattr(models, name)(LABELS, **OPTIONS[name])
    with pytest.raises(Asked) as asked:
        inference.sample(model, progressbar=False, method="nuts", **given)
    (options,) = asked.value.args
    assert options.get("target_accept") == expected
    assert given.items() <= options.items()


@pytest.mark.parametrize(
    ("name", "thin", "every"),
    [
        ("item_difficulty", "pilot", 4),
        ("logistic_random_effects", "pilot", 2),
        ("ordinal", "pilot", 1),
        ("item_difficulty", 1, 1),
        ("ordinal", 3, 3),
    ],
)
def test_the_last_of_as_many_draws_is_kept(name, thin, every, monkeypatch):
    """It is marked as diverged if one of them is; statistics of the warm-up stay as they are."""

    def sample(draws, chains, **_):
        at = np.arange(chains * draws).reshape(chains, draws)
        stats = {"diverging": (("chain", "draw"), at % 12 == 5), "energy": (("chain", "draw"), at)}
        groups = {"posterior": {"x": (("chain", "draw"), at)}, "sample_stats": stats}
        groups |= {"warmup_posterior": {"x": (("chain", "draw"), np.zeros((2, 7)))}}
        coords = {"draw": np.arange(draws)}
        return xr.DataTree.from_dict({n: xr.Dataset(v, coords if "w" not in n else None) for n, v in groups.items()})  # fmt: skip

    monkeypatch.setattr(pm, "sample", sample)
    model = getattr(models, name)(LABELS, **OPTIONS[name])
    plan = Draws(6, None, 2, 1, 1, False, thin, "float32", False)
    found = draw_with_nuts(model, plan, {})
    kept = np.arange(12 * every).reshape(2, -1)[:, every - 1 :: every]
    for variable in (found["posterior"]["x"], found["sample_stats"]["energy"]):
        np.testing.assert_array_equal(variable, kept)
        assert variable["draw"].to_numpy().tolist() == list(range(6))
    bad = {5, 17, 29, 41}
    marked = [[bool(bad & {*range(last - every + 1, last + 1)}) for last in row] for row in kept]
    diverging = found["sample_stats"]["diverging"]
    assert diverging.dtype == bool and diverging.to_numpy().tolist() == marked
    assert found["sample_stats"].get("thinning", 1) == every
    assert found["warmup_posterior"].sizes["draw"] == 7


def test_draws_that_are_not_kept_need_memory(monkeypatch, golden):
    monkeypatch.setattr(pm, "sample", lambda **_: pytest.fail("sampled"))
    model = models.item_difficulty(LABELS, nodes=5)
    for draws, thin in ((10**8, 1), (10**5, 1000)):
        with golden.raises(ValueError):
            inference.sample(model, draws=draws, thin=thin, progressbar=False)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("item_difficulty", marks=pytest.mark.long),
        pytest.param("logistic_random_effects", marks=pytest.mark.long),
        pytest.param("ordinal", marks=pytest.mark.long),
    ],
)
def test_tree_of_nuts(name):
    model = getattr(models, name)(LABELS, **OPTIONS[name])
    sampler = {"nuts_sampler": "pymc", "quiet": True, "compute_convergence_checks": False}
    tree = inference.sample(
        model,
        method="nuts",
        draws=100,
        tune=100,
        chains=2,
        cores=1,
        random_seed=1,
        progressbar=False,
        **sampler,
    )
    assert tree.attrs["model"] == name and tree.attrs["method"] == "nuts"
    posterior = inference.label(tree, LABELS)["posterior"]
    plausibility = posterior["plausibility"]
    assert plausibility.attrs["truth"] == "category"
    assert plausibility["category"].to_numpy().tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(plausibility.sum("category"), 1, rtol=1e-9)
    np.testing.assert_allclose(plausibility.sel(item="d", category="y"), 1, rtol=1e-12)
    assert posterior[EXPECTED[name]].dims[:3] == ("chain", "draw", "item")
    log_p = inference.label(tree, LABELS)["log_likelihood"]["observed_label"]
    assert log_p["item"].to_numpy().tolist() == ["a", "b", "c", "d"]  # nobody answered e
    assert np.isfinite(az.loo(inference.label(tree, LABELS)).elpd)


TWINS = {"item_difficulty": {"diagonal": 4.0}, "logistic_random_effects": {"diagonal": 4.0}}
TWINS["ordinal"] = {"spread": 3.0}


# one command: pytest -m long -n 0 tests/models/labels/test_item_effects_sampled.py -k calibrated
@pytest.mark.long
@pytest.mark.parametrize("name", OPTIONS)
def test_nuts_is_calibrated(name):
    design = models.simulators.labels(model=name, items=30, raters=4, answers=3, random_seed=1)
    build, options = getattr(models, name), {"nodes": 15 if name == "ordinal" else 5}
    model, twin = build(design.data, **options), build(design.data, **options, **TWINS[name])

    assert calibrated(nuts_ranks(model, 300, seed_of(f"nuts {name}")))
    model = build(design.data, **options)  # the first has been opened to data
    assert not calibrated(nuts_ranks(model, 300, seed_of(f"nuts {name} twin"), twin))

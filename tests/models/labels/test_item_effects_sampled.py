"""Models of item effects drawn by NUTS: what the tree carries, and calibration."""

import os

import arviz as az
import numpy as np
import pymc as pm
import pytest
from label_designs import TINY
from monte_carlo import seed_of, within_sbc_band
from nuts_calibration import KEPT, nuts_ranks
from raterzoo import inference, models
from raterzoo.inference.routes import route_of

LABELS = models.Labels.from_table(TINY, count="count", gold="gold", categories=["x", "y", "z"])
OPTIONS = {"item_difficulty": {"nodes": 5}, "logistic_random_effects": {"nodes": 5}}
OPTIONS["ordinal"] = {"order": ["y", "x", "z"]}
EXPECTED = dict.fromkeys(OPTIONS, "expected_effect") | {"ordinal": "expected_location"}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


LONG = pytest.mark.skipif("RATERZOO_LONG" not in os.environ, reason="RATERZOO_LONG is not set")


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
        ("ordinal", {}, None),
    ],
)
def test_steps_are_short_on_the_ridge_of_effects(name, given, expected, monkeypatch):
    def sample(**options):
        raise Asked(options)

    monkeypatch.setattr(pm, "sample", sample)
    model = getattr(models, name)(LABELS, **OPTIONS[name])
    with pytest.raises(Asked) as asked:
        inference.sample(model, progressbar=False, **given)
    (options,) = asked.value.args
    assert options.get("target_accept") == expected
    assert given.items() <= options.items()


@pytest.mark.parametrize(
    "name",
    [
        "item_difficulty",
        pytest.param("logistic_random_effects", marks=LONG),
        pytest.param("ordinal", marks=LONG),
    ],
)
def test_tree_of_nuts(name):
    model = getattr(models, name)(LABELS, **OPTIONS[name])
    sampler = {"nuts_sampler": "pymc", "quiet": True, "compute_convergence_checks": False}
    tree = inference.sample(
        model, draws=100, tune=100, chains=2, cores=1, random_seed=1, progressbar=False, **sampler
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


# one command: RATERZOO_LONG=1 pytest -n 0 tests/models/labels/test_item_effects_sampled.py -k calibrated
@LONG
@pytest.mark.parametrize("name", OPTIONS)
def test_nuts_is_calibrated(name):
    design = models.simulators.labels(items=40, raters=4, categories=2, answers=3, random_seed=1)
    table = design.data.to_table()
    table["label"] = np.unique(table["label"], return_inverse=True)[1]
    labels = models.Labels.from_table(table, count="count")
    model = getattr(models, name)(labels, nodes=15)
    ranks = nuts_ranks(model, 60, seed_of(f"nuts {name}"))
    level = 1 - 0.01 / ranks.shape[1]
    assert within_sbc_band(ranks, KEPT, level).all()
    if name == "ordinal":
        twin = models.ordinal(labels, nodes=15, spread=3.0)
        wrong = nuts_ranks(model, 60, seed_of("nuts ordinal twin"), twin)
        assert not within_sbc_band(wrong, KEPT, level).all()

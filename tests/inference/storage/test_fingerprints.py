"""Fingerprints tell models apart by what they compute, and are the same in every process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType
from raterzoo import models
from raterzoo.inference.checkpoints import _same_model
from raterzoo.inference.storage import model_identity
from raterzoo.inference.storage import model_identity as fingerprints
from raterzoo.posterior import schema

from benchmarks.same_draws import model_of
from tests.support.label_designs import tiny_labels
from tests.support.resumable_runs import BUILD, plan_of

LABELS = [
    e.name
    for e in models.catalog.values()
    if e.data == "labels" and e.name not in BUILD and not e.needs_order
]


def every_model():
    """Return the small models of the catalog, each by its name."""
    built = {name: build() for name, build in BUILD.items()}
    built |= {name: getattr(models, name)(tiny_labels()) for name in LABELS}
    built["hierarchical_plackett_luce"] = models.hierarchical_plackett_luce(models.published_ddx_cases())
    built["tempered_plackett_luce"] = models.tempered_plackett_luce(models.published_ddx_cases())
    return built


CHILD = """
import json
from tests.inference.storage import test_fingerprints as here
print(json.dumps({name: here.model_identity.fingerprint(model) for name, model in here.every_model().items()}))
"""


@pytest.mark.slow
def test_fingerprints_are_the_same_in_another_process():
    built = every_model()
    assert set(models.catalog) <= set(built)
    paths = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    child = subprocess.run(
        [sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=True
    )
    found = {name: model_identity.fingerprint(model) for name, model in built.items()}
    assert json.loads(child.stdout) == found
    assert len(set(found.values())) == len(found)
    assert all(text.startswith(model_identity.SCHEME) for text in found.values())
    assert all(note_of(model)[0]["recipe"] for model in built.values())  # they are built again


def test_modules_of_libraries_do_not_count(monkeypatch):
    """So that an Op may move to another module; code of users is known by its whole name."""
    read = []
    monkeypatch.setattr(fingerprints, "_line", lambda *parts: read.append(repr(parts)) or b"")
    for model in every_model().values():
        model_identity.fingerprint(model)
    found = {name for text in read for name in re.findall(r"(?:raterzoo|pytensor|pymc)[.:][\w.]+", text)}
    assert {"raterzoo:LabelLogP", "raterzoo:PairedComparisonsRV", "pytensor:Elemwise"} <= found
    assert not {name for name in found if "." in name}

    def one(x):
        return x

    other, moved = (FunctionType(one.__code__, {}, "other") for _ in range(2))
    other.__module__ = "their.module"
    other.__qualname__ = moved.__qualname__ = one.__qualname__
    moved.__module__ = one.__module__
    names = [fingerprints._name(function) for function in (one, other, moved)]
    assert names[0] == names[2] != names[1]


def two_normals(by):
    """A model of a variable by two others."""
    with pm.Model() as model:
        a, b = (pm.Normal(name, 0.0, 1.0) for name in "ab")
        table = pm.Normal("table", 0.0, 1.0, shape=(2, 2))
        pm.Normal("y", by(a, b, table), 1.0, observed=np.array([0.5, 1.0]))
    return model


SUMS = {
    "a": lambda a, b, x: a,
    "b": lambda a, b, x: b,
    "a - b": lambda a, b, x: a - b,
    "b - a": lambda a, b, x: b - a,
    "a - a": lambda a, b, x: a - a,
    "rows": lambda a, b, x: x.sum(axis=0),
    "columns": lambda a, b, x: x.sum(axis=1),
    "first": lambda a, b, x: x[0],
    "second": lambda a, b, x: x[1],
    "turned": lambda a, b, x: x.T[0],
    "softmax": lambda a, b, x: pt.special.softmax(x, axis=0)[0],
    "other softmax": lambda a, b, x: pt.special.softmax(x, axis=1)[0],
    "whole": lambda a, b, x: a + pt.cast(b, "int64"),
    "short": lambda a, b, x: a + pt.cast(b, "int32"),
}


def test_models_that_compute_something_else_are_told_apart():
    found = {name: model_identity.fingerprint(two_normals(by)) for name, by in SUMS.items()}
    assert len(set(found.values())) == len(found)
    assert found == {name: model_identity.fingerprint(two_normals(by)) for name, by in SUMS.items()}


def test_inner_graphs_are_told_apart():
    def model(step):
        def dist(mu, size):
            return step(pm.Normal.dist(mu, 1.0, size=size))

        with pm.Model() as built:
            mu = pm.Normal("mu", 0.0, 1.0)
            pm.CustomDist("y", mu, dist=dist, observed=np.array([0.5, 1.0]))
        return model_identity.fingerprint(built)

    assert model(pt.exp) == model(pt.exp) != model(pt.expm1)


def test_the_state_of_random_numbers_does_not_count():
    model = BUILD["dawid_skene"]()
    before, moved = model_identity.fingerprint(model), 0
    for node in ancestors(model.basic_RVs):
        if isinstance(node.type, RandomType):
            node.set_value(np.random.default_rng(3))
            moved += 1
    assert moved and model_identity.fingerprint(model) == before


def test_data_that_is_replaced_counts():
    with pm.Model() as model:
        x = pm.Data("x", np.array([1.0, 2.0]))
        pm.Normal("y", x, 1.0)
    before = model_identity.fingerprint(model)
    pm.set_data({"x": np.array([1.0, 3.0])}, model=model)
    assert model_identity.fingerprint(model) != before


def note_of(model, **other):
    """Return what the journal of a run keeps of its model."""
    attrs = {"versions": json.dumps(schema.versions_of_now())}
    note, arrays = model_identity.note_of_run(model, plan_of(8), attrs)
    return note | other, arrays


def test_another_model_is_refused(golden):
    store = Path("run.zarr")
    kept = note_of(two_normals(SUMS["a"]))
    _same_model(store, two_normals(SUMS["a"]), *kept)
    with golden.raises(ValueError) as raised:
        _same_model(store, two_normals(SUMS["b"]), *kept)
    assert "now" not in str(raised.value)
    attrs = {"versions": json.dumps(schema.versions_of_now() | {"pytensor": "1"})}
    with golden.raises(ValueError):
        _same_model(store, two_normals(SUMS["b"]), kept[0] | {"attributes": attrs}, {})


def test_fingerprints_of_another_scheme_do_not_speak_of_another_model(golden):
    old, store, model = {"fingerprint": 32 * "0"}, Path("run.zarr"), two_normals(SUMS["a"])
    with golden.raises(ValueError):
        _same_model(store, model, *note_of(model, **old))
    built = BUILD["dirichlet"]()
    kept = note_of(built, **old)  # it says how it was built
    assert model_identity.fingerprint(_same_model(store, None, *kept)) == model_identity.fingerprint(built)
    assert _same_model(store, built, *kept) is built
    with golden.raises(ValueError):
        _same_model(store, BUILD["prirn"](), *kept)


@pytest.mark.parametrize(
    "name", ["dawid_skene:features", "dirichlet:prior_predictions", "bradley_terry:vote_covariates"]
)
def test_models_with_an_option_are_built_again_from_their_recipe(name):
    """Of such a run `raterzoo fit --resume` said that its model had to be given."""
    model = model_of(name)
    note, arrays = model_identity.note_of_run(model, plan_of(8), {})
    note = json.loads(json.dumps(note))
    assert model_identity.fingerprint(
        model_identity.build_again(note["recipe"], arrays)
    ) == model_identity.fingerprint(model)


def test_features_of_any_form_are_in_the_recipe():
    labels = tiny_labels()
    features = pd.DataFrame(
        {
            "item": labels.items,
            "x": np.arange(len(labels.items)) ** 2.0,
            "is": labels.items == labels.items[0],
        }
    )
    array = xr.DataArray(
        features[["x"]].to_numpy(), {"item": labels.items.astype(object)}, dims=("item", "feature")
    )
    long = {"item": labels.items.tolist(), "x": [0.5, *range(1, len(labels.items))]}  # no list of one type
    for own in (features, array, long, pl.from_pandas(features)):
        model = models.one_coin(labels, features=own)
        note, arrays = model_identity.note_of_run(model, plan_of(8), {})
        assert model_identity.fingerprint(
            model_identity.build_again(json.loads(json.dumps(note))["recipe"], arrays)
        ) == model_identity.fingerprint(model)


@pytest.mark.parametrize("cells", [["a", "b\0"], [1, 2**70], [0.1, float("inf")], [True, False], ["a", 1]])
def test_long_lists_are_the_same_lists_again(cells):
    arrays = {}
    found = fingerprints._read(json.loads(json.dumps(fingerprints._write(cells * 200, arrays))), arrays)
    assert found == cells * 200 and [*map(type, found)] == [*map(type, cells * 200)]

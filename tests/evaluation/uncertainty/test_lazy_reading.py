"""A posterior on disk is read block by block: nothing loads it as a whole."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.certainty import annotation as true_category
from raterzoo.posterior import plausibility

N_ITEMS = 40


@pytest.fixture
def posterior(tmp_path):
    share = np.random.default_rng(1).dirichlet(np.ones(3), (2, 30, N_ITEMS)).astype(np.float32)
    coords = {"item": np.arange(N_ITEMS).astype(str), "category": ["x", "y", "z"]}
    array = xr.DataArray(
        share, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"}
    )
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"plausibility": array})})
    tree.to_zarr(tmp_path / "d.zarr", consolidated=False)
    with xr.open_datatree(tmp_path / "d.zarr", engine="zarr", consolidated=False) as lazy:
        yield lazy, tree


def certainty(tree, predictions):
    return evaluation.annotation_certainty(tree)


def of_truth(tree, predictions):
    tree["posterior"]["plausibility"].attrs["truth"] = "category"
    return evaluation.annotation_certainty(tree)


def alternatives(tree, predictions):
    return evaluation.plausible_labels(tree)["probability"]


def adjusted(tree, predictions):
    return evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), tree, predictions)


def expected(tree, predictions):
    return evaluation.expected_value(tree, {"x": 1.0, "y": 2.0, "z": 4.0})


@pytest.mark.parametrize("metric", [certainty, of_truth, alternatives, adjusted, expected])
def test_blocks_give_the_same_and_load_nothing(metric, posterior, monkeypatch):
    lazy, loaded = posterior
    labels = np.full((N_ITEMS, 1), "x")
    predictions = xr.DataArray(labels, {"item": loaded["posterior"]["item"]}, ("item", "position"))
    at_once = metric(loaded, predictions)
    for module in (plausibility, true_category):
        monkeypatch.setattr(module, "BLOCK_SIZE", 600)
    by_blocks = metric(lazy, predictions)
    xr.testing.assert_allclose(by_blocks, at_once, rtol=1e-14, atol=0)
    variable = lazy["posterior"].to_dataset()["plausibility"].variable
    assert not variable._in_memory
    variable.to_numpy()  # the wrong twin: what loads it all is noticed
    assert variable._in_memory

"""Runs of NUTS in a store: interrupted, they keep their draws and say what was lost."""

import json

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference
from raterzoo.inference import checkpoints as nuts_store
from raterzoo.inference.storage.store import read_draws

SETTINGS = {"draws": 400, "tune": 50, "chains": 2, "thin": 2, "random_seed": 1, "progressbar": False}
pytestmark = [
    pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:arviz_base.*"),
]


class Killed(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"item": list("abc")}) as model:
        location = pm.Normal("location", 0.0, 1.0, dims="item")
        pm.Normal("observed", location, 1.0, observed=np.array([0.5, -1.0, 2.0]), dims="item")
    return model


def test_draws_of_nuts_are_kept_and_the_rest_drawn_anew(model, tmp_path, monkeypatch):
    store, append = tmp_path / "run.zarr", nuts_store._append_block

    def killed(own, piece, drawn, run):
        half = piece.map_over_datasets(lambda g: g.isel(draw=slice(150)) if "draw" in g.dims else g)
        append(own, half, drawn, (run[0], run[1] - 1000))  # it began a thousand seconds ago
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(nuts_store, "_append_block", killed)
        inference.sample(model, store=store, **SETTINGS)
    part = read_draws(store)["posterior"]["location"]
    kept = part.sizes["draw"]
    assert 0 < kept <= 150 and np.isfinite(part).all()
    with pytest.raises(ValueError, match=r"inference\.resume\(path, model\)"):
        inference.resume(store)
    with pytest.warns(inference.ResumeWarning, match=f"{kept} draws of each chain are kept"):
        tree = inference.resume(store, model, progressbar=False)
    location = tree["posterior"]["location"]
    assert location.sizes["draw"] == 400 and np.isfinite(location).all()
    assert np.array_equal(part, location.isel(draw=slice(kept)))
    rest = location.isel(draw=slice(kept, None)).to_numpy()
    assert not np.isin(rest[:, :20], part).any()  # with another seed
    assert json.loads(tree.attrs["restarted_at"]) == [kept]
    assert 1000 < tree.attrs["seconds"] < 1100
    exact = -0.5 * np.log(2 * np.pi) - 0.5 * (np.array([0.5, -1.0, 2.0]) - location) ** 2
    assert np.allclose(tree["log_likelihood"]["observed"], exact, rtol=1e-6)


def test_what_nuts_cannot_do_with_a_store_is_refused(model, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="target_accept alone"):
        inference.sample(model, store=tmp_path / "run.zarr", nuts_sampler="pymc", **SETTINGS)
    monkeypatch.setattr(nuts_store, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="install nutpie"):
        inference.sample(model, store=tmp_path / "run.zarr", **SETTINGS)

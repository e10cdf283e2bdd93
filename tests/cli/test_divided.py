"""raterzoo fit --workers and --scheduler."""

import pickle
from functools import partial

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.cli_parts import build as build_model
from tests.support.cli_parts import settings_of
from tests.support.command_line import run, said, write
from tests.support.executors import Stopped, Stops

VOTES = {
    "item": ["a", "a", "b", "b", "c", "c"],
    "rater": ["r", "s", "r", "s", "r", "s"],
    "label": ["x", "x", "y", "x", "y", "y"],
}
FEW = ("--draws", 20, "--chains", 2)


@pytest.fixture
def annotations(tmp_path):
    return write(tmp_path / "annotations.csv", models.published_ddx_cases().to_table())


@pytest.fixture
def votes(tmp_path):
    return write(tmp_path / "votes.csv", VOTES)


@pytest.mark.slow
def test_workers_write_what_one_process_draws(votes, tmp_path):
    store = tmp_path / "d.zarr"
    model = ("--kind", "labels", "--model", "dirichlet", "--seed", 3)
    result = run("fit", votes, "-o", store, "--workers", 1, *model, *FEW)
    assert result.exit_code == 0, said(result)
    data = models.Labels.from_table(VOTES)
    whole = inference.sample(models.dirichlet(data), draws=20, chains=2, random_seed=3, progressbar=False)
    with xr.open_datatree(store, engine="zarr", consolidated=False) as tree:
        xr.testing.assert_identical(tree["posterior"].to_dataset().load(), whole["posterior"].to_dataset())
    again = run("fit", votes, "-o", store, "--workers", 2, *model, *FEW)  # finished: nothing to do
    assert again.exit_code == 0, said(again)


def test_dawid_skene_is_divided_by_sums(votes, tmp_path, monkeypatch, golden):
    given = {}
    monkeypatch.setattr(inference, "dawid_skene_gibbs", lambda data, **options: given.update(options))
    command = ("fit", votes, "-o", tmp_path / "d.zarr", "--kind", "labels", "--workers", 3, *FEW)
    result = run(*command, "--model", "dawid_skene")
    assert result.exit_code == 0, said(result)
    assert (given["executor"], given["draws"], given["chains"]) == (3, 20, 2)
    result = run(*command)
    assert result.exit_code == 2
    golden.says(result.output, "correlated_votes is")


@pytest.mark.parametrize(
    ("kind", "model", "data"),
    [
        ("rankings", "plackett_luce", models.published_ddx_cases()),
        ("labels", "dirichlet", models.Labels.from_table(VOTES)),
        ("scores", "normal_scores", models.Scores.from_table(
            {"item": ["a", "b", "b"], "rater": ["r", "r", "s"], "score": [1, 2, 1]}, bounds=(0, 3))),
    ],
)  # fmt: skip
def test_builders_can_be_sent(kind, model, data):
    settings = settings_of(kind, model, {}, draws=1, chains=1, seed=1, layout="long")
    build = pickle.loads(pickle.dumps(partial(build_model, settings=settings, reliability=1)))
    assert np.asarray(build(data).coords["item"]).tolist() == data.items.tolist()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "d.nc", "--workers", 2),
        ("-o", "d.zarr", "--workers", 0),
        ("-o", "d.zarr", "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"),
        ("-o", "d.zarr", "--workers", 2, "--reliability", "1,2"),
        ("-o", "d.zarr", "--workers", 2, "--anonymize"),
        ("-o", "d.zarr", "--scheduler", "tcp://127.0.0.1:1", "--anonymize"),
        ("-o", "d.zarr", "--workers", 2, "--model", "tempered_plackett_luce"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_message(arguments, annotations, tmp_path, golden):
    arguments = tuple(tmp_path / a if str(a).startswith("d.") else a for a in arguments)
    result = run("fit", annotations, *arguments)
    assert result.exit_code == 2
    golden.says(said(result))


def test_scores_without_bounds_are_not_divided(tmp_path, golden):
    scores = write(tmp_path / "s.csv", {"item": ["a", "b"], "rater": ["r", "r"], "score": [1, 2]})
    result = run(
        "fit",
        scores,
        "-o",
        tmp_path / "d.zarr",
        "--kind",
        "scores",
        "--model",
        "normal_scores",
        "--workers",
        2,
    )
    assert result.exit_code == 2 and "--bounds" in said(result)
    result = run("fit", scores, "-o", tmp_path / "d.zarr", "--kind", "scores", "--workers", 2)
    assert result.exit_code == 2
    golden.says(result.output, "hierarchical_scores is")


def scattered(data, store):
    """Make the call that --workers makes, which ends after two tasks."""
    settings = {"shard": 1, "draws": 4, "chains": 1, "progressbar": False}
    return inference.scatter(models.dirichlet, data, Stops(2), store=store, **settings)


@pytest.fixture
def begun(tmp_path):
    """A store in which one of three items is."""
    with pytest.raises(Stopped):
        scattered(models.Labels.from_table(VOTES), tmp_path / "d.zarr")
    return tmp_path / "d.zarr"


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "--resume", "{store}"),
        ("fit", "{votes}", "--kind", "labels", "-o", "{store}"),
        ("evaluate", "{store}", "{votes}"),
    ],
)  # fmt: skip
def test_what_workers_began_goes_on_with_workers(arguments, begun, votes, golden):
    result = run(*(a.format(store=begun, votes=votes) for a in arguments))
    assert result.exit_code == 2, said(result)
    golden.says(said(result))
    assert "anew" not in said(result) and "fit again" not in said(result)


def test_the_remedy_for_names_goes_on(tmp_path):
    """What is written once without names is the same data each time, and what is drawn anew is not."""
    data = models.Labels.from_table(VOTES)
    table, store = data.to_table(anonymize="raters"), tmp_path / "n.zarr"
    with pytest.raises(Stopped):
        scattered(models.Labels.from_table(table), store)
    with pytest.raises(ValueError, match="data="):
        scattered(data, store)
    tree = scattered(models.Labels.from_table(table), store)
    assert np.isfinite(tree["posterior"]["plausibility"]).all()

"""Models of labels by name: the order of ordinal ones, groups of raters, and what a judge is worth."""

import json

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.cli_parts import build, read_annotations, settings_of
from tests.support.command_line import read, run, said, write

SAMPLER = {"draws": 10, "chains": 1, "seed": 1}


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """Answers low, mid or high of five raters, the first two called models and less careful."""
    rng = np.random.default_rng(5)
    location, item = rng.normal(1, 0.8, 30), np.repeat(np.arange(30), 4)
    rater = np.concatenate([rng.choice(5, 4, replace=False) for _ in range(30)])
    seen = location[item] + rng.normal(0, np.where(rater < 2, 0.9, 0.3))
    table = {
        "item": [f"item {i}" for i in item],
        "rater": [f"rater {r}" for r in rater],
        "kind": np.where(rater < 2, "model", "person"),
        "label": np.array(["low", "mid", "high"])[np.clip(np.round(seen), 0, 2).astype(int)],
    }
    return write(tmp_path_factory.mktemp("votes") / "votes.csv", table)


@pytest.mark.parametrize("in_file", [True, False])
def test_ordinal_goes_by_the_declared_order(votes, tmp_path, in_file):
    declared = "low, mid,high"
    if in_file:
        declared = str(tmp_path / "categories.txt")
        (tmp_path / "categories.txt").write_text("low\nmid\nhigh\n")
    settings = settings_of("labels", "ordinal", {"categories": declared}, **SAMPLER)
    model = build(read_annotations(votes, settings, [])[0], settings, 1)
    assert list(model.coords["cut"]) == ["low|mid", "mid|high"]


def test_a_group_is_read_and_reaches_the_model(votes):
    settings = settings_of("labels", "hierarchical_dawid_skene", {"group": "kind"}, **SAMPLER)
    assert settings.rater_attributes == ("kind",) and settings.priors == {"group": "kind"}
    model = build(read_annotations(votes, settings, [])[0], settings, 1)
    assert sorted(model.coords["group_of_raters"]) == ["model", "person"]


def test_a_number_of_subtypes_reaches_the_model(votes, golden):
    settings = settings_of("labels", "ebcc", {"subtypes": 2}, **SAMPLER)
    model = build(read_annotations(votes, settings, [])[0], settings, 1)
    assert model.coords["subtype"] == (0, 1)
    with golden.raises(ValueError):
        settings_of("labels", "mace", {"subtypes": 2}, **SAMPLER)
    # an option of comparisons, too, which are no remedy for labels
    with golden.raises(ValueError):
        settings_of("labels", None, {"groups_of_raters": "kind"}, **SAMPLER)


def test_a_number_of_populations_reaches_the_model(votes):
    settings = settings_of("labels", "cultural_consensus", {"populations": 3}, **SAMPLER)
    assert build(read_annotations(votes, settings, [])[0], settings, 1).coords["population"] == (1, 2, 3)


@pytest.mark.slow
def test_report_says_what_a_judge_is_worth(votes, tmp_path, golden):
    options = ("--kind", "labels", "--model", "mace", "--rater-attribute", "kind", "--seed", 2)
    result = run("report", votes, *options, "--draws", 100, "--chains", 2, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    tree = xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf")
    found = evaluation.rater_worth(tree, "kind", "person")
    rows = read(tmp_path / "worth.csv")
    assert len(rows) == 5
    for row in rows:
        own = found.sel(rater=row["rater"])
        assert row["kind"] == str(own["kind"].to_numpy())
        for measure in ("information", "accuracy"):
            worth = own["worth"].sel(measure=measure)
            assert float(row[measure]) == pytest.approx(float(worth.median()))
            assert float(row[f"{measure}_lower"]) == pytest.approx(float(worth.quantile(0.05)))
    told = json.loads((tmp_path / "report.json").read_text())["worth"]
    assert (told["group"], told["reference"]) == ("kind", "person")
    means = {row["group"]: row["information"] for row in told["groups"]}
    assert means["person"] > means["model"]
    assert "model is worth" in told["text"]
    golden.says(told["text"], "we do not know which")
    raters = {row["rater"]: float(row["competence"]) for row in read(tmp_path / "raters.csv")}
    competence = tree["posterior"]["competence"].mean(("chain", "draw"))
    for name, value in raters.items():
        assert value == pytest.approx(float(competence.sel(rater=name)), rel=1e-6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "options", "column"),
    [
        ("ordinal", ["--categories", "low,mid,high"], "location"),
        ("glad", [], "difficulty"),
        ("item_difficulty", [], None),
        ("logistic_random_effects", [], None),
        ("hierarchical_dawid_skene", ["--group", "kind"], None),
    ],
)
def test_models_drawn_by_nuts_are_reported(votes, tmp_path, model, options, column):
    few = ("--draws", 100, "--chains", 2, "--out", tmp_path)
    result = run("report", votes, "--kind", "labels", "--model", model, *options, *few)
    assert result.exit_code == 0 and "wrote" in said(result), result.output
    checked = json.loads((tmp_path / "report.json").read_text())["fit"]
    assert checked["fits"] in (True, False) and checked["checks"]["rows"]
    rows = read(tmp_path / "certainty.csv")
    assert len(rows) == 30 and (column is None or column in rows[0])
    has_raters = model != "item_difficulty"
    assert (tmp_path / "raters.csv").exists() == has_raters
    assert (tmp_path / "worth.csv").exists() == (has_raters and model != "ordinal")

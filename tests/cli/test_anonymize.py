"""With --anonymize no rater is named in what a fit writes, and all that is said of them stays."""

import json

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference import dawid_skene_em
from raterzoo.models import Labels

from tests.support.cli_parts import read_annotations, settings_of
from tests.support.command_line import read, run, write
from tests.support.data_parts import annotation_kinds
from tests.support.pages import data_of

NAMES = [f"Dr. Name {k}" for k in range(5)]
ITEMS = [f"i{k}" for k in range(12)]


def table(kind):
    rng = np.random.default_rng(3)
    rows = [(item, name) for item in ITEMS for name in NAMES]
    item, rater = map(list, zip(*rows, strict=True))
    if kind == "rankings":
        return {
            "item": item,
            "rater": rater,
            "category": rng.choice(["a", "b"], len(item)),
            "rank": [1] * len(item),
        }
    if kind == "labels":
        return {"item": item, "rater": rater, "label": rng.choice(["a", "b"], len(item))}
    if kind == "scores":
        return {"item": item, "rater": rater, "score": rng.normal(size=len(item)).round(3)}
    other = [ITEMS[(ITEMS.index(name) + 1) % len(ITEMS)] for name in item]
    return {"rater": rater, "left": item, "right": other, "winner": rng.choice(["left", "tie"], len(item))}


@pytest.mark.parametrize("kind", annotation_kinds)
def test_what_is_read_has_no_names(tmp_path, kind):
    path = write(tmp_path / "t.csv", table(kind))
    sampler = {"draws": 10, "chains": 1, "seed": 1}
    named = read_annotations(path, settings_of(kind, None, {}, **sampler), [])[0]
    assert sorted(named.raters.tolist()) == NAMES
    anonymous = settings_of(kind, None, {"anonymize": True}, **sampler)
    nameless = read_annotations(path, anonymous, []).data
    assert sorted(nameless.raters.tolist()) == [f"rater {k + 1}" for k in range(5)]
    assert nameless.items.tolist() == named.items.tolist()
    assert len(nameless) == len(named)


@pytest.mark.slow
def test_what_is_written_has_no_names(tmp_path):
    path = write(tmp_path / "t.csv", table("labels"))
    asked = ("--kind", "labels", "--draws", 20, "--chains", 1)
    result = run("fit", path, *asked, "-o", tmp_path / "p.nc", "--anonymize")
    assert result.exit_code == 0
    assert "Name" not in result.output
    assert b"Name" not in (tmp_path / "p.nc").read_bytes()
    with xr.open_datatree(tmp_path / "p.nc", engine="h5netcdf") as tree:
        assert tree["posterior"]["rater"].to_numpy().tolist() == [f"rater {k + 1}" for k in range(5)]
    assert run("fit", path, *asked, "-o", tmp_path / "q.nc").exit_code == 0
    assert b"Name" in (tmp_path / "q.nc").read_bytes()


@pytest.mark.slow
def test_a_report_with_a_category_that_is_only_predicted_has_no_names(tmp_path):
    labels = table("labels")
    labels["kind"] = ["expert" if name == NAMES[0] else "novice" for name in labels["rater"]]
    path = write(tmp_path / "t.csv", labels)
    predicted = write(tmp_path / "p.csv", {"item": ITEMS, "category": ["a", "unused"] * 6})
    asked = ("--kind", "labels", "--draws", 20, "--chains", 1, "--out", tmp_path / "out")
    result = run("report", path, predicted, *asked, "--rater-attribute", "kind", "--anonymize")
    assert result.exit_code == 0, result.output
    assert "Only predicted: unused" in (tmp_path / "out" / "report.html").read_text("utf-8")
    for file in (tmp_path / "out").iterdir():
        assert b"Name" not in file.read_bytes(), file
    lines = (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()
    answers = [own for line in lines for own in json.loads(line)["raters"]]
    assert {own["rater"] for own in answers} == {f"rater {k + 1}" for k in range(5)}
    held = data_of((tmp_path / "out" / "report.html").read_text("utf-8"))["items-data"]
    assert "rater 5" in held["texts"] and len(held["items"]) == len(ITEMS)
    worth = read(tmp_path / "out" / "worth.csv")
    assert sorted(row["kind"] for row in worth) == ["expert"] + ["novice"] * 4


@pytest.mark.parametrize("kind", ["rankings", "labels"])
def test_only_predicted_categories_change_no_other_option(tmp_path, kind):
    own = table(kind) | {"kind": ["expert", "novice", "novice", "novice", "novice"] * 12}
    path = write(tmp_path / "t.csv", own)
    options = {"anonymize": True} | ({"rater_attribute": ["kind"]} if kind == "labels" else {})
    settings = settings_of(kind, None, options, draws=10, chains=1, seed=1)
    predicted = xr.DataArray([["unused"], ["a"]], {"item": ITEMS[:2]}, ("item", "position"))
    data, only_predicted, _ = read_annotations(path, settings, [], predicted)
    assert only_predicted == ["unused"]
    assert data.categories.tolist() == ["a", "b", "unused"]
    assert sorted(data.raters.tolist()) == [f"rater {k + 1}" for k in range(5)]
    if kind == "labels":
        kinds = data.rater_attributes["kind"].tolist()
        assert sorted(kinds) == ["expert"] + ["novice"] * 4


def test_numbers_of_an_estimate_are_the_same():
    labels = Labels.from_table(table("labels"))
    found = dawid_skene_em(labels, restarts=0, random_seed=1)
    nameless = labels.anonymized("all", random_seed=4)
    again = dawid_skene_em(nameless, restarts=0, random_seed=1)
    assert again.attrs["log_likelihood"] == pytest.approx(found.attrs["log_likelihood"], rel=1e-12)
    rng = np.random.default_rng(4)
    raters, items = rng.permutation(5), rng.permutation(12)
    for name, order in (("confusion", {"rater": raters}), ("plausibility", {"item": items})):
        expected = found[name].isel(order).to_numpy()
        own = [f"{dim} {k + 1}" for dim in order for k in range(len(order[dim]))]
        np.testing.assert_allclose(again[name].sel({next(iter(order)): own}), expected, atol=1e-9)

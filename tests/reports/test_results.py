"""Results go back to other tools by the id of the item."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import reports
from raterzoo.models import DataError, Labels, read_export

from tests.support.command_line import run, said
from tests.support.data_parts import TOOLS
from tests.support.exports import ARGILLA, LABEL_STUDIO, write_json

DIMS = ("chain", "draw", "item", "category")


def posterior(items=("11", "12"), categories=("bad", "good"), truth="category"):
    draws = [[[0.9, 0.1], [0.25, 0.75]], [[0.4, 0.6], [0.25, 0.75]], [[0.8, 0.2], [0.25, 0.75]]]
    coords = {"item": list(items), "category": list(categories)}
    plausibility = xr.DataArray([draws], coords, DIMS, attrs={"truth": truth})
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"plausibility": plausibility})})


@pytest.fixture
def project(tmp_path):
    return write_json(tmp_path / "project.json", LABEL_STUDIO)


def test_json_lines_have_id_label_and_certainty(tmp_path):
    path = tmp_path / "results.jsonl"
    assert reports.write_results(posterior(), path) == 2
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found == [
        {"id": "11", "label": "bad", "certainty": pytest.approx(0.7)},
        {"id": "12", "label": "good", "certainty": 0.75},
    ]
    # where plausibilities are the truth, certainty is how often the label is the most plausible
    reports.write_results(posterior(truth="distribution"), path)
    found = [json.loads(line)["certainty"] for line in path.read_text().splitlines()]
    assert found == pytest.approx([2 / 3, 1])


def test_csv_has_the_probabilities_of_all_categories(tmp_path):
    path = tmp_path / "results.csv"
    assert reports.write_results(posterior(categories=("bad", "=good")), path) == 2
    table = pd.read_csv(path)
    assert table.columns.tolist() == ["id", "label", "certainty", "p_bad", "p_=good"]
    assert table["label"].tolist() == ["bad", "'=good"]  # which no spreadsheet runs
    np.testing.assert_allclose(table[["p_bad", "p_=good"]], [[0.7, 0.3], [0.25, 0.75]])
    assert table["certainty"].tolist() == pytest.approx([0.7, 0.75])


def test_predictions_of_label_studio_are_those_that_it_exports(tmp_path, project):
    path = tmp_path / "predictions.json"
    assert reports.write_results(posterior(), path, export=project, question="mood") == 2
    written = json.loads(path.read_text())
    assert written[0] == {
        "task": 11, "model_version": "raterzoo", "score": pytest.approx(0.7),
        "result": [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["bad"]}}],
    }  # fmt: skip
    tasks = [{"id": own["task"], "data": {}, "predictions": [own]} for own in written]
    table = read_export(write_json(path, tasks), "predictions")
    assert table == {
        "item": ["11", "12"],
        "category": ["bad", "good"],
        "classifier": ["raterzoo"] * 2,
        "rank": [1, 1],
    }


def of_items(name):
    draws = [[[1.2, 4.6], [1.4, 4.4], [1.0, 5.0]]]
    array = xr.DataArray(draws, {"item": ["11", "12"]}, ("chain", "draw", "item"))
    return xr.DataTree.from_dict({"posterior": xr.Dataset({name: array})})


def test_scores_and_leaderboards_are_written_by_id(tmp_path, project, golden):
    path = tmp_path / "results.jsonl"
    assert reports.write_results(of_items("location"), path) == 2
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert list(first) == ["id", "score", "lower", "upper"] and first["id"] == "11"
    assert (first["score"], second["score"]) == pytest.approx((1.2, 14 / 3))
    assert 1.0 <= first["lower"] < first["score"] < first["upper"] <= 1.4
    assert reports.write_results(of_items("quality"), path) == 2
    best, last = (json.loads(line) for line in path.read_text().splitlines())
    assert (best["id"], best["rank"], best["best"], last["id"], last["rank_lower"]) == ("12", 1, 1, "11", 2)
    assert best["quality"] == pytest.approx(14 / 3) and best["quality_lower"] < best["quality_upper"]
    assert reports.write_results(of_items("location"), path, export=project) == 2
    written = json.loads(path.read_text())
    assert [own["result"][0]["value"] for own in written] == [{"rating": 1}, {"rating": 5}]
    assert "score" not in written[0]
    low = of_items("location")
    low["posterior"] = low["posterior"].to_dataset() - 3.0
    reports.write_results(low, path, export=project)
    ratings = [own["result"][0]["value"] for own in json.loads(path.read_text())]
    assert ratings == [{"rating": 1}, {"rating": 2}]  # there is no rating of -2
    spans = [own | {"annotations": [], "predictions": []} for own in LABEL_STUDIO]
    with golden.raises(DataError):
        reports.write_results(posterior(), path, export=write_json(tmp_path / "bare.json", spans))
    with golden.raises(DataError):
        reports.write_results(low, path, export=tmp_path / "bare.json")
    with golden.raises(DataError):
        reports.write_results(of_items("quality"), path, export=project)


def test_other_controls_write_their_own_values(tmp_path, project, golden):
    path = tmp_path / "predictions.json"
    reports.write_results(posterior(categories=("1", "5")), path, export=project, question="stars")
    assert [own["result"][0]["value"] for own in json.loads(path.read_text())] == [
        {"rating": 1},
        {"rating": 5},
    ]
    with golden.raises(DataError):
        reports.write_results(posterior(), path, export=project, question="stars")


def test_what_does_not_fit_the_export_is_refused(tmp_path, project, golden):
    path = tmp_path / "out.json"
    with golden.raises(DataError):
        reports.write_results(posterior(items=("11", "13")), path, export=project, question="mood")
    with golden.raises(DataError):
        reports.write_results(posterior(), path, export=project)
    with golden.raises(DataError):
        reports.write_results(posterior(), path, export=project, question="mod")
    records = write_json(tmp_path / "records.json", ARGILLA)
    with golden.raises(DataError):
        reports.write_results(posterior(), path, export=records)
    with golden.raises(DataError):
        reports.write_results(posterior(), path, question="mood")
    assert not path.exists()


def test_the_page_names_every_tool_and_its_example_runs(project, monkeypatch):
    page = (Path(reports.__file__).parents[1] / "docs/formats.md").read_text()
    assert all(f"| {tool.title}, `{tool.name}` |" in page for tool in TOOLS.values())
    monkeypatch.chdir(project.parent)
    (code,) = re.findall("```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["labels"] == Labels.from_table(read_export(project, "labels", question="mood"), gold="gold")
    assert names["predictions"].sizes == {"classifier": 1, "item": 2, "position": 1}


def test_the_command_writes_results(tmp_path, project, golden):
    stored, path = tmp_path / "posterior.nc", tmp_path / "results.jsonl"
    posterior().to_netcdf(stored, engine="h5netcdf")
    result = run("results", stored, "-o", path)
    assert result.exit_code == 0 and f"wrote {path}: 2 items" in said(result), result.output
    result = run("results", stored, "-o", path, "--export", project, "--question", "mood")
    assert result.exit_code == 0 and json.loads(path.read_text())[1]["task"] == 12
    result = run("results", stored, "-o", path, "--export", project)
    assert result.exit_code == 2
    golden.says(said(result))

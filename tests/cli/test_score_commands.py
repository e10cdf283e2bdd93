"""Scores on the command line: from a table to a posterior, its certainty about a threshold, and a report."""

import json

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models, papers
from raterzoo.evaluation.certainty.thresholds import ScoreParameters
from raterzoo.reports.sections.scores import mean_score_plausibility

from tests.support.cli_parts import read_sides
from tests.support.command_line import read, run, said, write

ITEMS = 24
QUICK = ("--draws", 150, "--chains", 2, "--seed", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scores")


@pytest.fixture(scope="module")
def files(folder):
    """Counts of scores from -2 to 2, long and by score, and predictions of what is above 0."""
    simulated = models.simulators.toxicity_scores(items=ITEMS, raters=6, random_seed=4)
    table = simulated.data.to_table()
    names = np.array([f"item {i}" for i in range(ITEMS)])
    table["item"] = names[table["item"]]
    counts = np.zeros((ITEMS, 5), int)
    data = simulated.data
    np.add.at(counts, (data.annotation_item, (data.score + 2).astype(int)), data.count)
    by_score = {str(s): counts[:, s + 2] for s in range(-2, 3)}
    location = np.asarray(simulated.truth["location"])
    probability = 1 / (1 + np.exp(-3 * location))
    twice = np.r_[names, names]
    both = {"item": twice, "classifier": np.repeat(["net", "coin"], ITEMS)}
    return {
        "long": write(folder / "long.csv", table),
        "counts": write(folder / "counts.csv", {"item": names, **by_score}),
        "both": write(folder / "both.csv", both | {"probability": np.r_[probability, np.full(ITEMS, 0.5)]}),
        "score": write(folder / "score.csv", {"item": names, "score": location}),
        "label": write(
            folder / "label.csv", {"item": names, "label": np.where(location > 0, "above", "at most")}
        ),
    }


@pytest.fixture(scope="module")
def posterior(files, folder):
    path = folder / "posterior.nc"
    result = run("fit", files["long"], "--kind", "scores", "--bounds", "-3,3", "-o", path, *QUICK)
    assert result.exit_code == 0 and "exact: 300 independent draws" in result.output, result.output
    return path


def test_check_reads_both_layouts(files):
    for name, layout in (("long", "long"), ("counts", "counts")):
        options = ("--kind", "scores", "--layout", layout, "--bounds", "-2,2")
        result = run("check", files[name], *options)
        assert result.exit_code == 0 and f"{6 * ITEMS}, 6" in result.output, result.output


def test_predictions_are_read_as_sides(tmp_path):
    table = {"item": list("abc"), "score": ["-1", "0", "2"]}
    found = read_sides(write(tmp_path / "s.csv", table), [], 0.0)
    assert found["category"].to_numpy().tolist() == ["at most 0", "above 0"]
    assert found.argmax("category").to_numpy().tolist() == [0, 0, 1]  # 0 itself is at most 0
    table = {"item": list("abc"), "probability": ["0.25", "0", "1"]}
    found = read_sides(write(tmp_path / "p.csv", table), [], 0.0)
    assert found.sel(category="above 0").to_numpy().tolist() == [0.25, 0, 1]
    assert found.sum("category").to_numpy().tolist() == [1, 1, 1]
    table = {"case": list("ab"), "label": ["above", "at most 0.5"]}
    found = read_sides(write(tmp_path / "l.csv", table), ["item=case"], 0.5)
    assert found.isel(position=0).to_numpy().tolist() == ["above 0.5", "at most 0.5"]


def test_mean_scores_on_the_threshold_are_at_most_it():
    table = {"item": list("aabcc"), "score": [1, -1, 2, -1, 0], "count": [1, 1, 1, 1, 0]}
    scores = models.Scores.from_table(table, rater=None, count="count")
    assert mean_score_plausibility(scores, 0.0).sel(category="above 0").to_numpy().tolist() == [0, 1, 0]


@pytest.mark.slow
def test_evaluate_scores_either_side_of_a_threshold(files, posterior, tmp_path):
    tree = papers.thresholded(xr.open_datatree(posterior, engine="h5netcdf"), 0.0)
    for name, metric in (("score", evaluation.roc_auc()), ("label", evaluation.top_k_accuracy(1))):
        out = tmp_path / f"{name}.csv"
        asked = "auc" if name == "score" else "accuracy"
        options = ("--threshold", "0", "--metric", asked, "--out", out)
        result = run("evaluate", posterior, files[name], *options)
        assert result.exit_code == 0, result.output
        predicted = read_sides(files[name], [], 0.0)
        drawn = evaluation.uncertainty_adjusted(metric, tree, predicted)
        (row,) = read(out)
        assert float(row["mean"]) == pytest.approx(float(drawn.mean()), rel=1e-12)
    beyond = run("evaluate", posterior, files["label"], "--threshold", 2.5, "--metric", "accuracy")
    assert beyond.exit_code == 0, beyond.output  # within the bounds, if above all scores


@pytest.mark.slow
def test_report_cuts_scores_and_judges_predictions(files, posterior, tmp_path, monkeypatch, golden):
    walks, walk = [], ScoreParameters.map_blocks
    monkeypatch.setattr(ScoreParameters, "map_blocks", lambda *own: walks.append(own) or walk(*own))
    options = ("--kind", "scores", "--bounds", "-3,3", "--threshold", "0", "--threshold", "1")
    metrics = ("--metric", "accuracy", "--metric", "brier")
    result = run("report", files["long"], files["both"], *options, *metrics, "--out", tmp_path, *QUICK)
    assert result.exit_code == 0, result.output
    assert len(walks) == 2  # one through the draws for each threshold
    golden.says(result.output, "net has accuracy", "coin has accuracy")
    assert "most plausible label" not in said(result)
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["kind"] == "scores" and found["data"]["bounds"] == [-3, 3]
    assert found["fit"]["fits"] in (True, False) and found["fit"]["replicates"] == 200
    tree = xr.open_datatree(posterior, engine="h5netcdf")  # of the same seed
    rows = read(tmp_path / "certainty.csv")
    assert [row["threshold"] for row in rows] == ["0"] * ITEMS + ["1"] * ITEMS
    for own, threshold in ((rows[:ITEMS], 0.0), (rows[ITEMS:], 1.0)):
        sure = evaluation.threshold_certainty(tree, threshold)
        order = [float(row["annotation certainty"]) for row in own]
        assert order == sorted(order)
        for row in own:
            there = sure.sel(item=row["item"])
            for name in ("annotation_certainty", "threshold_probability", "location"):
                value = float(row[name.replace("_", " ")])
                assert value == pytest.approx(float(there[name]), rel=1e-9)
    location = tree["posterior"]["location"].mean(("chain", "draw"))
    for row in read(tmp_path / "locations.csv"):
        assert float(row["location"]) == pytest.approx(float(location.sel(item=row["item"])))
        assert int(row["scores"]) == 6 and float(row["5 %"]) < float(row["95 %"])
    mean = found["certainty"]["thresholds"][0]["annotation_certainty"]
    assert found["certainty"]["mean"] == pytest.approx(mean, abs=1e-6)
    page = (tmp_path / "report.html").read_text()
    golden.says(page.replace("&nbsp;", " "), "more probable", "one side can")
    assert "Threshold 1" in page and "annotation certainty" in page and "net" in page
    assert {row["classifier"] for row in read(tmp_path / "metrics.csv")} == {"net", "coin"}
    assert found["comparison"]["optimism"]["rows"][0]["estimate"] == "mean score"
    prior = found["sensitivity"]["prior"]
    assert {row["item"] for row in prior["rows"]} == {row["item"] for row in rows}
    assert 0 <= prior["share"] <= 1
    golden.says(prior["text"], "depend on the")


@pytest.mark.slow
def test_report_of_raters_and_their_groups(tmp_path, golden):
    simulated = models.simulators.scores(items=20, raters=6, answers=4, random_seed=5).data
    table = simulated.to_table()
    is_model = table["rater"] < 2
    table |= {"kind": np.where(is_model, "model", "person"), "rating": table.pop("score") + 2 * is_model}
    path = write(tmp_path / "ratings.csv", table)
    options = ("--kind", "scores", "--column", "score=rating", "--group", "kind")
    result = run("report", path, *options, "--threshold", 0, "--out", tmp_path, *QUICK)
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "report.json").read_text())
    (pair,) = found["rater_groups"]["differences"]
    assert (pair["group"], pair["other"]) == ("model", "person") and pair["difference"] > 0
    tree = xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf")
    kind, tree = tree["constant_data"]["rater_kind"], tree["posterior"]
    bias = tree["group_bias"].sel(group_of_raters="model") - tree["group_bias"].sel(group_of_raters="person")
    assert pair["difference"] == pytest.approx(float(bias.mean()), rel=1e-6)
    for row in found["raters"]["rows"]:
        own = tree.sel(rater=row["rater"])
        assert row["kind"] == str(kind.sel(rater=row["rater"]).to_numpy())
        assert row["bias"] == pytest.approx(float(own["rater_bias"].mean()), rel=1e-5)
        assert row["scale"] == pytest.approx(float(own["rater_scale"].mean()), rel=1e-5)
    golden.says(found["sensitivity"]["text"], "scaled item")
    assert "<h2>Groups of raters</h2>" in (tmp_path / "report.html").read_text()

"""`raterzoo equivalence`: figures of evaluation, words, files, and the section of the report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import raterzoo
import xarray as xr
from raterzoo import evaluation
from raterzoo.cli import equivalence as equivalences

from tests.support.command_line import read, run, said, write
from tests.support.pages import foreign_scripts
from tests.support.survey_files import FAST, LABELS, N_ITEMS, N_RATERS, answers, spoilt, write_tables

ROW = {
    "classifier", "score", "score_lower", "score_upper", "classifier_gain", "classifier_gain_lower",
    "classifier_gain_upper", "equivalence", "equivalence_lower", "equivalence_upper", "integer_equivalence",
    "censored", "words",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def report(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    options = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--out", out)
    result = run("report", files["long"], files["soft"], *options)
    assert result.exit_code == 0, result.output
    return out


def asked(files, predictions, out, *options, layout="long"):
    result = run(
        "equivalence", files[layout], files[predictions], "--layout", layout, *FAST, "--out", out, *options
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return json.loads(out.read_text())["equivalence"], result


def counts_and_law(p):
    share, yes = answers()
    coords = {"item": [f"i{i}" for i in range(N_ITEMS)], "category": LABELS}
    total = yes.sum(axis=1)
    counts = np.stack([N_RATERS - total, total], axis=1)
    law = np.stack([1 - p(share), p(share)], axis=1)
    return tuple(xr.DataArray(values, coords, ("item", "category")) for values in (counts, law))


@pytest.mark.parametrize("layout", ["long", "wide", "counts"])
def test_figures_are_those_of_evaluation_in_every_layout(files, tmp_path, layout):
    found, result = asked(files, "soft", tmp_path / "w.json", layout=layout)
    counts, law = counts_and_law(lambda share: share)
    own = evaluation.survey_equivalence(counts, law, bootstrap=50, probability=0.9)
    row = found["rows"][0]
    assert row["classifier"] == "ideal"
    assert row["score"] == pytest.approx(float(own["score"]), abs=1e-12)
    curve = [point["score"] for point in found["curve"]["rows"]]
    assert curve == pytest.approx(own["power_curve"].to_numpy().tolist(), abs=1e-12)
    assert row["words"] == str(own["words"].to_numpy()) and row["words"] in said(result)
    above = [point["probability_above_ideal"] for point in found["curve"]["rows"]]
    assert above == own["probability_above"].to_numpy().tolist()


def test_clusters_of_items_are_resampled_whole(files, tmp_path):
    names = [f"i{i}" for i in range(N_ITEMS)]
    clusters = write(tmp_path / "c.csv", {"item": names, "cluster": [f"c{i // 4}" for i in range(N_ITEMS)]})
    found, _ = asked(files, "soft", tmp_path / "w.json", "--clusters", clusters)
    counts, law = counts_and_law(lambda share: share)
    cluster = xr.DataArray(np.arange(N_ITEMS) // 4, {"item": counts["item"]})
    own = evaluation.survey_equivalence(counts, law, bootstrap=50, probability=0.9, clusters=cluster)
    bounds = [found["rows"][0][f"score_{end}"] for end in ("lower", "upper")]
    assert bounds == pytest.approx(own["score_interval"].to_numpy().tolist(), abs=1e-12)


@pytest.mark.slow
def test_keys_of_the_file_and_of_the_report_are_the_same(files, report, tmp_path):
    ours, _ = asked(files, "soft", tmp_path / "w.json")
    theirs = json.loads((report / "report.json").read_text())["equivalence"]
    assert set(ours) == set(theirs)
    assert {"combiner", "scorer", "probability", "baseline", "left_out", "curve", "differences"} < set(ours)
    for found in (ours, theirs):
        assert all(set(row) == ROW for row in found["rows"])
        assert [row["raters"] for row in found["curve"]["rows"]] == list(range(N_RATERS))
        (pair,) = found["differences"]["rows"]
        assert (pair["classifier"], pair["other"]) == ("ideal", "inverse")
        assert pair["probability_better"] == 1.0
    for one, other in zip(ours["curve"]["rows"], theirs["curve"]["rows"], strict=True):
        assert one["score"] == other["score"]
    page = (report / "report.html").read_text()
    assert f"<h2>{theirs['title']}</h2>" in page and ours["rows"][0]["words"].split(" (")[0] in page


def test_a_classifier_below_the_baseline_is_said_to_be(files, tmp_path, golden):
    found, result = asked(files, "soft", tmp_path / "w.json")
    inverse = found["rows"][1]
    assert inverse["censored"] == "below" and inverse["equivalence"] is None
    assert (
        f"inverse is worth no rater: it scores {inverse['score']:.3f}, less than the {found['baseline']:.3f} that"
        in said(result)
    )
    golden.says(result.output, "too sure score")


def test_a_hard_classifier_is_scored_by_agreement_as_one_hot(files, tmp_path, golden):
    found, result = asked(files, "hard", tmp_path / "w.json")
    assert (found["combiner"], found["scorer"]) == ("plurality", "agreement")
    counts, law = counts_and_law(lambda share: (share > 0.4).astype(float))
    expected = float((counts * law).sum() / counts.sum())
    (row,) = found["rows"]
    assert row["score"] == pytest.approx(expected, abs=1e-12)
    assert "differences" not in found
    golden.says(result.output, "The predictions")


@pytest.mark.parametrize("scorer", equivalences.SCORERS)
def test_every_scorer_by_its_name(files, tmp_path, scorer):
    found, _ = asked(files, "soft", tmp_path / "w.json", "--scorer", scorer)
    assert found["scorer"] == scorer.replace("-", "_")
    if scorer == "auc":
        assert found["baseline"] == 0.5  # learned in sample: leaving an item out would shift it


@pytest.mark.parametrize("combiner", equivalences.COMBINERS)
def test_every_combiner_by_its_name(files, tmp_path, combiner):
    scorer = ("--scorer", "pearson") if combiner == "mean" else ()
    found, _ = asked(files, "soft", tmp_path / "w.json", "--combiner", combiner, *scorer)
    assert found["combiner"] == combiner


def test_calibration_shows_both_scores(files, tmp_path):
    found, result = asked(files, "soft", tmp_path / "w.json", "--calibrate")
    names = [row["classifier"] for row in found["rows"]]
    assert names == ["ideal", "inverse", "ideal, calibrated", "inverse, calibrated"]
    assert all(f"{row['score']:.3f}" in result.output for row in found["rows"])


def test_tables_and_picture(files, tmp_path):
    out, plot = tmp_path / "new" / "w.csv", tmp_path / "new" / "curve.svg"
    result = run("equivalence", files["long"], files["soft"], *FAST, "--out", out, "--plot", plot)
    assert result.exit_code == 0, result.output
    assert [row["classifier"] for row in read(out)] == ["ideal", "inverse"]
    assert len(read(out.with_name("w_curve.csv"))) == N_RATERS
    assert len(read(out.with_name("w_differences.csv"))) == 1
    assert "<svg" in plot.read_text()


def cells(rows):
    """Return rows as their CSV file has them."""
    return [{n: "" if cell is None else str(cell) for n, cell in row.items()} for row in rows]


def tables_of(folder):
    """Return the rows of every table of the section, of the CSV file and of report.json."""
    document = json.loads((folder / "report.json").read_text())["equivalence"]
    found = {}
    for name in ("", "_curve", "_differences", "_posterior", "_posterior_curve"):
        place = document
        for key in name.split("_")[1:]:
            place = place.get(key, {})
        if "rows" in place:
            found[name] = (read(folder / f"equivalence{name}.csv"), place["rows"])
    return found


def assert_same_tables(folder, names):
    """Check that each table is a file named on the page, with the rows of report.json; nan and inf are null there."""
    page, tables = (folder / "report.html").read_text(), tables_of(folder)
    assert set(tables) == names
    assert {path.name for path in folder.glob("equivalence*.csv")} == {
        f"equivalence{name}.csv" for name in names
    }
    for name, (ours, theirs) in tables.items():
        assert f"All figures: equivalence{name}.csv" in page
        for own in ours:
            own |= {n: "" for n, cell in own.items() if cell in ("nan", "inf", "-inf")}
        assert ours == cells(theirs) and ours


def test_the_report_has_a_table_for_each_part(report, golden):
    assert_same_tables(report, {"", "_curve", "_differences"})
    box = (report / "report.html").read_text().split('class="box"')[1].split("</div>")[0]
    assert "ideal is worth" in box
    golden.says(box, "inverse is")


def test_a_folder_is_a_page_with_its_tables(files, tmp_path, golden):
    out = tmp_path / "page"
    options = ("--posterior", "--draws", 500, "--max-raters", 12, "--out", out)
    result = run("equivalence", files["long"], files["soft"], *FAST, *options)
    assert result.exit_code == 0, result.output
    assert_same_tables(out, {"", "_curve", "_differences", "_posterior", "_posterior_curve"})
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2
    golden.says(page, "Extrapolation beyond")
    assert "cross-entropy in bits" in page and "arXiv:2106.01254" in page
    assert not foreign_scripts(page) and 'src="' not in page  # nothing from elsewhere
    rows = read(out / "equivalence_posterior_curve.csv")
    assert [row["raters"] for row in rows] == [str(k) for k in range(13)]
    seen = [row["observed_score"] != "" for row in rows]
    assert seen == [k < N_RATERS for k in range(13)]
    for row in rows:
        assert float(row["score_lower"]) < float(row["score"]) < float(row["score_upper"])


def test_names_of_classifiers_are_text_not_markup(files, tmp_path):
    def name(table):
        table["classifier"] = [f"[i]{own[:2]}<b>" for own in table["classifier"]]

    out = tmp_path / "page"
    result = run("equivalence", files["long"], spoilt(files, tmp_path, name), *FAST, "--out", out)
    assert result.exit_code == 0 and "P([i]id<b>)" in said(result), result.output
    assert "<b>" not in (out / "report.html").read_text()


def test_no_resamples_no_intervals(files, tmp_path):
    out = tmp_path / "w.json"
    result = run("equivalence", files["long"], files["soft"], "--bootstrap", 0, "--out", out)
    assert result.exit_code == 0 and "90 % interval" not in result.output
    assert "score_lower" not in json.loads(out.read_text())["equivalence"]["rows"][0]


def test_posterior_goes_beyond_the_raters(files, tmp_path):
    options = ("--posterior", "--draws", 500, "--max-raters", 20)
    found, result = asked(files, "soft", tmp_path / "w.json", *options)
    own = found["posterior"]
    assert own["longest"] == 20 and own["converged"] is True and 0 < own["check_p"] <= 1
    assert own["asymptote_lower"] < own["asymptote"] < own["asymptote_upper"]
    assert own["asymptote"] > own["baseline"] and own["rows"][1]["probability_below"] > 0.9
    assert "performance ratio" in said(result) and "Infinitely many raters" in said(result)


def test_a_posterior_that_did_not_converge_is_loud(files, tmp_path, golden):
    out = tmp_path / "page"
    options = ("--posterior", "--draws", 20, "--chains", 2, "--max-raters", 6, "--out", out)
    result = run("equivalence", files["long"], files["soft"], *FAST, *options)
    assert result.exit_code == equivalences.NOT_CONVERGED != 0
    assert "NOT converged" in said(result) and "Traceback" not in result.output
    # the other parts of the page stand
    page = (out / "report.html").read_text()
    golden.says(page, "Not beyond")


def test_the_unit_of_a_score_is_said(files):
    for base, unit in ((2, "bits"), (10, "decimal digits"), (3, "units of log 3")):
        result = run("equivalence", files["long"], files["soft"], *FAST, "--base", base)
        assert f"-entropy in {unit}" in said(result)


def test_calibrated_labels_are_probabilities_and_scored_as_such(files, tmp_path):
    found, _ = asked(files, "hard", tmp_path / "w.json", "--calibrate")
    assert (found["combiner"], found["scorer"]) == ("abc", "cross_entropy")


def test_the_running_example_of_the_paper(tmp_path):
    """The published 1.96 is 1.96867, learned leave-one-out, without drawing."""
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    rows = read(Path(folder) / "running_example.csv")
    raters = [f"e_{r}" for r in range(1, 11)]
    wide = {name: [row[name] for row in rows] for name in ("item", *raters)}
    p = np.array([float(row["soft_pos"]) for row in rows])
    soft = {"item": wide["item"] * 2, "category": ["0"] * len(p) + ["1"] * len(p)}
    soft["score"] = np.concatenate([1 - p, p]).tolist()
    labels, out = write(tmp_path / "wide.csv", wide), tmp_path / "w.json"
    soft = write(tmp_path / "soft.csv", soft)
    result = run("equivalence", labels, soft, "--layout", "wide", *FAST, "--out", out)
    assert result.exit_code == 0, result.output
    (row,) = json.loads(out.read_text())["equivalence"]["rows"]
    assert row["equivalence"] == pytest.approx(1.96867, abs=5e-6)


def test_answers_are_those_of_the_function(files, tmp_path):
    """Worth, and the better of both classifiers with its probability, come first."""
    result = run("equivalence", files["long"], files["soft"], *FAST, "--out", tmp_path / "all.json")
    rows = json.loads((tmp_path / "all.json").read_text())["equivalence"]
    first, *_ = result.output.splitlines()
    assert all(f"{row['classifier']} is worth {row['words']}" in first for row in rows["rows"])
    (pair,) = rows["differences"]["rows"]
    assert f"{pair['classifier']} is better than {pair['other']}" in said(result)


def test_the_analysis_is_that_of_the_command(files, tmp_path, golden):
    found, result = asked(files, "soft", tmp_path / "w.json")
    options = {"kind": "equivalence", "predictions": files["soft"]}
    analysis = raterzoo.analyse(files["long"], bootstrap=50, **options)
    names = ["classifier", "score", "score_lower", "score_upper", "classifier_gain", "words"]
    assert analysis.classifiers[names].to_dict("records") == [
        pytest.approx({name: row[name] for name in names}) for row in found["rows"]
    ]
    assert analysis.curve["raters"].tolist() == [0, 1, 2, 3, 4]
    own = said(result).replace("--max-raters ", "max_raters=").replace("--calibrate", "calibrate=True")
    own = own.split()  # a remedy names what its reader types
    assert str(analysis).split() == own[: len(str(analysis).split())]
    golden.says(str(analysis))
    page = analysis.write(tmp_path / "page")
    assert page.with_name("equivalence.csv").exists() and analysis.summary in page.read_text()
    with golden.raises(ValueError):
        raterzoo.analyse(files["long"], scorer="f1", positive="yes", posterior=True, **options)


def test_files_are_written_when_the_reader_of_the_output_has_enough(files, tmp_path):
    out = tmp_path / "worth.csv"
    arguments = ["raterzoo", "equivalence", files["long"], files["soft"], "--bootstrap", 0, "-o", out]
    code = f"import sys, raterzoo.cli; sys.argv = {[*map(str, arguments)]!r}; raterzoo.cli.main()"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read(out)) > 0

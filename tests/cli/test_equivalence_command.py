"""`raterzoo equivalence`: figures of evaluation, words, files, the section of the report, and what is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from command_line import read, run, said, write
from raterzoo import evaluation
from raterzoo.cli import equivalences
from raterzoo.reports.machine import __doc__ as schema

N_ITEMS, N_RATERS = 40, 5
LABELS = ["no", "yes"]
FAST = ("--bootstrap", 50)
ROW = {
    "classifier", "score", "score_lower", "score_upper", "classifier_gain", "classifier_gain_lower",
    "classifier_gain_upper", "equivalence", "equivalence_lower", "equivalence_upper", "integer_equivalence",
    "censored", "words",
}  # fmt: skip


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(8)
    share = rng.choice([0.1, 0.5, 0.9], N_ITEMS)
    return share, rng.random((N_ITEMS, N_RATERS)) < share[:, None]


@pytest.fixture(scope="module")
def files(answers, tmp_path_factory):
    """Labels in every layout; a classifier that knows the shares, one that inverts them, and hard ones."""
    folder = tmp_path_factory.mktemp("files")
    share, yes = answers
    items = [f"i{i}" for i in range(N_ITEMS)]
    item, rater = np.repeat(items, N_RATERS), np.tile([f"r{r}" for r in range(N_RATERS)], N_ITEMS)
    code = yes.astype(int)
    names = np.array(LABELS)
    long = {"item": item, "rater": rater, "label": names[code.ravel()]}
    wide = {"item": items} | {f"r{r}": names[code[:, r]] for r in range(N_RATERS)}
    counts = {"item": items, "no": (1 - code).sum(axis=1), "yes": code.sum(axis=1)}
    soft = {"item": [], "category": [], "score": [], "classifier": []}
    for name, p in (("ideal", share), ("inverse", 1 - share)):
        for i, q in enumerate(p):
            for category, chance in zip(LABELS, (1 - q, q), strict=True):
                for cells, cell in zip(
                    soft.values(), (items[i], category, chance, name), strict=True
                ):
                    cells.append(cell)
    hard = {"item": items, "category": names[(share > 0.4).astype(int)], "rank": [1] * N_ITEMS}
    tables = {"long": long, "wide": wide, "counts": counts, "soft": soft, "hard": hard}
    return {name: write(folder / f"{name}.csv", table) for name, table in tables.items()}


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


def counts_and_law(answers, p):
    share, yes = answers
    coords = {"item": [f"i{i}" for i in range(N_ITEMS)], "category": LABELS}
    total = yes.sum(axis=1)
    counts = np.stack([N_RATERS - total, total], axis=1)
    law = np.stack([1 - p(share), p(share)], axis=1)
    return tuple(xr.DataArray(values, coords, ("item", "category")) for values in (counts, law))


@pytest.mark.parametrize("layout", ["long", "wide", "counts"])
def test_figures_are_those_of_evaluation_in_every_layout(files, answers, tmp_path, layout):
    found, result = asked(files, "soft", tmp_path / "w.json", layout=layout)
    counts, law = counts_and_law(answers, lambda share: share)
    own = evaluation.survey_equivalence(counts, law, bootstrap=50, probability=0.9)
    row = found["rows"][0]
    assert row["classifier"] == "ideal"
    assert row["score"] == pytest.approx(float(own["score"]), abs=1e-12)
    curve = [point["score"] for point in found["curve"]["rows"]]
    assert curve == pytest.approx(own["power_curve"].to_numpy().tolist(), abs=1e-12)
    assert row["words"] == str(own["words"].to_numpy()) and row["words"] in said(result)
    above = [point["probability_above_ideal"] for point in found["curve"]["rows"]]
    assert above == own["probability_above"].to_numpy().tolist()


def test_keys_of_the_file_and_of_the_report_are_the_same_and_documented(files, report, tmp_path):
    ours, _ = asked(files, "soft", tmp_path / "w.json")
    theirs = json.loads((report / "report.json").read_text())["equivalence"]
    assert set(ours) == set(theirs) and "equivalence  " in schema
    assert {
        "combiner",
        "scorer",
        "probability",
        "baseline",
        "left_out",
        "curve",
        "differences",
    } < set(ours)
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


def test_labels_without_second_answers_have_no_section(files, tmp_path):
    rows = [row for row in read(files["long"]) if row["rater"] == "r0"]
    single = write(tmp_path / "one.csv", {n: [row[n] for row in rows] for n in rows[0]})
    options = (
        "--kind",
        "labels",
        "--model",
        "dirichlet",
        "--draws",
        200,
        "--out",
        tmp_path / "out",
    )
    result = run("report", single, files["soft"], *options)
    assert result.exit_code == 0, result.output
    assert "equivalence" not in json.loads((tmp_path / "out" / "report.json").read_text())
    refused = run("equivalence", single, files["soft"])
    assert refused.exit_code == 2 and "no item has 2 labels" in said(refused)


def test_scores_that_are_no_probabilities_do_not_end_a_report(files, tmp_path):
    rows = read(files["soft"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    table["score"] = [3 * float(score) for score in table["score"]]
    options = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--metric", "accuracy")
    result = run(
        "report",
        files["long"],
        write(tmp_path / "s.csv", table),
        *options,
        "--out",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "out" / "report.json").read_text())["equivalence"]
    assert found["text"].startswith("Not computed: predictions:") and found["rows"] == []


def test_a_classifier_below_the_baseline_is_said_to_be(files, tmp_path):
    found, result = asked(files, "soft", tmp_path / "w.json")
    inverse = found["rows"][1]
    assert inverse["censored"] == "below" and inverse["equivalence"] is None
    assert "inverse is worth less than 0 raters: it scores below what is predicted" in said(result)


def test_a_hard_classifier_is_scored_by_agreement_as_one_hot(files, answers, tmp_path):
    found, result = asked(files, "hard", tmp_path / "w.json")
    assert (found["combiner"], found["scorer"]) == ("plurality", "agreement")
    counts, law = counts_and_law(answers, lambda share: (share > 0.4).astype(float))
    expected = float((counts * law).sum() / counts.sum())
    (row,) = found["rows"]
    assert row["score"] == pytest.approx(expected, abs=1e-12)
    assert "The predictions are worth" in said(result) and "differences" not in found


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


def test_items_with_too_few_labels_are_reported(files, tmp_path):
    rows = read(files["counts"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    table["no"][:3], table["yes"][:3] = [0, 0, 1], [0, 1, 0]
    counts = write(tmp_path / "c.csv", table)
    result = run("equivalence", counts, files["soft"], "--layout", "counts", *FAST)
    assert result.exit_code == 0, result.output
    assert "3 items (1 without a label, 2 with one label)" in said(result)


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
    assert len(read(out.with_name("w-curve.csv"))) == N_RATERS
    assert len(read(out.with_name("w-differences.csv"))) == 1
    assert "<svg" in plot.read_text()


def test_no_resamples_no_intervals(files, tmp_path):
    out = tmp_path / "w.json"
    result = run("equivalence", files["long"], files["soft"], "--bootstrap", 0, "--out", out)
    assert result.exit_code == 0 and "90% interval" not in result.output
    assert "score_lower" not in json.loads(out.read_text())["equivalence"]["rows"][0]


def test_posterior_goes_beyond_the_raters(files, tmp_path):
    options = ("--posterior", "--draws", 500, "--max-raters", 20)
    found, result = asked(files, "soft", tmp_path / "w.json", *options)
    own = found["posterior"]
    assert own["longest"] == 20 and own["converged"] is True and 0 < own["check_p"] <= 1
    assert own["asymptote_lower"] < own["asymptote"] < own["asymptote_upper"]
    assert own["asymptote"] > own["baseline"] and own["rows"][1]["probability_below"] > 0.9
    assert "performance ratio" in said(result) and "All raters there could be" in said(result)


def test_a_posterior_that_did_not_converge_is_loud(files):
    options = ("--posterior", "--draws", 20, "--chains", 2, "--max-raters", 6)
    result = run("equivalence", files["long"], files["soft"], *FAST, *options)
    assert result.exit_code == equivalences.NOT_CONVERGED != 0
    assert "NOT converged" in said(result) and "Traceback" not in result.output


def spoilt(files, folder, change):
    rows = read(files["soft"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    change(table)
    return write(folder / "spoilt.csv", table)


def _rename(table):
    table["category"][0] = "maybe"


def _not_one(table):
    table["score"][0] = 0.77


def _of_another(table):
    table["item"][:2] = ["x", "x"]


def _negative(table):
    table["score"][0] = -0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_rename, "maybe: given by no rater, who gave no, yes; correct the spelling, or declare"),
        (_not_one, "the probabilities of item i0 sum to"),
        (_of_another, "ideal predicts nothing for item i0"),
        (_negative, "is no probability"),
    ],
)
def test_wrong_predictions_are_one_message_and_exit_code_two(files, tmp_path, change, message):
    result = run("equivalence", files["long"], spoilt(files, tmp_path, change))
    assert result.exit_code == 2 and message in said(result), result.output
    assert "Traceback" not in result.output


def test_declared_categories_that_nobody_gave_are_noted(files, tmp_path):
    closed = tmp_path / "closed.txt"
    closed.write_text("no\nyes\nmaybe\n")
    predictions = spoilt(files, tmp_path, _rename)
    result = run("equivalence", files["long"], predictions, "--categories", closed, *FAST)
    assert result.exit_code == 0 and "no rater gave maybe" in said(result), result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scorer", "log-loss"], "--scorer log-loss: expected one of cross-entropy"),
        (["--combiner", "vote"], "--combiner vote: expected one of abc"),
        (["--items", "all"], "--items all"),
        (["--estimand", "sum"], "--estimand sum"),
        (["--learn", "often"], "--learn often"),
        (["--scorer", "auc", "--learn", "leave-one-out"], "compares predictions of items"),
        (["--combiner", "mean"], "gives a number"),
        (["--scorer", "f1", "--positive", "perhaps"], "needs the label to be found"),
        (["--clip", "0.5"], "clip=0.5"),
        (["--base", "1"], "base=1"),
        (["--prob", "1.5"], "probability=1.5"),
        (["--bootstrap", "-1"], "bootstrap=-1"),
        (["--max-raters", "5"], "pass 4 at the most"),
        (["--posterior", "--scorer", "f1"], "of a posterior of item states"),
        (["--posterior", "--draws", "0"], "--draws 0"),
        (["--plot", "curve.gif"], "name a .svg or a .png file"),
        (["--out", "worth.txt"], "name a .csv or a .json file"),
        (["--column", "label=nothing"], "no column 'nothing'"),
    ],
)
def test_wrong_options_are_one_message_and_exit_code_two(files, options, message):
    result = run("equivalence", files["long"], files["soft"], *options)
    assert result.exit_code == 2 and message in said(result), result.output
    assert "Traceback" not in result.output


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

"""`raterzoo equivalence`: bad input is one message and exit code 2; what a reader would not expect is said."""

import json

import numpy as np
import pytest

from tests.support.command_line import read, run, said, write
from tests.support.survey_files import FAST, N_ITEMS, spoilt, write_tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("files"))


def test_labels_without_second_answers_have_no_section(files, tmp_path):
    rows = [row for row in read(files["long"]) if row["rater"] == "r0"]
    single = write(tmp_path / "one.csv", {n: [row[n] for row in rows] for n in rows[0]})
    options = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--out", tmp_path / "out")
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
        "report", files["long"], write(tmp_path / "s.csv", table), *options, "--out", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "out" / "report.json").read_text())["equivalence"]
    assert found["text"].startswith("Not computed: predictions:") and found["rows"] == []


def test_items_with_too_few_labels_are_reported(files, tmp_path):
    rows = read(files["counts"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    table["no"][:3], table["yes"][:3] = [0, 0, 1], [0, 1, 0]
    counts = write(tmp_path / "c.csv", table)
    result = run("equivalence", counts, files["soft"], "--layout", "counts", *FAST)
    assert result.exit_code == 0, result.output
    assert "3 items (1 without a label, 2 with one label)" in said(result)


def _rename(table):
    table["category"][0] = "maybe"


def _not_one(table):
    table["score"][0] = 0.77


def _of_another(table):
    table["item"][:2] = ["x", "x"]


def _of_others(table):
    table["item"] = [f"x{item}" for item in table["item"]]


def _too_few(table):
    for cells in table.values():
        del cells[:2], cells[2 * N_ITEMS - 2 : 2 * N_ITEMS]


def _text(table):
    table["score"][0] = "high"


def _twice(table):
    table["item"][2:4] = table["item"][:2]


def _two(table):
    table["score"][:2] = [1, 1]


def _negative(table):
    table["score"][0] = -0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_rename, "maybe: not used by any rater; the raters used no, yes; correct the spelling, or declare"),
        (_not_one, "the probabilities of item i0 sum to"),
        (_of_another, "ideal predicts nothing for item i0; add it, with the same score for each"),
        (_of_others, "no item is in both; give items the same names"),
        (_too_few, "nothing is predicted for item i0, which raters labelled; predict it"),
        (_text, "column 'score': 'high' is not a number"),
        (_twice, "category 'no' of item 'i0' is duplicated, first in row 1; keep one"),
        (_two, "the probabilities of item i0 sum to 2"),
        (_negative, "is no probability"),
    ],
)
def test_wrong_predictions_are_one_message_and_exit_code_two(files, tmp_path, change, message):
    result = run("equivalence", files["long"], spoilt(files, tmp_path, change))
    assert result.exit_code == 2 and message in said(result), result.output
    assert "Traceback" not in result.output


def labels_of(folder, *columns):
    names = ("item", "rater", "label")
    return write(folder / "labels.csv", dict(zip(names, columns, strict=True)))


def test_one_item_is_refused(files, tmp_path):
    labels = labels_of(tmp_path, ["i0"] * 3, ["a", "b", "c"], ["no", "yes", "no"])
    result = run("equivalence", labels, files["soft"])
    assert result.exit_code == 2 and "only one item has 2 labels or more" in said(result)


def test_unanimous_items_are_said_to_be(files, tmp_path):
    item, rater = np.repeat([f"i{i}" for i in range(N_ITEMS)], 3), np.tile(list("abc"), N_ITEMS)
    label = np.repeat(["no", "yes"] * (N_ITEMS // 2), 3)
    result = run("equivalence", labels_of(tmp_path, item, rater, label), files["soft"], *FAST)
    assert result.exit_code == 0 and "more raters add nothing to the curve" in said(result)


def test_who_answered_twice_and_what_nobody_labelled_is_noted(files, tmp_path):
    rows = [row for row in read(files["long"]) if row["item"] != "i0"]
    twice = [*rows, next(row for row in rows if row["rater"] == "r3")]
    labels = write(tmp_path / "l.csv", {n: [row[n] for row in twice] for n in rows[0]})
    result = run("equivalence", labels, files["soft"], *FAST)
    assert result.exit_code == 0, result.output
    assert "rater r3 answered items more than once" in said(result)
    assert "1 predicted items have no labels, and are left out" in said(result)
    plain = run("equivalence", files["long"], files["soft"], *FAST)
    assert "Note" not in said(plain)


def test_a_curve_that_falls_is_said_to(files, tmp_path):
    """Of a few items with three labels the combiner cannot learn what many answers mean."""
    rng = np.random.default_rng(3)
    share = rng.dirichlet([1, 1, 1], N_ITEMS)
    label = np.concatenate([rng.choice(["no", "yes", "maybe"], 8, p=own) for own in share])
    item, rater = (np.repeat([f"i{i}" for i in range(N_ITEMS)], 8), np.tile(list("abcdefgh"), N_ITEMS))
    labels = labels_of(tmp_path, item, rater, label)
    result = run("equivalence", labels, files["soft"], *FAST)
    assert "falls beyond: the combiner learns from few items" in said(result), result.output
    assert "the fall is of this estimate, not of the raters" in said(result)
    assert "falls" not in said(run("equivalence", files["long"], files["hard"], *FAST))


def test_too_few_items_to_calibrate(files, tmp_path):
    item, rater = np.repeat(["i0", "i1", "i2"], 2), np.tile(["a", "b"], 3)
    labels = labels_of(tmp_path, item, rater, ["no", "yes"] * 3)
    result = run("equivalence", labels, files["soft"], "--calibrate")
    assert result.exit_code == 2 and "--calibrate: 3 items have labels" in said(result)


def test_labels_that_are_no_numbers_do_not_correlate(files, tmp_path):
    item = np.repeat([f"i{i}" for i in range(N_ITEMS)], 2)
    label = ["no", "yes", "maybe", "no"] * (N_ITEMS // 2)
    labels = labels_of(tmp_path, item, np.tile(["a", "b"], N_ITEMS), label)
    result = run("equivalence", labels, files["soft"], "--scorer", "pearson")
    assert result.exit_code == 2 and "labels must be numbers, and maybe, no, yes is none" in said(result)


def test_a_place_that_cannot_be_written_is_refused_first(files, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for option, path, message in (
        ("--out", tmp_path / "file" / "w.csv", "is a file, not a folder"),
        ("--out", tmp_path / "file", "is a file, not a folder"),
        ("--plot", tmp_path / "file" / "w.svg", "is a file, not a folder"),
        ("--out", tmp_path / "folder.csv", "is a folder; name a file"),
    ):
        result = run("equivalence", files["long"], files["soft"], option, path)
        assert result.exit_code == 2 and message in said(result).replace("\n", " ")
        assert "is worth" not in said(result)


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
        (["--scorer", "f1", "--positive", "perhaps"], "needs the positive label"),
        (["--clip", "0.5"], "clip=0.5"),
        (["--base", "1"], "base=1"),
        (["--prob", "1.5"], "probability=1.5"),
        (["--bootstrap", "-1"], "bootstrap=-1"),
        (["--max-raters", "5"], "pass 4 at the most"),
        (["--posterior", "--scorer", "f1"], "of a posterior of item states"),
        (["--posterior", "--combiner", "frequency"], "--posterior with combiner frequency"),
        (["--posterior", "--draws", "0"], "--draws 0"),
        (["--posterior", "--max-raters", "0"], "--max-raters 0"),
        (["--positive", "yes"], "--positive yes: scorer cross-entropy is about all labels"),
        (["--learn", "5", "--combiner", "frequency"], "only abc learns"),
        (["--plot", "curve.gif"], "name a .svg or a .png file"),
        (["--out", "worth.txt"], "name a .csv or a .json file"),
        (["--column", "label=nothing"], "no column 'nothing'"),
    ],
)
def test_wrong_options_are_one_message_and_exit_code_two(files, options, message):
    result = run("equivalence", files["long"], files["soft"], *options)
    assert result.exit_code == 2 and message in said(result), result.output
    assert "Traceback" not in result.output

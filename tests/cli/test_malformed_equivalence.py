"""`raterzoo equivalence`: bad input is one message and exit code 2; what a reader would not expect is said."""

import json

import numpy as np
import pytest

from tests.support.command_line import read, run, said, write
from tests.support.survey_files import FAST, N_ITEMS, spoilt, write_tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("files"))


@pytest.mark.slow
def test_labels_without_second_answers_have_no_section(files, tmp_path, golden):
    rows = [row for row in read(files["long"]) if row["rater"] == "r0"]
    single = write(tmp_path / "one.csv", {n: [row[n] for row in rows] for n in rows[0]})
    options = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--out", tmp_path / "out")
    result = run("report", single, files["soft"], *options)
    assert result.exit_code == 0, result.output
    assert "equivalence" not in json.loads((tmp_path / "out" / "report.json").read_text())
    refused = run("equivalence", single, files["soft"])
    assert refused.exit_code == 2
    golden.says(said(refused))


@pytest.mark.slow
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


def test_items_with_too_few_labels_are_reported(files, tmp_path, golden):
    rows = read(files["counts"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    table["no"][:3], table["yes"][:3] = [0, 0, 1], [0, 1, 0]
    counts = write(tmp_path / "c.csv", table)
    result = run("equivalence", counts, files["soft"], "--layout", "counts", *FAST)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "without a label,")


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
    "change", [_rename, _not_one, _of_another, _of_others, _too_few, _text, _twice, _two, _negative]
)
def test_wrong_predictions_are_one_message_and_exit_code_two(files, tmp_path, change, golden):
    result = run("equivalence", files["long"], spoilt(files, tmp_path, change))
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output


def labels_of(folder, *columns):
    names = ("item", "rater", "label")
    return write(folder / "labels.csv", dict(zip(names, columns, strict=True)))


def test_one_item_is_refused(files, tmp_path, golden):
    labels = labels_of(tmp_path, ["i0"] * 3, ["a", "b", "c"], ["no", "yes", "no"])
    result = run("equivalence", labels, files["soft"])
    assert result.exit_code == 2
    golden.says(said(result))


def test_unanimous_items_are_said_to_be(files, tmp_path, golden):
    item, rater = np.repeat([f"i{i}" for i in range(N_ITEMS)], 3), np.tile(list("abc"), N_ITEMS)
    label = np.repeat(["no", "yes"] * (N_ITEMS // 2), 3)
    result = run("equivalence", labels_of(tmp_path, item, rater, label), files["soft"], *FAST)
    assert result.exit_code == 0
    golden.says(result.output, "more raters")


def test_who_answered_twice_and_what_nobody_labelled_is_noted(files, tmp_path, golden):
    rows = [row for row in read(files["long"]) if row["item"] != "i0"]
    twice = [*rows, next(row for row in rows if row["rater"] == "r3")]
    labels = write(tmp_path / "l.csv", {n: [row[n] for row in twice] for n in rows[0]})
    result = run("equivalence", labels, files["soft"], *FAST)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "answered items")
    golden.says(result.output, "predicted items")
    plain = run("equivalence", files["long"], files["soft"], *FAST)
    assert "Note" not in said(plain)


def test_a_curve_that_falls_is_said_to(files, tmp_path, golden):
    """Of a few items with three labels the combiner cannot learn what many answers mean."""
    rng = np.random.default_rng(3)
    share = rng.dirichlet([1, 1, 1], N_ITEMS)
    label = np.concatenate([rng.choice(["no", "yes", "maybe"], 8, p=own) for own in share])
    item, rater = (np.repeat([f"i{i}" for i in range(N_ITEMS)], 8), np.tile(list("abcdefgh"), N_ITEMS))
    labels = labels_of(tmp_path, item, rater, label)
    result = run("equivalence", labels, files["soft"], *FAST)
    golden.says(result.output, "combiner learns")
    golden.says(result.output, "this estimate,")
    assert "falls" not in said(run("equivalence", files["long"], files["hard"], *FAST))


def test_too_few_items_to_calibrate(files, tmp_path, golden):
    item, rater = np.repeat(["i0", "i1", "i2"], 2), np.tile(["a", "b"], 3)
    labels = labels_of(tmp_path, item, rater, ["no", "yes"] * 3)
    result = run("equivalence", labels, files["soft"], "--calibrate")
    assert result.exit_code == 2
    golden.says(said(result))


def test_labels_that_are_no_numbers_do_not_correlate(files, tmp_path, golden):
    item = np.repeat([f"i{i}" for i in range(N_ITEMS)], 2)
    label = ["no", "yes", "maybe", "no"] * (N_ITEMS // 2)
    labels = labels_of(tmp_path, item, np.tile(["a", "b"], N_ITEMS), label)
    result = run("equivalence", labels, files["soft"], "--scorer", "pearson")
    assert result.exit_code == 2
    golden.says(said(result))


def test_a_place_that_cannot_be_written_is_refused_first(files, tmp_path, golden):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for option, path in (
        ("--out", tmp_path / "file" / "w.csv"),
        ("--out", tmp_path / "file"),
        ("--plot", tmp_path / "file" / "w.svg"),
        ("--out", tmp_path / "folder.csv"),
    ):
        result = run("equivalence", files["long"], files["soft"], option, path)
        assert result.exit_code == 2
        golden.says(said(result).replace("\n", " "))
        assert "is worth" not in said(result)


def test_declared_categories_that_nobody_gave_are_noted(files, tmp_path, golden):
    closed = tmp_path / "closed.txt"
    closed.write_text("no\nyes\nmaybe\n")
    predictions = spoilt(files, tmp_path, _rename)
    result = run("equivalence", files["long"], predictions, "--categories", closed, *FAST)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "rater gave")


@pytest.mark.parametrize(
    "options",
    [
        ["--scorer", "log-loss"],
        ["--combiner", "vote"],
        ["--items", "all"],
        ["--estimand", "sum"],
        ["--learn", "often"],
        ["--scorer", "auc", "--learn", "leave-one-out"],
        ["--combiner", "mean"],
        ["--scorer", "f1", "--positive", "perhaps"],
        ["--clip", "0.5"],
        ["--base", "1"],
        ["--prob", "1.5"],
        ["--bootstrap", "-1"],
        ["--max-raters", "5"],
        ["--posterior", "--scorer", "f1"],
        ["--posterior", "--combiner", "frequency"],
        ["--posterior", "--draws", "0"],
        ["--posterior", "--max-raters", "0"],
        ["--positive", "yes"],
        ["--learn", "5", "--combiner", "frequency"],
        ["--plot", "curve.gif"],
        ["--out", "worth.txt"],
        ["--column", "label=nothing"],
    ],
)
def test_wrong_options_are_one_message_and_exit_code_two(files, options, golden):
    result = run("equivalence", files["long"], files["soft"], *options)
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output

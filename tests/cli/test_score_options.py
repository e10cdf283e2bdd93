"""Scores that cannot be used, and options that do not go together: one message with a remedy, and exit code 2."""

import pytest

from tests.support.command_line import run, said, write

SCORES = ["--kind", "scores"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table = {"item": list("aabb"), "rater": list("rsrs"), "score": ["0", "1", "2", "4"]}
    items = {"item": list("ab")}
    labels = {"item": list("aabb"), "rater": list("rsrs"), "label": list("xyxx")}
    tables = {
        "scores": table,
        "texts": table | {"score": ["0", "high", "2", "4"]},
        "infinite": table | {"score": ["0", "inf", "2", "4"]},
        "anonymous": {"item": list("aabb"), "score": [0, 1, 2, 4]},
        "kinds": table | {"kind": ["model", "person", "person", "person"]},
        "alike": table | {"kind": ["person"] * 4},
        "counts": items | {"0": [1, 2], "1": [3, 0]},
        "named": items | {"low": [1, 2], "high": [3, 0]},
        "labels": labels,
        "label": items | {"label": ["above", "at most"]},
        "score": items | {"score": [1, 3]},
        "odd": items | {"label": ["above", "toxic"]},
        "sure": items | {"probability": ["0.5", "1.5"]},
        "ranks": items | {"category": ["x", "y"], "rank": [1, 1]},
        "two": items | {"score": [1, 2], "probability": [0, 1]},
        "one": {"item": ["a"], "score": [1]},
        "wide": {"r": ["x", "y"], "s": ["x", "x"]},
    }
    return {name: write(folder / f"{name}.csv", own) for name, own in tables.items()}


CASES = [
    (["check", "{labels}", *SCORES], "there is no column 'score'"),
    (["check", "{texts}", *SCORES], "row 2, column 'score': 'high' is not a number"),
    (["check", "{infinite}", *SCORES], "row 2, column 'score'"),
    (["check", "{scores}", *SCORES, "--bounds", "0,3"], "row 4, column 'score': '4' is above the upper"),
    (["check", "{scores}", *SCORES, "--bounds", "3"], "--bounds 3: write the lowest and the highest"),
    (["check", "{scores}", *SCORES, "--bounds", "4,0"], "--bounds 4,0: write the lowest"),
    (["check", "{scores}", *SCORES, "--bounds", "0,inf"], "--bounds 0,inf: write two numbers"),
    (["check", "{scores}", *SCORES, "--bounds", "a,b"], "--bounds a,b: write two numbers"),
    (["check", "{labels}", "--kind", "labels", "--bounds", "0,4"], "--bounds is an option of scores"),
    (["check", "{named}", *SCORES, "--layout", "counts"], "'low'"),
    (["check", "{scores}", *SCORES, "--rater-attribute", "kind"], "there is no column 'kind'"),
    (["check", "{anonymous}", *SCORES, "--rater-attribute", "score"], "not told apart"),
    (["report", "{scores}", *SCORES, "--threshold", "5"], "--threshold 5 lies outside the scores, 0 to 4"),
    (
        ["report", "{scores}", *SCORES, "--bounds", "0,10", "--threshold", "-1"],
        "--threshold -1 lies outside the bounds of the scores, 0 to 10",
    ),
    (
        ["report", "{scores}", *SCORES, "--bounds", "0,10", "--threshold", "10"],
        "--threshold 10 lies outside the bounds of the scores, 0 to 10",
    ),
    (["report", "{scores}", *SCORES, "--threshold", "low"], "--threshold low: write numbers"),
    (["report", "{scores}", *SCORES, "--threshold", "nan"], "--threshold nan: write numbers"),
    (["report", "{scores}", *SCORES, "--threshold", "1,1"], "--threshold 1,1: each number once"),
    (
        ["report", "{labels}", "--kind", "labels", "--threshold", "0"],
        "--threshold is not an option of the model correlated_votes, but of --kind scores",
    ),
    (["report", "{scores}", "{score}", *SCORES], "say which: --threshold 0"),
    (["report", "{scores}", *SCORES, "--metric", "auc"], "there are no predictions to score"),
    (["report", "{scores}", *SCORES, "--groups", "{label}"], "scores have no categories to group"),
    (
        ["report", "{scores}", "{odd}", *SCORES, "--threshold", "1"],
        "row 2, column 'label': 'toxic' is neither 'above' nor 'at most'",
    ),
    (
        ["report", "{scores}", "{sure}", *SCORES, "--threshold", "1"],
        "row 2, column 'probability': '1.5' is not a probability",
    ),
    (
        ["report", "{scores}", "{ranks}", *SCORES, "--threshold", "1"],
        "found columns 'item', 'category', 'rank'; predictions of scores have item",
    ),
    (["report", "{scores}", "{one}", *SCORES, "--threshold", "1"], "no prediction for item 'b'"),
    (
        ["report", "{scores}", "{label}", *SCORES, "--threshold", "1", "--metric", "brier"],
        "give a column 'probability' instead",
    ),
    (
        ["report", "{scores}", "{score}", *SCORES, "--threshold", "1", "--metric", "f2"],
        "there is no such metric",
    ),
    (
        ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "normal_scores", "--group", "kind"],
        "--group is not an option of the model normal_scores, but of hierarchical_scores",
    ),
    (
        ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "sort"],
        "there is no column 'sort' that says something of the raters; the columns are 'item', 'rater', 'score'",
    ),
    (
        ["fit", "{kinds}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "kind"],
        "'person' is the kind of rater 'r', who was 'model'",
    ),
    (
        ["fit", "{alike}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "kind"],
        "all raters are 'person'",
    ),
    (["fit", "{anonymous}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores"], "anonymous raters"),
    (
        ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "dirichlet"],
        "is a model of labels, not of scores",
    ),
    (["fit", "{scores}", *SCORES, "-o", "x.nc", "--reliability", "2"], "--reliability is not an option"),
    (
        ["fit", "{labels}", "--kind", "labels", "-o", "x.nc", "--model", "ordinal"],
        "--model ordinal: say the order of the categories, from lowest to highest: --categories",
    ),
    (
        ["fit", "{labels}", "--kind", "labels", "-o", "x.nc", "--categories", "x,z"],
        "'y' is not one of the categories",
    ),
    (
        ["fit", "{wide}", "--kind", "labels", "-o", "x.nc", "--layout", "wide", "--rater-attribute", "kind"],
        "--layout wide: the table has no place for the column 'kind'",
    ),
    (["check", "{labels}", "--rater-attribute", "kind"], "--rater-attribute is an option of labels"),
]


@pytest.mark.parametrize(("arguments", "message"), CASES)
def test_one_message_with_a_remedy(arguments, message, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*(str(a).format(**files) for a in arguments))
    assert result.exit_code == 2 and message in said(result), result.output
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())

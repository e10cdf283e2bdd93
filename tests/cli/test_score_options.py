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
    ["check", "{labels}", *SCORES],
    ["check", "{texts}", *SCORES],
    ["check", "{infinite}", *SCORES],
    ["check", "{scores}", *SCORES, "--bounds", "0,3"],
    ["check", "{scores}", *SCORES, "--bounds", "3"],
    ["check", "{scores}", *SCORES, "--bounds", "4,0"],
    ["check", "{scores}", *SCORES, "--bounds", "0,inf"],
    ["check", "{scores}", *SCORES, "--bounds", "a,b"],
    ["check", "{labels}", "--kind", "labels", "--bounds", "0,4"],
    ["check", "{named}", *SCORES, "--layout", "counts"],
    ["check", "{scores}", *SCORES, "--rater-attribute", "kind"],
    ["check", "{anonymous}", *SCORES, "--rater-attribute", "score"],
    ["report", "{scores}", *SCORES, "--threshold", "5"],
    ["report", "{scores}", *SCORES, "--bounds", "0,10", "--threshold", "-1"],
    ["report", "{scores}", *SCORES, "--bounds", "0,10", "--threshold", "10"],
    ["report", "{scores}", *SCORES, "--threshold", "low"],
    ["report", "{scores}", *SCORES, "--threshold", "nan"],
    ["report", "{scores}", *SCORES, "--threshold", "1,1"],
    ["report", "{labels}", "--kind", "labels", "--threshold", "0"],
    ["report", "{scores}", "{score}", *SCORES],
    ["report", "{scores}", *SCORES, "--metric", "auc"],
    ["report", "{scores}", *SCORES, "--groups", "{label}"],
    ["report", "{scores}", "{odd}", *SCORES, "--threshold", "1"],
    ["report", "{scores}", "{sure}", *SCORES, "--threshold", "1"],
    ["report", "{scores}", "{ranks}", *SCORES, "--threshold", "1"],
    ["report", "{scores}", "{one}", *SCORES, "--threshold", "1"],
    ["report", "{scores}", "{label}", *SCORES, "--threshold", "1", "--metric", "brier"],
    ["report", "{scores}", "{score}", *SCORES, "--threshold", "1", "--metric", "f2"],
    ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "normal_scores", "--group", "kind"],
    ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "sort"],
    ["fit", "{kinds}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "kind"],
    ["fit", "{alike}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores", "--group", "kind"],
    ["fit", "{anonymous}", *SCORES, "-o", "x.nc", "--model", "hierarchical_scores"],
    ["fit", "{scores}", *SCORES, "-o", "x.nc", "--model", "dirichlet"],
    ["fit", "{scores}", *SCORES, "-o", "x.nc", "--reliability", "2"],
    ["fit", "{labels}", "--kind", "labels", "-o", "x.nc", "--model", "ordinal"],
    ["fit", "{labels}", "--kind", "labels", "-o", "x.nc", "--categories", "x,z"],
    ["fit", "{wide}", "--kind", "labels", "-o", "x.nc", "--layout", "wide", "--rater-attribute", "kind"],
    ["check", "{labels}", "--kind", "rankings", "--rater-attribute", "kind"],
]


@pytest.mark.parametrize("arguments", CASES)
def test_one_message_with_a_remedy(arguments, files, tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    result = run(*(str(a).format(**files) for a in arguments))
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())

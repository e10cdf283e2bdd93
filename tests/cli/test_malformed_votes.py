"""Votes and options that cannot be used end in one readable message and exit code two."""

import numpy as np
import pytest

from tests.support.command_line import run, said, write

QUICK = ("--draws", 300, "--seed", 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("always")
def test_disconnected_votes_are_named_and_the_largest_component_can_be_kept(tmp_path, golden):
    rng = np.random.default_rng(8)
    left = np.r_[rng.integers(0, 4, 60), [5, 5]]
    right = np.r_[(left[:60] + rng.integers(1, 4, 60)) % 4, [6, 6]]
    table = {"left": [f"i{i}" for i in left], "right": [f"i{i}" for i in right]}
    table["winner"] = rng.choice(["left", "right"], 62)
    path = write(tmp_path / "votes.csv", table)
    assert "NOT CONNECTED" in run("check", path, "--kind", "comparisons").output
    result = run("rank", path, *QUICK)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "comparisons joins")
    golden.says(result.output, "--largest-component keeps")
    assert "Warning" not in result.output and ".py" not in result.output
    result = run("rank", path, "--largest-component", *QUICK)
    assert "no chain" not in result.output
    golden.says(result.output, "leaves out")
    assert "4 items, 60 votes" in result.output


ROW = {"rater": ["r", "s"], "left": ["a", "a"], "right": ["b", "b"], "winner": ["left", "b"]}


@pytest.mark.parametrize(
    "changed",
    [
        {"winner": ["left", "c"]},
        {"right": ["b", "a"]},
        {"winner": ["", "b"]},
        {"left": ["a", ""]},
        {"count": [1, -1]},
        {"left": None},
    ],
)
def test_bad_votes_are_one_message(changed, tmp_path, golden):
    table = {name: column for name, column in (ROW | changed).items() if column is not None}
    path = write(tmp_path / "votes.csv", table)
    for command in (["rank", path], ["check", path, "--kind", "comparisons"]):
        result = run(*command)
        assert result.exit_code == 2, result.output
        golden.says(said(result))
        assert "Traceback" not in result.output and len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "dawid_skene"],
        ["--ties", "threshold"],
        ["--ties", "none"],
        ["--raters", "some"],
        ["--rater-attribute", "age"],
        ["--prob", "1.5"],
        ["--top", "0"],
        ["--draws", "0"],
        ["--out", "board.xlsx"],
    ],
)
def test_wrong_options_of_rank(votes, options, golden):
    result = run("rank", votes, *options)
    assert result.exit_code == 2, result.output
    golden.says(said(result))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("comparisons", ["--reliability", "2"]),
        ("comparisons", ["--unranked", "single"]),
        ("comparisons", ["--categories", "c.txt"]),
        ("comparisons", ["--layout", "wide"]),
        ("comparisons", ["--concentration", "0"]),
        ("labels", ["--signed"]),
        ("rankings", ["--ties", "none"]),
        ("rankings", ["--left-bias"]),
        ("rankings", ["--largest-component"]),
        ("rankings", ["--rater-attribute", "x"]),
    ],
)
def test_options_belong_to_their_kind(votes, tmp_path, kind, options, golden):
    result = run("fit", votes, "--kind", kind, *options, "-o", tmp_path / "p.nc")
    assert result.exit_code == 2, result.output
    golden.says(said(result))


def test_raters_who_are_not_told_apart_have_no_signs(tmp_path, golden):
    table = {name: column for name, column in ROW.items() if name != "rater"}
    path = write(tmp_path / "votes.csv", table)
    for options in (["--signed"], ["--raters", "per-rater"]):
        result = run("rank", path, *options)
        assert result.exit_code == 2
        golden.says(said(result))

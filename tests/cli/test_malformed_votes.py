"""Votes and options that cannot be used end in one readable message and exit code two."""

import numpy as np
import pytest

from tests.support.command_line import run, said, write

QUICK = ("--draws", 300, "--seed", 3)


@pytest.mark.filterwarnings("always")
def test_disconnected_votes_are_named_and_the_largest_component_can_be_kept(tmp_path):
    rng = np.random.default_rng(8)
    left = np.r_[rng.integers(0, 4, 60), [5, 5]]
    right = np.r_[(left[:60] + rng.integers(1, 4, 60)) % 4, [6, 6]]
    table = {"left": [f"i{i}" for i in left], "right": [f"i{i}" for i in right]}
    table["winner"] = rng.choice(["left", "right"], 62)
    path = write(tmp_path / "votes.csv", table)
    assert "NOT CONNECTED" in run("check", path, "--kind", "comparisons").output
    result = run("rank", path, *QUICK)
    assert result.exit_code == 0, result.output
    assert "no chain of comparisons joins the 2 components" in said(result)
    assert "--largest-component keeps the largest" in said(result)
    assert "Warning" not in result.output and ".py" not in result.output
    result = run("rank", path, "--largest-component", *QUICK)
    assert "leaves out 2 of the 6 items" in result.output and "no chain" not in result.output
    assert "4 items, 60 votes" in result.output


ROW = {"rater": ["r", "s"], "left": ["a", "a"], "right": ["b", "b"], "winner": ["left", "b"]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"winner": ["left", "c"]}, "row 2, column 'winner': 'c' names neither an outcome"),
        ({"right": ["b", "a"]}, "row 2, column 'right': 'a' is compared with itself"),
        ({"winner": ["", "b"]}, "row 1, column 'winner': '' is empty"),
        ({"left": ["a", ""]}, "row 2, column 'left': '' is empty"),
        ({"count": [1, -1]}, "row 2, column 'count'"),
        ({"left": None}, "there is no column 'left'"),
    ],
)
def test_bad_votes_are_one_message(changed, message, tmp_path):
    table = {name: column for name, column in (ROW | changed).items() if column is not None}
    path = write(tmp_path / "votes.csv", table)
    for command in (["rank", path], ["check", path, "--kind", "comparisons"]):
        result = run(*command)
        assert result.exit_code == 2 and message in said(result), result.output
        assert "Traceback" not in result.output and len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "dawid_skene"], "dawid_skene is a model of labels, not of comparisons"),
        (["--ties", "threshold"], "--ties threshold: the model bradley_terry takes auto"),
        (["--ties", "none"], "votes are ties"),
        (["--raters", "some"], "--raters some"),
        (["--rater-attribute", "age"], "there is no column 'age'"),
        (["--prob", "1.5"], "--prob=1.5: expected a number between 0 and 1"),
        (["--top", "0"], "--top 0: expected a whole number from 1"),
        (["--draws", "0"], "--draws 0: expected a whole number from 1"),
        (["--out", "board.xlsx"], "name a .csv file"),
    ],
)
def test_wrong_options_of_rank(votes, options, message):
    result = run("rank", votes, *options)
    assert result.exit_code == 2 and message in said(result), result.output


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("comparisons", ["--reliability", "2"], "--reliability is not an option of the model"),
        ("comparisons", ["--unranked", "single"], "--unranked is not an option of the model"),
        ("comparisons", ["--categories", "c.txt"], "--categories is not an option of the model"),
        ("comparisons", ["--layout", "wide"], "--layout wide is a layout of labels"),
        ("comparisons", ["--concentration", "0"], "--concentration is not an option of the model"),
        ("labels", ["--signed"], "--signed is not an option of the model correlated_votes"),
        ("rankings", ["--ties", "none"], "--ties is not an option of the model plackett_luce"),
        ("rankings", ["--left-bias"], "--left-bias is not an option of the model"),
        ("rankings", ["--largest-component"], "--largest-component is not an option"),
        ("rankings", ["--rater-attribute", "x"], "--rater-attribute is not an option"),
    ],
)
def test_options_belong_to_their_kind(votes, tmp_path, kind, options, message):
    result = run("fit", votes, "--kind", kind, *options, "-o", tmp_path / "p.nc")
    assert result.exit_code == 2 and message in said(result), result.output


def test_raters_who_are_not_told_apart_have_no_signs(tmp_path):
    table = {name: column for name, column in ROW.items() if name != "rater"}
    path = write(tmp_path / "votes.csv", table)
    for options in (["--signed"], ["--raters", "per-rater"]):
        result = run("rank", path, *options)
        assert result.exit_code == 2 and "raters who are not told apart" in said(result)

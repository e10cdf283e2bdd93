"""Votes on the command line: from a table to a leaderboard, a posterior and a report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from raterzoo import models, papers
from raterzoo.cli import terminal as screen
from raterzoo.evaluation.checks.comparisons import LEFT_WINS
from rich.console import Console

from tests.support.command_line import read, run, said, write
from tests.support.pages import foreign_scripts

QUICK = ("--draws", 300, "--seed", 3)


def test_check_says_what_is_in_the_votes(votes):
    result = run("check", votes, "--kind", "comparisons", "--rater-attribute", "kind")
    assert result.exit_code == 0, result.output
    assert "items                   8" in result.output and "168" in result.output


def test_rank_shows_the_leaderboard_and_writes_it(votes, tmp_path, golden):
    out = tmp_path / "folder" / "board.csv"
    result = run("rank", votes, "--out", out, "--top", 3, "--rater-attribute", "kind", *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("Who wins? ")
    lines = lines[lines.index("8 items, 168 votes") :]
    assert lines[1].split()[:2] == ["rank", "item"]
    board = read(out)
    assert len(board) == 8
    for line, row in zip(lines[2:5], board[:3], strict=True):
        assert row["item"] in line and f"{row['rank from']}-{row['rank to']}" in line
    assert "... and 5 more" in result.output
    assert "contradict" not in result.output
    golden.says(result.output, "model expects")
    assert "converged" in result.output and "6 raters" in result.output and "model" in result.output
    again = tmp_path / "again.csv"
    assert run("rank", votes, "--out", again, *QUICK).exit_code == 0
    for row, same in zip(board, read(again), strict=True):  # the same seed
        assert row["item"] == same["item"]
        assert float(row["quality"]) == pytest.approx(float(same["quality"]), rel=1e-9)


@pytest.mark.slow
def test_rank_says_first_that_votes_contradict_the_model(tmp_path, golden):
    rng, raters, items = np.random.default_rng(1), 8, 6
    rater, left = rng.integers(0, raters, 600), rng.integers(0, items, 600)
    right = (left + rng.integers(1, items, 600)) % items
    x = (
        np.where(rater < raters // 2, 1, -1) * 0.8 * (left - right)
    )  # half of the raters have the opposite order
    winner = np.where(rng.random(600) < 1 / (1 + np.exp(-x)), "left", "right")
    names = {"left": [f"item {i}" for i in left], "right": [f"item {i}" for i in right]}
    path = write(tmp_path / "votes.csv", {"rater": [f"rater {k}" for k in rater], **names, "winner": winner})
    result = run("rank", path, *QUICK)
    assert result.exit_code == 0, result.output
    before = said(result).partition("6 items, 600 votes")[0]
    golden.says(before, "rely on this")
    assert "data look as" not in result.output


def test_rank_fits_narrow_and_wide_terminals(votes, monkeypatch):
    for columns, names in ((80, "best won lost tied"), (120, "best votes won lost tied")):
        monkeypatch.setattr(screen, "_console", Console(soft_wrap=True, width=columns))
        lines = run("rank", votes, *QUICK).output.splitlines()
        header = next(at for at, line in enumerate(lines) if line.endswith(names.replace(" ", "  ")))
        assert max(map(len, lines[header : header + 9])) <= columns


@pytest.mark.slow
def test_anonymous_votes_have_raters_alike(votes, tmp_path, golden):
    rows = read(votes)
    table = {name: [row[name] for row in rows] for name in ("left", "right", "winner", "count")}
    path = write(tmp_path / "anonymous.csv", table)
    result = run("rank", path, "--model", "thurstone", "--left-bias", *QUICK)
    assert result.exit_code == 0, result.output
    assert "left one has" in result.output
    golden.says(result.output, "raters: not")


def test_crowd_kit_columns_and_renamed_ones_are_read(votes, tmp_path):
    rows = read(votes)
    theirs = {"worker": "rater", "left": "left", "right": "right", "label": "winner", "count": "count"}
    path = write(tmp_path / "k.csv", {new: [row[old] for row in rows] for new, old in theirs.items()})
    assert "raters                  6" in run("check", path, "--kind", "comparisons").output
    path = write(
        tmp_path / "r.csv", {"who": ["r", "s"], "a": ["x", "y"], "b": ["y", "x"], "winner": ["left", "x"]}
    )
    renamed = [("--column", f"{n}={own}") for n, own in (("rater", "who"), ("left", "a"), ("right", "b"))]
    result = run("check", path, "--kind", "comparisons", *(word for pair in renamed for word in pair))
    assert result.exit_code == 0 and "raters" in result.output


def test_report_is_one_page_with_its_tables(votes, tmp_path):
    items = sorted({row[side] for row in read(votes) for side in ("left", "right")})
    orders = {
        "item": items * 2,
        "score": [*range(len(items)), *reversed(range(len(items)))],
        "classifier": ["up"] * len(items) + ["down"] * len(items),
    }
    predictions = write(tmp_path / "predictions.csv", orders)
    out = tmp_path / "report"
    options = ("--kind", "comparisons", "--rater-attribute", "kind", "--signed", "--left-bias")
    result = run("report", votes, predictions, *options, "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text()
    for heading in (
        "Data",
        "Model",
        "Convergence",
        "Leaderboard",
        "Quality",
        "Raters",
        "Win probabilities",
        "Does the model fit?",
        "Predictions",
        "Comparison",
        "Next comparisons",
        "How to cite",
    ):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<svg") == 5
    assert not foreign_scripts(page) and "&lt;script&gt;" in page
    assert {p.name for p in out.iterdir()} == {
        "report.html", "report.json", "items.jsonl", "posterior.nc",
        "convergence.csv", "leaderboard.csv", "raters.csv", "wins.csv",
        "model_checks.csv", "metrics.csv", "comparison.csv", "ask_next.csv",
    }  # fmt: skip
    found = {row["classifier"]: float(row["mean"]) for row in read(out / "metrics.csv")}
    assert found["up"] == pytest.approx(-found["down"], abs=1e-12)
    assert found["(posterior mean)"] > abs(found["up"])
    machine = json.loads((out / "report.json").read_text())
    assert {"leaderboard", "raters", "wins", "fit", "metrics", "comparison"} < set(machine)
    (pair,) = machine["comparison"]["rows"]
    assert pair["difference"] == pytest.approx(abs(found["up"] - found["down"]), abs=1e-12)
    asked = machine["ask_next"]["rows"]
    assert len(asked) == 28 and asked[0]["bits"] == max(row["bits"] for row in asked)
    wins = read(out / "wins.csv")
    assert len(wins) == 28
    for row in wins:
        assert sum(float(row[name]) for name in ("P(wins)", "P(tie)", "P(loses)")) == pytest.approx(1)
    assert {row["kind"] for row in read(out / "raters.csv")} == {"person", "model"}


@pytest.mark.slow
def test_simulated_votes_know_a_left_side_that_the_model_lacks(tmp_path):
    """The check rejects a model without the left bias of the votes, and passes the one that has it."""
    simulated = models.simulators.comparisons(
        items=8, raters=6, degree=7, alpha=1, left_bias=1.5, random_seed=2
    ).data
    path = write(tmp_path / "votes.csv", simulated.to_table())
    answers = {}
    for options in ((), ("--left-bias",)):
        out = tmp_path / f"report{len(options)}"
        result = run("report", path, "--kind", "comparisons", *options, "--out", out, *QUICK)
        assert result.exit_code == 0, result.output
        fit = json.loads((out / "report.json").read_text())["fit"]
        (check,) = (row for row in read(out / "model_checks.csv") if row["check"] == LEFT_WINS)
        answers[options] = bool(check["if it fails"])
        assert ("--left-side shared gives the model" in fit["verdict"]) == (not options)
    assert answers == {(): True, ("--left-bias",): False}


@pytest.mark.slow
def test_evaluate_compares_an_order_with_the_votes(votes, tree, tmp_path, golden):
    posterior = tmp_path / "posterior.nc"
    tree.to_netcdf(posterior, engine="h5netcdf")
    quality = tree["posterior"]["quality"].mean(("chain", "draw"))
    best_first = quality["item"].to_numpy()[np.argsort(-quality.to_numpy())]
    ordered = {"item": best_first, "rank": np.arange(1, 9)}
    result = run("evaluate", posterior, write(tmp_path / "o.csv", ordered))
    assert result.exit_code == 0, result.output
    ours, best = (line.split()[-5:] for line in result.stdout.splitlines()[2:4])
    assert ours == best
    partial = {name: column[1:] for name, column in ordered.items()}
    missing = run("evaluate", posterior, write(tmp_path / "p.csv", partial))
    assert missing.exit_code == 2
    golden.says(said(missing))
    strange = {"item": [*ordered["item"], "item x"], "rank": [*ordered["rank"], 9]}
    unknown = run("evaluate", posterior, write(tmp_path / "s.csv", strange))
    assert unknown.exit_code == 2
    golden.says(said(unknown))
    no_order = run("evaluate", posterior, write(tmp_path / "n.csv", {"item": ["a"], "grade": [1]}))
    assert no_order.exit_code == 2 and "no column 'score'" in said(no_order)
    wrong = run("evaluate", posterior, tmp_path / "o.csv", "--metric", "top-1-accuracy")
    assert wrong.exit_code == 2
    golden.says(said(wrong))


@pytest.mark.slow
def test_real_leaderboard(tmp_path, monkeypatch, golden):
    monkeypatch.setattr(screen, "_console", Console(soft_wrap=True, width=100))
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA is not set")
    out = tmp_path / "board.csv"
    file = Path(folder) / "llmfao_crowd_comparisons.csv"
    result = run("rank", file, "--out", out, "--draws", 500)
    assert result.exit_code == 0, result.output
    answers, _, table = result.stdout.partition("59 items, 8,931 votes")
    golden.says(answers, "rely on this")
    golden.says(table, "raters prefer")
    lines = table.splitlines()
    assert all(len(line) <= 100 for line in lines[:60])
    board = read(out)
    assert board[0]["item"] == "GPT 4" and board[0]["rank"] == "1"
    golden = {
        row["item"]: float(row["score"])
        for row in read(Path(folder) / "llmfao_golden_scores_evalica.csv")
        if row["algorithm"] == "bradley_terry"
    }
    ours = xr.DataArray(
        [float(row["quality"]) for row in board], {"item": [r["item"] for r in board]}, "item"
    )
    theirs = xr.DataArray(list(golden.values()), {"item": list(golden)}, "item")
    # theirs takes all raters as alike and a tie as half a win: nearly the same order
    assert float(papers.quality_concordance(ours, theirs)) > 0.75


def test_help_of_rank_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['raterzoo', 'rank', '--help']\n"
        "import raterzoo.cli\n"
        "try: raterzoo.cli.main()\n"
        "except SystemExit: pass\n"
        "print('heavy', *{'numpy', 'pymc', 'xarray', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "heavy"

"""Votes as people have them, on the command line: read without a dead end, and nothing advised that destroys the board."""

import pytest

from tests.models.data.test_vote_shapes import ARENA, MARKS, PAIRS, winner_first
from tests.support.command_line import read, run, write

QUICK = ("--draws", 100, "--chains", 1, "--seed", 1)


def board(tmp_path, path, *options):
    result = run("rank", path, "--out", tmp_path / "board.csv", *QUICK, *options)
    assert result.exit_code == 0, result.output
    return {row["item"]: row for row in read(tmp_path / "board.csv")}, result.output


@pytest.mark.parametrize("options", [(), ("--column", "left=winner", "--column", "right=loser")])
def test_winner_and_loser(tmp_path, options):
    rows, output = board(tmp_path, write(tmp_path / "votes.csv", PAIRS), *options)
    assert {(row["won"], row["lost"]) for row in rows.values()} == {("1", "1")} and len(rows) == 3
    assert "contradict" not in output and "left-side" not in output


@pytest.mark.parametrize("marked", [False, True])
def test_arena(tmp_path, marked):
    table = {name: cells for name, cells in ARENA.items() if name != "winner"} | MARKS if marked else ARENA
    path = write(tmp_path / "votes.csv", table)
    rows, output = board(tmp_path, path, "--raters", "shared")
    assert (rows["model-A"]["won"], rows["model-B"]["won"], rows["model-A"]["tied"]) == ("1", "2", "1")
    assert "--drop-duplicates" not in output + run("check", path, "--kind", "comparisons").output


@pytest.mark.slow
def test_a_covariate_of_arena_votes(tmp_path):
    path = write(tmp_path / "votes.csv", ARENA | {"z": [1, -1, 2, -2]})
    rows, _ = board(tmp_path, path, "--vote-covariate", "z", "--raters", "shared")
    assert {item: row["won"] for item, row in rows.items()} == {"model-A": "1", "model-B": "2"}


@pytest.mark.slow
def test_winner_first(tmp_path):
    written, _ = winner_first()
    rows, output = board(tmp_path, write(tmp_path / "votes.csv", written))
    assert rows["0"]["rank"] == "1" and "contradict" not in output and "left-side" not in output


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("value", [5, -1.7e9])
def test_a_covariate_of_one_sign_is_refused(tmp_path, value, turned):
    written, shuffled = winner_first()
    column = [value + row for row in range(len(written["left"]))]
    column[:turned] = [-own for own in column[:turned]]  # a mistake in one cell
    path = write(tmp_path / "votes.csv", shuffled | {"x": column})
    result = run("rank", path, "--vote-covariate", "x", *QUICK)
    assert result.exit_code == 2 and "'x'" in result.output

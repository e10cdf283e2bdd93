"""Strength of preference on the command line: scales that are declared, and laws of strength."""

import numpy as np
import pytest
from raterzoo.cli.tables import read_votes

from tests.support.cli_parts import build, settings_of
from tests.support.command_line import run, said, write

VOTES = {"rater": [*"rsrsrs"], "left": [*"aabbca"], "right": [*"bbccac"], "winner": [2, 1, 0, -1, -2, 1]}
SCALE = "2,1,0,-1,-2"


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "votes.csv", VOTES)


def settings(**options):
    return settings_of("comparisons", None, options, draws=10, chains=1, seed=1)


def test_a_declared_scale_is_read_from_a_file(path):
    own = settings(levels=SCALE, strength="cut_points")
    votes, tables = read_votes(path, own, [])
    told = {
        (votes.items[i], votes.items[j], outcome, strength)
        for i, j, outcome, strength in zip(
            votes.left, votes.right, votes.outcome, votes.strength, strict=True
        )
    }
    assert told == {
        ("a", "b", 0, 1), ("a", "b", 0, 0), ("b", "c", 2, 0), ("b", "c", 1, 0), ("c", "a", 1, 1), ("a", "c", 0, 0)
    }  # fmt: skip
    names = {*build(votes, own, 1.0, tables).named_vars}
    assert "cut_point" in names and "strength_weight" not in names
    assert "cut_point" not in build(votes, settings(levels=SCALE, strength="ignored"), 1.0, tables).named_vars
    turned, _ = read_votes(path, settings(levels="-2,-1,0,1,2"), [])
    assert np.bincount(turned.outcome).tolist() == np.bincount(votes.outcome)[[1, 0, 2]].tolist()


def test_check_reads_the_scale_and_refuses_what_is_none(path, golden):
    assert run("check", path, "--kind", "comparisons", "--levels", SCALE).exit_code == 0
    for options in (
        ["--kind", "comparisons", "--levels", "1,0,-1"],
        ["--kind", "comparisons", "--levels", "5"],
        ["--kind", "labels", "--levels", SCALE],
    ):
        result = run("check", path, *options)
        assert result.exit_code == 2
        golden.says(said(result), "levels")


def test_law_of_strength_is_one_of_its_words(path, golden):
    result = run("rank", path, "--levels", SCALE, "--strength", "strong")
    assert result.exit_code == 2
    golden.says(said(result), "strength")


@pytest.mark.slow
def test_rank_says_what_strength_counts(path):
    result = run("rank", path, "--levels", SCALE, "--raters", "shared", "--draws", 50, "--chains", 2)
    assert result.exit_code == 0, result.output
    assert said(result).count("Strength of votes counts") == 2  # among the answers, and below the leaderboard

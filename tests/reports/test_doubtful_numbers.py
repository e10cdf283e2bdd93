"""Where a number is worth little the report says so: one item, tied scores, gold nobody gave, cycles, one-sided raters."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.truth.gold import gold_in_words
from raterzoo.evaluation.uncertainty import intervals
from raterzoo.models import Comparisons, Labels
from raterzoo.reports.sections import metrics
from raterzoo.reports.sections.comparisons import leaderboard_rows, vote_sections
from raterzoo.reports.sections.labels import gold_against_raters

ITEMS, CATEGORIES = ["a", "b", "c"], ["x", "y"]


@pytest.fixture(scope="module")
def tree():
    p = np.random.default_rng(1).dirichlet([1, 1], (2, 50, 3))
    coords, said = {"item": ITEMS, "category": CATEGORIES}, {"truth": "distribution"}
    array = xr.DataArray(p, coords, ("chain", "draw", "item", "category"), attrs=said)
    return xr.DataTree.from_dict({"posterior": array.to_dataset(name="plausibility")})


def predicted(*by_classifier):
    values = np.array([[[share, 1 - share]] * 3 for share in by_classifier])
    values[:, 1] = values[:, 1, ::-1]
    coords = {"classifier": [f"m{i}" for i in range(len(values))], "item": ITEMS, "category": CATEGORIES}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def test_scores_that_are_tied_everywhere_are_said_at_the_number(tree):
    rows = metrics.metric_rows(metrics.scored(tree, predicted(0.5, 0.8), ["accuracy", "auc"], 1))
    assert {row["classifier"]: row["note"] for row in rows} == {"m0": intervals.ALL_TIED, "m1": ""}
    assert all("note" in row for row in metrics.shown_metrics(rows))
    (clear,) = metrics.metric_rows(metrics.scored(tree, predicted(0.8), ["accuracy"], 1))
    assert "note" not in clear


def test_a_group_of_one_item_is_said_at_the_number(tree):
    by = xr.DataArray(["g", "h", "h"], {"item": ITEMS}, ("item",))
    rows = metrics.metric_rows(metrics.scored(tree, predicted(0.8), ["accuracy"], 1, by=by))
    assert {row["group"]: row["note"] for row in rows} == {"g": intervals.ONE_ITEM, "h": ""}


def test_gold_that_no_rater_gave_is_named(golden):
    table = {
        "item": [*"aabbcc"],
        "rater": [*"rsrsrs"],
        "label": ["x", "x", "y", "x", "y", "y"],
        "gold": ["y", "y", "x", "x", "", ""],
    }
    found = gold_against_raters(Labels.from_table(table, gold="gold"))
    assert found == ["a"]
    golden.says(gold_in_words(found), "rater gave:")
    assert gold_in_words([]) == ""


def votes_of(rows):
    columns = zip(*rows, strict=True)
    return Comparisons.from_table(dict(zip(("rater", "left", "right", "winner"), columns, strict=True)))


def board_of(votes, quality, reliability, **posterior):
    """Return the sections of votes, for posterior means of qualities and reliabilities."""
    rng = np.random.default_rng(1)
    variables = {
        "quality": (("chain", "draw", "item"), quality + 0.1 * rng.standard_normal((2, 200, len(quality)))),
        "reliability": (("chain", "draw", "rater"), reliability * np.exp(0.1 * rng.standard_normal((2, 200, len(reliability))))),
    }  # fmt: skip
    dataset = xr.Dataset(variables | posterior, {"item": votes.items, "rater": votes.raters})
    tree = xr.DataTree.from_dict({"posterior": dataset})
    tree.attrs["model"] = "bradley_terry"
    return vote_sections(tree, votes, leaderboard_rows(tree, votes, 0.9))


def test_in_a_cycle_nothing_is_first(golden):
    cycle = [(rater, *pair) for rater in "rs" for pair in (("a", "b", "a"), ("b", "c", "b"), ("a", "c", "c"))]
    sections = board_of(votes_of(cycle), np.zeros(3), np.ones(2))
    (board,) = (own for own in sections if own.key == "leaderboard")
    assert board.alarm and board.facts["first"] is None
    golden.says(board.text, "item is first", "in a cycle")
    ties = board_of(votes_of([("r", "a", "b", "tie"), ("s", "b", "c", "tie")]), np.zeros(3), np.ones(2))[0]
    assert "cycle" not in ties.text and ties.facts["first"] is None
    golden.says(ties.text, "votes are ties")
    clear = board_of(votes_of([*cycle, ("r", "a", "c", "a")]), np.array([2.0, 0, -2]), np.ones(2))[0]
    assert clear.facts["first"] == "a" and not clear.alarm


def test_one_sided_raters_are_said_at_the_leaderboard_and_at_their_reliabilities(golden):
    rng = np.random.default_rng(2)
    rows = []
    for rater in "rst":
        for _ in range(40):
            i, j = rng.choice(4, 2, replace=False)
            rows.append((rater, f"i{i}", f"i{j}", "left" if rater == "r" or i < j else "right"))
    votes = votes_of(rows)
    quality, reliability = np.array([2.0, 1, -1, -2]), np.array([3.0, 0.8, 0.5])
    sections = board_of(votes, quality, reliability)
    board, raters = (next(own for own in sections if own.key == key) for key in ("leaderboard", "raters"))
    assert board.facts["one_sided_raters"] == ["r"] and board.facts["first"] is None
    for section in (board, raters):
        assert section.alarm
        golden.says(section.text, "prefer a side", 'left_side="rater"')
    assert [row["prefers a side"] for row in raters.rows] == ["left in 40 of 40", "", ""]
    bias = ("chain", "draw", "rater"), np.tile([4.0, 0, 0], (2, 200, 1))
    refitted = board_of(votes, quality, reliability[::-1], left_bias=bias)[0]
    assert not refitted.alarm and refitted.facts["first"] == votes.items[0]
    assert evaluation.side_test(votes)["one_sided"].values.tolist() == [True, False, False]

"""The rows of a leaderboard are what evaluation computes, and its sentences say what the rows hold."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models
from raterzoo.reports.sections import comparisons


def test_votes_of_each_item_are_counted_by_hand():
    pairs = models.Comparisons.from_table(
        {
            "left": ["a", "b", "a", "c"],
            "right": ["b", "a", "c", "a"],
            "winner": ["left", "left", "tie", "a"],
            "count": [3, 2, 1, 4],
        },
        rater=None,
        count="count",
    )
    counts = {
        name: dict(zip("abc", own.tolist(), strict=True))
        for name, own in comparisons.votes_by_item(pairs).items()
    }
    assert counts["won"] == {"a": 7, "b": 2, "c": 0}
    assert counts["lost"] == {"a": 2, "b": 3, "c": 4}
    assert counts["tied"] == {"a": 1, "b": 0, "c": 1}
    assert counts["votes"] == {"a": 10, "b": 5, "c": 5}


def test_leaderboard_is_what_evaluation_computes(tree, pairs):
    rows = comparisons.leaderboard_rows(tree, pairs, 0.8)
    board = evaluation.rank_intervals(tree, 0.8)
    group = evaluation.tied_groups(tree, 0.9)
    assert sorted(row["item"] for row in rows) == sorted(pairs.items.tolist())
    medians = [float(board["median_rank"].sel(item=row["item"])) for row in rows]
    assert medians == sorted(medians)
    for row in rows:
        own = board.sel(item=row["item"])
        assert (row["rank from"], row["rank to"]) == (int(own["lower"]), int(own["upper"]))
        assert row["quality"] == float(own["quality"]) and row["P(best)"] == float(own["best"])
        ahead = (group < group.sel(item=row["item"])).sum().item()
        assert row["rank"] == ahead + 1
        assert row["votes"] == row["won"] + row["lost"] + row["tied"]
    assert sum(row["votes"] for row in rows) == 2 * len(pairs)
    assert sum(row["won"] for row in rows) == sum(row["lost"] for row in rows)


def test_raters_come_with_their_quantiles(tree, pairs):
    rows = comparisons.rater_rows(tree, pairs, 0.8)
    draws = tree["posterior"]["reliability"]
    for row in rows:
        own = draws.sel(rater=row["rater"]).to_numpy().ravel()
        assert np.allclose((row["from"], row["reliability"], row["to"]), np.quantile(own, [0.1, 0.5, 0.9]))
    assert [row["reliability"] for row in rows] == sorted(r["reliability"] for r in rows)[::-1]
    assert sum(row["votes"] for row in rows) == len(pairs)


def test_raters_in_words_name_who_is_below(golden):
    rows = [
        {"rater": "a", "from": 1.2, "to": 2.0},
        {"rater": "b", "from": 0.9, "to": 1.1},
        {"rater": "c", "from": 0.1, "to": 0.9},
        {"rater": "d", "from": -0.9, "to": -0.1},
    ]
    text = comparisons.raters_in_words(rows, True, 0.9)
    golden.says(text, "above it for", "below it for")
    golden.says(text, "zero, preferring")
    assert "Below zero" not in comparisons.raters_in_words(rows, False, 0.9)


@pytest.mark.parametrize("model", ["bradley_terry", "thurstone"])
def test_equals_fare_as_win_probability_says(model):
    """Of two equal items, and without a left bias, one quality in all draws: `win_probability` knows the share of ties."""
    rng = np.random.default_rng(4)
    posterior = xr.Dataset(
        {
            "quality": (("chain", "draw", "item"), np.zeros((2, 50, 2))),
            "tie": (("chain", "draw"), rng.uniform(0.2, 2, (2, 50))),
        },
        {"item": ["a", "b"]},
    )
    tree = xr.DataTree.from_dict({"posterior": posterior})
    tree.attrs["model"] = model
    shares = comparisons.votes_between_equals(tree, 0.9)
    assert set(shares) == {"tie"}
    expected = float(evaluation.win_probability(tree)["tie"][0, 1])
    assert shares["tie"][0] == pytest.approx(expected, rel=1e-12)
    posterior["left_bias"] = ("chain", "draw"), np.full((2, 50), 0.3)
    biased = xr.DataTree.from_dict({"posterior": posterior})
    biased.attrs["model"] = model
    shared = comparisons.votes_between_equals(biased, 0.9)
    assert shared["left"][0] > 0.5
    posterior["left_bias"] = ("chain", "draw", "rater"), np.full((2, 50, 3), 0.3)
    by_rater = xr.DataTree.from_dict({"posterior": posterior})
    by_rater.attrs["model"] = model
    for share, numbers in comparisons.votes_between_equals(by_rater, 0.9).items():
        assert numbers == pytest.approx(shared[share], rel=1e-12)

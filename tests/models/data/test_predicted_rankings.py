"""Lists of classifiers as rankings of further raters: `PartialRankings.with_predictions`."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import models

OURS = models.PartialRankings.from_blocks(
    {"a": {"Ann": [["x"], ["y", "z"]], "Bob": [["y"]]}, "b": {"Ann": [["z"]]}},
    categories=["w", "x", "y", "z"],
)


def lists(values, items=("a", "b"), **more):
    return xr.DataArray(np.array(values), dims=("item", "position"), coords={"item": list(items)} | more)


def rows_of(rankings, rater):
    table = rankings.to_table()
    own = table["rater"] == rater
    return list(zip(*(table[name][own].tolist() for name in ("item", "category", "rank")), strict=True))


def test_lists_are_rankings_of_one_more_rater():
    joint = OURS.with_predictions(lists([["y", "x"], ["w", ""]]))
    assert rows_of(joint, "predictions") == [("a", "y", 1), ("a", "x", 2), ("b", "w", 1)]
    for rater in ("Ann", "Bob"):
        assert rows_of(joint, rater) == rows_of(OURS, rater)
    assert joint.categories.tolist() == OURS.categories.tolist() and len(joint) == len(OURS) + 2


def test_equal_scores_and_sets_are_ties():
    scores = [[0.1, 0.4, 0.4, -np.inf], [-np.inf, -np.inf, -np.inf, 1.0]]
    coords = {"item": ["a", "b"], "category": ["w", "x", "y", "z"], "classifier": "net"}
    array = xr.DataArray(scores, dims=("item", "category"), coords=coords)
    assert rows_of(OURS.with_predictions(array), "net") == [
        ("a", "x", 1),
        ("a", "y", 1),
        ("a", "w", 2),
        ("b", "z", 1),
    ]
    joint = OURS.with_predictions(array > 0.3)
    assert rows_of(joint, "net") == [("a", "x", 1), ("a", "y", 1), ("b", "z", 1)]


@pytest.mark.parametrize(
    "predictions",
    [
        lists([["y", "y"], ["w", ""]]),
        lists([["y", "q"], ["w", ""]]),
        lists([["", "y"], ["w", ""]]),
        lists([["y"], ["w"]], items=("a", "c")),
        lists([["y"], ["w"]], classifier="Ann"),
        lists([[""], [""]]),
        lists([["y"], ["w"]], items=(1, 2)),
    ],
)
def test_bad_lists_are_refused(predictions, golden):
    with golden.raises(models.DataError):
        OURS.with_predictions(predictions)

"""Votes that say by how much: marks and scales against their meaning, the round trip, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import raterzoo
from raterzoo import models

PAIR = {"left": ["x"] * 5, "right": ["y"] * 5}
OUTCOME, STRENGTH = [0, 0, 2, 1, 1], [1, 0, 0, 0, 1]
SCALES = {
    "marks": (["A>>B", "A>B", "A=B", "B>A", "B>>A"], None),
    "turned": (["b<<a", "b < a", "tie", "A<B", "A<<B"], None),
    "of Arena-Hard": (["[[A>>B]]", "[[A>B]]", "[[A=B]]", "[[B>A]]", "[[B>>A]]"], None),
    "signs": ([">>", ">", "=", "<", "<<"], None),
    "names of sides": (["model_a>>model_b", "left", "tie", "model_b>model_a", "right>>left"], None),
    "numbers": ([2, 1, 0, -1, -2], [2, 1, 0, -1, -2]),
    "whole floats": ([1.0, 2.0, 3.0, 4.0, 5.0], range(1, 6)),
    "words": (["clear A", "A", "even", "B", "clear B"], ["clear A", "A", "even", "B", "clear B"]),
}


def read(winners, levels=None, **options):
    table = PAIR | {"winner": winners, "rater": [*"abcde"]}
    return models.Comparisons.from_table(table, levels=levels, **options)


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_scales_and_marks(name, frame):
    winners, levels = SCALES[name]
    table = frame(PAIR | {"winner": winners, "rater": [*"abcde"]})
    votes = raterzoo.read(table, "comparisons", levels=levels)
    assert votes == models.Comparisons.from_table(table, levels=levels)
    assert votes.outcome.tolist() == OUTCOME and votes.strength.tolist() == STRENGTH
    assert votes.strengths == 2 and len(votes) == 5 and votes.has_ties


def test_a_scale_without_tie_and_levels_that_nobody_chose():
    votes = read([1, 2, 3, 4, 4], range(1, 5))
    assert votes.outcome.tolist() == [0, 0, 1, 1, 1] and votes.strength.tolist() == [1, 0, 0, 1, 1]
    votes = read([4, 4, 4, 4, 3], range(7))
    assert votes.strengths == 3 and not votes.strength.any() and votes.outcome.tolist() == [1, 1, 1, 1, 2]


def test_plain_votes_say_no_strength():
    plain = read(["left", "tie", "right", "x", "y"])
    assert plain.strengths == 1 and not plain.strength.any()
    assert read(["A>B", "A=B", "A<B", "x", "y"]) == plain == read([1, 2, 3, 1, 3], [1, 2, 3])


def test_an_item_of_the_name_of_a_side_is_no_mark():
    table = {"left": ["A", "A"], "right": ["B", "B"], "winner": ["A>>B", "A"]}
    with pytest.raises(models.DataError) as caught:
        models.Comparisons.from_table(table, rater=None)
    assert (caught.value.row, caught.value.column, caught.value.value) == (1, "winner", "A>>B")


def test_round_trips():
    simulated = models.simulators.comparisons(items=8, raters=5, degree=4, tie=0.4, cut_points=[1, 2.5])
    votes = simulated.data
    assert votes.strengths == 3 and sorted({*votes.strength.tolist()}) == [0, 1, 2]
    closed = {"items": votes.items, "levels": votes.levels, "count": "count"}
    assert models.Comparisons.from_table(votes.to_table(), **closed) == votes
    some = votes.select(items=votes.items[:5])
    assert some.strengths == 3 and len(some.strength) == len(some.outcome)
    assert votes.anonymized("all", random_seed=1).strengths == 3
    assert np.bincount(votes.strength, votes.count).sum() == len(votes)
    turned = {name: cells[::-1] for name, cells in votes.to_table().items()}
    assert models.Comparisons.from_table(turned, **closed) == votes
    one = models.simulators.comparisons(items=8, raters=5, degree=4, tie=0.4, random_seed=1)
    assert one.data.strengths == 1 and "cut_point" not in one.truth


@pytest.mark.parametrize(
    "winners, levels, row, value",
    [
        ([2, 1, 0, -1, -3], [2, 1, 0, -1, -2], 5, -3),  # unknown level
        (["A>>B", "A>B", "A=B", "B>A", "much"], SCALES["marks"][0], 5, "much"),
        (SCALES["marks"][0], ["A>>B", "A>B", "A=B", "B>A"], None, "A>>B"),  # not symmetric
        (SCALES["marks"][0], ["A>>B", "tie", "A>B", "B>A", "B>>A"], None, "tie"),
        (SCALES["marks"][0], ["A>>B", "A=B", "B>A"], None, "A>>B"),
        ([1] * 5, [1], None, [1]),
        ([1] * 5, [1, 2, 1], 3, 1),
        ([1.0, 0.7, 0.0, 1.0, 0.5], None, 2, 0.7),  # fractions of votes
        (["x", "y", "0.5", "x", "y"], None, 3, "0.5"),
        ([1.0, 0.5, 0.0, 1.0, 0.5], [1, 0], 2, 0.5),
    ],
)
def test_what_is_refused(winners, levels, row, value, golden):
    with golden.raises(models.DataError) as caught:
        read(winners, levels)
    assert caught.value.value == value and caught.value.remedy
    assert caught.value.column == ("levels" if levels is not None and row in (None, 3) else "winner")
    assert row in (None, 3) or caught.value.row == row


@pytest.mark.parametrize("cut_points", [[0.3], [2, 1], [np.inf]])
def test_cut_points_of_the_simulator_rise_above_the_tie(cut_points):
    with pytest.raises(ValueError, match="cut_points"):
        models.simulators.comparisons(items=6, raters=3, degree=2, tie=0.4, cut_points=cut_points)

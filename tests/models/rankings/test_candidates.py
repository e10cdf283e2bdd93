"""The flat layout against a dictionary of dictionaries."""

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models.rankings import observed

NESTED = {
    "a": {"r": [["x"], ["y", "z"]], "s": [["y"]]},
    "b": {"r": [["w"], ["x"], ["y"], ["z"]]},
    "c": {"s": [["z", "w"]]},
}


@pytest.fixture
def rankings():
    return models.PartialRankings.from_blocks(NESTED, categories=["w", "x", "y", "z"])


def test_candidates_are_the_ranked_categories_then_other(rankings):
    layout = observed.ranked_candidates(rankings, other=True)
    names = [rankings.categories[c] if c != observed.OTHER_CODE else "OTHER" for c in layout.category]
    assert names == ["x", "y", "z", "OTHER", "w", "x", "y", "z", "w", "z", "OTHER"]
    assert layout.start.tolist() == [0, 4, 8, 11]
    assert layout.item.tolist() == [0] * 4 + [1] * 4 + [2] * 3
    assert layout.other_size.tolist() == [1, 0, 2]


def test_without_other_only_ranked_categories_are_left(rankings):
    layout = observed.ranked_candidates(rankings, other=False)
    assert observed.OTHER_CODE not in layout.category
    assert layout.start.tolist() == [0, 3, 7, 9]
    assert layout.other_size.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "lay_out", [lambda r: observed.ranked_candidates(r, other=True), observed.every_candidate]
)
def test_blocks_say_what_the_raters_said(rankings, lay_out):
    layout = lay_out(rankings)
    for a, (item, rater) in enumerate(zip(rankings.annotation_item, rankings.annotation_rater, strict=True)):
        said = NESTED[rankings.items[item]][rankings.raters[rater]]
        inside = layout.block[a] >= 0
        start, end = layout.start[item : item + 2]
        assert layout.place[a, inside].tolist() == list(range(start, end))
        for place, block in zip(layout.place[a, inside], layout.block[a, inside], strict=True):
            category = layout.category[place]
            ranked = [
                b
                for b, names in enumerate(said)
                if category != observed.OTHER_CODE and rankings.categories[category] in names
            ]
            assert block == (ranked[0] if ranked else len(said))


def test_layout_is_small_for_long_tails():
    simulated = models.simulators.differential_diagnoses(items=200, random_seed=1)
    layout = observed.ranked_candidates(simulated.data, other=True)
    assert len(layout.item) < 200 * 15
    assert layout.block.dtype == np.int8

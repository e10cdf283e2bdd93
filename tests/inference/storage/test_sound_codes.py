"""Containers that are put together from arrays of strangers: sound ones pass, a code of nothing in any of them does not."""

from dataclasses import replace

import numpy as np
import pytest
from raterzoo import models
from raterzoo.inference.storage.model_identity import refuse_unsound

simulators = models.simulators
VOTES = {"left": ["a", "b"], "right": ["b", "c"], "rater": ["r", "s"], "winner": ["left", "right"]}
DATA = {
    "labels": simulators.labels(items=6, raters=3, gold=0.5, random_seed=1).data,
    "counts": models.Labels.from_counts({"item": ["a", "b"], "x": [1, 2], "y": [0, 3]}),
    "rankings": simulators.rankings(items=4, raters=2, categories=5, random_seed=1).data,
    "sets": simulators.rankings(items=4, raters=2, categories=5, shown=3, random_seed=1).data,
    "scores": simulators.scores(items=5, raters=3, random_seed=1).data,
    "comparisons": models.Comparisons.from_table(VOTES),
}


@pytest.mark.parametrize("name", DATA)
def test_what_a_door_has_made_is_sound(name):
    refuse_unsound(DATA[name])


def spoiled(array, where, value):
    array = array.copy()
    array[where] = value
    return array


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("labels", "annotation_item"),
        ("labels", "annotation_rater"),
        ("labels", "label_code"),
        ("labels", "gold"),
        ("counts", "annotation_rater"),
        ("rankings", "annotation_item"),
        ("rankings", "annotation_start"),
        ("rankings", "block_start"),
        ("rankings", "category_code"),
        ("sets", "shown_start"),
        ("sets", "shown_code"),
        ("scores", "annotation_rater"),
        ("comparisons", "left"),
        ("comparisons", "right"),
        ("comparisons", "outcome"),
    ],
)
def test_a_code_of_nothing_is_refused(name, field):
    codes = getattr(DATA[name], field)
    for wrong in (spoiled(codes, -1, 10**6), spoiled(codes, 0, -2), codes.astype(float), codes[None]):
        with pytest.raises(ValueError, match=field):
            refuse_unsound(replace(DATA[name], **{field: wrong}))


@pytest.mark.parametrize(
    ("name", "field"),
    [("labels", "count"), ("labels", "gold"), ("scores", "score"), ("comparisons", "outcome")],
)
def test_columns_of_other_lengths_are_refused(name, field, golden):
    short = getattr(DATA[name], field)[:-1]
    with golden.raises(ValueError):
        refuse_unsound(replace(DATA[name], **{field: short}))


def test_blocks_that_overlap_are_refused():
    starts = DATA["rankings"].block_start
    wrong = spoiled(starts, 1, starts[-1]) if len(starts) > 2 else starts
    assert (np.diff(wrong) < 0).any()
    with pytest.raises(ValueError, match="block_start"):
        refuse_unsound(replace(DATA["rankings"], block_start=wrong))

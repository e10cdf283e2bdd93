"""Slices of consecutive items: as `select` gives them, but for the raters, who keep their codes; containers can be pickled."""

import pickle

import numpy as np
import pytest
from raterzoo import models
from raterzoo.inference.scale.item_slices import items_between
from raterzoo.inference.storage.resumable_calls import digest_of
from raterzoo.models.data.container import values_of

TABLE = {
    "item": ["a", "a", "b", "c", "c", "d"],
    "rater": ["r", "s", "s", "t", "r", "t"],
    "kind": ["x", "y", "y", "z", "x", "z"],
}
CONTAINERS = {
    "rankings": models.published_ddx_cases(),
    "sets": models.simulators.rankings(items=4, raters=3, categories=5, shown=3, random_seed=1).data,
    "labels": models.Labels.from_table(TABLE | {"label": list("uvuvuw")}, rater_attributes=("kind",)),
    "scores": models.Scores.from_table(TABLE | {"score": [1, 2, 3, 4, 5, 6]}, bounds=(0, 9)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize(("first", "end"), [(0, 1), (1, 3), (2, 4)])
def test_a_slice_is_a_selection_with_all_raters(kind, first, end):
    data = CONTAINERS[kind]
    own = items_between(data, first, end)
    assert np.array_equal(own.raters, data.raters)
    chosen = data.items[first:end]
    assert own.select(items=chosen) == data.select(items=chosen)
    assert pickle.loads(pickle.dumps(own)) == own


def test_all_items_are_the_whole():
    for data in CONTAINERS.values():
        assert items_between(data, 0, len(data.items)) == data


def test_digests_tell_values_apart():
    values = values_of(CONTAINERS["labels"])
    wide = values | {"items": values["items"].astype("<U9")}
    assert digest_of(wide) == digest_of(values)
    for name in ("label_code", "rater_attributes", "gold"):
        other = dict(values)
        if name == "rater_attributes":
            other[name] = {"kind": values[name]["kind"][::-1]}
        else:
            other[name] = values[name] + 1
        assert digest_of(other) != digest_of(values), name

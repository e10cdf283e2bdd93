"""Every malformed nesting gives one typed error that names the item and the rater."""

import numpy as np
import pytest
from raterzoo.models import DataError, PartialRankings

GOOD = [[[["flu"], ["cold"]], [["cold"]]], [[["acne"]], None]]


def refused(nested, **arguments):
    with pytest.raises(DataError) as caught:
        PartialRankings.from_blocks(nested, **arguments)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def with_part(part, *path):
    """Return the good nesting with one part replaced."""
    if not path:
        return part
    place, *rest = path

    def copied(level, rest):
        return part if not rest else [
            copied(member, rest[1:]) if i == rest[0] else member for i, member in enumerate(level)
        ]  # fmt: skip

    return copied(GOOD, [place, *rest])


def test_the_good_one_is_good():
    assert len(PartialRankings.from_blocks(GOOD)) == 3


@pytest.mark.parametrize("part", [None, 3, "flu", {"flu"}, 1.5, object(), iter([])])
@pytest.mark.parametrize("path", [(), (0,), (0, 1), (0, 0, 1)])
def test_level_that_is_no_list(part, path, golden):
    if part is None and len(path) == 2:
        return  # a rater who did not annotate
    golden.says(refused(with_part(part, *path)))


@pytest.mark.parametrize("path", [(), (0,), (0, 0), (0, 0, 1)])
def test_empty_level(path, golden):
    golden.says(refused(with_part([], *path)))
    if len(path) == 1:
        golden.says(refused(with_part([None, None], *path)))


@pytest.mark.parametrize(
    "category", [None, "", " ", float("nan"), 1.5, True, ["flu"], {"flu": 1}, 3, "OTHER", "a\0"]
)
def test_category_that_is_none(category, golden):
    golden.says(refused(with_part(category, 0, 1, 0, 0)))


def test_category_in_two_blocks(golden):
    message = refused(with_part("flu", 0, 0, 1, 0))
    golden.says(message)


def test_category_outside_of_the_closed_set(golden):
    message = refused(GOOD, categories=["flu", "cold"])
    golden.says(message)


@pytest.mark.parametrize(
    "arguments",
    [
        {"items": ["a"]},
        {"items": ["a", "b", "c"]},
        {"items": ["a", "a"]},
        {"items": "ab"},
        {"items": ["a", None]},
        {"raters": ["a"]},
        {"raters": [1.5, 2.5]},
    ],
)
def test_ids_that_do_not_fit(arguments, golden):
    golden.says(refused(GOOD, **arguments))


def test_mappings_have_their_own_ids(golden):
    golden.says(refused({"a": {"r": [["flu"]]}}, items=["b"]))
    golden.says(refused({"a": {"r": [["flu"]]}}, raters=["b"]))
    assert "item 'a', rater" in refused({"a": {None: [["flu"]]}, "b": {"r": [["flu"]]}})


def test_arrays_are_lists():
    nested = [[np.array([["flu"], ["cold"]])]]
    assert len(PartialRankings.from_blocks(nested)) == 1

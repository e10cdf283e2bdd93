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
@pytest.mark.parametrize(
    "path, place",
    [
        ((), "the nested rankings"),
        ((0,), "item 0"),
        ((0, 1), "item 0, rater 1"),
        ((0, 0, 1), "item 0, rater 0, block 2"),
    ],
)
def test_level_that_is_no_list(part, path, place):
    if part is None and len(path) == 2:
        return  # a rater who did not annotate
    assert refused(with_part(part, *path)).startswith(f"{place}: ")


@pytest.mark.parametrize(
    "path, words",
    [
        ((), "no item"),
        ((0,), "item 0: item 0 has no annotation"),
        ((0, 0), "item 0, rater 0: the annotation has no block"),
        ((0, 0, 1), "item 0, rater 0, block 2: the block is empty"),
    ],
)
def test_empty_level(path, words):
    assert words in refused(with_part([], *path))
    if len(path) == 1:
        assert words in refused(with_part([None, None], *path))


@pytest.mark.parametrize(
    "category", [None, "", " ", float("nan"), 1.5, True, ["flu"], {"flu": 1}, 3, "OTHER", "a\0"]
)
def test_category_that_is_none(category):
    assert refused(with_part(category, 0, 1, 0, 0)).startswith("item 0, rater 1: ")


def test_category_in_two_blocks():
    message = refused(with_part("flu", 0, 0, 1, 0))
    assert message.startswith("item 0, rater 0: 'flu' is ranked twice")


def test_category_outside_of_the_closed_set():
    message = refused(GOOD, categories=["flu", "cold"])
    assert message.startswith("item 1, rater 0: 'acne' is not one of the categories")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"items": ["a"]}, "1 items= for a list of 2"),
        ({"items": ["a", "b", "c"]}, "3 items= for a list of 2"),
        ({"items": ["a", "a"]}, "listed twice"),
        ({"items": "ab"}, "is a str"),
        ({"items": ["a", None]}, "missing"),
        ({"raters": ["a"]}, "1 raters= for a list of 2"),
        ({"raters": [1.5, 2.5]}, "float"),
    ],
)
def test_ids_that_do_not_fit(arguments, words):
    assert words in refused(GOOD, **arguments)


def test_mappings_have_their_own_ids():
    assert "keys of a mapping" in refused({"a": {"r": [["flu"]]}}, items=["b"])
    assert "keys of a mapping" in refused({"a": {"r": [["flu"]]}}, raters=["b"])
    assert "item 'a', rater" in refused({"a": {None: [["flu"]]}, "b": {"r": [["flu"]]}})


def test_arrays_are_lists():
    nested = [[np.array([["flu"], ["cold"]])]]
    assert len(PartialRankings.from_blocks(nested)) == 1

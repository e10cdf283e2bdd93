"""Answers that are sets of tags: three forms, one container; no tags are an answer, and a missing answer is none."""

import numpy as np
import pandas as pd
import pytest
from raterzoo import models

L = models.Labels
TAGS = ["pos", "neg", "spam"]
IDS = {"item": [*"aabb"], "rater": [*"xyxy"]}
LISTS = [["pos", "neg"], [], ["spam", "pos"], ["neg"]]
CODES = [3, 0, 5, 2]  # bits: pos 1, neg 2, spam 4


def wide(*cells):
    return IDS | dict(zip(TAGS, map(list, zip(*cells, strict=True)), strict=True))


def test_categories_are_all_sets_by_their_bits():
    found = L.from_table(IDS | {"label": LISTS}, tags=TAGS)
    names = ["none", "pos", "neg", "pos|neg", "spam", "pos|spam", "neg|spam", "pos|neg|spam"]
    assert found.categories.tolist() == names
    assert found.label_code.tolist() == CODES


@pytest.mark.parametrize(
    "table",
    [
        IDS | {"label": [np.array(own) for own in LISTS]},
        IDS | {"label": ['["neg", "pos"]', "[]", "['spam', 'pos']", '["neg"]']},
        IDS | {"label": ["neg|pos", "none", "pos | spam", "neg"]},
        wide((1, 1, 0), (0, 0, 0), (1, 0, 1), (0, 1, 0)),
        wide(("1", "true", "0"), ("0", "false", "0"), ("1", "0", "1.0"), ("0.0", "1", "False")),
        pd.DataFrame(wide((1, 1, 0), (0, 0, 0), (1, 0, 1), (0, 1, 0))).astype(dict.fromkeys(TAGS, bool)),
        pd.DataFrame(IDS | {"label": LISTS}),
        L.from_table(IDS | {"label": LISTS}, tags=TAGS).to_table(),
    ],
)
def test_every_form_gives_one_container(table):
    assert L.from_table(table, tags=TAGS) == L.from_table(IDS | {"label": LISTS}, tags=TAGS)


def test_gold_is_a_set_and_may_be_unknown():
    table = IDS | {"label": LISTS, "truth": ["spam|pos", "spam|pos", "", ""]}
    assert L.from_table(table, tags=TAGS, gold="truth").gold.tolist() == [5, -1]


@pytest.mark.parametrize(
    "table",
    [
        IDS | {"label": ["pos", "none", None, "neg|spam"]},
        IDS | {"label": [["pos"], [], float("nan"), ["neg", "spam"]]},
        wide((1, 0, 0), (0, 0, 0), (None, None, None), (0, 1, 1)),
    ],
)
def test_a_missing_answer_is_not_an_answer_of_no_tags(table):
    with pytest.raises(models.DataError) as refused:
        L.from_table(table, tags=TAGS)
    assert refused.value.row == 3
    with pytest.warns(models.DataWarning, match="1 of 4 rows"):
        found = L.from_table(table, tags=TAGS, missing="drop")
    assert found.label_code.tolist() == [1, 0, 6]


@pytest.mark.parametrize(
    "table, options, row, column, value",
    [
        (IDS | {"label": ["pos", "none", "pos|nge", "neg"]}, {}, 3, "label", "pos|nge"),
        (IDS | {"label": [["pos"], [], ["ham"], []]}, {}, 3, "label", ["ham"]),
        (IDS | {"label": [["pos"], [], "neg", []]}, {}, 3, "label", "neg"),
        (IDS | {"label": ["pos", "neg", "none", '["neg"]']}, {}, 4, "label", '["neg"]'),
        (IDS | {"label": ["pos", "neg", "pos||neg", "none"]}, {}, 3, "label", "pos||neg"),
        (IDS | {"label": [1, 0, 1, 0]}, {}, 1, "label", 1),
        (wide((1, 0, 0), (0, 2, 0), (0, 0, 0), (0, 0, 0)), {}, 2, "neg", 2),
        (wide((1, 0, 0), (0, None, 0), (0, 0, 0), (0, 0, 0)), {}, 2, "neg", None),
        (IDS | {"label": [[]] * 4}, {}, None, "label", "none"),
        (IDS | {"rater": [*"xyxx"], "label": LISTS}, {}, 4, "rater", "x"),
        (IDS | {"pos": [1, 0, 1, 0]}, {}, None, "tags", "neg"),
        (IDS | {"label": LISTS}, {"tags": ["pos"]}, None, "tags", 1),
        (IDS | {"label": LISTS}, {"tags": [*"abcdefg"]}, None, "tags", 7),
        (IDS | {"label": LISTS}, {"tags": ["pos", "a|b"]}, None, "tags", "a|b"),
        (IDS | {"label": LISTS}, {"tags": ["pos", "none"]}, None, "tags", "none"),
        (IDS | {"label": LISTS}, {"categories": ["pos"]}, None, "categories", ["pos"]),
        (IDS | {"label": LISTS}, {"probability": "p"}, None, "probability", "p"),
        (IDS | {"label": LISTS}, {"label": TAGS}, None, "label", TAGS),
    ],
)
def test_what_is_refused(table, options, row, column, value):
    with pytest.raises(models.DataError) as refused:
        L.from_table(table, **{"tags": TAGS} | options)
    assert (refused.value.row, refused.value.column) == (row, column)
    assert refused.value.remedy
    assert refused.value.value == value or refused.value.value is value


def test_of_two_answers_to_an_item_the_last_may_count():
    table = {"item": [*"aaab"], "rater": [*"xxyx"], "label": ["pos", "neg", "none", "spam"]}
    with pytest.warns(models.DataWarning):
        assert L.from_table(table, tags=TAGS, keep="last").label_code.tolist() == [2, 0, 4]


def test_a_tag_that_nobody_names_is_told():
    with pytest.warns(models.DataWarning, match="no answer has the tag 'spam'"):
        found = L.from_table(IDS | {"label": ["pos", "none", "neg", "neg"]}, tags=TAGS)
    assert found.tags == TAGS and len(found.categories) == 8


@pytest.mark.parametrize(
    "names", [["none", "a", "b"], ["none", "a", "b", "c"], ["none", "a", "b", "b|a"], [0, 1, 2, 3]]
)
def test_other_categories_are_no_sets_of_tags(names):
    table = IDS | {"label": [names[0], names[1], names[0], names[1]]}
    assert L.from_table(table, categories=names).tags == []

"""Reading of comparisons from tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._messages import short_repr
from ....posterior.table_text import folded
from ..errors import refused_argument
from .columns import (
    POINT,
    code_ids,
    distinct_ids,
    match_ids,
    nearest,
    refused_cell,
    refused_value,
    without_points,
)
from .frames import Column
from .vote_shapes import SIDES, TIES
from .vote_strengths import LEFT, RIGHT, vote_marks
from .vote_strengths import TIE as TIE

OUTCOMES = ("left", "right", "tie")  # outcomes of a comparison; their codes are their places
MAX_WORDS = 100
_WORDS = ", ".join(map(short_repr, OUTCOMES))
_CodedColumn = tuple[Column, np.ndarray, np.ndarray]


def outcome_words(cells: Sequence[Any], items: np.ndarray, sides: Sequence[str]) -> dict[str, int]:
    """Codes of the words for an outcome among the cells; an id of an item is no synonym, in whatever case.

    The names of the two columns of items, `sides`, are words for these unless an item has the very name.
    """
    code = {word: place for place, word in enumerate(OUTCOMES)}
    texts = {cell for cell in cells if isinstance(cell, str)} - code.keys()
    if len(texts) > MAX_WORDS:  # ids of items
        return code
    names = {*items.tolist()}
    ids = {*map(folded, names)}
    pairs = [pair for pair in SIDES if ids.isdisjoint(pair)]  # where "a" is an item, "b" may be another
    left, right = ({pair[place] for pair in pairs} for place in (LEFT, RIGHT))
    for place, same in enumerate((left, right, TIES - ids)):
        code |= {text: place for text in texts if folded(text) in same}
    code |= {text: outcome for text, (outcome, _) in vote_marks(texts - names, ids).items()}
    if names.isdisjoint(sides):
        code |= {name: place for place, name in enumerate(sides) if name in texts}
    return code


def item_set(declared: Sequence[Any] | np.ndarray | None) -> np.ndarray | None:
    """Validate the declared closed set of items, in its order; None leaves the set to the votes.

    Refuses ids that are repeated or words for an outcome, and a set of one item.
    """
    if declared is None:
        return None
    items = distinct_ids("items", declared)
    if taken := _ambiguous_ids(items):
        problem, allowed = f"{short_repr(taken[0])} is also the word for an outcome", f"any id but {_WORDS}"
        remedy = "give the item another name"
        raise refused_argument("items", problem, value=taken[0], allowed=allowed, remedy=remedy)
    if len(items) < 2:
        only, remedy = items[0].item(), "declare all items that could have been compared"
        problem = f"{short_repr(only)} is the only item: there is nothing to compare it with"
        raise refused_argument("items", problem, value=only, allowed="two or more items", remedy=remedy)
    return items


def code_items(
    left: Column, right: Column, items: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factorise both columns of items together; returns items (item,), and codes left and right (row,).

    Without a closed set the items come in order of first appearance, row by row, left before right. Refuses
    words for an outcome, ids outside the closed set, and an item compared with itself.
    """
    coded = _of_one_writing([(column, *code_ids(column)) for column in (left, right)])
    for column, index, _ in coded:
        if taken := _ambiguous_ids(index):
            problem, remedy = "is also the word for an outcome", "give the item another name"
            raise refused_value(column, taken[0], problem, allowed=f"any id but {_WORDS}", remedy=remedy)
    if items is None:
        items = _union_in_order(*coded)
    one, other = (_codes_within(items, *of_side) for of_side in coded)
    if (same := one == other).any():
        row = int(same.argmax())
        problem = f"is compared with itself: it stands in column {short_repr(left.name)} too"
        remedy = "correct one of the two cells, or leave the row out"
        raise refused_cell(right, row, problem, allowed="two different items", remedy=remedy)
    return items, one, other


def _of_one_writing(coded: list[_CodedColumn]) -> list[_CodedColumn]:
    """Take "1.0" in one column of items as the "1" of the other: a missing cell makes floats of one of them."""
    if any(index.dtype.kind != "U" for _, index, _ in coded):
        return coded
    ids = [text for _, index, _ in coded for text in index.tolist()]
    if without_points(coded[0][0].name, ids) is None:
        return coded
    return [
        (column, np.array([text.removesuffix(POINT) for text in index.tolist()]), code)
        for column, index, code in coded
    ]


def _union_in_order(one: _CodedColumn, other: _CodedColumn) -> np.ndarray:
    """Union of the items of both columns in order of first appearance, row by row, left before right."""
    (_, index, code), (column, other_index, other_code) = one, other
    is_new = match_ids(other_index, index, "items", row=1, column=column.name) < 0
    met = np.r_[2 * _first_rows(code), 2 * _first_rows(other_code)[is_new] + 1]
    return np.concatenate([index, other_index[is_new]])[np.argsort(met)]


def _first_rows(code: np.ndarray) -> np.ndarray:
    """First row of each code."""
    first = np.empty(code.max() + 1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def _codes_within(items: np.ndarray, column: Column, index: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Codes of a column within the closed set of items; raises at a cell outside it."""
    place = match_ids(index, items, "items", row=1, column=column.name)[code]
    if (place < 0).any():
        row = int((place < 0).argmax())
        problem, remedy = "is not one of the items", "correct the cell, or add it to items="
        raise refused_cell(column, row, problem, allowed=nearest(column.values[row], items), remedy=remedy)
    return place


def _ambiguous_ids(index: np.ndarray) -> list[str]:
    """Words for outcomes that are also ids of items, which makes votes ambiguous."""
    return [word for word in OUTCOMES if index.dtype.kind == "U" and (index == word).any()]

"""Comparisons in tables: the items on the left and on the right, who won, and the way back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cells import refused_cell, refused_value
from .columns import code_ids
from .comparison_summary import AnyComparisons
from .errors import DataError, shown
from .matching import distinct_ids, match_ids, nearest
from .tables import Column, Columns, column_names, named_columns
from .votes import OUTCOMES, TIE
from .whole_numbers import split_counts

__all__ = ["code_items", "item_set", "long_columns", "vote_columns"]

CROWD_KIT = {"rater": "worker", "winner": "label"}

_WORDS = ", ".join(map(shown, OUTCOMES))
_Coded = tuple[Column, np.ndarray, np.ndarray]


def vote_columns(frame: Any, roles: Mapping[str, str]) -> Columns:
    """Take the columns of a table of votes, those of crowd-kit where our defaults are missing.

    Parameters
    ----------
    frame : frame or mapping
        The table.
    roles : mapping of str to str
        Argument of the door -> name of the column.

    Returns
    -------
    Columns
        The column of each role.

    Raises
    ------
    DataError
        If this is no table, a column is missing or named twice, or there is no row.
    """
    if "rater" not in roles and (
        of_rater := [r for r in roles if r.startswith("rater_attributes")]
    ):
        raise DataError(
            f"{shown(roles[of_rater[0]])} is said of raters who are not told apart",
            column=roles[of_rater[0]],
            remedy="name the column of the raters, or leave the attribute out",
            where="argument rater_attributes",
        )
    there = set(column_names(frame))
    found = dict(roles)
    for role, theirs in CROWD_KIT.items():
        if found.get(role) == role and role not in there and theirs in there:
            found[role] = theirs
    if "rater" in found and found["rater"] not in there:
        raise DataError(
            f"there is no column {shown(found['rater'])}",
            column=found["rater"],
            allowed=f"the columns that are there: {', '.join(map(shown, sorted(there, key=str)[:20])) or 'none'}",
            remedy="name the column: rater=..., or pass rater=None if the raters are not told apart",
        )
    return named_columns(frame, found)


def item_set(declared: Sequence[Any] | np.ndarray | None) -> np.ndarray | None:
    """Check the declared closed set of items.

    Parameters
    ----------
    declared : sequence or None
        Ids of the items in their order; None leaves the set to the votes.

    Returns
    -------
    ndarray of str or int64, or None
        The ids.

    Raises
    ------
    DataError
        If an id is refused or repeated, is a word for an outcome, or there is one item only.
    """
    if declared is None:
        return None
    items = distinct_ids("items", declared)
    if taken := _words_among(items):
        raise DataError(
            f"{shown(taken[0])} is also the word for an outcome",
            column="items",
            value=taken[0],
            allowed=f"any id but {_WORDS}",
            remedy="give the item another name",
            where="argument items",
        )
    if len(items) < 2:
        raise DataError(
            f"{shown(items[0].item())} is the only item: there is nothing to compare it with",
            column="items",
            value=items[0].item(),
            allowed="two or more items",
            remedy="declare all items that could have been compared",
            where="argument items",
        )
    return items


def code_items(
    left: Column, right: Column, items: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Code the two columns of items together.

    Parameters
    ----------
    left, right : Column
        Ids of the items of each row.
    items : ndarray or None
        The closed set, or None.

    Returns
    -------
    items : ndarray of str or int64, shape (item,)
        The closed set; by default the items in order of first appearance, row by row, left before right.
    left, right : ndarray of int32, shape (row,)
        Codes.

    Raises
    ------
    DataError
        If a cell is no id, is a word for an outcome or is not one of the items, or an item meets itself.
    """
    coded = [(column, *code_ids(column)) for column in (left, right)]
    for column, index, _ in coded:
        if taken := _words_among(index):
            raise refused_value(
                column,
                taken[0],
                "is also the word for an outcome",
                allowed=f"any id but {_WORDS}",
                remedy="give the item another name",
            )
    if items is None:
        items = _by_appearance(*coded)
    one, other = (_places(items, *of_side) for of_side in coded)
    if (same := one == other).any():
        row = int(same.argmax())
        raise refused_cell(
            right,
            row,
            f"is compared with itself: it stands in column {shown(left.name)} too",
            allowed="two different items",
            remedy="correct one of the two cells, or leave the row out",
        )
    return items, one, other


def long_columns(pairs: AnyComparisons) -> dict[str, np.ndarray]:
    """Write comparisons as a long table.

    Parameters
    ----------
    pairs : Comparisons
        The data.

    Returns
    -------
    dict of str to ndarray
        Columns, as `Comparisons.to_table` says.
    """
    voted = np.zeros(len(pairs.items), bool)
    voted[pairs.left] = voted[pairs.right] = True
    silent = np.flatnonzero(~voted)
    nobody = np.zeros(len(silent), np.int32)
    left = np.r_[pairs.left, silent]
    right = np.r_[pairs.right, np.where(silent == 0, 1, 0)]
    outcome = np.r_[pairs.outcome, nobody + TIE]
    table = {
        "left": pairs.items[left],
        "right": pairs.items[right],
        "winner": np.array(OUTCOMES)[outcome],
        "count": np.r_[pairs.count, nobody],
    }
    if not len(pairs.raters):
        return split_counts(table)
    rater = np.r_[pairs.annotation_rater, nobody]
    attributes = {name: own[rater] for name, own in pairs.rater_attributes.items()}
    return split_counts({"rater": pairs.raters[rater]} | table | attributes)


def _by_appearance(one: _Coded, other: _Coded) -> np.ndarray:
    """Merge the items of both columns in the order in which a reader meets them."""
    (_, index, code), (column, other_index, other_code) = one, other
    is_new = match_ids(other_index, index, "items", row=1, column=column.name) < 0
    met = np.r_[2 * _first_rows(code), 2 * _first_rows(other_code)[is_new] + 1]
    return np.concatenate([index, other_index[is_new]])[np.argsort(met)]


def _first_rows(code: np.ndarray) -> np.ndarray:
    """Return the first row of each code."""
    first = np.empty(code.max() + 1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def _places(items: np.ndarray, column: Column, index: np.ndarray, code: np.ndarray) -> np.ndarray:
    place = match_ids(index, items, "items", row=1, column=column.name)[code]
    if (place < 0).any():
        row = int((place < 0).argmax())
        raise refused_cell(
            column,
            row,
            "is not one of the items",
            allowed=nearest(column.values[row], items),
            remedy="correct the cell, or add it to items=",
        )
    return place


def _words_among(index: np.ndarray) -> list[str]:
    """Return the words for outcomes that are ids of items: their votes could be read in two ways."""
    return [word for word in OUTCOMES if index.dtype.kind == "U" and (index == word).any()]

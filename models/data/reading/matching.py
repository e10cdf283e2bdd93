"""Matching of ids with closed sets and with chosen items; text never matches integers."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...._messages import short_repr
from ....posterior.schema import OTHER
from ..errors import DataError
from .columns import code_ids, first_repeat, refused_cell, text_or_integer
from .frames import Column, is_listed, listed

MAX_IDS = 1_000_000
RESERVED = (OTHER,)


def code_categories(
    column: Column, declared: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a column within its closed set; returns categories (category,) and codes (row,).

    `declared` is the closed set in the order that breaks ties; None takes the categories that the column's
    dtype declares, or else the sorted categories that occur. Refuses cells outside the set, and a set of one
    category.
    """
    used, code = code_ids(column, RESERVED)
    if declared is None:
        declared = column.declared
    categories = np.sort(used) if declared is None else distinct_ids("categories", declared, RESERVED)
    if len(categories) < 2:
        raise DataError(
            f"{short_repr(categories[0].item())} is the only category: there is nothing to choose from",
            column=column.name,
            value=categories[0].item(),
            allowed="a closed set of two or more categories",
            remedy="pass categories= with all that could have been chosen",
        )
    position = match_ids(used, categories, "categories", row=1, column=column.name)
    if (position < 0).any():
        row = int((position[code] < 0).argmax())
        value = used[code[row]].item()
        problem, allowed = f"{short_repr(value)} is not one of the categories", nearest(value, categories)
        remedy = "correct the cell, or add it to categories="
        place = column.row(row)
        raise DataError(problem, row=place, column=column.name, value=value, allowed=allowed, remedy=remedy)
    return categories, position[code]


def distinct_ids(argument: str, ids: Sequence[Any] | np.ndarray, reserved: Sequence[str] = ()) -> np.ndarray:
    """Validate an argument that lists distinct ids; returns them as an array, shape (id,).

    Refuses an unordered collection, no ids or too many, and ids that are repeated or reserved; places count
    from 1.
    """
    if not is_listed(ids):
        problem = f"{argument}={short_repr(ids)} is a {type(ids).__name__}"
        allowed, remedy = "a list or another sequence in a fixed order", f"pass {argument}=[...]"
        raise DataError(
            problem, column=argument, value=ids, allowed=allowed, remedy=remedy, where=f"argument {argument}"
        )
    if not 0 < len(ids) <= MAX_IDS:
        raise DataError(
            f"{len(ids):,} ids are listed",
            column=argument,
            value=len(ids),
            allowed=f"1 to {MAX_IDS:,} ids",
            remedy="list the ids to be used",
            where=f"argument {argument}",
        )
    column = Column(argument, listed(ids))
    try:
        index, code = code_ids(column, reserved)
        if (place := first_repeat(code)) is not None:
            raise refused_cell(column, place, "is listed twice", remedy="list each once")
    except DataError as error:
        raise error.moved(f"argument {argument}, place {error.row}") from None
    return index


def distinct_item_ids(column: Column, remedy: str) -> np.ndarray:
    """Validate a column with one row for each item; returns the ids, shape (row,)."""
    items, code = code_ids(column)
    if (place := first_repeat(code)) is not None:
        problem = "stands in an earlier row too"
        raise refused_cell(column, place, problem, allowed="one row for each item", remedy=remedy)
    return items


def match_ids(
    wanted: np.ndarray, index: np.ndarray, name: str, *, row: int | None = None, column: str | None = None
) -> np.ndarray:
    """Find the place of each wanted id, shape (wanted,), in an index of distinct ids, -1 where it is absent.

    `name` names the index in messages; `row` and `column` locate the first wanted id, and without a row it is
    an argument. Raises if one side is text and the other integers.
    """
    if wanted.dtype.kind != index.dtype.kind:
        one, other = wanted[0].item(), index[0].item()
        raise DataError(
            f"values such as {short_repr(one)} are {text_or_integer(wanted)}, but the {name} are "
            f"{text_or_integer(index)} such as {short_repr(other)}",
            value=one,
            allowed="one kind on both sides",
            remedy=f"write both as text, or both as integers ({short_repr(one)} is not {short_repr(other)})",
            row=row,
            column=column or name,
            where="" if row else f"argument {name}",
        )
    place = {label: code for code, label in enumerate(index.tolist())}
    return np.array([place.get(label, -1) for label in wanted.tolist()], np.int32)


def chosen_items(items: Sequence[Any] | np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Resolve chosen items: old codes of those kept, (kept,), and new codes of all, (item,), -1 if dropped.

    Refuses items that are unknown, repeated, or text where the ids are integers.
    """
    wanted = distinct_ids("items", items)
    code = match_ids(wanted, index, "items")
    if (code < 0).any():
        unknown = wanted[(code < 0).argmax()].item()
        problem, allowed = f"{short_repr(unknown)} is not one of the items", nearest(unknown, index)
        remedy = "choose among .items"
        raise DataError(
            problem, column="items", value=unknown, allowed=allowed, remedy=remedy, where="argument items"
        )
    place = np.full(len(index), -1, np.int32)
    place[code] = np.arange(len(code))
    return code, place


def nearest(label: Any, index: np.ndarray) -> str:
    """Phrase with the id most similar to a label that was not found, or with the first three ids."""
    if isinstance(label, str) and (near := get_close_matches(label, index.tolist(), n=1)):
        return f"the nearest is {short_repr(near[0])}"
    return f"{len(index):,} such as {', '.join(map(short_repr, index[:3].tolist()))}"

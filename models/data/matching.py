"""Matching ids against ids: closed sets, chosen items. Text never matches integers."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from .columns import code_ids, text_or_integer
from .errors import DataError, shown
from .tables import Column, is_listed, listed

__all__ = [
    "MAX_IDS",
    "RESERVED",
    "chosen_items",
    "code_categories",
    "distinct_ids",
    "match_ids",
    "nearest",
]

MAX_IDS = 1_000_000
RESERVED = ("OTHER",)  # the pooled never-ranked rest, in models and trees


def code_categories(
    column: Column, declared: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Code a column of categories within its closed set.

    Parameters
    ----------
    column : Column
        Cells.
    declared : sequence or None
        The closed set, in the order that breaks ties; None takes what the column's type declares,
        or else the sorted categories that occur.

    Returns
    -------
    categories : ndarray of str or int64, shape (category,)
        The closed set, in its order.
    code : ndarray of int32, shape (row,)
        Place of each cell in it.

    Raises
    ------
    DataError
        If a cell or a declared category is refused, a cell lies outside of the set, or the set has
        one member.
    """
    used, code = code_ids(column, RESERVED)
    if declared is None:
        declared = column.declared
    categories = (
        np.sort(used) if declared is None else distinct_ids("categories", declared, RESERVED)
    )
    if len(categories) < 2:
        raise DataError(
            f"{shown(categories[0].item())} is the only category: there is nothing to choose from",
            column=column.name,
            value=categories[0].item(),
            allowed="a closed set of two or more categories",
            remedy="pass categories= with all that could have been chosen",
        )
    position = match_ids(used, categories, "categories", row=1, column=column.name)
    if (position < 0).any():
        raise _unknown_category(column, used, position, code, categories)
    return categories, position[code]


def distinct_ids(
    argument: str, ids: Sequence[Any] | np.ndarray, reserved: Sequence[str] = ()
) -> np.ndarray:
    """Check an argument that lists ids, each of them once.

    Parameters
    ----------
    argument : str
        Its name in messages.
    ids : sequence
        Text or integers.
    reserved : sequence of str
        Labels that mean something else.

    Returns
    -------
    ndarray of str or int64, shape (id,)
        The ids.

    Raises
    ------
    DataError
        If it is no sequence, is empty or too long, or an id is refused or repeated; places count
        from 1.
    """
    if not is_listed(ids):
        raise DataError(
            f"{argument}={shown(ids)} is a {type(ids).__name__}",
            column=argument,
            value=ids,
            allowed="a list or another sequence in a fixed order",
            remedy=f"pass {argument}=[...]",
            where=f"argument {argument}",
        )
    if not 0 < len(ids) <= MAX_IDS:
        raise DataError(
            f"{len(ids):,} ids are listed",
            column=argument,
            value=len(ids),
            allowed=f"1 to {MAX_IDS:,} ids",
            remedy="list the ids that are meant",
            where=f"argument {argument}",
        )
    column = Column(argument, listed(ids))
    try:
        index, code = code_ids(column, reserved)
        if len(index) < len(code):
            raise _repeated(column, code)
    except DataError as error:
        raise error.moved(f"argument {argument}, place {error.row}") from None
    return index


def match_ids(
    wanted: np.ndarray,
    index: np.ndarray,
    name: str,
    *,
    row: int | None = None,
    column: str | None = None,
) -> np.ndarray:
    """Find each wanted id in an index.

    Parameters
    ----------
    wanted : ndarray of str or int64, shape (wanted,)
        Ids to find.
    index : ndarray of str or int64, shape (id,)
        Ids that are there, each once.
    name : str
        What they are, in messages.
    row, column : int and str, optional
        Where the first wanted id stands; without a row it is an argument of that name.

    Returns
    -------
    ndarray of int32, shape (wanted,)
        Place of each in `index`; -1 if it is not there.

    Raises
    ------
    DataError
        If one side is text and the other integers: the message shows one of each.
    """
    if wanted.dtype.kind != index.dtype.kind:
        one, other = wanted[0].item(), index[0].item()
        raise DataError(
            f"{shown(one)} is one of {text_or_integer(wanted)}, but the {name} are "
            f"{text_or_integer(index)} such as {shown(other)}",
            value=one,
            allowed="one kind on both sides",
            remedy=f"write both as text, or both as integers ({shown(one)} is not {shown(other)})",
            row=row,
            column=column or name,
            where="" if row else f"argument {name}",
        )
    place = {label: code for code, label in enumerate(index.tolist())}
    return np.array([place.get(label, -1) for label in wanted.tolist()], np.int32)


def chosen_items(
    items: Sequence[Any] | np.ndarray, index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the items to keep.

    Parameters
    ----------
    items : sequence
        Ids of items, each once.
    index : ndarray of str or int64
        Ids of all items.

    Returns
    -------
    code : ndarray of int32, shape (kept,)
        Old code of each kept item.
    place : ndarray of int32, shape (item,)
        New code of each item, -1 where it goes.

    Raises
    ------
    DataError
        If an item is unknown, repeated, or text where the ids are integers.
    """
    wanted = distinct_ids("items", items)
    code = match_ids(wanted, index, "items")
    if (code < 0).any():
        unknown = wanted[(code < 0).argmax()].item()
        raise DataError(
            f"{shown(unknown)} is not one of the items",
            column="items",
            value=unknown,
            allowed=nearest(unknown, index),
            remedy="choose among .items",
            where="argument items",
        )
    place = np.full(len(index), -1, np.int32)
    place[code] = np.arange(len(code))
    return code, place


def nearest(label: Any, index: np.ndarray) -> str:
    """Return a phrase that names the nearest of the ids that are there.

    Parameters
    ----------
    label : str or int
        What was not found.
    index : ndarray of str or int64
        Ids that are there.

    Returns
    -------
    str
        The nearest text, or the first ids.
    """
    if isinstance(label, str) and (near := get_close_matches(label, index.tolist(), n=1)):
        return f"the nearest is {shown(near[0])}"
    some = ", ".join(map(shown, index[:3].tolist()))
    return f"{len(index):,} such as {some}"


def _repeated(column: Column, code: np.ndarray) -> DataError:
    _, first = np.unique(code, return_index=True)
    row = int(np.setdiff1d(np.arange(len(code)), first)[0])
    value = column.values[row]
    return DataError(
        f"{shown(value)} is listed twice",
        row=row + 1,
        column=column.name,
        value=value,
        remedy="list each once",
    )


def _unknown_category(
    column: Column, used: np.ndarray, position: np.ndarray, code: np.ndarray, categories: np.ndarray
) -> DataError:
    row = int((position[code] < 0).argmax())
    value = used[code[row]].item()
    return DataError(
        f"{shown(value)} is not one of the categories",
        row=row + 1,
        column=column.name,
        value=value,
        allowed=nearest(value, categories),
        remedy="correct the cell, or add it to categories=",
    )

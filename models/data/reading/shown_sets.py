"""Tables of rankings that say what a rater was shown: a mark in each row, a list, or rows without a rank."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...._messages import short_repr
from ..errors import DataError
from ..no_answers import NoAnswer, matcher
from .columns import cells_that, code_values, is_blank, refused_cell, rows_of
from .frames import Column, is_listed, listed
from .label_cells import parsed_cell
from .tag_sets import BETWEEN

_MARKS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_ALLOWED = "true or false for the category of the row, or the list of all that the rater was shown"
_LIST = (
    'write the list of all that the rater was shown, such as ["a", "b"] or a|b, the ranked ones among them'
)


class ShownRows(NamedTuple):
    """Columns item, rater, category and rank, a row for each category that a rater was shown; rank has the ranked rows alone."""

    columns: dict[str, Column]
    ranked: np.ndarray  # bool (row,)


def shown_rows(
    columns: Mapping[str, Column], declared: Collection[Any] | None, no_answer: NoAnswer = ()
) -> ShownRows:
    """Read the sets that raters were shown, by the column of that role, else all rows were shown, with or without a rank.

    Raises at a ranked category that was not shown, an empty set, an unknown category, several sets of an annotation, and one that
    ranks nothing.
    """
    keys = {role: columns[role] for role in ("item", "rater", "category")}
    rank = columns["rank"]
    ranked = ~cells_that(rank.values, is_blank)
    if "shown" in columns:
        shown = columns["shown"]
        if any(_members(cell) is not None for cell in shown.values):
            return _with_members(keys, rank, shown, (declared, matcher(no_answer)))
        marked = np.array([_mark(shown, place) for place in range(len(shown.values))], bool)
        if (hidden := ranked & ~marked).any():
            place = int(hidden.argmax())
            problem = f"ranked {_named(keys, place)}, which was not shown"
            raise _refused(keys, place, shown, problem, "mark it as shown, or leave its rank empty")
        rows = np.flatnonzero(marked)
        keys = {role: rows_of(column, rows) for role, column in keys.items()}
        rank, ranked = rows_of(rank, rows), ranked[marked]
    _refuse_unranked(keys, ranked)
    return ShownRows({**keys, "rank": rows_of(rank, np.flatnonzero(ranked))}, ranked)


def _mark(shown: Column, place: int) -> bool:
    """Whether the category of a row was shown."""
    cell = shown.values[place]
    mark = None if is_blank(cell) else _MARKS.get(str(cell).strip().casefold())
    if mark is None:
        raise refused_cell(
            shown, place, "says nothing of what was shown", allowed=_ALLOWED, remedy="write one of these"
        )
    return mark


def _members(cell: Any) -> list[Any] | None:
    """Categories in a cell that is a list, or the text of one; None if it is none."""
    if isinstance(cell, str):
        own = [part.strip() for part in cell.split(BETWEEN)] if BETWEEN in cell else None
        cell = parsed_cell(cell) if cell.lstrip()[:1] in ("[", "(") else own
    return listed(cell) if is_listed(cell) else None


def _with_members(
    keys: dict[str, Column],
    rank: Column,
    shown: Column,
    known: tuple[Collection[Any] | None, Callable[[Any], bool]],
) -> ShownRows:
    """Append a row for each category that is in the list of an annotation and that it does not rank.

    `known` has the closed set of categories, and the test of members that are none.
    """
    declared, is_none = known
    texts = {type(own) for own in code_values(keys["category"].values)[1]} == {str}
    sets: dict[tuple[Any, Any], tuple[int, dict[Any, None]]] = {}
    named: dict[tuple[Any, Any], set[Any]] = {}
    for place, cell in enumerate(shown.values):
        members = _members(cell)
        if members is None:
            raise refused_cell(shown, place, "is no list", allowed=_ALLOWED, remedy=_LIST)
        if not members:
            raise _refused(keys, place, shown, "was shown nothing")
        own = dict.fromkeys(str(member) if texts else member for member in members if not is_none(member))
        if declared is not None and (unknown := [member for member in own if member not in declared]):
            raise _refused(
                keys,
                place,
                shown,
                f"was shown {short_repr(unknown[0])}, which is not one of the categories",
                "correct the cell, or add it to categories=",
            )
        category, annotation = keys["category"].values[place], _annotation(keys, place)
        if category not in own:
            raise _refused(keys, place, shown, f"ranked {_named(keys, place)}, which was not shown")
        if sets.setdefault(annotation, (place, own))[1].keys() != own.keys():
            raise _refused(
                keys,
                place,
                shown,
                f"was shown another set in row {shown.row(sets[annotation][0]):,}",
                "give each choice a rater of its own, such as a number; models but the hierarchical one take raters as alike",
            )
        named.setdefault(annotation, set()).add(category)
    more = [
        (place, member)
        for annotation, (place, own) in sets.items()
        for member in own
        if member not in named[annotation]
    ]
    ranked = np.arange(len(shown.values) + len(more)) < len(shown.values)
    places, members = [place for place, _ in more], [member for _, member in more]
    extended = {role: _extended(keys[role], places) for role in ("item", "rater")}
    extended["category"] = _extended(keys["category"], places, members)
    return ShownRows({**extended, "rank": rank}, ranked)


def _extended(column: Column, places: Sequence[int], values: Sequence[Any] | None = None) -> Column:
    """Column with further rows, by default copies of those at some places, whose numbers they have."""
    cells = column.values
    more = [cells[place] for place in places] if values is None else values
    kept = np.arange(len(cells)) if column.kept is None else column.kept
    return replace(column, values=[*cells, *more], kept=np.append(kept, kept[places]).astype(np.int64))


def _annotation(keys: Mapping[str, Column], place: int) -> tuple[Any, Any]:
    return keys["item"].values[place], keys["rater"].values[place]


def _named(keys: Mapping[str, Column], place: int) -> str:
    return short_repr(keys["category"].values[place])


def _refuse_unranked(keys: Mapping[str, Column], ranked: np.ndarray) -> None:
    """Raise at the first annotation of which no row is ranked."""
    item, rater = (code_values(keys[role].values)[0].astype(np.int64) for role in ("item", "rater"))
    annotation = item * (int(rater.max(initial=0)) + 1) + rater
    alone = ~np.isin(annotation, annotation[ranked])
    if alone.any():
        place = int(alone.argmax())
        raise _refused(
            keys, place, keys["category"], "ranked nothing of what was shown", "leave these rows out"
        )


def _refused(
    keys: Mapping[str, Column], place: int, column: Column, problem: str, remedy: str = _LIST
) -> DataError:
    """Error about an annotation, at the row of a place; the problem follows its item and rater."""
    item, rater = map(short_repr, _annotation(keys, place))
    return DataError(
        f"rater {rater} of item {item} {problem}",
        row=column.row(place),
        column=column.name,
        value=column.values[place],
        allowed="a set of categories with all that the rater ranked",
        remedy=remedy,
    )

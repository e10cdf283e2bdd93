"""Answers that are sets of tags: lists, texts such as "a|b", or a column of 0 and 1 for each tag; a set is a category."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._messages import short_repr, warn_user
from ..errors import DataError, DataWarning, refused_argument
from .columns import distinct_ids, first_repeat, is_blank, nearest, refused_cell
from .frames import Column, column_names, named_columns
from .label_cells import parsed_cell

BETWEEN = "|"  # the tags of a set
NO_TAGS = "none"
MAX_TAGS = 6  # 64 sets
_SET = 'a list such as ["a", "b"], or a text such as a|b; [] or none for no tags'
_LISTS = (list, tuple, set, frozenset, np.ndarray)


def read_tags(tags: Any) -> list[str]:
    """Read the argument `tags`: two to six distinct texts, of which none is "none" or holds "|"."""
    names = distinct_ids("tags", tags).tolist()
    for name in names:
        if not isinstance(name, str) or BETWEEN in name or name == NO_TAGS:
            problem = f"{short_repr(name)} cannot be the name of a tag"
            allowed = f"texts without {BETWEEN}, other than {NO_TAGS}"
            raise refused_argument("tags", problem, value=name, allowed=allowed, remedy="rename the tag")
    if not 2 <= len(names) <= MAX_TAGS:
        problem = f"the number of tags is {len(names):,}"
        allowed = f"2 to {MAX_TAGS} tags"
        remedy = "make a table for each group of tags that go together"
        if len(names) < 2:
            remedy = "leave tags= out: whether one tag is true is a label of two categories"
        raise refused_argument("tags", problem, value=len(names), allowed=allowed, remedy=remedy)
    return names


def tag_sets(tags: Sequence[str]) -> list[str]:
    """Return the name of every set of tags: set k has tag t if bit t of k is 1; shape (2 to the power of the tags,)."""
    return [
        _name([tag for tag, own in zip(tags, row, strict=True) if own]) for row in bits_of_sets(len(tags))
    ]


def bits_of_sets(n_tags: int) -> np.ndarray:
    """Return whether each set has each tag, bool (set, tag)."""
    return (np.arange(2**n_tags)[:, None] >> np.arange(n_tags)) % 2 == 1


def tags_of(categories: np.ndarray) -> list[str]:
    """Return the tags of which the categories are all sets, as `tag_sets` has them; none of other categories."""
    if not 4 <= len(categories) <= 2**MAX_TAGS:
        return []
    named = [str(name) for name in categories[2 ** np.arange(len(categories).bit_length() - 1)]]
    return named if tag_sets(named) == categories.tolist() else []


def _name(given: Sequence[str]) -> str:
    """Return the name of a set whose tags are in their order."""
    return BETWEEN.join(given) or NO_TAGS


def with_tag_sets(frame: Any, label: str, gold: str | None, tags: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the table with the name of a set in each cell of labels and gold; a missing cell stays.

    Where no column is called `label`, those of the tags say 0 or 1. Raises at a tag that was not declared, at cells of two forms,
    at cells that are no set, and where all answers are one set.
    """
    names = column_names(frame)
    columns = named_columns(frame, {name: name for name in names})
    table: dict[str, Any] = {name: columns[name].values for name in names}
    if label in names:
        table[label] = _sets_of_cells(columns[label], tags)
    elif absent := [tag for tag in tags if tag not in names]:
        problem = f"there is no column {short_repr(label)}, and none of 0 and 1 for {short_repr(absent[0])}"
        remedy = "name the column of the sets: label=..., or give each tag a column"
        raise refused_argument("tags", problem, value=absent[0], allowed="columns there are", remedy=remedy)
    else:
        table[label] = _sets_of_marks([columns[tag] for tag in tags], tags)
    if gold is not None and gold in names:
        table[gold] = _sets_of_cells(columns[gold], tags)
    given = {own for own in table[label] if own is not None}
    if len(given) == 1:
        own = given.pop()
        problem = f"every answer is {short_repr(own)}: all tags are constant"
        remedy = "check the tags, or the column"
        raise DataError(problem, column=label, value=own, allowed="two sets or more", remedy=remedy)
    return table


def _sets_of_cells(column: Column, tags: Sequence[str]) -> list[str | None]:
    """Return the set of each list or text, all of one form; None for a missing cell."""
    found: list[str | None] = []
    form = None
    for place, cell in enumerate(column.values):
        if not isinstance(cell, _LISTS) and is_blank(cell):
            found.append(None)
            continue
        listed = parsed_cell(cell) if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "(") else cell
        if isinstance(listed, _LISTS):
            own, given = "list", list(listed)
        elif isinstance(cell, str):
            own, given = (
                "text",
                [] if cell.strip() == NO_TAGS else [part.strip() for part in cell.split(BETWEEN)],
            )
        else:
            raise refused_cell(column, place, "is no set of tags", allowed=_SET, remedy="correct the cell")
        if form not in (None, own):
            problem = f"is a {own} among {form}s"
            raise refused_cell(column, place, problem, allowed=_SET, remedy="write all sets in one form")
        form = own
        for tag in given:
            if tag not in tags:
                problem = f"names {short_repr(tag)}, which is none of the tags"
                allowed = nearest(tag, np.array(tags))
                remedy = "correct the cell, or add it to tags="
                raise refused_cell(column, place, problem, allowed=allowed, remedy=remedy)
        found.append(_name([tag for tag in tags if tag in given]))
    return found


def _sets_of_marks(columns: Sequence[Column], tags: Sequence[str]) -> list[str | None]:
    """Return the set that each row marks by 1 or true in columns of the tags; None where all its cells are missing."""
    found: list[str | None] = []
    for place, cells in enumerate(zip(*(column.values for column in columns), strict=True)):
        if all(map(is_blank, cells)):
            found.append(None)
            continue
        given = []
        for tag, column, cell in zip(tags, columns, cells, strict=True):
            mark = "" if is_blank(cell) else str(cell).strip().casefold()
            if mark not in ("0", "0.0", "false", "1", "1.0", "true"):
                problem = "says neither that the tag was given nor that it was not"
                remedy = "write 1 or 0; leave all tags of a missing answer empty"
                raise refused_cell(column, place, problem, allowed="0 and 1", remedy=remedy)
            if mark in ("1", "1.0", "true"):
                given.append(tag)
        found.append(_name(given))
    return found


def refuse_second_answers(rater: Column, item_code: np.ndarray, rater_code: np.ndarray) -> None:
    """Raise where a rater answers an item twice: a row for each tag is not a row for each answer."""
    place = first_repeat(item_code.astype(np.int64) * (int(rater_code.max()) + 1) + rater_code)
    if place is not None:
        remedy = "write all tags of an answer in one row; of answers to two sittings choose keep='last'"
        raise refused_cell(rater, place, "answers the item twice", allowed="one row an answer", remedy=remedy)


def tell_unnamed(tags: Sequence[str], code: np.ndarray) -> None:
    """Warn of a tag that none of the answers, codes of sets, has."""
    for tag, given in zip(tags, bits_of_sets(len(tags))[code].any(axis=0).tolist(), strict=True):
        if not given:
            warn_user(
                f"no answer has the tag {short_repr(tag)}: check its name, or leave it out", DataWarning
            )

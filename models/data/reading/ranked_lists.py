"""Rankings that each stand in one cell: a list of categories, the best first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....posterior.table_text import columns_alike, folded
from ..errors import DataError
from .columns import is_empty, refused_cell
from .frames import LISTS, Column, column_names, named_columns
from .label_cells import parsed_cell

_NESTED = (list, tuple, np.ndarray)
_ROW = re.compile(r"\brow ([0-9,]*[0-9])")
_SIGN = ">"  # between the categories of a text


def ranking_roles(names: Sequence[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Columns of rankings by role, of which category and rank may be one column of lists; names that were asked for are kept."""
    lists = [name for name in names if folded(name) in LISTS]
    asked = (roles.get("category"), roles.get("rank"))
    if asked != ("category", "rank") or columns_alike("category", names, ()) or len(lists) != 1:
        return dict(roles)
    return {**roles, "category": lists[0], "rank": lists[0]}


@contextmanager
def rows_of_lists(frame: Any, roles: dict[str, str]) -> Iterator[tuple[Any, dict[str, str]]]:
    """Context manager: a table with a row for each category of the lists, if category and rank are one column of them."""
    name = roles["category"]
    if name != roles["rank"]:
        yield frame, roles
        return
    columns = named_columns(frame, {own: own for own in column_names(frame)})
    blocks = [_blocks(columns[name], place) for place in range(len(columns[name].values))]
    row = [place for place, own in enumerate(blocks) for block in own for _ in block]
    table = {own: [columns[own].values[place] for place in row] for own in columns}
    rank = f"rank in {name}"
    table[name] = [category for own in blocks for block in own for category in block]
    table[rank] = [place for own in blocks for place, block in enumerate(own, 1) for _ in block]
    try:
        yield table, {**roles, "rank": rank}
    except DataError as error:
        if error.row is None:
            raise
        error.row = row[error.row - 1] + 1
        error.problem = _ROW.sub(
            lambda own: f"row {row[int(own[1].replace(',', '')) - 1] + 1:,}", error.problem
        )
        raise error.moved(f"row {error.row:,}, column {name!r}") from None


def _blocks(column: Column, place: int) -> list[list[Any]]:
    """Categories of a cell by place, of which a list is a tie; an empty cell has an empty category."""
    cell, odd = column.values[place], False
    if isinstance(cell, str) and (text := cell.strip()):
        odd = text[0] != "[" and any(sign in text for sign in ",|;")
        cell = parsed_cell(text) if text[0] == "[" else [own.strip() for own in text.split(_SIGN)]
        odd = odd or cell is None
    if not odd and not isinstance(cell, _NESTED) and is_empty(cell):
        return [[None]]
    blocks = (
        [[*own] if isinstance(own, _NESTED) else [own] for own in cell] if isinstance(cell, _NESTED) else []
    )
    if odd or not blocks or not all(blocks):
        remedy = "write such a list, or a row for each category, with columns item, rater, category and rank"
        allowed = 'a list of categories, the best first, such as ["a", "b"] or a > b'
        raise refused_cell(column, place, "is no list of categories", allowed=allowed, remedy=remedy)
    return blocks

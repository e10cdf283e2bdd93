"""Cells of labels that are no plain text or number: truth values, lists of one label, records, and a mark for each category."""

import json
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...._messages import short_repr, warn_user
from ....posterior.table_text import columns_alike
from ..errors import DataError, DataWarning
from .coded_cells import CodedCells
from .columns import MISSING_TYPES, is_empty, is_missing, refused_cell
from .frames import Column
from .vote_shapes import AND

_NESTED = (list, tuple, np.ndarray, dict)
_ONE = "one label in each cell"
_TURK = "Answer."  # begins the names of answers in results of Mechanical Turk
_SEVERAL = "write the label of one question in each cell; a set of labels is a question, and a table, for each category"


def plain_labels(column: Column) -> Column:
    """Column with the labels of lists of one and of records with one value, and the names of truth values, if all cells are such.

    What is read from lists and records is said. Refuses lists of several labels, and records with several values; the text of a
    list of several is a label like any other.
    """
    values = column.values
    distinct = values.distinct if isinstance(values, CodedCells) else values
    if not _are_nested(distinct):
        return column
    meant, example = [], None
    for place, cell in enumerate(distinct):
        label = cell if is_missing(cell) else _label_of(cell)
        if label is None and not is_missing(cell):
            first = values.index(cell) if isinstance(values, CodedCells) else place
            raise refused_cell(column, first, "is not one label", allowed=_ONE, remedy=_SEVERAL)
        if example is None and label is not cell and not isinstance(cell, bool | np.bool_):
            example = label, cell
        meant.append(label)
    if example is not None:
        warn_user(
            f"column {short_repr(column.name)}: reading the one label of each list or record, such as {short_repr(example[0])} "
            f"of {short_repr(example[1])}",
            DataWarning,
        )
    if isinstance(values, CodedCells):
        meant = [meant[code] for code in values.code.tolist()]
    return replace(column, values=meant)


def _are_nested(cells: Sequence[Any]) -> bool:
    """Test whether all cells that are not missing are truth values, or are lists, records or their texts."""
    kinds = {kind for kind in map(type, cells) if kind.__name__ not in MISSING_TYPES}
    if kinds and kinds <= {bool, np.bool_}:
        return True
    if not kinds or any(not issubclass(kind, (str, *_NESTED)) for kind in kinds):
        return False
    return all(_is_nested(cell) for cell in cells if not is_missing(cell))


def _is_nested(cell: Any) -> bool:
    """Test for a list, a record, or what may be its text."""
    return cell.lstrip()[:1] in ("[", "{") if isinstance(cell, str) else isinstance(cell, _NESTED)


def _label_of(cell: Any) -> Any:
    """Label that a cell stands for, the cell itself if it is plain; None if it holds several values."""
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, str) and _is_nested(cell):
        parsed = parsed_cell(cell)
        several = isinstance(parsed, list | tuple) and len(parsed) != 1
        plain = several and not any(isinstance(own, _NESTED) for own in parsed)
        return cell if parsed is None or plain else _label_of(parsed)
    if isinstance(cell, dict):
        return _label_of_record(cell)
    if isinstance(cell, _NESTED):
        return _label_of(cell[0]) if len(cell) == 1 else None
    return cell


def _label_of_record(record: Mapping[Any, Any]) -> Any:
    """Label of a record: its value, its only entry, or the only mark that is set; None if there are several."""
    if "value" in record:
        return _label_of(record["value"])
    if len(record) == 1:
        return _label_of(*record.values())
    marks = [name for name, own in record.items() if own is True]
    return marks[0] if len(marks) == 1 and all(isinstance(own, bool) for own in record.values()) else None


def parsed_cell(text: str) -> Any:
    """List or record that a text is, in JSON or in Python; None if it is neither."""
    for read in (json.loads, literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return found if isinstance(found, _NESTED) else None
    return None


def turk_roles(names: Sequence[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Columns of labels or scores by role, of which the answer may be that of Mechanical Turk: of labels also a column an option.

    Names that were asked for are kept, and so are synonyms.
    """
    role = "label" if "label" in roles else "score"
    if roles.get(role) != role or role in names or columns_alike(role, names, ()):
        return dict(roles)
    answers = [name for name in names if name.startswith(_TURK) and name not in roles.values()]
    options = role == "label" and len(answers) > 1 and options_of(answers) != answers
    return {**roles, role: AND.join(answers)} if options or len(answers) == 1 else dict(roles)


def options_of(names: Sequence[str]) -> list[str]:
    """Options that columns mark: the part in which names such as Answer.cat.on and Answer.dog.on differ; else the names."""
    parts = [name.split(".") for name in names]
    if not all(name.startswith(_TURK) for name in names) or len({len(own) for own in parts}) > 1:
        return list(names)
    differing = [own for own in zip(*parts, strict=True) if len(set(own)) > 1]
    return list(differing[0]) if len(differing) == 1 and len(parts[0]) > 2 else list(names)


def marked_labels(name: str, columns: Mapping[str, Sequence[Any]]) -> list[str | None]:
    """Labels of a table with a column for each category, 1 or true where it was given; None where none is.

    `name` holds the names of the columns; Answer.cat.on, of Mechanical Turk, is the label cat. Raises where two are set,
    and at other cells.
    """
    names = name.split(AND)
    options = dict(zip(names, options_of(names), strict=True))
    labels = []
    for row, cells in enumerate(zip(*(columns[own] for own in names), strict=True), 1):
        given = []
        for own, cell in zip(names, cells, strict=True):
            mark = "" if is_empty(cell) else str(cell).strip().casefold()
            if mark in ("1", "1.0", "true"):
                given.append(own)
            elif mark not in ("", "0", "0.0", "false"):
                problem = f"{short_repr(cell)} marks no category"
                remedy = "write 1 or true where the category was given, else 0 or false"
                raise DataError(problem, row=row, column=own, value=cell, allowed="0 and 1", remedy=remedy)
        if len(given) > 1:
            problem = f"{', '.join(map(short_repr, given[:5]))} are all marked"
            raise DataError(
                problem, row=row, column=given[1], value=cells[0], allowed="one of them", remedy=_SEVERAL
            )
        labels.append(options[given[0]] if given else None)
    return labels

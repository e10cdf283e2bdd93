"""Long tables of annotations: columns by role, and rows with empty cells."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from ...._messages import short_repr
from ..errors import BUILDERS, DataError, DataWarning
from .columns import is_empty, whole_cells
from .names import PYTHON, renamed_in_words, resolved_names
from .tables import Column, Columns, column_names, named_columns

Missing = Literal["error", "drop"]  # treatment of rows with an empty cell
ANONYMOUS_KINDS = ("comparisons", "scores")  # whose tables need no column of raters
ATTRIBUTE = "rater_attributes "  # prefix of the roles of columns with attributes of the raters
_DROP = "fill the cell in, or leave out the rows with an empty cell: missing='drop'"


def annotation_columns(
    frame: Any, kind: str, roles: Mapping[str, str | None], rater_attributes: Sequence[str], missing: Missing
) -> Columns:
    """Columns of a long table by role, found by their names or, which is said, by synonyms.

    Comparisons and scores need no column of raters. `missing` "drop" leaves out rows with an empty cell in any
    column but gold, and says how many. Raises if a column is missing or named twice, there is no row, or
    attributes are asked for without raters.
    """
    if missing not in get_args(Missing):
        raise DataError(
            f"missing={short_repr(missing)} is no treatment of empty cells",
            value=missing,
            allowed="'error', or 'drop' for rows with an empty cell",
            remedy="choose one",
            where="argument missing",
        )
    asked = {role: name for role, name in roles.items() if name is not None}
    asked |= {ATTRIBUTE + name: name for name in rater_attributes}
    found = resolved_names(
        column_names(frame), asked, optional={"rater"} if kind in ANONYMOUS_KINDS else (), kind=kind
    )
    if rater_attributes and "rater" not in found:
        raise DataError(
            f"column {short_repr(rater_attributes[0])} describes raters who are not told apart",
            column=rater_attributes[0],
            value=rater_attributes,
            allowed="rater_attributes with a column of raters",
            remedy="name the column of the raters: rater=..., or leave the attribute out",
            where="argument rater_attributes",
        )
    _tell_synonyms({role: name for role, name in found.items() if asked[role] != name})
    columns = named_columns(frame, found)
    if missing == "error":
        return Columns(found, lambda name: replace(columns.take(name), fill_in=_DROP))
    return _without_empty(columns)


def _tell_synonyms(found: Mapping[str, str]) -> None:
    """Warn of columns that were found by a synonym."""
    if said := renamed_in_words(found):
        arguments = ", ".join(PYTHON.column(role, name) for role, name in found.items())
        warnings.warn(
            f"reading {said}; {arguments} says so without this warning",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )


def _without_empty(columns: Columns) -> Columns:
    """Leave out the rows with an empty cell in any column but gold, and say how many."""
    empty = {}
    for role in (role for role in columns if role != "gold"):
        values = columns[role].values
        empty[role] = np.fromiter(map(_is_blank, values), bool, len(values))
    out = np.any([*empty.values()], axis=0)
    if not out.any():
        return columns
    counts = ", ".join(
        f"{columns.names[role]} {cells.sum():,}" for role, cells in empty.items() if cells.any()
    )
    said = f"{out.sum():,} of {len(out):,} rows are left out for an empty cell ({counts})"
    if out.all():
        raise DataError(f"all {len(out):,} rows have an empty cell ({counts})", remedy="check the columns")
    warnings.warn(said, DataWarning, skip_file_prefixes=BUILDERS)
    kept = np.flatnonzero(~out)

    def take(name: str) -> Column:
        column = whole_cells(columns.take(name))
        return Column(name, [column.values[row] for row in kept.tolist()], column.declared, kept)

    return Columns(columns.names, take)


def _is_blank(value: Any) -> bool:
    """Test for a missing cell, empty text or spaces."""
    return is_empty(value) or (isinstance(value, str) and not value.strip())

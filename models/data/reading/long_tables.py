"""Columns of long tables by role, without the rows that are no answers."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from ...._messages import short_repr
from ....posterior.table_text import renamed_in_words
from ..errors import BUILDERS, DataError, DataWarning, refused_argument
from ..no_answers import NoAnswer, listed_answers, matcher, tell_left_out
from .coded_cells import CodedCells
from .columns import ANONYMOUS_KINDS, ATTRIBUTE, Missing, cells_that, code_values, is_blank, whole_cells
from .frames import KINDS, PYTHON, Column, Columns, column_names, named_columns, resolved_names
from .vote_shapes import AND, derived_outcomes, is_derived, vote_roles

_DROP = "fill the cell in, or leave out the rows with an empty cell: missing='drop'"


def check_missing(missing: Missing) -> None:
    """Raise `DataError` unless `missing` is a treatment of empty cells."""
    if missing not in get_args(Missing):
        problem = f"missing={short_repr(missing)} is no treatment of empty cells"
        allowed = "'error', or 'drop' for rows with an empty cell"
        raise refused_argument("missing", problem, value=missing, allowed=allowed, remedy="choose one")


def annotation_columns(
    frame: Any,
    kind: str,
    roles: Mapping[str, str | None],
    rater_attributes: Sequence[str],
    missing: Missing,
    no_answer: NoAnswer = (),
) -> Columns:
    """Columns of a long table by role, found by their names or, which is said, by synonyms.

    Comparisons and scores need no column of raters. `missing` "drop" leaves out rows with an empty cell in any
    column but gold, and `no_answer` those with such an answer; a warning says how many. Raises if a column is missing or named
    twice, there is no row, or attributes are asked for without raters.
    """
    check_missing(missing)
    asked = {role: name for role, name in roles.items() if name is not None}
    for role in ("item",) if kind in ANONYMOUS_KINDS else ("item", "rater"):
        if role in roles and role not in asked:
            problem, remedy = f"{kind} need a column of {role}s", "name the column"
            if (kind, role) == ("labels", "rater"):
                remedy += "; labels that are counted, without raters, are read by models.Labels.from_counts"
            raise refused_argument(role, problem, allowed="the name of a column", remedy=remedy)
    asked |= {ATTRIBUTE + name: name for name in rater_attributes}
    names = column_names(frame)
    asked = vote_roles(names, asked) if kind == "comparisons" else asked
    derived = asked.get("winner", "") if is_derived(asked.get("winner", ""), names) else None
    found = resolved_names(
        [*names, *filter(None, [derived])],
        asked,
        optional={"rater"} if kind in ANONYMOUS_KINDS else (),
        kind=kind,
    )
    if rater_attributes and "rater" not in found:
        raise refused_argument(
            "rater_attributes",
            f"column {short_repr(rater_attributes[0])} describes raters who are not told apart",
            value=rater_attributes,
            allowed="rater_attributes with a column of raters",
            remedy="name the column of the raters: rater=..., or leave the attribute out",
        )
    tell_synonyms({role: name for role, name in found.items() if asked[role] != name})
    columns = _with_outcomes(frame, found) if derived else named_columns(frame, found)
    if missing == "error":
        whole = columns
        columns = Columns(found, lambda name: replace(whole.take(name), fill_in=_DROP))
    else:
        columns = _without_empty(columns)
    return (
        _without_no_answer(columns, KINDS[kind].answer, no_answer) if listed_answers(no_answer) else columns
    )


def _with_outcomes(frame: Any, found: Mapping[str, str]) -> Columns:
    """Columns of votes whose outcomes are derived from others."""
    name = found["winner"]
    read = named_columns(frame, {role: own for role, own in found.items() if role != "winner"})
    cells = named_columns(frame, {own: own for own in name.split(AND)})
    outcomes = Column(name, derived_outcomes(name, {own: column.values for own, column in cells.items()}))
    return Columns(found, lambda own: outcomes if own == name else read.take(own))


def tell_synonyms(found: Mapping[str, str]) -> None:
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
        empty[role] = cells_that(columns[role].values, is_blank)
    out = np.any([*empty.values()], axis=0)
    if not out.any():
        return columns
    counts = ", ".join(
        f"{columns.names[role]} {cells.sum():,}" for role, cells in empty.items() if cells.any()
    )
    left = _left_out(columns, out, f"have an empty cell ({counts})")
    said = f"{out.sum():,} of {len(out):,} rows are left out for an empty cell ({counts})"
    warnings.warn(said, DataWarning, skip_file_prefixes=BUILDERS)
    return left


def _without_no_answer(columns: Columns, role: str, no_answer: NoAnswer) -> Columns:
    """Leave out the rows whose answer is none of the truth, and say how many; such a gold label is unknown."""
    is_none, cells = matcher(no_answer), columns[role].values
    out = cells_that(cells, is_none)
    times = {word: int(cells_that(cells, matcher([word])).sum()) for word in listed_answers(no_answer)}
    lost = 0
    if "item" in columns and out.any():
        code, distinct = code_values(columns["item"].values)
        lost = len(distinct) - len(np.unique(code[~out]))
    tell_left_out(int(out.sum()), len(out), times, lost)
    columns = _left_out(columns, out, "have no answer") if out.any() else columns
    rest = columns

    def take(name: str) -> Column:
        column = rest.take(name)
        if name == columns.names[role] and column.declared is not None:
            column = replace(column, declared=[own for own in column.declared if not is_none(own)])
        if name == columns.names.get("gold") and cells_that(column.values, is_none).any():
            column = replace(column, values=[None if is_none(own) else own for own in column.values])
        return column

    return Columns(columns.names, take)


def _left_out(columns: Columns, out: np.ndarray, why: str) -> Columns:
    """Leave out rows, a mask (row,); raise if all are."""
    if out.all():
        raise DataError(f"all {len(out):,} rows {why}", remedy="check the columns")
    kept = np.flatnonzero(~out)

    def take(name: str) -> Column:
        column = whole_cells(columns.take(name))
        values = column.values
        left = values.kept(kept) if isinstance(values, CodedCells) else [values[row] for row in kept.tolist()]
        return replace(column, values=left, kept=kept if column.kept is None else column.kept[kept])

    return Columns(columns.names, take)

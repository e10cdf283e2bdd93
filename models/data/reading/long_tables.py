"""Columns of long tables by role, without the rows that are no answers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np

from ...._messages import short_repr, warn_user
from ....posterior.table_text import TIMES, columns_alike, decimal_number, folded, renamed_in_words
from ..errors import DataError, DataWarning, refused_argument
from ..no_answers import NoAnswer, listed_answers, matcher, tell_left_out
from .columns import (
    ANONYMOUS_KINDS,
    ATTRIBUTE,
    FLOATS,
    Missing,
    cells_that,
    code_values,
    is_blank,
    is_integer,
    refused_cell,
    rows_of,
    whole_cells,
)
from .frames import (
    KINDS,
    PYTHON,
    REFUSED,
    Column,
    Columns,
    column_names,
    is_of_prolific,
    named_columns,
    resolved_names,
)
from .label_cells import marked_labels, options_of, plain_labels, turk_roles
from .vote_shapes import AND, derived_outcomes, is_derived, vote_roles

Keep = Literal["all", "first", "last"]  # of several answers of a rater to an item
REJECTED: dict[str, tuple[str, ...]] = {
    "assignmentstatus": ("rejected",),
    "tainted": ("true", "1"),
    "wascancelled": ("true", "1"),
    "status": REFUSED,
}  # MTurk, Figure Eight, Label Studio, Prolific
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
    keep: Keep = "all",
    time: str | None = None,
    may_be_empty: Collection[str] = ("gold", "order", "time"),
) -> Columns:
    """Columns of a long table by role, found by their names or, which is said, by synonyms.

    Comparisons and scores need no column of raters. `missing` "drop" leaves out rows with an empty cell in any
    column that may not be, `keep` "first" or "last" other answers of a rater, by `time` or the order of the rows, and
    `no_answer` those with such an answer; so are rows that a tool marks as rejected. Warnings say how many. Raises if a column is
    missing or named twice, there is no row, or attributes are asked for without raters.
    """
    check_missing(missing)
    check_keep(keep)
    asked = {role: name for role, name in roles.items() if name is not None}
    for role in ("item",) if kind in ANONYMOUS_KINDS else ("item", "rater"):
        if role in roles and role not in asked:
            problem, remedy = f"{kind} need a column of {role}s", "name the column"
            if (kind, role) == ("labels", "rater"):
                remedy += "; labels that are counted, without raters, are read by models.Labels.from_counts"
            raise refused_argument(role, problem, allowed="the name of a column", remedy=remedy)
    asked |= {ATTRIBUTE + name: name for name in rater_attributes}
    names = column_names(frame)
    given = asked
    if kind == "comparisons":
        given = asked = vote_roles(names, asked)
    elif kind in ("labels", "scores"):
        asked = turk_roles(names, asked)
    answer = asked.get(KINDS[kind].answer, "")
    derived = answer if is_derived(answer, names) else None
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
    tell_synonyms({role: name for role, name in found.items() if given[role] != name})
    columns = _with_derived(frame, found, kind) if derived else named_columns(frame, found)
    columns = _with_plain_labels(columns)
    if missing == "error":
        whole = columns
        columns = Columns(found, lambda name: replace(whole.take(name), fill_in=_DROP))
    else:
        columns = _without_empty(columns, may_be_empty)
    for name in names:
        marks = REJECTED.get(folded(name))
        if marks and name not in found.values() and (marks != REFUSED or is_of_prolific(frame, name)):
            columns = _without_rejected(columns, name, marks)
    if keep != "all":
        columns = _without_repeats(columns, kind, keep, time or time_column(names, found))
    if listed_answers(no_answer):
        columns, out = set_apart(columns, KINDS[kind].answer, no_answer)
        columns = left_out(columns, out, "have no answer") if out.any() else columns
    return columns


def _with_plain_labels(columns: Columns) -> Columns:
    """Columns of which those of labels have the label of each list of one, and the names of truth values."""
    labels = {columns.names[role] for role in ("label", "category", "gold") if role in columns}
    plain: dict[str, Column] = {}

    def take(name: str) -> Column:
        if name in plain:
            return plain[name]
        column = columns.take(name)
        if name in labels and (own := plain_labels(column)) is not column:
            plain[name] = own  # said once
            return own
        return column

    return Columns(columns.names, take)


def _with_derived(frame: Any, found: Mapping[str, str], kind: str) -> Columns:
    """Columns of a table whose answers are derived from several: marks of outcomes or categories, winner and loser."""
    role = KINDS[kind].answer
    name = found[role]
    read = named_columns(frame, {other: own for other, own in found.items() if other != role})
    cells = named_columns(frame, {own: own for own in name.split(AND)})
    derive = derived_outcomes if kind == "comparisons" else marked_labels
    declared = None if kind == "comparisons" else options_of(list(cells))
    answers = Column(name, derive(name, {own: column.values for own, column in cells.items()}), declared)
    return Columns(found, lambda own: answers if own == name else read.take(own))


def tell_synonyms(found: Mapping[str, str]) -> None:
    """Warn of columns that were found by a synonym."""
    if said := renamed_in_words(found):
        arguments = ", ".join(PYTHON.column(role, name) for role, name in found.items())
        warn_user(f"reading {said}; {arguments} says so without this warning", DataWarning)


def _without_empty(columns: Columns, may_be_empty: Collection[str]) -> Columns:
    """Leave out the rows with an empty cell in any column but those of some roles, and say how many."""
    empty = {}
    for role in (role for role in columns if role not in may_be_empty):
        empty[role] = cells_that(columns[role].values, is_blank)
    out = np.any([*empty.values()], axis=0)
    if not out.any():
        return columns
    counts = ", ".join(
        f"{columns.names[role]} {cells.sum():,}" for role, cells in empty.items() if cells.any()
    )
    left = left_out(columns, out, f"have an empty cell ({counts})")
    said = f"{out.sum():,} of {len(out):,} rows are left out for an empty cell ({counts})"
    warn_user(said, DataWarning)
    return left


def _without_rejected(columns: Columns, name: str, marks: Collection[str]) -> Columns:
    """Leave out the rows that a tool marks as rejected, and say how many."""
    column = columns.take(name)
    out = cells_that(column.values, lambda cell: folded(str(cell)) in marks)
    if not out.any():
        return columns
    columns = left_out(columns, out, f"are marked in column {short_repr(name)}")
    warn_user(
        f"{out.sum():,} of {len(out):,} rows are left out: column {short_repr(name)} says "
        f"{short_repr(column.values[int(out.argmax())])}; drop that column to keep them",
        DataWarning,
    )
    return columns


# --- Further answers of a rater ---


def check_keep(keep: Keep) -> None:
    """Raise `DataError` unless `keep` says which of several answers of a rater counts."""
    if keep not in get_args(Keep):
        problem, allowed = f"keep={short_repr(keep)} is no choice of answers", "'all', 'first' or 'last'"
        raise refused_argument("keep", problem, value=keep, allowed=allowed, remedy="choose one")


def time_column(names: Sequence[str], found: Mapping[str, str]) -> str | None:
    """Column of the time of an answer, the later one of several such as created_at and updated_at; None if there is none."""
    alike = columns_alike("time", names, [*found.values()])
    return min(alike, key=lambda name: TIMES.index(folded(name)), default=None)


def _without_repeats(columns: Columns, kind: str, keep: Keep, time: str | None) -> Columns:
    """Keep the first or the last answer of each rater to an item, or pair of items, and say how many are left out."""
    if "rater" not in columns:
        raise refused_argument(
            "keep",
            f"keep={keep!r} chooses among answers of a rater, and no column tells the raters apart",
            value=keep,
            allowed="keep='all' without raters",
            remedy="name the column of the raters: rater=...",
        )
    code = code_values(columns["rater"].values)[0].astype(np.int64)
    if kind == "comparisons":
        sides = code_values([*columns["left"].values, *columns["right"].values])[0].reshape(2, -1)
        keys = [code, sides.min(axis=0), sides.max(axis=0)]
    else:
        keys = [code, code_values(columns["item"].values)[0]]
    if kind == "rankings" and time is None:
        raise refused_argument(
            "keep",
            f"keep={keep!r} chooses among rankings, and no column of times tells of which one a row is",
            value=keep,
            allowed="a column with one time for all rows of a ranking",
            remedy="name it: time=...",
        )
    at = np.arange(len(code), dtype=float) if time is None else _moments(columns.take(time))
    order = np.lexsort([np.arange(len(code)), at, *keys])  # by rater and item, then by time and row
    differs = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    kept = order[np.append(differs, True) if keep == "last" else np.append(True, differs)]
    out = np.ones(len(code), bool)
    if kind == "rankings":  # all rows of that time
        out[order] = at[order] != at[kept][np.append(0, np.cumsum(differs))]
    else:
        out[kept] = False
    if not out.any():
        return columns
    by = "the order of the rows" if time is None else f"column {short_repr(time)}"
    warn_user(
        f"{out.sum():,} of {len(out):,} rows are left out: of several answers of a rater the {keep} is kept, by {by}",
        DataWarning,
    )
    return left_out(columns, out, "are repeated")


def read_times(column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each cell in time from 1, int32, 0 for an empty cell (row,), and the distinct times (time,).

    These are numbers, or datetime64 in UTC; a time without a zone is taken for UTC. Raises at a cell that is no time, or a number
    among times of the calendar.
    """
    column = whole_cells(column)
    known = np.array([cell == cell and not is_blank(cell) for cell in column.values], bool)
    cells = [cell if own else 0 for cell, own in zip(column.values, known, strict=True)]
    moments = _moments(replace(column, values=cells))
    numbers = np.array([_is_number(cell) for cell in cells], bool)
    mixed = known & (numbers != numbers[int(known.argmax())]) if known.any() else known
    if mixed.any():
        problem, remedy = "is not such a time as those above", "write all times in one way"
        allowed = "all numbers, or all times such as 2026-01-31T23:59:00"
        raise refused_cell(column, int(mixed.argmax()), problem, allowed=allowed, remedy=remedy)
    order = np.zeros(len(cells), np.int32)
    times, place = np.unique(moments[known], return_inverse=True)
    order[known] = place + 1
    if not numbers[known].all():
        times = np.round(times * 1e6).astype("datetime64[us]")
    return order, times


def tells_time(frame: Any, name: str) -> bool:
    """Whether all cells of a column are times, or empty: one that is called so may hold anything."""
    try:
        return bool(read_times(named_columns(frame, {"time": name})["time"])[0].any())
    except DataError:
        return False


def times_as_cells(times: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return times as cells that `read_times` reads: numbers, or text in UTC; empty where the order is 0."""
    if times.dtype.kind == "M":
        whole = (times == times.astype("datetime64[s]")).all()
        times = np.datetime_as_string(times, unit="s" if whole else "us", timezone="UTC")
    elif (order > 0).all():
        return times[order - 1]
    return np.append(times.astype(object if times.dtype.kind == "f" else times.dtype), "")[order - 1]


def _moments(column: Column) -> np.ndarray:
    """Convert times to numbers (row,), in seconds unless they are numbers; raises at a cell that is no time."""
    moments = np.empty(len(column.values))
    for place, cell in enumerate(column.values):
        moment = _moment(cell)
        if moment is None:
            raise refused_cell(
                column,
                place,
                "is no time that can be ordered",
                allowed="numbers, or times such as 2026-01-31T23:59:00",
                remedy="write the times so, or sort the rows and drop that column",
            )
        moments[place] = moment
    return moments


def _moment(cell: Any) -> float | None:
    """Time as a number; None if it is none."""
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[us]").item()
    if isinstance(cell, str):
        text = cell.strip()
        if (number := decimal_number(text)) is not None:
            return number
        cell = _parsed_time(text)
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp() if cell == cell else None
    number = isinstance(cell, FLOATS) or is_integer(type(cell))
    return float(cell) if number and cell == cell else None


def _is_number(cell: Any) -> bool:
    """Whether a time is given as a number."""
    return isinstance(cell, FLOATS) or is_integer(type(cell)) or decimal_number(str(cell).strip()) is not None


def _parsed_time(text: str) -> datetime | None:
    """Parse a time in ISO 8601, or as Mechanical Turk writes it, whose time zone is left out; None if it is neither."""
    try:
        return datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        words = text.split()
    try:  # Tue Jan 06 12:33:38 PST 2026
        return (
            datetime.strptime(" ".join([*words[1:4], words[-1]]), "%b %d %H:%M:%S %Y")
            if len(words) == 6
            else None
        )
    except ValueError:
        return None


def set_apart(
    columns: Columns, role: str, no_answer: NoAnswer, *, kept: bool = False
) -> tuple[Columns, np.ndarray]:
    """Return the rows whose answer is none of the truth (row,), and say how many; such a gold label is unknown.

    `kept` says that items without another answer stay.
    """
    is_none, cells = matcher(no_answer), columns[role].values
    out = cells_that(cells, is_none)
    times = {word: int(cells_that(cells, matcher([word])).sum()) for word in listed_answers(no_answer)}
    lost = 0
    if "item" in columns and out.any():
        code, distinct = code_values(columns["item"].values)
        lost = len(distinct) - len(np.unique(code[~out]))
    tell_left_out(int(out.sum()), len(out), times, lost, kept=kept)

    def take(name: str) -> Column:
        column = columns.take(name)
        if name == columns.names[role] and column.declared is not None:
            column = replace(column, declared=[own for own in column.declared if not is_none(own)])
        if name == columns.names.get("gold") and cells_that(column.values, is_none).any():
            column = replace(column, values=[None if is_none(own) else own for own in column.values])
        return column

    return Columns(columns.names, take), out


def left_out(columns: Columns, out: np.ndarray, why: str) -> Columns:
    """Leave out rows, a mask (row,); raise if all are."""
    if out.all():
        raise DataError(f"all {len(out):,} rows {why}", remedy="check the columns")
    kept = np.flatnonzero(~out)
    return Columns(columns.names, lambda name: rows_of(whole_cells(columns.take(name)), kept))

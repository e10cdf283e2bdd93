"""Predictions of categories from a file, an export or a frame: the one reader of Python and of the command line."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._messages import first_reprs, short_repr, warn_user
from ..models.data.errors import DataError, DataWarning
from ..models.data.exports.answers import PREDICTIONS
from ..models.data.reading.columns import Missing, is_empty, whole_cells
from ..models.data.reading.frames import (
    MAX_CHARACTERS,
    PYTHON,
    Column,
    Wording,
    column_names,
    missing_columns,
)
from ..models.data.reading.headers import Asked, Header, Pairs, resolved_header
from ..models.data.reading.numbers import is_number, number_of
from ..models.data.reading.read import cells_of, renamed
from ..models.data.reading.sources import TABLE, opened
from ..posterior.table_text import columns_alike, folded

if TYPE_CHECKING:
    import xarray as xr

PREDICTED = ("category", "score", "rank")  # roles of a long table of predicted categories
SYNONYMS = {"score": "confidence"}  # role -> another row of the names of the trade
WORDS = PYTHON._replace(
    named=lambda columns: f"predictions_from_table(..., {columns})",
    where=PREDICTIONS,
    say=lambda text: warn_user(f"{PREDICTIONS}: {text}", DataWarning),
)
_PROBABILITY = re.compile(r"(?:p|prob|proba|probability)[ _.:(\[-]+(.*?)[)\]]*", re.IGNORECASE)


@dataclass(frozen=True)
class PredictionTable:
    """Table of predictions with its columns by role."""

    columns: Any  # frame, or cells by name
    header: Header
    words: Wording
    where: str | Path  # file, or argument

    @property
    def found(self) -> Mapping[str, str]:
        """Columns by role."""
        return self.header.found


def prediction_header(
    names: Sequence[Any], pairs: Pairs, roles: Collection[str], synonyms: Mapping[str, str], words: Wording
) -> Header:
    """Resolve the columns of a table of predictions: item, and others that may be there."""
    optional = (*roles, "classifier")
    return resolved_header(
        names, pairs, ("item", *optional), optional, words, several=PREDICTIONS, synonyms=synonyms
    )


def prediction_table(
    source: Any,
    pairs: Pairs,
    words: Wording,
    *,
    roles: Sequence[str] = PREDICTED,
    synonyms: Mapping[str, str] = SYNONYMS,
    question: str | None = None,
) -> PredictionTable:
    """Read a table of predictions from a frame, a file or, of categories, the `question` of an export."""
    asked = Asked(PREDICTIONS, columns=pairs, tool=None if roles == PREDICTED else TABLE)
    table, pairs = opened(source, asked, words, question)
    header = prediction_header(column_names(table.columns), pairs, roles, synonyms, words)
    if words is WORDS:
        header = replace(header, by_synonym={})
    columns = renamed(table, header, ["score", "probability", *header.free()], words)
    if "classifier" not in header.found and (
        raters := columns_alike("rater", header.names, header.found.values())
    ):
        option = words.named(words.column("classifier", raters[0]))
        words.say(f"column {short_repr(raters[0])} is not read; {option} if it names the classifiers")
    return PredictionTable(
        columns, header, words, Path(source) if isinstance(source, str | PathLike) else PREDICTIONS
    )


def read_predictions(source: Any, *, missing: Missing = "error") -> "xr.DataArray":
    """Read predictions from a file, an export or a frame by the names of its columns; those of a DataArray are read already."""
    if all(hasattr(source, name) for name in ("dims", "coords", "expand_dims")):
        return source
    return predicted_categories(prediction_table(source, (), WORDS), missing=missing)


def predicted_categories(table: PredictionTable, *, missing: Missing = "error") -> "xr.DataArray":
    """Read predictions: a column rank or score, perhaps classifier; with neither, one label per item.

    Without a column of categories, every other column of numbers is a category, and holds its scores; so are probabilities of the
    labels beside these. Returns as `evaluation.predictions_from_table`.
    """
    from ..evaluation import predictions_from_table

    found = table.found
    order = order_of(table)
    columns = _beside(table) if "category" in found and order is None else {}
    if "category" not in found or columns:
        own, category, order, column = _of_columns(table, columns), "category ", "score", "score "
    else:
        own, category = asked_cells(table, missing), found["category"]
        own[category] = whole_cells(Column(category, own[category]), gap=True).values
        column = found.get(order or "", "rank ")
        cells = own.get(column)
        own[column] = np.ones(len(own[category])) if cells is None else as_numbers(table.where, column, cells)
        order = order or "rank"
    item, classifier = found["item"], found.get("classifier")
    return predictions_from_table(own, item=item, category=category, classifier=classifier, **{order: column})


def order_of(table: PredictionTable) -> str | None:
    """Role of the column that orders the categories; a score, if there are both, unless only the rank is exact."""
    both = [role for role in ("score", "rank") if role in table.found]
    if len(both) < 2:
        return both[0] if both else None
    exact = [role for role in both if folded(table.found[role]) == role]
    order = (exact or both)[0]
    table.words.say(f"reading the {order}s; the other order of the categories is left out")
    return order


def category_columns(header: Header, words: Wording) -> Sequence[str]:
    """Columns that may be categories; raises unless there are two, and none that orders the categories of rows."""
    named = [name for name in header.free() if _named(name)]
    free = named if len(named) > 1 and not header.listed else header.free()
    ordered = not header.listed and {"rank", "score"} & {folded(name) for name in header.names}
    if ordered or len(free) < 2:
        raise _no_category(header, words)
    return free


def _no_category(header: Header, words: Wording) -> DataError:
    """Error about predictions without a column of categories; one that could hold them is suggested."""
    if {*header.names} - {*header.found.values()}:
        return missing_columns({"category": "category"}, header.names, words=words)
    return DataError(
        "there is no column 'category'",
        column="category",
        allowed=f"the columns that are there: {first_reprs(header.names)}",
        remedy="add a column 'category' that names the category of the prediction, or write the probabilities of each "
        "category in a column of its name (item,no,yes)",
        where=words.where,
    )


def _of_columns(table: PredictionTable, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of the scores in a column for each category; an empty cell is no prediction.

    `columns` are those with their categories; without any those of numbers, whose names are the categories.
    """
    if not columns:
        free = category_columns(table.header, table.words)
        cells = cells_of(table.columns, free)
        names = list(table.header.listed) or [name for name in free if any(map(is_number, cells[name]))]
        if len(names) < 2:
            raise _no_category(table.header, table.words)
        own = [_named(name) for name in names]
        columns = dict(zip(names, own if all(own) and len({*own}) == len(own) else names, strict=True))
        table.words.say(f"reading the scores of the categories {first_reprs(columns.values())}")
    cells = cells_of(table.columns, list(columns))
    given = np.array([[not is_empty(cell) for cell in cells[name]] for name in columns])  # (category, row)
    row, place = np.nonzero(given.T)
    ids = cells_of(
        table.columns, [table.found[role] for role in ("item", "classifier") if role in table.found]
    )
    long: dict[str, Any] = {name: [column[r] for r in row.tolist()] for name, column in ids.items()}
    categories = [*columns.values()]
    long["category "] = [categories[code] for code in place.tolist()]  # no column of the file has these names
    numbers = [
        as_numbers(
            table.where, name, [c if there else "0" for c, there in zip(cells[name], told, strict=True)]
        )
        for name, told in zip(columns, given.tolist(), strict=True)
    ]
    return {**long, "score ": np.array(numbers)[place, row]}


def _named(name: str) -> str:
    """Category that the name of a column of its probabilities has, such as prob_yes and P(yes); empty for other names."""
    found = _PROBABILITY.fullmatch(name.strip())
    return found[1].strip() if found else ""


def _beside(table: PredictionTable) -> dict[str, Any]:
    """Columns of probabilities beside labels, with their categories; none if there are none, or not of these labels.

    It is said whether the labels or the probabilities are read: these where the label is the likeliest category in each row.
    """
    name, free = table.found["category"], table.header.free()
    cells = cells_of(table.columns, [name, *free])
    labels = {folded(str(cell)): cell for cell in cells[name] if not is_empty(cell)}
    numbers = {own: [number_of(cell) for cell in cells[own]] for own in free}
    fine = [own for own in free if all(p is not None and 0 <= p <= 1 for p in numbers[own])]
    named = {own: meant for own in fine if (meant := _named(own))}
    plain = {own: own for own in fine if folded(own) in labels}
    columns = {own: labels.get(folded(meant), meant) for own, meant in (named or plain).items()}
    alone = len(named) == 1 and len(labels) == 2 and {*columns.values()} <= {*labels.values()}
    if not columns or not (alone or {*labels.values()} <= {*columns.values()}):
        return {}
    probable = np.array([numbers[own] for own in columns], float).T  # (row, category)
    code = {label: place for place, label in enumerate(columns.values())}
    given = np.array([code.get(cell, -1) for cell in cells[name]])
    probable = np.c_[probable, 1 - probable.sum(axis=1)] if alone else probable
    other = int((probable[np.arange(len(given)), given] < probable.max(axis=1)).sum())
    there = f"column{'s' * (len(columns) > 1)} {first_reprs(columns)}"
    if other:
        table.words.say(
            f"reading the labels in column {short_repr(name)}, which in {other:,} of {len(given):,} rows is not the likeliest "
            f"category by {there}; without that column these are read"
        )
        return {}
    table.words.say(
        f"reading the probabilities in {there}, by which the label in column {short_repr(name)} is likeliest"
    )
    return columns


def asked_cells(table: PredictionTable, missing: Missing) -> dict[str, Any]:
    """Cells of the columns that have a role, perhaps without the rows that have an empty one."""
    cells = cells_of(table.columns, list(table.found.values()))
    for name, column in cells.items():
        longest = max((len(cell) for cell in column if isinstance(cell, str)), default=0)
        if longest > MAX_CHARACTERS:
            raise ValueError(
                f"{table.where}: column {short_repr(name)} has a cell of {longest:,} characters; {MAX_CHARACTERS:,} are allowed"
            )
    if missing == "error":
        return cells
    rows = [row for row, own in enumerate(zip(*cells.values(), strict=True)) if not any(map(is_empty, own))]
    if out := len(next(iter(cells.values()))) - len(rows):
        table.words.say(f"{out:,} of {out + len(rows):,} rows are left out for an empty cell")
    return {name: [column[row] for row in rows] for name, column in cells.items()}


def _plain_numbers(cells: Sequence[Any]) -> np.ndarray | None:
    """Numbers of cells that are all floats, or all text of digits, points and exponents without a blank; else None."""
    kinds = {*map(type, cells)}
    if kinds == {float}:
        return np.array(cells)
    if kinds != {str} or not {*"".join(cells)} <= {*"0123456789.eE+-"}:
        return None
    try:
        numbers = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def as_numbers(where: str | Path, column: str, cells: Sequence[Any]) -> np.ndarray:
    """Read a column of numbers, or of their decimal text, as annotations are read; raise with file, row and column.

    "-inf" is the score of what is not predicted.
    """
    if (plain := _plain_numbers(cells)) is not None:
        return plain
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        number = -np.inf if cell == "-inf" else number_of(cell)
        if number is None or (np.isinf(number) and isinstance(cell, str) and cell != "-inf"):
            at, problem = f"{where}: row {row + 1}, column {column!r}", "is not a number"
            if number is not None:
                problem = "is beyond the range of 64-bit floats"
            raise ValueError(f"{at}: {short_repr(cell)} {problem}; correct the cell")
        numbers[row] = number
    return numbers

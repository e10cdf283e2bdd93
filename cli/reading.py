"""Readers of annotation and prediction files."""

from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._legible import shown, some
from ..evaluation import predictions_from_table
from ..models import Labels, PartialRankings
from ..models.data import read_table
from ..models.data.text_lines import text_lines
from .settings import Settings

__all__ = [
    "Container",
    "as_numbers",
    "check_attributes",
    "labels_of",
    "read_annotations",
    "read_columns",
    "read_container",
    "read_predictions",
    "read_scores",
]

Container = PartialRankings | Labels


def read_annotations(path: Path, settings: Settings, columns: Sequence[str]) -> Container:
    """Read rankings or labels with the layout, categories and rater attributes of the settings; ids are text.

    The table has columns item, rater, category and rank, or item, rater, label and, optionally, count and
    gold. `columns` are renamings ``item=case``.
    """
    declared = None if settings.categories is None else _declared(settings.categories)
    known: dict[str, Any] = {
        "layout": settings.layout,
        "rater_attributes": settings.rater_attributes,
    }
    return settings.nameless(read_container(path, settings.kind, columns, declared, **known))


def read_container(
    path: Path,
    kind: str,
    columns: Sequence[str],
    categories: Sequence[str] | None = None,
    *,
    layout: str = "long",
    rater_attributes: Sequence[str] = (),
) -> Container:
    """Read rankings or labels; `read_votes` reads comparisons, `read_scale` scores.

    `categories` is the closed set, by default those that occur. Layouts of labels: "long", one row per
    answer; "wide", one column per rater beside item and count; "counts", one column per category beside item.
    `rater_attributes` names columns with attributes of the raters.
    """
    if layout != "long" and kind == "rankings":
        raise ValueError(f"--layout {layout} is a layout of labels; rankings are long tables")
    frame, names = read_columns(path, columns)
    if kind == "rankings":
        return PartialRankings.from_table(frame, categories=categories)
    check_attributes(path, names, rater_attributes, layout)
    if layout == "long":
        further = {role: role for role in ("count", "gold") if role in names}
        return Labels.from_table(
            frame, categories=categories, rater_attributes=rater_attributes, **further
        )
    return _read_broad_labels(path, frame, names, categories, layout)


def check_attributes(
    path: Path, names: Sequence[str], attributes: Sequence[str], layout: str
) -> None:
    """Raise unless the table is long and has the columns of rater attributes."""
    missing = [name for name in attributes if name not in names]
    if attributes and layout != "long":
        raise ValueError(
            f"--layout {layout}: the table has no place for the column {attributes[0]!r} of the raters (--rater-attribute, "
            "--group); write a long one, with a row for each answer"
        )
    if missing:
        raise ValueError(
            f"{path}: there is no column {missing[0]!r} that says something of the raters; the columns are {some(names)}"
        )


def _read_broad_labels(
    path: Path, frame: Any, names: list[str], categories: Sequence[str] | None, layout: str
) -> Labels:
    """Read labels with one column per rater, or per category."""
    further = {role: role for role in ("item", "count", "gold") if role in names}
    if layout == "counts":
        return Labels.from_counts(frame, categories=categories)
    if "gold" in further:
        raise ValueError(f"{path}: a wide table has no place for gold labels; write a long one")
    raters = [name for name in names if name not in further]
    return Labels.from_wide(frame, raters=raters, categories=categories, **further)


def _declared(categories: str) -> list[str]:
    """Return the categories of a text file, or of a comma-separated list."""
    if isfile(categories):  # Path.is_file raises in Python 3.12 if the text is too long for a name
        return [line for text in text_lines(Path(categories)) if (line := text.rstrip("\r\n"))]
    if "," not in categories:
        raise ValueError(
            f"--categories {categories}: there is no such file; name one, or write the categories with commas: a,b,c"
        )
    return [name.strip() for name in categories.split(",")]


def labels_of(predictions: xr.DataArray) -> list[str]:
    """Return the distinct categories of predictions, (..., position) labels or (..., category) scores."""
    named = predictions["category"] if "category" in predictions.dims else predictions
    return [str(label) for label in np.unique(named.to_numpy()) if label != ""]


def read_predictions(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read predictions with a column rank or score, and perhaps classifier; with neither, one label per item.

    `columns` are renamings of columns that the file has. Returns as `evaluation.predictions_from_table`.
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        order, table["rank"] = ["rank"], np.ones(len(next(iter(table.values()))))
    named = "classifier" if "classifier" in table else None
    return predictions_from_table(table, classifier=named, **{order[0]: order[0]})


def read_scores(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read rankings of the items (classifier, item) from a column score or rank, and perhaps classifier.

    Larger scores are better; ranks are negated. A missing row is -inf. One classifier without a name is
    "predictions".
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        raise ValueError(
            f"{path}: there is no column 'score' and no column 'rank' that orders the items; the columns are {some(table)}"
        )
    score = table[order[0]] if order == ["score"] else -table[order[0]]
    rows = len(score)
    own = {name: table[name] for name in ("item", "classifier") if name in table}
    own |= {"score": score, "category": np.full(rows, "score")}
    own.setdefault("classifier", np.full(rows, "predictions"))
    scores = predictions_from_table(own, score="score", classifier="classifier")
    return scores.isel(category=0, drop=True)


def _prediction_columns(
    path: Path, columns: Sequence[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns of a file of predictions, and the name of its ordering one, rank or score."""
    frame, names = read_columns(path, columns)
    order = [name for name in ("rank", "score") if name in names]
    if len(order) > 1:
        raise ValueError(f"{path}: predictions have a column 'rank' and a column 'score'; drop one")
    table = {name: np.asarray(frame[name]) for name in names}
    for name in order:
        table[name] = as_numbers(path, name, table[name])
    return table, order


def as_numbers(path: Path, column: str, texts: np.ndarray) -> np.ndarray:
    """Parse a column of text as numbers; raise with file, row and column."""
    numbers = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            numbers[row] = float(text)
        except (TypeError, ValueError):
            where = f"{path}: row {row + 1}, column {column!r}"
            raise ValueError(f"{where}: {shown(text)} is not a number; correct the cell") from None
    return numbers


def read_columns(path: Path, columns: Sequence[str]) -> tuple[Any, list[str]]:
    """Read a table as pandas or pyarrow frame with text ids, and the names of its columns."""
    frame = read_table(path, rename=_renamings(columns))
    return frame, list(getattr(frame, "column_names", None) or frame.columns)


def _renamings(columns: Sequence[str]) -> dict[str, str]:
    """Parse ``item=case`` to {'case': 'item'}."""
    renamings = {}
    for column in columns:
        name, equals, own = column.partition("=")
        if not (name and equals and own):
            meant = "write item=case to read the column 'case' as 'item'"
            raise ValueError(f"--column {column}: {meant}")
        renamings[own] = name
    return renamings

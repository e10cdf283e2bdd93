"""Files into containers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..evaluation import predictions_from_table
from ..models import Labels, PartialRankings
from ..models.data import read_table
from .settings import Settings

__all__ = [
    "Container",
    "as_numbers",
    "labels_of",
    "read_annotations",
    "read_columns",
    "read_container",
    "read_posterior",
    "read_predictions",
    "read_scores",
]

Container = PartialRankings | Labels


def read_annotations(path: Path, settings: Settings, columns: Sequence[str]) -> Container:
    """Read annotations with the closed set of categories that was asked for.

    Parameters
    ----------
    path : Path
        Table with columns item, rater, category and rank; or item, rater, label and, if there are such, count and gold; or labels
        in another layout.
    settings : Settings
        Kind of annotation, and the file of categories.
    columns : sequence of str
        Renamings ``item=case``.

    Returns
    -------
    PartialRankings or Labels
        The annotations; ids are text.
    """
    declared = None
    if settings.categories is not None:
        declared = [line for line in _lines_of(settings.categories) if line]
    return read_container(path, settings.kind, columns, declared, layout=settings.layout)


def read_container(
    path: Path,
    kind: str,
    columns: Sequence[str],
    categories: Sequence[str] | None = None,
    *,
    layout: str = "long",
) -> Container:
    """Read annotations through their door.

    Parameters
    ----------
    path : Path
        Table.
    kind : str
        Rankings or labels; `read_votes` reads comparisons, and no other can be read yet.
    columns : sequence of str
        Renamings.
    categories : sequence of str or None
        The closed set; those that the raters named by default.
    layout : str
        Of labels: "long", a row for each answer; "wide", a column for each rater beside item and count; "counts", a column for
        each category beside item.

    Returns
    -------
    PartialRankings or Labels
        The annotations.
    """
    if kind not in ("rankings", "labels"):
        raise ValueError(
            f"--kind {kind} cannot be read yet; this version reads rankings, labels and comparisons"
        )
    if layout != "long" and kind == "rankings":
        raise ValueError(f"--layout {layout} is a layout of labels; rankings are long tables")
    frame, names = read_columns(path, columns)
    if kind == "rankings":
        return PartialRankings.from_table(frame, categories=categories)
    return _read_labels(path, frame, names, categories, layout)


def _read_labels(
    path: Path, frame: Any, names: list[str], categories: Sequence[str] | None, layout: str
) -> Labels:
    """Read labels in one of their layouts."""
    further = {role: role for role in ("item", "count", "gold") if role in names}
    if layout == "counts":
        return Labels.from_counts(frame, categories=categories)
    if layout == "wide":
        if "gold" in further:
            raise ValueError(f"{path}: a wide table has no place for gold labels; write a long one")
        raters = [name for name in names if name not in further]
        return Labels.from_wide(frame, raters=raters, categories=categories, **further)
    further.pop("item", None)
    return Labels.from_table(frame, categories=categories, **further)


def _lines_of(path: Path) -> list[str]:
    if not path.is_file():
        raise ValueError(f"--categories {path}: there is no such file")
    return path.read_text("utf-8-sig").splitlines()


def labels_of(predictions: xr.DataArray) -> list[str]:
    """Return the categories that predictions name.

    Parameters
    ----------
    predictions : DataArray
        Labels (..., position), or scores or sets (..., category).

    Returns
    -------
    list of str
        Each once.
    """
    named = predictions["category"] if "category" in predictions.dims else predictions
    return [str(label) for label in np.unique(named.to_numpy()) if label != ""]


def read_predictions(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read predictions with a column rank or score, and perhaps classifier; with neither, one label for each item.

    Parameters
    ----------
    path : Path
        Table.
    columns : sequence of str
        Renamings, of those columns that the file has.

    Returns
    -------
    DataArray
        As `evaluation.predictions_from_table` returns.
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        order, table["rank"] = ["rank"], np.ones(len(next(iter(table.values()))))
    classifier = "classifier" if "classifier" in table else None
    return predictions_from_table(table, classifier=classifier, **{order[0]: order[0]})


def read_scores(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read an order of the items: a column score or rank, and perhaps classifier.

    Parameters
    ----------
    path : Path
        Table.
    columns : sequence of str
        Renamings, of those columns that the file has.

    Returns
    -------
    DataArray, dims (classifier, item)
        Scores, larger = better, of ranks the negative; -inf where a classifier has no row for an item. One classifier without a
        name is called "predictions".
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        raise ValueError(
            f"{path}: there is no column 'score' and no column 'rank' that orders the items; the columns are {', '.join(table)}"
        )
    score = table[order[0]] if order == ["score"] else -table[order[0]]
    rows = len(score)
    own = {name: table[name] for name in ("item", "classifier") if name in table}
    own |= {"score": score, "category": np.full(rows, "score")}
    if "classifier" not in own:
        own["classifier"] = np.full(rows, "predictions")
    scores = predictions_from_table(own, score="score", classifier="classifier")
    return scores.isel(category=0, drop=True)


def _prediction_columns(
    path: Path, columns: Sequence[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns of a file of predictions, and which of them, rank or score, orders them, as numbers."""
    frame, names = read_columns(path, columns)
    order = [name for name in ("rank", "score") if name in names]
    if len(order) > 1:
        raise ValueError(f"{path}: predictions have a column 'rank' and a column 'score'; drop one")
    table = {name: np.asarray(frame[name]) for name in names}
    for name in order:
        table[name] = as_numbers(path, name, table[name])
    return table, order


def as_numbers(path: Path, column: str, texts: np.ndarray) -> np.ndarray:
    """Read a column of text as numbers.

    Parameters
    ----------
    path : Path
        File, for the message.
    column : str
        Its name.
    texts : ndarray
        Cells.

    Returns
    -------
    ndarray of float
        The numbers.
    """
    numbers = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            numbers[row] = float(text)
        except (TypeError, ValueError):
            raise ValueError(
                f"{path}: row {row + 1}, column {column!r}: {text!r} is not a number"
            ) from None
    return numbers


def read_posterior(path: Path) -> xr.DataTree:
    """Open a posterior that `raterzoo fit` wrote.

    Parameters
    ----------
    path : Path
        netCDF file or zarr store.

    Returns
    -------
    DataTree
        The posterior.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    try:
        if path.suffix == ".zarr":
            return xr.open_datatree(path, engine="zarr", consolidated=False)
        return xr.open_datatree(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError) as problem:
        raise ValueError(
            f"{path}: not a posterior that `raterzoo fit` wrote ({problem})"
        ) from problem


def read_columns(path: Path, columns: Sequence[str]) -> tuple[Any, list[str]]:
    """Read a table.

    Parameters
    ----------
    path : Path
        File.
    columns : sequence of str
        Renamings ``item=case``.

    Returns
    -------
    frame : pandas.DataFrame or pyarrow.Table
        The table; ids are text.
    names : list of str
        Its columns.
    """
    frame = read_table(path, rename=_renamings(columns))
    return frame, list(getattr(frame, "column_names", None) or frame.columns)


def _renamings(columns: Sequence[str]) -> dict[str, str]:
    """Read ``item=case`` as {'case': 'item'}."""
    renamings = {}
    for column in columns:
        name, equals, own = column.partition("=")
        if not (name and equals and own):
            raise ValueError(
                f"--column {column}: write item=case to read the column 'case' as 'item'"
            )
        renamings[own] = name
    return renamings

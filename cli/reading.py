"""Files into containers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from ..evaluation import predictions_from_table
from ..models import Labels, PartialRankings
from ..models.data import read_table
from .settings import Settings

__all__ = [
    "Container",
    "labels_of",
    "read_annotations",
    "read_container",
    "read_posterior",
    "read_predictions",
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
    return read_container(path, settings.kind, columns, declared, settings.layout)


def read_container(
    path: Path,
    kind: str,
    columns: Sequence[str],
    categories: Sequence[str] | None,
    layout: str = "long",
) -> Container:
    """Read annotations through their door.

    Parameters
    ----------
    path : Path
        Table.
    kind : str
        Rankings or labels; no other can be read yet.
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
            f"--kind {kind} cannot be read yet; this version reads rankings and labels"
        )
    frame = read_table(path, rename=_renamings(columns))
    if kind == "rankings":
        if layout != "long":
            raise ValueError(f"--layout {layout} is a layout of labels; rankings are long tables")
        return PartialRankings.from_table(frame, categories=categories)
    names = list(getattr(frame, "column_names", None) or frame.columns)
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
    frame = read_table(path, rename=_renamings(columns))
    names = list(getattr(frame, "column_names", None) or frame.columns)
    order = [name for name in ("rank", "score") if name in names]
    if len(order) > 1:
        raise ValueError(f"{path}: predictions have a column 'rank' and a column 'score'; drop one")
    table = {name: np.asarray(frame[name]) for name in names}
    if order:
        table[order[0]] = _as_numbers(path, order[0], table[order[0]])
    else:
        order, table["rank"] = ["rank"], np.ones(len(frame))
    classifier = "classifier" if "classifier" in names else None
    return predictions_from_table(table, classifier=classifier, **{order[0]: order[0]})


def _as_numbers(path: Path, column: str, texts: np.ndarray) -> np.ndarray:
    """Read a column of text as numbers."""
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

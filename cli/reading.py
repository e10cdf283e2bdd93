"""Files into containers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from ..evaluation import predictions_from_table
from ..models import PartialRankings
from ..models.data import read_table

__all__ = ["read_annotations", "read_posterior", "read_predictions"]


def read_annotations(path: Path, kind: str, columns: Sequence[str]) -> PartialRankings:
    """Read annotations through their door.

    Parameters
    ----------
    path : Path
        Table with columns item, rater, category and rank.
    kind : str
        Only rankings can be read yet.
    columns : sequence of str
        Renamings ``item=case``.

    Returns
    -------
    PartialRankings
        The annotations; ids are text.
    """
    if kind != "rankings":
        raise ValueError(f"--kind {kind} cannot be read yet; this version reads rankings")
    return PartialRankings.from_table(read_table(path, rename=_renamings(columns)))


def read_predictions(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read predictions with a column rank or score, and perhaps classifier.

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
    if len(order) != 1:
        raise ValueError(
            f"{path}: predictions need one of the columns 'rank' and 'score'; the file has {', '.join(names)}"
        )
    table = {name: np.asarray(frame[name]) for name in names}
    table[order[0]] = _as_numbers(path, order[0], table[order[0]])
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
            return xr.open_datatree(path, engine="zarr")
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

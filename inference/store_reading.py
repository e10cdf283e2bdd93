"""Stores of draws as readers see them: at any time what counts, and nothing of another schema."""

import errno
import os
from pathlib import Path
from typing import Any

import xarray as xr
import zarr

from ._schema import check_schema
from .zarr_checks import WRITTEN, check_zarr

__all__ = ["WRITTEN", "posterior_sizes", "read_draws", "store_attrs", "trimmed"]


def read_draws(path: str | os.PathLike[str]) -> xr.DataTree:
    """Open a store at any time: what counts of it.

    Parameters
    ----------
    path : path
        A zarr store of draws, finished or not.

    Returns
    -------
    DataTree
        Read from disk when it is used; of a run that goes on, the draws that all chains have.
    """
    store_attrs(Path(path))
    return trimmed(xr.open_datatree(path, engine="zarr", consolidated=False, decode_times=False))


def trimmed(tree: xr.DataTree) -> xr.DataTree:
    """Leave out the draws of an unfinished store that are not there yet.

    Parameters
    ----------
    tree : DataTree
        As it was opened.

    Returns
    -------
    DataTree
        The same, if it is finished.
    """
    if WRITTEN not in tree.attrs:
        return tree
    drawn = slice(int(tree.attrs[WRITTEN]))
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    cut = {n: g.isel(draw=drawn) if "draw" in g.dims else g for n, g in groups.items()}
    result = xr.DataTree.from_dict(cut)
    result.attrs = dict(tree.attrs)
    return result


def store_attrs(path: Path) -> dict[str, Any]:
    """Return the attributes of a store, or raise if it is none, or one of another schema.

    Parameters
    ----------
    path : Path
        A zarr group.

    Returns
    -------
    dict
        Of the root.

    Raises
    ------
    FileNotFoundError, ValueError
        If it is missing, no group, or of a newer schema.
    """
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no store {path}")
    try:
        check_zarr(path)
        attrs = dict(zarr.open_group(path, mode="r").attrs)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ValueError(
            f"{path} is not a zarr store of draws ({problem}); sample(..., store=) makes one"
        ) from problem
    check_schema(path, attrs)
    return attrs


def posterior_sizes(path: Path) -> dict[str, int]:
    """Return the lengths of the dims of the posterior of a store.

    Parameters
    ----------
    path : Path
        A store that was checked by `store_attrs`.

    Returns
    -------
    dict of str to int
        Empty if there is no posterior.
    """
    group = zarr.open_group(path, mode="r").get("posterior")
    arrays = [array for _, array in group.arrays()] if isinstance(group, zarr.Group) else []
    named = [(getattr(a.metadata, "dimension_names", None) or (), a.shape) for a in arrays]
    return {str(dim): n for dims, shape in named for dim, n in zip(dims, shape, strict=True)}

"""Read access to stores of draws, finished or not: only marked draws, only known schemas."""

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
    """Open a store lazily as a DataTree; of an unfinished one, only the draws that all chains have."""
    store_attrs(Path(path))
    return trimmed(xr.open_datatree(path, engine="zarr", consolidated=False, decode_times=False))


def trimmed(tree: xr.DataTree) -> xr.DataTree:
    """Drop the draws of an unfinished store that are not written yet."""
    if WRITTEN not in tree.attrs:
        return tree
    drawn = slice(int(tree.attrs[WRITTEN]))
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    cut = {n: g.isel(draw=drawn) if "draw" in g.dims else g for n, g in groups.items()}
    result = xr.DataTree.from_dict(cut)
    result.attrs = dict(tree.attrs)
    return result


def store_attrs(path: Path) -> dict[str, Any]:
    """Attributes of the root of a store.

    Raises `FileNotFoundError` if it does not exist, `ValueError` if it is not a valid store or of a newer
    schema.
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
    """Lengths of the dims of the posterior of a store that `store_attrs` has validated; empty if there is none."""
    group = zarr.open_group(path, mode="r").get("posterior")
    arrays = [array for _, array in group.arrays()] if isinstance(group, zarr.Group) else []
    named = [(getattr(a.metadata, "dimension_names", None) or (), a.shape) for a in arrays]
    return {str(dim): n for dims, shape in named for dim, n in zip(dims, shape, strict=True)}

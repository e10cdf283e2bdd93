"""Files of posteriors: netCDF or zarr."""

import sys
from collections.abc import Collection, Hashable
from pathlib import Path
from typing import Any

import xarray as xr

from .._legible import shown
from ..inference._schema import check_schema
from ..inference.netcdf_checks import DAMAGED, check_netcdf
from ..inference.shards.stores import ASKED
from ..inference.store_reading import WRITTEN, store_attrs, trimmed
from ..inference.zarr_checks import check_zarr

__all__ = ["read_posterior", "stored", "write_posterior"]


def read_posterior(path: Path) -> xr.DataTree:
    """Open a posterior that `raterzoo fit` wrote.

    Parameters
    ----------
    path : Path
        netCDF file or zarr store.

    Returns
    -------
    DataTree
        The posterior; its draws are read from disk when they are used. Of a fit that was interrupted, the draws that are there.

    Raises
    ------
    ValueError
        If there is no such file, or it holds anything but a posterior, or one that a newer version wrote.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    try:
        if path.suffix == ".zarr":
            check_zarr(path)
            tree = xr.open_datatree(path, engine="zarr", consolidated=False, decode_times=False)
        else:
            check_netcdf(path)
            tree = xr.open_datatree(path, engine="h5netcdf", phony_dims="sort", decode_times=False)
        check_schema(path, {str(name): value for name, value in tree.attrs.items()})
        tree = trimmed(tree)
        for node in tree.subtree:
            for ids in node.coords.values():
                ids.to_numpy()  # fails now, if ever
    except (*DAMAGED, *_of_arrow()) as problem:
        raise ValueError(
            f"{path}: not a posterior that `raterzoo fit` wrote ({problem})"
        ) from problem
    _check_draws(path, tree)
    return tree


def _of_arrow() -> tuple[type[Exception], ...]:
    """Return what is raised where pandas keeps text in Arrow, and the text is no Unicode."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)


def _check_draws(path: Path, tree: xr.DataTree) -> None:
    """Raise unless there are draws, of numbers, and every coordinate has numbers or text."""
    posterior = tree.children.get("posterior")
    if posterior is None or not posterior.data_vars:
        raise ValueError(f"{path}: there is no posterior in it; `raterzoo fit` writes one")
    if tree.attrs.get(WRITTEN) == 0:
        raise ValueError(
            f"{path}: nothing has been drawn yet that can be read; {_going_on(path, tree.attrs)}"
        )
    for name, draws in posterior.data_vars.items():
        if draws.dims[:2] != ("chain", "draw") or draws.dtype.kind not in "fiub" or not draws.size:
            raise ValueError(
                f"{path}: {shown(name)} of its posterior has dims {shown(draws.dims)} of {shown(tuple(draws.shape))}; expected "
                "numbers along chain, draw, and what they are of; fit again"
            )


def _going_on(path: Path, attrs: Collection[Hashable]) -> str:
    """Say how to go on with a store that was begun."""
    if ASKED in attrs:
        return "the same `raterzoo fit --workers`, or the same call from Python, goes on with it"
    return f"go on with it by `raterzoo fit --resume {path}`"


def stored(path: Path | None) -> dict[str, Any]:
    """Return the options of `inference.sample` that write draws to a store as they are made, if there is to be one.

    Parameters
    ----------
    path : Path or None
        A zarr store that does not exist yet.

    Returns
    -------
    dict
        Keyword arguments.
    """
    if path is None:
        return {}
    if path.exists():
        attrs = store_attrs(path) if (path / "zarr.json").exists() else {}
        raise ValueError(
            f"-o {path}: there is one already; {_going_on(path, attrs)}, or name another"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return {"store": path}


def write_posterior(tree: xr.DataTree, path: Path) -> None:
    """Write a posterior as netCDF or zarr, by its suffix.

    Parameters
    ----------
    tree : DataTree
        Posterior.
    path : Path
        Where to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zarr":
        tree.to_zarr(path, mode="w", consolidated=False)
    else:
        tree.to_netcdf(path, engine="h5netcdf")

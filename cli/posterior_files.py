"""Files of posteriors: netCDF or zarr."""

from pathlib import Path

import xarray as xr

__all__ = ["read_posterior", "write_posterior"]


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

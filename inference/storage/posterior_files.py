"""Files of posteriors: netCDF or zarr."""

import shlex
import sys
from collections.abc import Collection, Hashable
from pathlib import Path
from typing import Any

import xarray as xr

from ..._messages import short_repr
from ..runs.trees import with_current_dims
from ..runs.versions import check_schema
from .interruptions import NOTHING_KEPT, Advice
from .resumable_calls import ARGUMENTS
from .store import store_attrs, trimmed
from .untrusted_files import DAMAGED, WRITTEN, check_netcdf, check_zarr

TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".xlsx")


def read_posterior(path: Path) -> xr.DataTree:
    """Open a posterior of `raterzoo fit` lazily, if interrupted its draws so far; ValueError if missing, foreign or newer."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.suffix.lower() in TABLES:
        raise ValueError(
            f"{path} is a table, no posterior: name first what `raterzoo fit` wrote, such as posterior.nc"
        )
    try:
        if path.suffix == ".zarr":
            check_zarr(path)
            tree = xr.open_datatree(path, engine="zarr", consolidated=False, decode_times=False)
        else:
            check_netcdf(path)
            tree = xr.open_datatree(path, engine="h5netcdf", phony_dims="sort", decode_times=False)
        check_schema(path, {str(name): value for name, value in tree.attrs.items()})
        tree = with_current_dims(trimmed(tree))
        for node in tree.subtree:
            for ids in node.coords.values():
                ids.to_numpy()  # loaded now, so that damage shows here
    except (*DAMAGED, *_arrow_errors()) as problem:
        raise ValueError(f"{path}: not a posterior that `raterzoo fit` wrote ({problem})") from problem
    _check_draws(path, tree)
    return tree


def _arrow_errors() -> tuple[type[Exception], ...]:
    """Errors of text columns in Arrow that are not valid Unicode; none if pyarrow is not in use."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)


def _check_draws(path: Path, tree: xr.DataTree) -> None:
    """Raise unless the posterior has numeric draws along chain and draw."""
    posterior = tree.children.get("posterior")
    if posterior is None or not posterior.data_vars:
        raise ValueError(f"{path}: there is no posterior in it; `raterzoo fit` writes one")
    if tree.attrs.get(WRITTEN) == 0:
        raise ValueError(f"{path}: no draws have been stored yet; {_how_to_resume(path, tree.attrs)}")
    for name, draws in posterior.data_vars.items():
        if draws.dims[:2] != ("chain", "draw") or draws.dtype.kind not in "fiub" or not draws.size:
            raise ValueError(
                f"{path}: {short_repr(name)} of its posterior has dims {short_repr(draws.dims)} of "
                f"{short_repr(tuple(draws.shape))}; expected numbers with the dims chain and draw first; fit again"
            )


def _how_to_resume(path: Path, attrs: Collection[Hashable]) -> str:
    """Return the advice how to continue an unfinished store."""
    if ARGUMENTS in attrs:
        return "the same `raterzoo fit --workers`, or the same call from Python, goes on with it"
    return f"go on with it by `raterzoo fit --resume {path}`"


def left_by_fit(path: Path | None) -> Advice:
    """Advice how to go on with a stopped `raterzoo fit` whose store is at `path`."""
    if path is None or not path.exists():
        return NOTHING_KEPT
    kept, again = f"{path} keeps what was drawn", f"raterzoo fit --resume {shlex.quote(str(path))}"
    return Advice(kept, f"inference.resume({str(path)!r}) goes on", f"go on by: {again}")


def stored(path: Path | None) -> dict[str, Any]:
    """Return the arguments of `inference.sample` that write to a new zarr store; none without a path."""
    if path is None:
        return {}
    if path.exists():
        attrs = store_attrs(path) if (path / "zarr.json").exists() else {}
        remedy = f"{_how_to_resume(path, attrs)}, or name another"
        raise ValueError(f"-o {path}: the store exists already; {remedy}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return {"store": path}


def write_posterior(tree: xr.DataTree, path: Path) -> None:
    """Write a posterior as netCDF or zarr, by its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zarr":
        tree.to_zarr(path, mode="w", consolidated=False)
    else:
        tree.to_netcdf(path, engine="h5netcdf")

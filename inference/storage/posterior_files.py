"""Files of posteriors: netCDF or zarr."""

import math
import sys
from collections.abc import Collection, Hashable
from pathlib import Path
from typing import Any

import xarray as xr

from ..._messages import short_repr
from ...posterior.groups import tree_like
from ...posterior.schema import SHARED, SUMMARISED, check_schema, with_current_dims
from .interruptions import NOTHING_KEPT, Advice
from .resumable_calls import ARGUMENTS, how_to_repeat
from .rounding import rounded_draws
from .store import is_checked, open_checked, resume_command, store_attrs, trimmed, verify_store, write_zarr
from .untrusted_files import (
    DAMAGED,
    WRITTEN,
    DamageError,
    check_netcdf,
    check_posterior_path,
    check_zarr,
    verify_netcdf,
)

OF_DRAWS = ("posterior", SHARED, "log_likelihood", "log_prior")
ROUNDED = "draws to at most a hundredth of the Monte-Carlo standard error of their mean"
COMPRESSED: dict[str, Any] = {"zlib": True, "complevel": 1, "shuffle": True}
CHUNK = 2**20  # bytes of a chunk of a netCDF file: the cache of HDF5


def read_posterior(path: Path) -> xr.DataTree:
    """Open a posterior of `raterzoo fit` lazily, if interrupted its draws so far; ValueError if missing, foreign or newer."""
    check_posterior_path(path)
    try:
        if path.suffix == ".zarr":
            check_zarr(path)
            verify_store(path)
            tree = open_checked(path)
        else:
            check_netcdf(path)
            verify_netcdf(path)
            tree = xr.open_datatree(path, engine="h5netcdf", phony_dims="sort", decode_times=False)
            tree = with_current_dims(trimmed(tree))
        check_schema(path, {str(name): value for name, value in tree.attrs.items()})
        for node in tree.subtree:
            for ids in node.coords.values():
                ids.to_numpy()  # loaded now, so that damage shows here
    except DamageError:
        raise
    except (*DAMAGED, *_arrow_errors()) as problem:
        raise ValueError(f"{path}: not a posterior that `raterzoo fit` wrote ({problem})") from problem
    _check_draws(path, tree)
    return tree


def has_checksums(tree: xr.DataTree) -> bool:
    """Whether arrays of a stored posterior, as `read_posterior` returns it, have checksums, so that damage is noticed."""
    encodings = [array.encoding for node in tree.subtree for array in node.variables.values()]
    return any(own.get("fletcher32") or is_checked(own.get("compressors") or ()) for own in encodings)


def _arrow_errors() -> tuple[type[Exception], ...]:
    """Errors of text columns in Arrow that are not valid Unicode; none if pyarrow is not in use."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)


def _check_draws(path: Path, tree: xr.DataTree) -> None:
    """Raise unless the posterior has numeric draws along chain and draw."""
    posterior = tree.children.get("posterior")
    if posterior is None and SUMMARISED in tree.children:
        return  # keep="summary", of a model whose items share nothing
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
    return f"go on with it by `{resume_command(path)}`"


def unfinished(path: Path, tree: xr.DataTree) -> str | None:
    """Return what a tree of an unfinished store has, and how to go on with it; None of a finished one."""
    if WRITTEN not in tree.attrs:
        return None
    sizes = tree["posterior"].sizes
    there = f"{sizes['chain']} chains of {sizes['draw']:,} draws so far"
    return f"{path} is not finished: {there}; {_how_to_resume(path, tree.attrs)}"


def left_by_fit(path: Path | None) -> Advice:
    """Advice how to go on with a stopped `raterzoo fit` whose store is at `path`."""
    if path is None or not path.exists():
        return NOTHING_KEPT
    try:
        attrs = store_attrs(path)
    except (OSError, ValueError):  # going on says what is wrong with it
        attrs = {WRITTEN: 0}
    call, again = f"inference.resume({str(path)!r})", resume_command(path)
    if WRITTEN not in attrs:
        kept = f"the posterior is complete in {path}"
        return Advice(kept, f"{call} returns it", f"its convergence verdict is printed by: {again}")
    if ARGUMENTS in attrs:
        return how_to_repeat(path)
    return Advice(f"{path} keeps what was drawn", f"{call} goes on", f"go on by: {again}")


def left_by_writing(path: Path) -> Advice:
    """Advice how to go on with a command that was stopped while it wrote a file."""
    return Advice(
        f"{path} may be incomplete", "the same call writes it anew", "the same command writes it anew"
    )


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


def write_posterior(tree: xr.DataTree, path: Path, *, rounded: bool = False) -> None:
    """Write a posterior as netCDF or zarr, by its suffix, with checksums.

    With `rounded` draws are rounded as `rounded_draws` does, and said to be, and compressed in netCDF.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if rounded:
        tree = _with_rounded_draws(tree)
    if path.suffix == ".zarr":
        write_zarr(tree, path)
    else:
        tree.to_netcdf(path, engine="h5netcdf", encoding=_encoding(tree, COMPRESSED if rounded else {}))


def _with_rounded_draws(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree whose draws are rounded; the attribute ``rounded`` says so."""
    nodes = {}
    for node in tree.subtree:
        own = node.to_dataset(inherit=False)
        draws = {
            name: array.copy(data=rounded_draws(array.to_numpy()))
            for name, array in own.data_vars.items()
            if array.dims[:2] == ("chain", "draw") and array.dtype.kind == "f" and node.name in OF_DRAWS
        }
        nodes[node.path] = own.assign(draws)
    return tree_like(tree, nodes, rounded=ROUNDED)


def _encoding(tree: xr.DataTree, options: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the encoding of numbers in chunks, each with a checksum for readers in other programs; scalars have no chunks."""
    return {
        node.path: {
            str(name): {"fletcher32": True, "chunksizes": _chunk_shape(array), **options}
            for name, array in node.to_dataset(inherit=False).variables.items()
            if array.dtype.kind in "biuf" and array.size and array.ndim
        }
        for node in tree.subtree
    }


def _chunk_shape(array: xr.Variable) -> tuple[int, ...]:
    """Return the shape of a chunk, which is read whole: halved along its longest dim until it has at most `CHUNK` bytes."""
    shape = [*array.shape]
    while math.prod(shape) * array.dtype.itemsize > CHUNK:
        longest = shape.index(max(shape))
        shape[longest] = math.ceil(shape[longest] / 2)
    return tuple(shape)

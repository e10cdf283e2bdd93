"""Posterior beside a report: all draws, every n-th of them, or a summary without draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._messages import way
from ..inference.diagnostics import DIAGNOSIS
from ..inference.kept_draws import QUANTILES
from ..inference.kernels.convergence import mixing_of
from ..inference.storage.posterior_files import write_posterior
from ..posterior.groups import tree_like
from ..posterior.schema import SHARED

EXACT = 50_000_000  # bytes that are written as they were drawn; draws of larger posteriors are rounded
LARGE = 200_000_000  # bytes; more are announced, and by default thinned
LEAST = 100  # draws of each chain that thinning keeps
SUMMARY = "posterior_summary"
PARTS = ("all", "thinned", "summary")
EVERY = "kept_every"  # attribute of trees of `inference.sample` with keep=
REPLICATES = "posterior_predictive"  # at few draws as it is: a check needs 99


def _keep(part: str) -> str:
    """Return the option or argument that keeps a part of the draws."""
    return way(f"--keep {part}", f"keep={part!r}")


@dataclass(frozen=True)
class KeptPosterior:
    """Part of a posterior that is written to a file."""

    keep: str  # one of `PARTS`
    step: int  # every step-th draw of each chain is kept
    draws: int  # of each chain
    kept: int  # of each chain
    bytes: float  # of all draws
    bytes_kept: float
    # draws of each chain of a tree that has summaries of all, and `draws` of them; None: it has all
    made: int | None = None

    @property
    def name(self) -> str:
        """Name of the file beside a report."""
        return f"{'posterior' if self.kept else SUMMARY}.nc"

    @property
    def is_large(self) -> bool:
        """Whether all draws take more than 200 MB."""
        return self.bytes > LARGE

    def in_words(self, file: object) -> str:
        """Return what a file has of the posterior, and how to choose otherwise."""
        size = _megabytes(self.bytes)
        if self.made is not None:
            return self._in_words_of_summaries(file)
        if not self.kept:
            return (
                f"{file} has mean, standard deviation, quantiles, R-hat and ESS of each quantity of the posterior, from all "
                f"{self.draws:,} draws of each chain, and no draws, which would take {size}."
            )
        if self.step == 1:
            least = ""
            if self.keep == "thinned" and self.is_large:
                least = f" Thinning keeps {LEAST} draws of each chain or more."
            elif self.is_large:
                least = f" {_keep('thinned')} writes less."
            return f"{file} has all {self.draws:,} draws of each chain: {size}.{least}"
        return (
            f"{file} has {self.kept:,} of the {self.draws:,} draws of each chain, one of every {self.step:,}: "
            f"{_megabytes(self.bytes_kept)} of {size}. Tables and figures are computed from all draws. "
            f"{_keep('all')} writes them all, {_keep('summary')} none of them."
        )

    def _in_words_of_summaries(self, file: object) -> str:
        """Return what a file has of a posterior with summaries of all draws."""
        made = f"the {self.made:,} draws of each chain"
        if not self.kept:
            return (
                f"{file} has mean, standard deviation, quantiles, certainties, R-hat and ESS of each item, from all of {made}, "
                "and no draws of the items. "
                + _keep("thinned")
                + ", the default of large posteriors, has some."
            )
        return (
            f"{file} has {self.kept:,} of {made}: {_megabytes(self.bytes_kept)}. Certainties, means of items and convergence are "
            f"computed from all draws, metrics and figures from {self.draws:,} of each chain. "
            f"{_keep('all')} keeps them all, {_keep('summary')} none of the items."
        )

    def write(self, tree: xr.DataTree, path: Path) -> None:
        """Write the kept part of a posterior as netCDF."""
        if not self.kept:
            tree = summary_of(tree) if self.made is None else without_draws_of_items(tree)
        elif self.step > 1:
            tree = thinned(tree, self.step)
        write_posterior(tree, path, rounded=tree.nbytes > EXACT)


def kept_posterior(tree: xr.DataTree, keep: str | None = None) -> KeptPosterior:
    """Return the part of a posterior to write; by default all draws up to 200 MB, and above as many as fit.

    Thinning keeps at least 100 draws of each chain. Raises ValueError for another `keep`.
    """
    if keep is not None and keep not in PARTS:
        raise ValueError(f"keep={keep!r}: expected one of {', '.join(PARTS)}")
    summarised = "keep" in tree.attrs
    made = int(tree[DIAGNOSIS].attrs["draws"]) if summarised else None
    if summarised and tree.attrs["keep"] == "summary":
        size = sum(node.to_dataset(inherit=False).nbytes for node in tree.subtree)
        return KeptPosterior("summary", 1, 0, 0, size, size, made)
    draws = tree["posterior"].sizes["draw"]
    sizes = {True: 0, False: 0}  # bytes of what thinning takes draws from, and of the rest
    for node in tree.subtree:
        for array in node.to_dataset(inherit=False).variables.values():
            sizes[_is_thinned(node, array)] += array.nbytes
    drawn, fixed = sizes[True], sizes[False]
    if keep is None:
        keep = "all" if fixed + drawn <= LARGE else "thinned"
    step = 1
    if keep == "thinned":
        enough = math.ceil(drawn / max(LARGE - fixed, 1))
        step = max(1, min(enough, draws // LEAST))
    kept = 0 if keep == "summary" else math.ceil(draws / step)
    size = fixed + drawn
    return KeptPosterior(keep, step, draws, kept, size, fixed + drawn * kept / draws, made)


def _is_thinned(node: xr.DataTree, values: xr.Variable | xr.Dataset) -> bool:
    """Return whether thinning takes draws from values of a node."""
    return "draw" in values.dims and node.name not in (REPLICATES, SHARED)


def thinned(tree: xr.DataTree, step: int) -> xr.DataTree:
    """Return every so many draws of each chain; the attribute ``thinned`` is the step."""
    nodes = {}
    for node in tree.subtree:
        own = node.to_dataset(inherit=False)
        nodes[node.path] = own.isel(draw=slice(None, None, step)) if _is_thinned(node, own) else own
    found = xr.DataTree.from_dict(nodes)
    found.attrs["thinned"] = step
    if EVERY in tree.attrs:
        found.attrs[EVERY] = int(tree.attrs[EVERY]) * step
    return found


def without_draws_of_items(tree: xr.DataTree) -> xr.DataTree:
    """Return a posterior that has summaries of its items, as `inference.sample` returns it with ``keep="summary"``."""
    if tree.attrs["keep"] == "summary":
        return tree
    groups = {
        name: node.to_dataset()
        for name, node in tree.children.items()
        if name not in ("posterior", SHARED, "log_likelihood", "log_prior", REPLICATES)
    }
    if SHARED in tree.children:
        groups["posterior"] = tree[SHARED].to_dataset()
    found = tree_like(tree, groups, keep="summary")
    found.attrs.pop(EVERY, None)
    return found


def summary_of(tree: xr.DataTree) -> xr.DataTree:
    """Return the posterior's mean, sd, quantiles, R-hat, ESS and MCSE, along a dim ``statistic``, in place of its draws."""
    posterior = tree["posterior"].to_dataset()
    summarised = {name: _statistics(array) for name, array in posterior.data_vars.items()}
    nodes: dict[str, Any] = {SUMMARY: xr.Dataset(summarised)}
    nodes |= {name: tree[name].to_dataset() for name in ("constant_data", "observed_data") if name in tree}
    return tree_like(tree, nodes)


def _statistics(array: xr.DataArray) -> xr.DataArray:
    """Return the statistics of the draws (chain, draw, ...) of each element."""
    array = array.transpose("chain", "draw", ...)
    stored = array.to_numpy().reshape(*array.shape[:2], -1)
    draws = stored.astype(float, copy=False)
    rows: Mapping[str, np.ndarray] = {"mean": draws.mean(axis=(0, 1)), "sd": draws.std(axis=(0, 1), ddof=1)}
    quantiles = np.quantile(draws, list(QUANTILES.values()), axis=(0, 1))
    rows = {**rows, **dict(zip(QUANTILES, quantiles, strict=True))}
    # single precision stays, as in diagnose and ArviZ: it decides which draws are ties
    mixing = mixing_of(np.ascontiguousarray(stored if stored.dtype.kind == "f" else draws), None)
    rows |= dict(zip(("R-hat", "bulk ESS", "tail ESS", "MCSE"), mixing, strict=True))
    kept = array.isel(chain=0, draw=0, drop=True)
    values = np.stack(list(rows.values())).reshape(len(rows), *kept.shape)
    coords = {**kept.coords, "statistic": list(rows)}
    return xr.DataArray(values, coords, ("statistic", *kept.dims), attrs=array.attrs)


def _megabytes(size: float) -> str:
    """Return a size in MB."""
    return f"{size / 1e6:,.1f} MB" if size < 1e7 else f"{size / 1e6:,.0f} MB"

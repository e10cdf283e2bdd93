"""Tree groups of a model whose items are drawn in shards: full shapes, and the region of each shard."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from ..draw_store import at_full_size
from ..groups import CodeNames, constant_groups
from ..labelling import label

__all__ = ["ItemGroups", "groups_of"]

# numbers and draws per stored chunk: some metrics read item by item, some draw by draw
CHUNK, CHUNK_DRAWS = 200_000, 250
BY_ITEM = ("item", "candidate", "annotation")  # dims that grow with the items


class ItemGroups:
    """Groups of all items; `full` has their final shapes without memory for draws."""

    def __init__(self, full: dict[str, xr.Dataset], starts: Mapping[str, np.ndarray]) -> None:
        self.full: dict[str, xr.Dataset] = full
        self._starts = starts

    @property
    def chunks(self) -> dict[str, int]:
        """Chunk lengths of the stored arrays, by dim: some draws of one chain and some items."""
        sizes = self.full["posterior"].sizes
        n_items, draws = len(self._starts["item"]) - 1, sizes["draw"]
        largest = 1
        for variable in self.full["posterior"].data_vars.values():
            inner = [n for d, n in variable.sizes.items() if d not in ("chain", "draw", *BY_ITEM)]
            largest = max(largest, int(np.prod(inner, dtype=int)))
        draws = min(draws, CHUNK_DRAWS)
        cells = max(CHUNK // (draws * largest), 1)
        chunks = {"chain": 1, "draw": draws, "item": min(cells, n_items)}
        return chunks | {
            d: min(cells, int(self._starts[d][-1])) for d in BY_ITEM[1:] if d in self._starts
        }

    def region(self, group: str, first: int, end: int) -> dict[str, slice]:
        """Return the slices of a group, by dim, that hold items first ... end - 1."""
        starts = self._starts
        if group == "log_likelihood" and "item" in self.full[group].sizes:
            starts = {**starts, "item": self._heard_before}
        return {dim: slice(int(s[first]), int(s[end])) for dim, s in starts.items()}

    @cached_property
    def _heard_before(self) -> np.ndarray:
        """Number of items before each that have a log likelihood, shape (item + 1,)."""
        here, of_all = self.full["log_likelihood"], self.full["constant_data"]
        items = of_all["item"] if "item" in of_all else self.full["posterior"]["item"]
        heard = np.isin(items.to_numpy(), here["item"].to_numpy())
        return np.concatenate([[0], np.cumsum(heard)])


def groups_of(
    model: pm.Model, drawn: Mapping[str, xr.Dataset], starts: Mapping[str, np.ndarray]
) -> ItemGroups:
    """Lay out the groups of all items as `sample` makes them, from the groups of the first shard drawn.

    `starts` is that of `ItemLaw`.
    """
    sizes = {dim: int(start[-1]) for dim, start in starts.items()}
    one = {name: _one_draw(model, group, sizes) for name, group in drawn.items()}
    tree = xr.DataTree.from_dict(one | constant_groups(model))
    names = CodeNames.of(model)
    assert names is not None  # every model of items has their ids
    labelled = {n: node.to_dataset() for n, node in label(tree, names).children.items()}
    samples = {dim: drawn["posterior"].sizes[dim] for dim in ("chain", "draw")}
    return ItemGroups(at_full_size(labelled, samples), starts)


def _one_draw(model: pm.Model, group: xr.Dataset, sizes: Mapping[str, int]) -> xr.Dataset:
    """Return a group of all items with one draw of zeros, for its shape."""
    lengths: dict[str, int] = {str(d): n for d, n in group.sizes.items()} | dict(sizes)
    lengths |= {"chain": 1, "draw": 1}
    variables: dict[str, Any] = {}
    for name, variable in group.data_vars.items():
        shape = [lengths[str(dim)] for dim in variable.dims]
        empty = np.zeros(shape, variable.dtype)
        variables[str(name)] = (variable.dims, empty, variable.attrs)
    known = {str(d) for d in group.coords if d in group.dims}
    coords: dict[str, Any] = {d: _names(model, d, lengths[d]) for d in known}
    return xr.Dataset(variables, coords)


def _names(model: pm.Model, dim: str, length: int) -> np.ndarray:
    """Return the coordinate of a dim: that of the model, or numbers."""
    names = model.coords.get(dim)
    return np.arange(length) if names is None else np.asarray(names)

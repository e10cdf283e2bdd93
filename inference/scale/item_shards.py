"""Task of a worker on a shard of items: build their model and sample it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr

from ...models._catalog import catalog
from ...posterior.schema import SUMMARISED
from ..diagnostics import DIAGNOSIS, diagnose, verdict
from ..kept_draws import ALL, Kept, Numbered
from ..methods import Route, route_of
from ..runs.model_graph import graph_lock
from ..runs.run import Draws
from ..runs.trees import CodeNames, attributes, constant_groups, label
from ..sampling import draw_compiled
from ..scores.precision import Storage
from ..storage.resumable_calls import digest_of
from ..storage.store import allocated
from .item_slices import Annotations

# numbers and draws per stored chunk: some metrics read item by item, some draw by draw
CHUNK, CHUNK_DRAWS = 200_000, 250

GROWING_DIMS = ("item", "candidate", "annotation")  # dims that grow with the items


class ItemGroups:
    """Groups of all items; `full` has their final shapes without memory for draws."""

    def __init__(self, full: dict[str, xr.Dataset], starts: Mapping[str, np.ndarray]) -> None:
        self.full: dict[str, xr.Dataset] = full
        self._starts = starts

    @property
    def chunks(self) -> dict[str, int]:
        """Chunk lengths of the stored arrays, by dim: some draws of one chain and some items."""
        posterior, largest = self.full.get("posterior", self.full.get(SUMMARISED, xr.Dataset())), 1
        for variable in posterior.data_vars.values():
            inner = [n for d, n in variable.sizes.items() if d not in ("chain", "draw", *GROWING_DIMS)]
            largest = max(largest, int(np.prod(inner, dtype=int)))
        draws = min(posterior.sizes.get("draw", 1), CHUNK_DRAWS)
        cells = max(CHUNK // (draws * largest), 1)
        return {"chain": 1, "draw": draws} | {d: min(cells, int(s[-1])) for d, s in self._starts.items()}

    def region(self, group: str, first: int, end: int) -> dict[str, slice]:
        """Return the slices of a group, by dim, that hold items first ... end - 1."""
        starts = self._starts
        if group == "log_likelihood" and "item" in self.full[group].sizes:
            starts = {**starts, "item": self._observed_before}
        return {dim: slice(int(s[first]), int(s[end])) for dim, s in starts.items()}

    @cached_property
    def _observed_before(self) -> np.ndarray:
        """Number of items before each that have a log likelihood, shape (item + 1,)."""
        here, of_all = self.full["log_likelihood"], self.full["constant_data"]
        items = of_all["item"] if "item" in of_all else self.full["posterior"]["item"]
        observed = np.isin(items.to_numpy(), here["item"].to_numpy())
        return np.concatenate([[0], np.cumsum(observed)])


def groups_of(
    model: pm.Model, drawn: Mapping[str, xr.Dataset], starts: Mapping[str, np.ndarray]
) -> ItemGroups:
    """Lay out the groups of all items from those of the first shard drawn; `starts` is that of `ItemPrior`."""
    sizes = {dim: int(start[-1]) for dim, start in starts.items()}
    one = {name: _one_draw(model, group, sizes) for name, group in drawn.items()}
    tree = xr.DataTree.from_dict(one | constant_groups(model))
    names = CodeNames.of(model)
    assert names is not None  # every model of items has their ids
    labelled = {n: node.to_dataset() for n, node in label(tree, names).children.items()}
    of_draws = drawn["posterior"].sizes if "posterior" in drawn else {}
    samples = {dim: of_draws[dim] for dim in ("chain", "draw") if dim in of_draws}
    return ItemGroups(allocated(labelled, samples), starts)


def _one_draw(model: pm.Model, group: xr.Dataset, sizes: Mapping[str, int]) -> xr.Dataset:
    """Return a group of all items with one draw of zeros, for its shape."""
    lengths: dict[str, int] = {str(d): n for d, n in group.sizes.items()} | dict(sizes)
    lengths |= {"chain": 1, "draw": 1}
    variables: dict[str, Any] = {}
    for name, variable in group.data_vars.items():
        zeros = np.zeros([lengths[str(dim)] for dim in variable.dims], variable.dtype)
        variables[str(name)] = (variable.dims, zeros, variable.attrs)
    coords: dict[str, Any] = {}
    for dim in (str(d) for d in group.coords if d in group.dims):
        names = model.coords.get(dim)
        if names is not None:
            coords[dim] = np.asarray(names)
        elif dim in lengths and lengths[dim] != group.sizes[dim]:
            coords[dim] = np.arange(lengths[dim])
        else:
            coords[dim] = group.coords[dim].variable  # the same in every shard
    return xr.Dataset(variables, coords, group.attrs)


# --- Prior and reliabilities of each item, which must be the same in a shard as in the whole data set ---

# models with independent items -> method that draws them item by item
BY_ITEM = {name: entry.methods[0] for name, entry in catalog.items() if entry.independent_items}


@dataclass(frozen=True)
class ItemPrior:
    """Numbers on which the posterior of each item depends, besides its data."""

    # dim -> (item + 1,): first candidate, annotation or item of each item
    starts: dict[str, np.ndarray]
    arrays: dict[str, tuple[str, np.ndarray]]  # name -> dim of the first axis, numbers

    def digest(self, first: int, end: int) -> str:
        """Return a digest of the numbers of items first ... end - 1."""
        own = {}
        for name, (dim, array) in self.arrays.items():
            start = self.starts[dim]
            each = np.broadcast_to(array, (start[-1], *array.shape[1:]))  # a single number may apply to all
            own[name] = each[start[first] : start[end]]
        return digest_of(own)


def item_prior(model: pm.Model, route: Route) -> ItemPrior:
    """Read the prior of every item and the reliabilities of its annotations, of a model that is drawn item by item."""
    n_items = len(model.coords["item"] or ())
    each = np.arange(n_items + 1)
    starts = {"item": each}
    for dim in ("candidate", "annotation"):
        if f"{dim}_item" in model.named_vars:
            starts[dim] = np.searchsorted(model[f"{dim}_item"].get_value(), each)
    assert route.sampler is not None and route.sampler.numbers_by_item is not None
    return ItemPrior(starts, route.sampler.numbers_by_item(model))


def storage_of(model: pm.Model, route: Route, draws: int, dtype: Storage) -> Storage:
    """Return `dtype`, or double precision if single would lose digits of the draws."""
    of_law = None if route.sampler is None else route.sampler.storage
    return dtype if of_law is None else of_law(model, draws, dtype)


def reason_not_divisible(route: Route) -> str | None:
    """Return why a model cannot be drawn item by item, with a remedy; None if it can."""
    if route.items_share:
        return f"{route.name}: the items share {route.items_share}; use inference.sample"
    if BY_ITEM.get(route.name) == route.method:
        return None
    if route.name in catalog and (sampler := catalog[route.name].distributed_sampler):
        return (
            f"{route.name}: the items share the raters; use inference.{sampler}, or "
            "inference.dawid_skene_em(labels, executor=...), which divide its sums among workers"
        )
    if route.method == "nuts":
        return (
            f"{route.name} is drawn by NUTS, whose step size all items share ({route.reason}); use inference.sample, or one of "
            f"{', '.join(BY_ITEM)}"
        )
    return (
        f"{route.name}: the items share raters or a population, and are not independent; use inference.sample, or one of "
        f"{', '.join(BY_ITEM)}"
    )


# --- The task ---


class ItemShard(NamedTuple):
    """Task: some items of a model."""

    data: Annotations
    name: str  # of the model
    prior: str  # digest of their prior and reliabilities, by the model of all items (`ItemPrior`)
    kept: Kept = ALL
    blocks: Numbered | None = None  # of these items


class ItemDraws(NamedTuple):
    """Draws of some items."""

    groups: dict[str, xr.Dataset]
    attrs: dict[str, Any]
    warned: str  # convergence warning, or ""


def sample_shard(shard: ItemShard, build: Callable[[Any], pm.Model], options: Mapping[str, Any]) -> ItemDraws:
    """Sample some items with the options of `sample`; ValueError if their posterior depends on the other items."""
    data = shard.data
    with graph_lock:
        model = build(data)
        route = route_of(model)
        if route.name != shard.name:
            raise ValueError(
                f"the builder returns {route.name} for some items, but {shard.name} for all of them"
            )
        prior = item_prior(model, route)
    if prior.digest(0, len(data.items)) != shard.prior:
        raise ValueError(
            "the prior of these items alone differs from their prior among all items: the builder computes numbers from the data "
            "it is given. Pass all numbers of the prior, as in functools.partial(models.normal_scores, mean=..., rate=...)"
        )
    own = {name: options[name] for name in ("draws", "tune", "chains", "thin", "dtype")}
    seed = options["random_seed"]
    plan = Draws(cores=1, seed=seed, progressbar=False, densities=options["log_likelihood"], **own)
    tree = draw_compiled(model, plan, route, shard.kept, blocks=shard.blocks, checked=True)
    exact = route.method == "exact"
    converged, failure = (True, "") if exact else verdict(diagnose(tree, threads=1), listed=20)
    known = {"constant_data", "observed_data"}  # the driver has these for all items
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in known}
    # without what the items share, which is nothing, and what is of these items alone
    if DIAGNOSIS in groups:
        own = groups[DIAGNOSIS]
        own = own.drop_vars([n for n, v in own.variables.items() if "element" in v.dims])
        groups[DIAGNOSIS] = own.drop_attrs().assign_attrs(
            {n: own.attrs[n] for n in ("chains", "draws", "exact", "r_hat", "ess")}
        )
    attrs = attributes(route.name, route.method, route.reason, seed) | shard.kept.attrs
    return ItemDraws(groups, attrs, "" if converged else failure)

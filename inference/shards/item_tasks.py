"""Task of a worker on a shard of items: build their model and sample it."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pymc as pm
import xarray as xr

from ..diagnostics import ConvergenceWarning
from ..routes import route_of
from ..sampling import sample
from .item_laws import item_law
from .slices import Packed

__all__ = ["ItemDraws", "ItemShard", "sample_shard"]


class ItemShard(NamedTuple):
    """Task: some items of a model."""

    data: Packed
    name: str  # of the model
    law: str  # digest of their prior and reliabilities, by the model of all items (`ItemLaw`)


class ItemDraws(NamedTuple):
    """Draws of some items."""

    groups: dict[str, xr.Dataset]
    attrs: dict[str, Any]
    warned: str  # convergence warning, or ""


def sample_shard(
    shard: ItemShard, build: Callable[[Any], pm.Model], options: Mapping[str, Any]
) -> ItemDraws:
    """Sample the posterior of some items; `options` are those of `sample`.

    Raises ValueError if the posterior of these items depends on the other items.
    """
    data = shard.data.unpack()
    model = build(data)
    name = route_of(model).name
    if name != shard.name:
        raise ValueError(f"the builder makes a {name} of these items, and a {shard.name} of all")
    if item_law(model, name).digest(0, len(data.items)) != shard.law:
        raise ValueError(
            "the prior of these items alone differs from their prior among all items: the builder computes numbers from the data "
            "it is given. Pass all numbers of the prior, as in functools.partial(models.normal_scores, mean=..., rate=...)"
        )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        tree = sample(model, cores=1, progressbar=False, **options)
    warned = [str(w.message) for w in said if issubclass(w.category, ConvergenceWarning)]
    for other in said:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    known = {"constant_data", "observed_data"}  # the driver has these for all items
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in known}
    return ItemDraws(
        groups, {str(k): v for k, v in tree.attrs.items()}, warned[0] if warned else ""
    )

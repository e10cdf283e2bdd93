"""What a worker does with a shard of items: it builds their model and draws from it."""

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
    """Some items.

    Attributes
    ----------
    data : Packed
        Their annotations.
    name : str
        Of the model.
    law : str
        Digest of what their posterior depends on, as `ItemLaw` has it in the whole.
    """

    data: Packed
    name: str
    law: str


class ItemDraws(NamedTuple):
    """Draws of some items.

    Attributes
    ----------
    groups : dict of str to Dataset
        The groups that the sampler has made, of these items.
    attrs : dict
        Of the tree.
    warned : str
        What was said of their convergence, if anything.
    """

    groups: dict[str, xr.Dataset]
    attrs: dict[str, Any]
    warned: str


def sample_shard(
    shard: ItemShard, build: Callable[[Any], pm.Model], options: Mapping[str, Any]
) -> ItemDraws:
    """Draw from the posterior of some items.

    Parameters
    ----------
    shard : ItemShard
        The items.
    build : callable
        Builds their model.
    options : mapping
        Of `sample`.

    Returns
    -------
    ItemDraws
        Their draws.

    Raises
    ------
    ValueError
        If the posterior of these items depends on what other items there are.
    """
    data = shard.data.unpack()
    model = build(data)
    name = route_of(model).name
    if name != shard.name:
        raise ValueError(f"the builder makes a {name} of these items, and a {shard.name} of all")
    if item_law(model, name).digest(0, len(data.items)) != shard.law:
        raise ValueError(
            "these items have another prior by themselves than among all items: the builder takes numbers from the data it is "
            "given. Give it all numbers of the prior, such as functools.partial(models.normal_scores, mean=..., rate=...)"
        )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        tree = sample(model, cores=1, progressbar=False, **options)
    warned = [str(w.message) for w in said if issubclass(w.category, ConvergenceWarning)]
    for other in said:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    known = {"constant_data", "observed_data"}  # the driver has them of all items
    groups = {n: node.to_dataset() for n, node in tree.children.items() if n not in known}
    return ItemDraws(
        groups, {str(k): v for k, v in tree.attrs.items()}, warned[0] if warned else ""
    )

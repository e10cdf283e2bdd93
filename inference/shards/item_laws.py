"""Prior and reliabilities of each item, which must be the same in a shard as in the whole data set."""

from dataclasses import dataclass

import numpy as np
import pymc as pm

from ..kernels.normal_items import posterior_items, score_moments
from ..routes import Route
from ..score_storage import Storage, storage_of_items
from ..steps.label_reading import read_counted_labels
from ..steps.reading import gamma_parameters, read_rankings
from ..steps.score_reading import read_item_scores
from .digests import digest_of

__all__ = ["BY_ITEM", "ItemLaw", "item_law", "refusal", "storage_of"]

BY_ITEM = {
    "plackett_luce": "gibbs",
    "prirn": "exact",
    "dirichlet": "exact",
    "normal_scores": "exact",
}
"""Models with independent items -> method that draws them item by item."""


@dataclass(frozen=True)
class ItemLaw:
    """Numbers on which the posterior of each item depends, besides its data."""

    # dim -> (item + 1,): first candidate, annotation or item of each item
    starts: dict[str, np.ndarray]
    arrays: dict[str, tuple[str, np.ndarray]]  # name -> dim of the first axis, numbers

    def digest(self, first: int, end: int) -> str:
        """Return a digest of the numbers of items first ... end - 1."""
        own = {}
        for name, (dim, array) in self.arrays.items():
            start = self.starts[dim]
            each = np.broadcast_to(
                array, (start[-1], *array.shape[1:])
            )  # a single number may apply to all
            own[name] = each[start[first] : start[end]]
        return digest_of(own)


def item_law(model: pm.Model, name: str) -> ItemLaw:
    """Read the prior of every item and the reliabilities of its annotations; `name` is a key of `BY_ITEM`."""
    n_items = len(model.coords["item"] or ())
    each = np.arange(n_items + 1)
    starts = {"item": each}
    for dim in ("candidate", "annotation"):
        if f"{dim}_item" in model.named_vars:
            starts[dim] = np.searchsorted(model[f"{dim}_item"].get_value(), each)
    if name == "dirichlet":
        _, alpha, _, power = read_counted_labels(model)
        return ItemLaw(starts, {"concentration": ("item", alpha), "reliability": ("item", power)})
    if name == "normal_scores":
        prior = read_item_scores(model).prior._asdict()
        return ItemLaw(starts, {name: ("item", array) for name, array in prior.items()})
    rankings = None if name == "prirn" else read_rankings(model)
    shape, rate = gamma_parameters(model["worth"] if rankings is None else rankings.worth)
    dim = "candidate" if "candidate" in starts else "item"
    if dim == "item":  # every category of every item has a worth
        shape, rate = (array.reshape(n_items, -1) for array in (shape, rate))
    arrays = {"shape": (dim, shape), "rate": (dim, rate)}
    if rankings is not None:
        arrays["reliability"] = ("annotation", rankings.reliability)
    return ItemLaw(starts, arrays)


def storage_of(model: pm.Model, name: str, draws: int, dtype: Storage) -> Storage:
    """Return `dtype`, or double precision if single would lose digits of the draws of scores."""
    if name != "normal_scores":
        return dtype
    law = read_item_scores(model)
    posterior = posterior_items(law.prior, score_moments(law.item, law.score, len(law.prior.mean)))
    items = np.asarray(model.coords.get("item", range(len(law.prior.mean))))
    return storage_of_items(posterior, draws, dtype, items)


def refusal(route: Route) -> str | None:
    """Return why a model cannot be drawn item by item, with a remedy; None if it can."""
    if BY_ITEM.get(route.name) == route.method:
        return None
    if route.name == "dawid_skene":
        return (
            "dawid_skene: the items share the raters; use inference.dawid_skene_gibbs, or "
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

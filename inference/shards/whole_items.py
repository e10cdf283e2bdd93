"""All items of a model that is sampled in shards, and their division into shards."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pymc as pm

from ..routes import Route, route_of
from ..score_storage import Storage
from .digests import digest_of
from .item_laws import ItemLaw, item_law, refusal, storage_of
from .item_tasks import ItemShard
from .slices import Annotations, items_between, pack
from .stores import Asked

__all__ = ["Builder", "WholeItems", "check_sent"]

SHARD_BYTES = 48 * 2**20  # of the draws of one shard
COPIES = 3  # stored numbers per draw and cell: worth, plausibility, densities

Builder = Callable[[Any], pm.Model]


@dataclass(frozen=True)
class WholeItems:
    """Data and model of all items, and how to draw them."""

    data: Annotations
    model: pm.Model  # of all items; not sampled, it provides the constants
    route: Route
    law: ItemLaw
    dtype: Storage  # needed for the draws of all items

    @classmethod
    def of(cls, build: Builder, data: Annotations, draws: int, dtype: Storage) -> "WholeItems":
        """Build the model of all items; raise if they are not independent. `draws` counts all chains."""
        if not isinstance(data, Annotations):
            raise ValueError(
                f"a {type(data).__name__} has no shards of items; scatter PartialRankings, Labels or Scores"
            )
        model = build(data)
        if not isinstance(model, pm.Model):
            raise ValueError(
                f"model_builder made a {type(model).__name__}, not a pymc.Model; pass a function of raterzoo.models"
            )
        route = route_of(model)
        if why := refusal(route):
            raise ValueError(why)
        law = item_law(model, route.name)
        return cls(data, model, route, law, storage_of(model, route.name, draws, dtype))

    def asked(self, options: dict[str, Any], seed: int | None) -> Asked:
        """Return everything that the draws depend on, to be kept in the store."""
        digests = {
            "data": digest_of(pack(self.data).values),
            "prior": self.law.digest(0, len(self.data.items)),
        }
        return Asked({"call": "scatter", "model": self.route.name} | options | digests, seed)

    def shards(self, size: int | None, draws: int) -> list[tuple[int, int]]:
        """Divide the items into shards (first, end), each with at least one annotation.

        `size` is the number of items per shard, by default such that the draws of a shard take some 50 MB;
        `draws` counts all chains.
        """
        n_items = len(self.data.items)
        if size is None:
            cells = self.law.starts["candidate"][-1] if "candidate" in self.law.starts else n_items
            if cells == n_items:
                cells *= len(self.model.coords.get("category") or (0,))
            each = draws * cells / n_items * np.dtype(self.dtype).itemsize * COPIES
            size = max(int(SHARD_BYTES / each), 1)
        edges = np.append(np.arange(0, n_items, size), n_items)
        said = np.searchsorted(self.data.annotation_item, edges)
        kept = np.append(
            said[:-1] < said[1:], True
        )  # a shard without annotations is merged with the next
        kept[0] = True
        edges = edges[kept | (edges == n_items)]
        if len(edges) > 2 and said[-2] == said[-1]:
            edges = np.delete(edges, -2)
        return list(pairwise(edges.tolist()))

    def shard(self, first: int, end: int) -> ItemShard:
        """Return the task of items first ... end - 1."""
        data = pack(items_between(self.data, first, end))
        return ItemShard(data, self.route.name, self.law.digest(first, end))

    def namer(self, shards: Sequence[tuple[int, int]]) -> Callable[[int], str]:
        """Return a function that names a shard by its first and last item, for errors."""

        def named(number: int) -> str:
            first, end = shards[number]
            ends = self.data.items[[first, end - 1]].tolist()
            return f"{end - first} items from {ends[0]!r} to {ends[1]!r}"

        return named


def check_sent(build: Builder) -> None:
    """Raise unless a builder can be pickled by reference and imported in another process."""
    inner = build
    while isinstance(inner, partial):
        inner = inner.func
    home, name = getattr(inner, "__module__", ""), getattr(inner, "__qualname__", repr(inner))
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if "<" in name or (home == "__main__" and script is None):
        raise ValueError(
            f"model_builder {name} of {home} cannot be sent to other processes: pass a function of a module, such as "
            "functools.partial(models.plackett_luce, reliability=3), or an executor of threads or of dask"
        )

"""Certainties and most plausible labels of items whose draws come block by block, and are then let go."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..calls import in_threads
from ..truth.plausibility import OTHER, Block, Plausibility, UnknownTruth
from ..truth.top_labels import TopLabels, treatment_of_other
from .annotation import alternatives, largest_counts

TOPS = (1, 2, 3)
MOST_ALTERNATIVES = 10


@dataclass(frozen=True)
class ItemCertainties:
    """Certainties of top 1 to 3 and the ten most plausible labels of each item, filled by blocks of items."""

    view: Plausibility  # of one draw of all items: for its items, categories and treatment of OTHER
    labels: TopLabels
    n_samples: int
    certainty: np.ndarray  # (top, item)
    probability: np.ndarray  # (item, alternative)
    code: np.ndarray  # (item, alternative), position in `names`
    known: np.ndarray  # all categories, as text
    place: np.ndarray  # (code of the view,), position of each category in `names`

    @classmethod
    def of(cls, tree: xr.DataTree, n_samples: int, known: np.ndarray) -> "ItemCertainties | None":
        """Prepare for the items of a labelled tree of one draw; None if the truth is one category, or not known.

        `known` are all categories, in the order that numbers the most plausible labels.
        """
        view = Plausibility.of(tree)
        try:
            if view.is_of_category:
                return None
        except UnknownTruth:
            return None
        n = len(view.items)
        labels = TopLabels(view, treatment_of_other(view, None))
        room, known = np.zeros((n, MOST_ALTERNATIVES)), known.astype(str)
        none = np.full(room.shape, len(known) + 1, np.int32)
        number = {name: k for k, name in enumerate(known.tolist())}
        place = np.array(
            [number[name] for name in view.categories.tolist()] + [len(known), len(known) + 1], np.int32
        )
        return cls(view, labels, n_samples, np.empty((len(TOPS), n)), room, none, known, place)

    @property
    def names(self) -> np.ndarray:
        """Names of the labels: the categories, OTHER, and none."""
        return np.array([*self.known.tolist(), OTHER, ""])

    def add(self, number: int, items: slice, draws: np.ndarray) -> None:
        """Count the draws (chain, draw, ...) of a block of items, with the random numbers that evaluation has for it."""
        cells = slice(*self.view.start[[items.start, items.stop]].tolist())
        block = Block(items, cells, draws.reshape(self.n_samples, -1))
        # found here once, not by each of the threads
        named = None if self.labels.from_rows else self.labels.largest_named(block, max(TOPS))
        unidentified = TopLabels(self.view, self.labels.other, identify=False)

        def fresh() -> np.random.Generator:
            # that of `map_blocks`, which spawns one for each block
            return np.random.default_rng(np.random.SeedSequence(self.view.seed, spawn_key=(number,)))

        def count(top: int) -> None:
            self.certainty[top - 1, items] = (
                largest_counts(self.labels, block, top, fresh(), named) / self.n_samples
            )

        def name() -> None:
            last = len(self.view.categories)
            found = alternatives(unidentified, block, 1, fresh(), named)
            for i, (sets, counted) in enumerate(found, items.start):
                own = sets[:MOST_ALTERNATIVES, 0]
                self.probability[i, : len(own)] = counted[:MOST_ALTERNATIVES] / self.n_samples
                self.code[i, : len(own)] = self.place[np.where(own < 0, last + 1, np.minimum(own, last))]

        tasks: list[Callable[[], None]] = [name, *(lambda top=top: count(top) for top in TOPS)]
        for _ in in_threads(lambda task: task(), tasks):
            pass

    def added_to(self, summary: xr.Dataset) -> xr.Dataset:
        """Return the group ``item_summary`` with certainties and labels."""
        found = {
            "certainty": (("top", "item"), self.certainty, {"other": self.labels.other}),
            "alternative_probability": (("item", "alternative"), self.probability),
            "alternative_label": (("item", "alternative"), self.code),
        }
        return summary.assign(found).assign_coords(alternative_name=self.names)

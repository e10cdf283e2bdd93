"""Certainties and most plausible labels of items whose draws come block by block, and are then let go."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from .plausibility import Block, Plausibility, UnknownTruth, in_threads
from .schema import OTHER
from .top_labels import Named, TopLabels, treatment_of_other

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


# --- Sets of top labels, counted over the draws ---


def largest_counts(
    labels: TopLabels, block: Block, top: int, rng: np.random.Generator, named: Named | None = None
) -> np.ndarray:
    """Count the draws of the most frequent top set of each item of a block (item,); `named` as in `TopLabels.draw`."""
    return _largest_count(_set_keys(labels.draw(block, top, rng, named)))


def alternatives(
    labels: TopLabels, block: Block, top: int, rng: np.random.Generator, named: Named | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the distinct top sets of each item of a block, as `_alternatives`; `named` as in `TopLabels.draw`."""
    view, codes = labels.view, labels.draw(block, top, rng, named)
    cells = np.split(view.code[block.cells], view.start[block.items][1:] - block.cells.start)
    return [_alternatives(codes[:, i], own, labels.n_codes) for i, own in enumerate(cells)]


def _set_keys(codes: np.ndarray) -> np.ndarray:
    """Integer keys (item, sample), equal where the sets (top, item, sample) are equal."""
    ordered = _ascending(codes)
    base = int(ordered.max()) + 2
    small = base ** len(codes) < np.iinfo(np.int32).max
    key = np.zeros(ordered.shape[1:], np.int32 if small else np.int64)
    for code in ordered:
        if int(key.max()) > np.iinfo(key.dtype).max // base - 1:
            key = np.unique(key, return_inverse=True)[1].reshape(key.shape)
        key *= base
        key += code + 1
    return key


def _ascending(codes: np.ndarray) -> np.ndarray:
    """Sort along the first axis, which is short."""
    ordered = codes.copy()
    for last in range(1, len(ordered)):
        for q in range(last, 0, -1):
            low = np.minimum(ordered[q - 1], ordered[q])
            np.maximum(ordered[q - 1], ordered[q], out=ordered[q])
            ordered[q - 1] = low
    return ordered


def _largest_count(keys: np.ndarray) -> np.ndarray:
    """Count of the most frequent key of each row (row, sample)."""
    ordered = np.sort(keys, axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(new)
    count = np.diff(first, append=new.size)
    return np.maximum.reduceat(count, np.searchsorted(first, np.arange(len(keys)) * keys.shape[1]))


def _alternatives(codes: np.ndarray, own: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct sets (set, position) of one item, labels in the order `own`, OTHER and none last, and their counts, descending.

    Sets of equal counts have that order, too, so that they do not depend on the other items, whose labels number the codes.
    """
    _, first, count = np.unique(_set_keys(codes), return_index=True, return_counts=True)
    sets = codes[:, first].T
    place = np.full(n_codes + 2, n_codes + 1)
    place[n_codes] = n_codes
    place[own[own >= 0]] = np.arange(np.count_nonzero(own >= 0))
    sets = np.take_along_axis(sets, np.argsort(place[sets], axis=1), axis=1)
    order = np.lexsort((*place[sets].T[::-1], -count))
    return sets[order], count[order]

"""Writer of the draws of item shards into a store."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..diagnostics import ConvergenceWarning
from ..draw_store import DrawStore
from ..journal import refuse_journal
from ..store_reading import WRITTEN, store_attrs
from .item_groups import BY_ITEM, ItemGroups, groups_of
from .item_tasks import ItemDraws
from .stores import ASKED, Agreed
from .whole_items import WholeItems

__all__ = ["ItemResults"]

NOTHING_SAID: dict[str, Any] = {"warned": 0, "first": ""}


class ItemResults:
    """Context manager that writes shards into a store and continues an interrupted one.

    `done` (item,) is the mask of items that are in the store.
    """

    def __init__(self, whole: WholeItems, path: Path, agreed: Agreed) -> None:
        self._whole, self._path, self._agreed = whole, path, agreed
        self._store: DrawStore | None = None
        self._groups: ItemGroups | None = None
        self._said: dict[str, Any] = dict(NOTHING_SAID)
        self.done: np.ndarray = np.zeros(len(whole.data.items), bool)

    @property
    def finished(self) -> bool:
        """Whether the store was finished before."""
        return self._path.exists() and WRITTEN not in store_attrs(self._path)

    def __enter__(self) -> "ItemResults":
        if self._path.exists():
            self._store = DrawStore.open(self._path)
            if self._store.is_marked:
                self._said, arrays = self._store.kept()
                self.done = arrays["done"]
                if len(self.done) != len(self._whole.data.items):
                    refuse_journal(self._store.journal, "it is of another number of items")
        return self

    def __exit__(self, *raised: object) -> None:
        if self._store is not None:
            self._store.__exit__(*raised)

    def add(self, first: int, end: int, drawn: ItemDraws) -> None:
        """Write the draws of items first ... end - 1 and mark them as done."""
        store, groups = self._begun(drawn)
        for name, group in drawn.groups.items():
            store.write(groups.region(name, first, end), {name: group})
        self.done[first:end] = True
        if drawn.warned:
            before = self._said
            self._said = {"warned": before["warned"] + 1, "first": before["first"] or drawn.warned}
        store.mark(self._said, {"done": self.done}, 0)

    def _begun(self, drawn: ItemDraws) -> tuple[DrawStore, ItemGroups]:
        """Return store and groups, laid out when the first draws arrive."""
        if self._groups is None:
            _check_items(drawn)
            whole = self._whole
            self._groups = groups_of(whole.model, drawn.groups, whole.law.starts)
        if self._store is None:
            attrs = {k: v for k, v in drawn.attrs.items() if k != "seconds"}
            attrs[ASKED] = self._agreed.text
            full, chunks = self._groups.full, self._groups.chunks
            self._store = DrawStore.create(self._path, full, attrs, chunks)
        if not self._store.is_marked:
            known = {n: g for n, g in self._groups.full.items() if n not in drawn.groups}
            self._store.write({}, known)
        return self._store, self._groups

    def finish(self, seconds: float) -> None:
        """Finish the store; all items must be in it."""
        assert self._store is not None
        attrs = {k: v for k, v in store_attrs(self._path).items() if k != WRITTEN}
        self._store.finish(attrs | {"seconds": seconds, "shards_warned": self._said["warned"]})

    def warn(self) -> None:
        """Warn of shards that did not converge."""
        if self._said["warned"]:
            warnings.warn(
                f"{self._said['warned']} shards failed a convergence check; the first: {self._said['first']}",
                ConvergenceWarning,
                stacklevel=3,
            )


def _check_items(drawn: ItemDraws) -> None:
    """Raise unless every variable has a dim of the items: others would differ from shard to shard."""
    for name, variable in drawn.groups["posterior"].data_vars.items():
        if not set(variable.dims) & set(BY_ITEM):
            raise ValueError(
                f"{name!r} is a variable of all items together; leave it out of the model that is scattered, and compute it from "
                "the tree"
            )

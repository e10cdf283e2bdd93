"""Stores that a call goes on with when it is made again: they know what was asked for."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..draw_store import DrawStore
from ..store_reading import WRITTEN, store_attrs
from ..versions import tell_versions

__all__ = ["ASKED", "Agreed", "Asked", "begun_or_new", "refuse_asked"]

ASKED = "asked"  # attribute of a store: what it was begun with
SEED = "random_seed"


@dataclass(frozen=True)
class Asked:
    """What a call was asked for.

    Attributes
    ----------
    values : dict
        Whatever changes the draws but the seed, as JSON can hold it.
    seed : int or None
        The seed; None leaves it to the store, or to chance.
    """

    values: dict[str, Any]
    seed: int | None

    def agreed(self, path: Path) -> "Agreed":
        """Return what was asked for with the seed of the store, if there is one, or else with a seed.

        Parameters
        ----------
        path : Path
            The store.

        Raises
        ------
        ValueError
            If the store was begun with anything else.

        Warns
        -----
        ResumeWarning
            If it is not finished, and was begun with another version of a package.
        """
        seed = self.seed
        if path.exists():
            seed = self._as_begun(path)
        elif seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        return Agreed(seed, json.dumps(self.values | {SEED: seed}, default=int))

    def _as_begun(self, path: Path) -> int:
        """Return the seed of a store that was begun with the same."""
        attrs = store_attrs(path)
        if ASKED not in attrs:
            raise ValueError(
                f"{path} exists already, and was not begun by this call; name another store"
            )
        there = json.loads(attrs[ASKED])
        ours = self.values | {SEED: there.get(SEED) if self.seed is None else self.seed}
        for name in ours | there:
            if ours.get(name) != there.get(name):
                raise ValueError(
                    f"{path} was begun with {name}={there.get(name)!r}, not {ours.get(name)!r}; "
                    "ask for the same to go on with it, or name another store"
                )
        if WRITTEN in attrs:
            tell_versions(path, attrs, stacklevel=5)
        return there[SEED]


def refuse_asked(path: Path, attrs: Mapping[str, Any]) -> None:
    """Raise if the same call goes on with a store, and nothing else.

    Parameters
    ----------
    path : Path
        The store.
    attrs : mapping
        Of a store that is not finished.

    Raises
    ------
    ValueError
        If `scatter` or `dawid_skene_gibbs` began it.
    """
    if ASKED in attrs:
        raise ValueError(
            f"{path} was begun by inference.scatter, inference.dawid_skene_gibbs or `raterzoo fit --workers`: the same call, "
            "with the same data and settings, goes on with it"
        )


class Agreed(NamedTuple):
    """The seed of a run, and all that its draws depend on as JSON."""

    seed: int
    text: str


@contextmanager
def begun_or_new(
    path: Path,
    attrs: Mapping[str, Any],
    groups: Callable[[], Mapping[str, xr.Dataset]],
    chunks: Mapping[str, int],
) -> Iterator[DrawStore | None]:
    """Lend a store to go on with, made if there is none.

    Parameters
    ----------
    path : Path
        The store.
    attrs : mapping
        Of a store that is not finished.
    groups : callable
        The groups at their final size, as `DrawStore.create` takes them.
    chunks : mapping of str to int
        Lengths of stored pieces.

    Yields
    ------
    DrawStore or None
        The store, locked; None if it is finished.
    """
    if not path.exists():
        store = DrawStore.create(path, groups(), attrs, chunks)
    elif WRITTEN in store_attrs(path):
        store = DrawStore.open(path)
    else:
        yield None
        return
    with store:
        yield store

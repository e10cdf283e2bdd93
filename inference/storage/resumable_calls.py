"""Stores that an identical call continues: they keep a record of the arguments."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..runs.versions import tell_versions
from .store import DrawStore, store_attrs
from .untrusted_files import WRITTEN


def digest_of(values: Mapping[str, Any]) -> str:
    """Return a digest of named arrays, mappings and other values, which enter by their repr.

    It is equal if and only if the values are, in every process and on every machine. The width of a text
    dtype does not matter.
    """
    digest = blake2b(digest_size=16)
    for name in sorted(values):
        value = values[name]
        digest.update(f"{name}:{type(value).__name__}".encode())
        if isinstance(value, Mapping):
            digest.update(digest_of(value).encode())
        elif not isinstance(value, np.ndarray):
            digest.update(repr(value).encode())
        elif value.dtype.kind == "U":
            digest.update(repr((value.shape, value.ravel().tolist())).encode())
        else:
            digest.update(repr((value.shape, value.dtype.str)).encode())
            digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()


# --- Stores that an identical call continues: they keep a record of the arguments ---

ASKED = "asked"  # attribute of a store: JSON of the arguments it was begun with

SEED = "random_seed"


@dataclass(frozen=True)
class Asked:
    """Arguments of a call."""

    values: dict[str, Any]  # JSON-serialisable; all that the draws depend on, except the seed
    seed: int | None  # None: that of the store, or a random one

    def agreed(self, path: Path) -> "Agreed":
        """Return the arguments with the seed of the store if it exists, or else with a seed.

        Raises ValueError if the store was begun with other arguments. Warns with ResumeWarning if it is
        unfinished and was begun with another version of a package.
        """
        seed = self.seed
        if path.exists():
            seed = self._as_begun(path)
        elif seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        return Agreed(seed, json.dumps(self.values | {SEED: seed}, default=int))

    def _as_begun(self, path: Path) -> int:
        """Return the seed of a store that was begun with the same arguments."""
        attrs = store_attrs(path)
        if ASKED not in attrs:
            raise ValueError(f"{path} exists already, and was not begun by this call; name another store")
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
    """Raise if only an identical call can continue a store, as those of `scatter` and `dawid_skene_gibbs`."""
    if ASKED in attrs:
        raise ValueError(
            f"{path} was begun by inference.scatter, inference.dawid_skene_gibbs or `raterzoo fit --workers`: the same call, "
            "with the same data and settings, goes on with it"
        )


class Agreed(NamedTuple):
    """Seed of a run, and all arguments that its draws depend on, as JSON."""

    seed: int
    text: str


@contextmanager
def begun_or_new(
    path: Path,
    attrs: Mapping[str, Any],
    groups: Callable[[], Mapping[str, xr.Dataset]],
    chunks: Mapping[str, int],
) -> Iterator[DrawStore | None]:
    """Context manager: the locked store, created from `groups()` if missing; None if finished.

    `attrs` are those of an unfinished store, `groups()` returns the groups as `DrawStore.create` takes them,
    `chunks` are the chunk lengths by dim.
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

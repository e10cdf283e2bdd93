"""Stores that an identical call continues: they keep a record of the arguments."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..._messages import warn_user
from ...posterior.schema import other_versions
from .interruptions import NOTHING_KEPT, Advice
from .store import DrawStore, store_attrs, verify_store
from .untrusted_files import WRITTEN


def digest_of(values: Mapping[str, Any]) -> str:
    """Digest of named arrays (whatever the width of text), mappings and reprs; equal everywhere iff these are."""
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


ARGUMENTS = "asked"  # attribute of a store: JSON of the arguments it was begun with
SEED = "random_seed"


class StoreRecord(NamedTuple):
    """Seed of a run, and all arguments that its draws depend on, as JSON."""

    seed: int
    text: str


def record_of_call(path: Path, arguments: Mapping[str, Any], seed: int | None) -> StoreRecord:
    """Return the record of a call: with the seed of the store if it exists, or else with `seed` or a random one.

    `arguments` are JSON-serialisable: all that the draws depend on, except the seed. Raises ValueError if the store
    was begun with others. Warns with ResumeWarning if it is unfinished and was begun with other versions of packages.
    """
    if path.exists():
        attrs = store_attrs(path)
        if ARGUMENTS not in attrs:
            raise ValueError(f"{path} exists already, and was not begun by this call; name another store")
        verify_store(path)
        begun = json.loads(attrs[ARGUMENTS])
        ours = {**arguments, SEED: begun.get(SEED) if seed is None else seed}
        for name in ours | begun:
            if ours.get(name) != begun.get(name):
                raise ValueError(
                    f"{path} was begun with {name}={begun.get(name)!r}, not {ours.get(name)!r}; "
                    "ask for the same to go on with it, or name another store"
                )
        if WRITTEN in attrs:
            tell_versions(path, attrs)
        seed = int(begun[SEED])
    elif seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return StoreRecord(seed, json.dumps({**arguments, SEED: seed}, default=int))


def refuse_resume_of_sharded_run(path: Path, attrs: Mapping[str, Any]) -> None:
    """Raise if only an identical call can continue a store, as those of `scatter` and `dawid_skene_gibbs`."""
    if ARGUMENTS in attrs:
        raise ValueError(
            f"{path} was begun by inference.scatter, inference.dawid_skene_gibbs or `raterzoo fit --workers`: the same call, "
            "with the same data and settings, goes on with it"
        )


def how_to_repeat(path: Path) -> Advice:
    """Advice how to go on with a stopped call that its repetition continues."""
    if not path.exists():
        return NOTHING_KEPT
    return Advice(
        f"{path} keeps what was drawn", "the same call goes on with it", "the same command goes on with it"
    )


@contextmanager
def open_or_create_store(
    path: Path,
    attrs: Mapping[str, Any],
    groups: Callable[[], Mapping[str, xr.Dataset]],
    chunks: Mapping[str, int],
) -> Iterator[DrawStore | None]:
    """Context manager: the locked store, made of `attrs`, `groups()` and `chunks` if missing; None if finished."""
    if not path.exists():
        store = DrawStore.create(path, groups(), attrs, chunks)
    elif WRITTEN in store_attrs(path):
        store = DrawStore.open(path)
    else:
        yield None
        return
    with store:
        yield store


# --- Warning: the resumed run is not bit-identical to an uninterrupted one ---


class ResumeWarning(UserWarning):
    """A resumed run is not bit-identical to an uninterrupted one.

    Either it was begun with other versions of packages, so that last digits may differ; or a chain of nutpie, which
    is drawn again from its start, made other draws than those in the store.
    """


def tell_versions(path: Path, attrs: Mapping[str, Any]) -> None:
    """Warn with a `ResumeWarning` if the run at `path` was begun with other versions of packages."""
    if differ := other_versions(attrs):
        warn_user(
            f"{path} was begun with {differ}: the draws are of the same posterior, but their last digits may be others than "
            "those of an uninterrupted run",
            ResumeWarning,
        )

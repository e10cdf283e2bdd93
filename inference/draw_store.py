"""Draws on disk that are written piece by piece: killed at any moment, what was written can be read, and gone on with.

A store is a zarr group whose arrays have their final size from the beginning, NaN where nothing has been written. Beside it,
in ``<store>.journal``, one file says how far the writer is and what it carries on with. Both change by renaming whole files:

    write    pieces of arrays; until the next mark they do not count
    mark     the journal now says that they do
    finish   the attributes become those of the finished tree, and the journal goes
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import xarray as xr
import zarr

from .journal import Kept, keep, kept
from .journal_notes import check_run, check_state
from .store_lock import StoreLock
from .store_reading import WRITTEN, posterior_sizes, store_attrs

__all__ = ["DrawStore", "at_full_size", "journal_of", "refuse_existing"]

WHOLE = {"array.write_empty_chunks": True}  # nobody looks whether a piece is all NaN


def journal_of(path: Path) -> Path:
    """Return the folder of the journal of a store."""
    return path.with_name(path.name + ".journal")


class DrawStore:
    """A growing store, and its lock.

    Made by `create` or `open`; used in a ``with`` block, which gives the lock back.

    Attributes
    ----------
    path : Path
        The zarr group.
    journal : Path
        The folder beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path
        self.journal: Path = journal_of(path)
        self._lock = StoreLock(self.journal / "lock", path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        groups: Mapping[str, xr.Dataset],
        attrs: Mapping[str, Any],
        chunks: Mapping[str, int],
        kept: Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]] | None = None,
    ) -> Self:
        """Make a store in which nothing is written yet but what does not grow.

        Parameters
        ----------
        path : path
            Must not exist.
        groups : mapping of str to Dataset
            All groups at their final size. Variables that have one of the dims in `chunks` are not written: `at_full_size`
            makes such ones without memory. All others, and all coordinates, are.
        attrs : mapping of str to attribute
            Of the tree.
        chunks : mapping of str to int
            Length of a stored piece along every dim that grows.
        kept : mapping of str to note and arrays, optional
            Files of the journal, as of `keep`, that are there when the store is.

        Returns
        -------
        DrawStore
            Locked.

        Raises
        ------
        FileExistsError
            If there is something already.
        """
        store = cls(Path(path))
        refuse_existing(store.path)
        store.journal.mkdir(parents=True, exist_ok=True)
        store._lock.acquire()
        for left in store.journal.glob("*.npz"):  # of a store that was removed
            left.unlink()
        created = False
        try:
            with store.explained(), tempfile.TemporaryDirectory(dir=store.journal) as folder:
                begun = Path(folder) / "store"
                zarr.create_group(begun, attributes=dict(attrs) | {WRITTEN: 0})
                for name, group in groups.items():
                    _create_group(begun, name, group, chunks)
                for name, file in (kept or {}).items():
                    store.keep(name, *file)
                os.replace(begun, store.path)
            created = True
        finally:
            if not created:
                store.drop_journal()
        return store

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a store that is not finished, to go on with it.

        Parameters
        ----------
        path : path
            As it was created.

        Returns
        -------
        DrawStore
            Locked.

        Raises
        ------
        ValueError
            If it is no store, one of another schema, or has no journal.
        BlockingIOError
            If another process is writing to it.
        """
        store = cls(Path(path))
        attrs = store_attrs(store.path)
        if WRITTEN not in attrs:
            raise ValueError(f"{store.path} is finished: there is nothing to go on with")
        if not store.journal.is_dir():
            raise ValueError(
                f"{store.journal} is missing, without which {store.path} can be read but not gone on with; move the two together"
            )
        store._lock.acquire()
        return store

    @property
    def is_marked(self) -> bool:
        """Whether anything that was written counts."""
        return (self.journal / "state.npz").exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def write(self, region: Mapping[str, slice], groups: Mapping[str, xr.Dataset]) -> None:
        """Write a piece of every variable; it counts from the next `mark`.

        Parameters
        ----------
        region : mapping of str to slice
            Where the piece lies along the dims that grow.
        groups : mapping of str to Dataset
            The piece. Variables without such a dim are replaced.
        """
        with self.explained(), zarr.config.set(WHOLE):
            for name, group in groups.items():
                arrays = zarr.open_group(self.path, path=name, mode="r+")
                for variable, piece in group.data_vars.items():
                    place = tuple(region.get(str(dim), slice(None)) for dim in piece.dims)
                    cast(zarr.Array, arrays[str(variable)])[place or ...] = piece.to_numpy()

    def mark(self, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], written: int) -> None:
        """Say in the journal that all that was written counts.

        Parameters
        ----------
        note : mapping
            What JSON can hold.
        arrays : mapping of str to ndarray
            What the writer carries on with.
        written : int
            Draws that readers may take: the attribute `draws_written`.
        """
        with self.explained():
            self.keep("state", note, arrays)
            zarr.open_group(self.path, mode="r+").attrs[WRITTEN] = written

    def keep(self, name: str, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Put a file into the journal, or replace it."""
        with self.explained():
            keep(self.journal / f"{name}.npz", note, arrays)

    def kept(self, name: str = "state") -> tuple[Kept, Kept]:
        """Return note and arrays of a file of the journal, checked: "run", or "state", what was marked last."""
        file = self.journal / f"{name}.npz"
        note, arrays = kept(file)
        if name == "run":
            check_run(file, note, posterior_sizes(self.path))
        else:
            check_state(file, note, arrays, posterior_sizes(self.path))
        return note, arrays

    def finish(self, attrs: Mapping[str, Any]) -> None:
        """Give the store the attributes of the finished tree, and drop the journal."""
        with self.explained():
            zarr.open_group(self.path, mode="r+").attrs.put(dict(attrs))
        self.drop_journal()

    def discard(self) -> None:
        """Remove the store and its journal; killed meanwhile, no part of a store is left where it was."""
        with tempfile.TemporaryDirectory(dir=self.journal) as folder:
            os.replace(self.path, Path(folder) / "store")
        self.drop_journal()

    def drop_journal(self) -> None:
        """Remove the journal, with its lock."""
        self._lock.release()
        shutil.rmtree(self.journal)

    @contextmanager
    def explained(self):
        """Say of a full disk which store is left, and how to go on."""
        try:
            yield
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                problem.errno,
                f"no space is left on the disk of {self.path}; what was written before can be read. Make room, and go on by "
                f"inference.resume({str(self.path)!r}), or what inference.scatter began by the same call",
            ) from problem


def refuse_existing(path: Path) -> None:
    """Raise `FileExistsError` if there is something where a store is to be."""
    if path.exists():
        raise FileExistsError(
            errno.EEXIST,
            f"{path} exists already; go on with it (inference.resume, or the call that made it), or name another store",
        )


def at_full_size(
    groups: Mapping[str, xr.Dataset], sizes: Mapping[str, int]
) -> dict[str, xr.Dataset]:
    """Return groups as they will be when all is drawn, without memory for it.

    Parameters
    ----------
    groups : mapping of str to Dataset
        A piece of every variable.
    sizes : mapping of str to int
        Final length of the dims that grow; their coordinates are the numbers from 0.

    Returns
    -------
    dict of str to Dataset
        Variables with such a dim are NaN (whole numbers 0) throughout.
    """
    full = {}
    for name, group in groups.items():
        growing = {n: v for n, v in group.variables.items() if set(v.dims) & sizes.keys()}
        rest = group.drop_vars([*growing])
        lengths = {**group.sizes, **sizes}
        arrays = {
            n: (v.dims, np.broadcast_to(_nothing(v.dtype), [lengths[d] for d in v.dims]), v.attrs)
            for n, v in growing.items()
            if n not in sizes
        }
        counted = {dim: np.arange(n) for dim, n in sizes.items() if dim in growing}
        full[name] = rest.assign(arrays).assign_coords(counted)
    return full


def _nothing(dtype: np.dtype) -> np.ndarray:
    """Return what stands where nothing has been written."""
    return np.array(np.nan if dtype.kind == "f" else 0, dtype)


def _create_group(store: Path, name: str, group: xr.Dataset, chunks: Mapping[str, int]) -> None:
    """Write what is known of a group, and make room for the rest."""
    growing = [n for n, v in group.data_vars.items() if set(v.dims) & chunks.keys()]
    group.drop_vars(growing).to_zarr(store, group=name, mode="a", consolidated=False)
    arrays = zarr.open_group(store, path=name, mode="r+")
    for variable in growing:
        array = group[variable]
        arrays.create_array(
            str(variable),
            shape=array.shape,
            dtype=array.dtype,
            chunks=tuple(min(n, chunks.get(str(d), n)) for d, n in array.sizes.items()),
            fill_value=_nothing(array.dtype).item(),
            compressors=None,  # digits of draws are as good as random
            dimension_names=[str(dim) for dim in array.dims],
            attributes=dict(array.attrs),
        )

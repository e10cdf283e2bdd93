"""Store of draws on disk, readable and resumable after a kill at any moment.

A store is a zarr group whose arrays have their final size from the start, filled with NaN. The journal, a
folder ``<store>.journal`` beside it, holds progress and state of the writer. Files are renamed into place:

    write    a block of draws; it does not count before the next mark
    mark     the journal records that all that was written counts
    finish   the attributes of the final tree are set, and the journal is removed

Every chunk carries a CRC-32C (zarr's codec ``crc32c``), so that a damaged one is a ValueError whenever it is read. A missing
chunk would read as fill values: all are written, and `verify_store` refuses a store that lacks one. Metadata have no checksum.
"""

import errno
import os
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import IO, Any, Self, cast

import lazy_loader
import numpy as np
import xarray as xr

from ..._messages import step
from ...posterior.groups import tree_like
from ...posterior.schema import check_schema, with_current_dims
from .interruptions import Advice
from .journal import JournalEntries, check_run, check_state, read_journal, write_journal
from .permissions import is_private, make_journal, private_files
from .untrusted_files import DAMAGED, WRITTEN, DamageError, check_zarr, damaged, readable_part

zarr: Any = lazy_loader.load("zarr")  # most fits store nothing

FEWEST_BLOCKS = 20  # of draws of a run, and chunks of every variable
MOST_BYTES = 2**26  # of a block of draws
CONSTANT = ("constant_data", "observed_data")  # groups without draws
REPLACED = "replaced"  # folder of the journal with a store that is being replaced
MISSING_TEXT = "\ufffd"  # fill value of text

StorePath = str | os.PathLike[str]


def draws_per_block(size: float, draws: int) -> int:
    """Return the number of draws per block: a twentieth of the run, or fewer of `size` bytes each to keep to `MOST_BYTES`."""
    return max(1, min(int(MOST_BYTES // size), ceil(draws / FEWEST_BLOCKS)))


def read_draws(path: str | os.PathLike[str]) -> xr.DataTree:
    """Open a store lazily as a DataTree; of an unfinished one, only the draws that all chains have."""
    store_attrs(Path(path))
    return open_checked(Path(path))


def open_checked(path: Path) -> xr.DataTree:
    """Open a store that `check_zarr` has accepted lazily."""
    with _foreign_files_ignored():
        tree = xr.open_datatree(path, engine="zarr", consolidated=False, decode_times=False)
    return with_current_dims(trimmed(tree))


@contextmanager
def _foreign_files_ignored() -> Iterator[None]:
    """Context manager: no warning of files that zarr does not know, such as those that file managers leave."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at .* is not recognized", UserWarning)
        yield


def _checked_arrays(path: Path) -> dict[str, Any]:
    """Arrays of a store whose chunks are files with a checksum, by their key."""
    with _foreign_files_ignored():
        members = zarr.open_group(path, mode="r").members(max_depth=None)
    arrays = {name: node for name, node in members if isinstance(node, zarr.Array) and node.shards is None}
    return {name: array for name, array in arrays.items() if is_checked(array.compressors)}


def is_checked(codecs: Iterable[Any]) -> bool:
    """Whether one of the codecs of an array is a checksum."""
    return any(isinstance(codec, zarr.codecs.Crc32cCodec) for codec in codecs)


def verify_store(path: Path) -> None:
    """Read all chunks of a store that `check_zarr` has accepted; raise a `DamageError` if one is damaged or missing.

    Of an unfinished store, chunks of draws that are not written yet may be missing, and in any store those of arrays filled with
    zero, as other programs leave out chunks of zeros. Arrays without checksums are not read.
    """
    written = zarr.open_group(path, mode="r").attrs.get(WRITTEN)
    arrays = _checked_arrays(path)
    total = sum(array.nchunks for array in arrays.values())
    with step("Checking the stored posterior", total) as shown:
        for name, array in arrays.items():
            for place in np.ndindex(*array.cdata_shape):
                key = f"{name}/{array.metadata.encode_chunk_key(place)}"
                if (path / key).exists():
                    try:
                        array.blocks[place] if place else array[()]
                    except DAMAGED as problem:
                        raise damaged(path, key, "its bytes are not those that were written") from problem
                elif array.fill_value and (written is None or _has_draws(array, place, written)):
                    raise damaged(path, key, "it is missing")
                shown.advance(1)


def _has_draws(array: Any, place: tuple[int, ...], written: int | list[int]) -> bool:
    """Whether a chunk of an unfinished store has draws that are written, or is none of draws."""
    dims = array.metadata.dimension_names or ()
    if "draw" not in dims or array.ndim == 1:
        return True
    first: dict[str, int] = {
        dim: n * length for dim, n, length in zip(dims, place, array.chunks, strict=True)
    }
    drawn = written if isinstance(written, int) else dict(enumerate(written)).get(first["chain"], 0)
    return first["draw"] < drawn


def trimmed(tree: xr.DataTree) -> xr.DataTree:
    """Drop the draws of an unfinished store that are not written yet, and chains without as many as most of the first have."""
    if WRITTEN not in tree.attrs:
        return tree
    chains, drawn = readable_part(tree.attrs[WRITTEN])
    part = {"chain": slice(chains), "draw": slice(drawn)}
    groups = {n: node.to_dataset().isel(part, missing_dims="ignore") for n, node in tree.children.items()}
    return tree_like(tree, groups, **{WRITTEN: drawn})


def store_attrs(path: Path) -> dict[str, Any]:
    """Attributes of a store; `FileNotFoundError` without one, `ValueError` if it is invalid or of a newer schema."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no store {path}")
    try:
        check_zarr(path)
        attrs = dict(zarr.open_group(path, mode="r").attrs)
    except DamageError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as problem:
        remedy = "sample(..., store=) makes one"
        raise ValueError(f"{path} is not a zarr store of draws ({problem}); {remedy}") from problem
    check_schema(path, attrs)
    return attrs


def posterior_sizes(path: Path) -> dict[str, int]:
    """Lengths of the dims of the posterior of a store that `store_attrs` has validated; empty if there is none."""
    with _foreign_files_ignored():
        group = zarr.open_group(path, mode="r").get("posterior")
        arrays = [array for _, array in group.arrays()] if isinstance(group, zarr.Group) else []
    named = [(getattr(a.metadata, "dimension_names", None) or (), a.shape) for a in arrays]
    return {str(dim): n for dims, shape in named for dim, n in zip(dims, shape, strict=True)}


# --- Lock file of a store: one writer at a time; the system releases the lock when its process dies ---

try:
    import fcntl
except ImportError:  # Windows: simultaneous writers are not detected
    fcntl = None


class StoreLock:
    """Exclusive lock of a store, on a file that holds the process id of the owner."""

    def __init__(self, file: Path, store: Path) -> None:
        self._path, self._store = file, store
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Acquire the lock; raise `BlockingIOError` with the process id of the owner if it is taken."""
        file = self._path.open("a+")
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise BlockingIOError(
                errno.EWOULDBLOCK,
                f"process {owner} is writing to {self._store}; wait until it has ended, or end it",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None


def journal_of(path: Path) -> Path:
    """Path of the journal of a store."""
    return path.with_name(path.name + ".journal")


class DrawStore:
    """Locked store of draws, by `create` or `open`, a context manager; ``path`` is a zarr group, ``journal`` lies beside it."""

    def __init__(self, path: Path) -> None:
        self.path: Path = path
        self.journal: Path = journal_of(path)
        self._lock = StoreLock(self.journal / "lock", path)
        self._private = False

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        journal: Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]] | None = None,
    ) -> Self:
        """Lock the path of a new store, which `allocate` makes; `FileExistsError` if it exists.

        `journal` holds files, note and arrays by name, for a run whose store is made later.
        """
        store = cls(Path(path))
        refuse_existing(store.path)
        make_journal(store.journal)
        store._acquire()
        for left in store.journal.glob("*.npz"):  # left by a store that was removed
            left.unlink()
        with store._dropped_at_errors():
            store._write_files(journal)
        return store

    def _write_files(
        self, journal: Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]] | None
    ) -> None:
        """Write files of the journal, note and arrays by name."""
        for name, file in (journal or {}).items():
            self.write_journal(name, *file)

    def allocate(
        self,
        groups: Mapping[str, xr.Dataset],
        attrs: Mapping[str, Any],
        chunks: Mapping[str, int],
        journal: Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]] | None = None,
    ) -> None:
        """Make the store: constants and coordinates written, draws allocated.

        `groups` have their final size (see `allocated`); variables with a dim in `chunks`, the chunk length along
        each growing dim, are allocated but not written, all others are written. `journal` holds the files that must
        exist as soon as the store does: they are written last, so that few kills leave a journal alone.
        """
        with self.disk_full_errors(), tempfile.TemporaryDirectory(dir=self.journal) as folder:
            begun = Path(folder) / "store"  # moved to its path when it is complete
            zarr.create_group(begun, attributes=dict(attrs) | {WRITTEN: 0})
            for name, group in groups.items():
                _create_group(begun, name, group, chunks)
            self._write_files(journal)
            os.replace(begun, self.path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        groups: Mapping[str, xr.Dataset],
        attrs: Mapping[str, Any],
        chunks: Mapping[str, int],
        journal: Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]] | None = None,
    ) -> Self:
        """Lock and make a new store: `begin`, and `allocate`."""
        store = cls.begin(path)
        with store._dropped_at_errors():
            store.allocate(groups, attrs, chunks, journal)
        return store

    @contextmanager
    def _dropped_at_errors(self) -> Iterator[None]:
        """Context manager: the journal is removed at an error."""
        try:
            yield
        except BaseException:
            self.drop_journal()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open and lock an unfinished store; ValueError if unfit for resume, BlockingIOError if it is in use."""
        store = cls(Path(path))
        attrs = store_attrs(store.path)
        if WRITTEN not in attrs:
            raise ValueError(f"{store.path} is finished: there is nothing left to resume")
        if "label" in posterior_sizes(store.path):
            raise ValueError(
                f"{store.path} was begun by raterzoo 0.1, which named the dim 'answer' 'label': its draws can be read, but only "
                "that version can go on with it; begin a new store"
            )
        if not store.journal.is_dir():
            lost = f"without it {store.path} can be read but not resumed; move the two together"
            raise ValueError(f"{store.journal} is missing: {lost}")
        store._acquire()
        return store

    def _acquire(self) -> None:
        """Acquire the lock; files of the store are as private as its journal."""
        self._private = is_private(self.journal)
        with private_files(self._private):
            self._lock.acquire()

    @property
    def is_marked(self) -> bool:
        """Whether the journal records any draws."""
        return self.has_journal("state")

    def has_journal(self, name: str) -> bool:
        """Whether the journal has a file."""
        return (self.journal / f"{name}.npz").exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        restore_replaced(self.path)
        if self.journal.exists() and not self.path.exists():  # nothing has been written
            self.drop_journal()
        self._lock.release()

    def drawn(self, chains: int) -> list[int]:
        """Return the written draws of each chain."""
        written = store_attrs(self.path)[WRITTEN]
        return [written] * chains if isinstance(written, int) else written

    def chains(self, group: str, chains: list[int]) -> xr.Dataset:
        """Read some chains of a group, marked or not. Shapes: (chain, draw, ...)."""
        stored = xr.open_zarr(self.path, group=group, consolidated=False, chunks=None, decode_times=False)
        return stored.isel(chain=chains).load()

    def write(self, region: Mapping[str, slice], groups: Mapping[str, xr.Dataset]) -> None:
        """Write a block of draws at the slices `region` along growing dims, or replace; it counts from the next `mark`."""
        with self.disk_full_errors(), all_chunks_written():
            for name, group in groups.items():
                arrays = zarr.open_group(self.path, path=name, mode="r+")
                for variable, block in group.data_vars.items():
                    place = tuple(region.get(str(dim), slice(None)) for dim in block.dims)
                    cast(Any, arrays[str(variable)])[place or ...] = block.to_numpy()

    def mark(
        self, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], written: int | list[int]
    ) -> None:
        """Record in the journal that all writes count, with `note` and `arrays`; `written` draws, of all or each chain, count."""
        with self.disk_full_errors():
            self.write_journal("state", note, arrays)
            zarr.open_group(self.path, mode="r+").attrs[WRITTEN] = written

    def write_journal(self, name: str, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write or replace a file of the journal."""
        with self.disk_full_errors():
            write_journal(self.journal / f"{name}.npz", note, arrays)

    def read_journal(self, name: str = "state") -> tuple[JournalEntries, JournalEntries]:
        """Read and validate a file of the journal: "run", or "state", the last mark. Returns note and arrays."""
        file = self.journal / f"{name}.npz"
        note, arrays = read_journal(file)
        sizes = posterior_sizes(self.path)
        check_run(file, note, sizes) if name == "run" else check_state(file, note, arrays, sizes)
        return note, arrays

    def finish(self, attrs: Mapping[str, Any]) -> None:
        """Set the attributes of the final tree, and remove the journal."""
        with self.disk_full_errors():
            zarr.open_group(self.path, mode="r+").attrs.put(dict(attrs))
        self.drop_journal()

    def replace(self, tree: xr.DataTree) -> None:
        """Replace the store, if there is one, by a finished one of a tree, and remove the journal."""
        with self.disk_full_errors():
            finished = self.journal / "finished"
            write_zarr(tree, finished)
            if self.path.exists():
                os.replace(self.path, self.journal / REPLACED)
            os.replace(finished, self.path)
        self.drop_journal()

    def discard(self) -> None:
        """Remove the store and its journal; if killed meanwhile, no partial store is left at its path."""
        with tempfile.TemporaryDirectory(dir=self.journal) as folder:
            os.replace(self.path, Path(folder) / "store")
        self.drop_journal()

    def drop_journal(self) -> None:
        """Release the lock and remove the journal."""
        self._lock.release()
        shutil.rmtree(self.journal)

    @contextmanager
    def disk_full_errors(self):
        """Context manager for writing: re-raise the error of a full disk with the store's path and the remedy."""
        try:
            with private_files(self._private):
                yield
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DiskFullError(problem.errno, self.path) from problem


def restore_replaced(path: Path) -> None:
    """Put a store back that was to be replaced when its writer was killed."""
    if not path.exists() and (journal_of(path) / REPLACED).exists():
        os.replace(journal_of(path) / REPLACED, path)


class DiskFullError(OSError):
    """Error of a store for which no space is left; `with_option` is in the words of the command line."""

    def __init__(self, number: int, path: Path) -> None:
        full = f"no space is left on the disk of {path}; the draws written before can be read. Make room, and resume by"
        super().__init__(
            number,
            f"{full} inference.resume({str(path)!r}), or by repeating the call if inference.scatter or "
            "inference.dawid_skene_gibbs began the run",
        )
        self.with_option: str = f"{full}: {resume_command(path)}, or with --workers by the same command"


def resume_command(path: Path) -> str:
    """Return the shell command that goes on with a store of one process."""
    return f"raterzoo fit --resume {shlex.quote(str(path))}"


def how_to_resume(path: Path, drawn: int, draws: int, model: bool) -> Advice:
    """Advice how to go on with a run that was stopped after `drawn` of its `draws`; `model`: it must be given the model."""
    arguments = f"{str(path)!r}, model" if model else repr(str(path))
    return Advice(
        f"{path} keeps {drawn:,} of {draws:,} draws of each chain",
        f"inference.resume({arguments}) draws the rest",
        f"go on by: {resume_command(path)}",
    )


def refuse_existing(path: Path) -> None:
    """Raise `FileExistsError` if the path of a new store exists."""
    if path.exists():
        raise FileExistsError(
            errno.EEXIST,
            f"{path} exists already; go on with it (inference.resume, or the call that made it), or name another store",
        )


def allocated(groups: Mapping[str, xr.Dataset], sizes: Mapping[str, int]) -> dict[str, xr.Dataset]:
    """Expand groups of one block to their final `sizes` along growing dims, counted from 0, without memory for the draws."""
    full = {}
    for name, group in groups.items():
        growing = {n: v for n, v in group.variables.items() if set(v.dims) & sizes.keys()}
        lengths = {**group.sizes, **sizes}
        arrays = {
            n: (v.dims, np.broadcast_to(_fill_value(v.dtype), [lengths[d] for d in v.dims]), v.attrs)
            for n, v in growing.items()
            if n not in sizes
        }
        counted = {dim: np.arange(n) for dim, n in sizes.items() if dim in growing}
        full[name] = group.drop_vars([*growing]).assign(arrays).assign_coords(counted)
    return full


def _fill_value(dtype: np.dtype) -> Any:
    """Fill value that numbers hardly have, as zarr leaves out chunks of nothing else; False of truth values."""
    if dtype.kind == "f":
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return np.False_
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if dtype.kind == "u" else limits.min)


@contextmanager
def all_chunks_written() -> Iterator[None]:
    """Context manager: zarr writes all chunks, also those of fill values alone."""
    with zarr.config.set({"array.write_empty_chunks": True}):
        yield


def write_zarr(tree: xr.DataTree, path: Path) -> None:
    """Write or replace a store of a tree, with checksums."""
    encoding = {node.path: checksum_encoding(node.to_dataset(inherit=False)) for node in tree.subtree}
    with all_chunks_written():
        tree.to_zarr(path, mode="w", consolidated=False, encoding=encoding)


def checksum_encoding(group: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the encoding of a group, for `to_zarr`, by which each chunk gets a checksum."""
    codecs = zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()
    return {
        str(name): {
            "compressors": codecs,
            "fill_value": _fill_value(v.dtype) if v.dtype.kind in "biuf" else MISSING_TEXT,
        }
        for name, v in group.variables.items()
    }


def _create_group(store: Path, name: str, group: xr.Dataset, chunks: Mapping[str, int]) -> None:
    """Write the constants and coordinates of a group, and allocate its growing variables."""
    growing = [n for n, v in group.data_vars.items() if set(v.dims) & chunks.keys()]
    constant = group.drop_vars(growing)
    with all_chunks_written():
        constant.to_zarr(
            store, group=name, mode="a", consolidated=False, encoding=checksum_encoding(constant)
        )
    arrays = zarr.open_group(store, path=name, mode="r+")
    for variable in growing:
        array = group[variable]
        arrays.create_array(
            str(variable),
            shape=array.shape,
            dtype=array.dtype,
            chunks=tuple(min(n, chunks.get(str(d), n)) for d, n in array.sizes.items()),
            fill_value=_fill_value(array.dtype).item(),
            compressors=zarr.codecs.Crc32cCodec(),  # draws are nearly incompressible
            dimension_names=[str(dim) for dim in array.dims],
            attributes=dict(array.attrs),
        )

"""Checksums of stored posteriors: damage to any byte is found before its values are used.

A zarr store has a text file `CHECKSUMS` with the CRC-32C and the size of each of its files, also of the metadata.
It lies in the folder of an array, where zarr ignores further files. A writer appends a line before it writes or
replaces a file, and a mark when all files so far have been written, so that it is valid after a kill at any moment. Who goes on
after a kill first settles which of the files since the last mark were written:

    3f9a0c1d 4096 posterior/plausibility/c/0/0/0
    mark
    end 90e1b2f7                                  the CRC-32C of all lines before it, in a finished store

A netCDF file ends with its CRC-32C, in bytes behind those of HDF5, which HDF5 ignores; a comment of its root group
says that they belong there. CRC-32C finds accidents and careless edits, not forgeries: whoever edits a file can also
edit its checksum. What another program writes anew, from a posterior read by it, has no checksums and is read without.
"""

import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import google_crc32c
import lazy_loader
import numpy as np

from ..._messages import step
from ...models.data.errors import DataError
from .untrusted_files import WRITTEN

h5py: Any = lazy_loader.load("h5py")  # only netCDF files need it

CHECKSUMS = "checksums.txt"
FORMAT = b"raterzoo checksums 1\n"
MARK, END = "mark", "end"
STAMP = b" \n"  # white space behind each zarr.json of a store with checksums; lost when another program writes it anew
ROOT = "zarr.json"
BLOCK = 2**20  # bytes that are read at a time
HARMLESS = {"desktop.ini", "thumbs.db", ".ds_store"}  # left by file managers, in any case
UNKNOWN = "it is none of the files that were written to the store"
MAX_CHECKSUMS = 2**30  # bytes of a file of checksums
LINE = re.compile(rb"([0-9a-f]{8}) (\d{1,18}) ([^\n\0]+)")
COMMENT = b"raterzoo crc32c"
TAIL = re.compile(rb"\n" + COMMENT + rb" ([0-9a-f]{8})\n")
TAIL_LENGTH = len(COMMENT) + 11


class DamageError(DataError):
    """Stored posterior that is not as it was written."""


class Checksum(NamedTuple):
    """CRC-32C and number of bytes of a file."""

    crc: int
    size: int

    @classmethod
    def of(cls, data: Any) -> "Checksum":
        """Return the checksum of bytes or an array of bytes."""
        return cls(google_crc32c.value(data), len(data))

    @classmethod
    def of_file(cls, path: str | os.PathLike[str], end: int | None = None) -> "Checksum":
        """Return the checksum of a file, or of its first `end` bytes, in bounded memory."""
        block, crc, size = np.empty(BLOCK, np.uint8), 0, 0
        with open(path, "rb", buffering=0) as file:
            while read := file.readinto(
                memoryview(block)[: BLOCK if end is None else min(BLOCK, end - size)]
            ):
                crc, size = google_crc32c.extend(crc, block[:read]), size + read
        return cls(crc, size)


class Checksums:
    """Checksums of the files of a zarr store, by key, the path in the store with slashes.

    `settled` files must be there. A `pending` file, written since the last mark, may be there or not, or be the
    settled one that it replaces.
    """

    def __init__(self, store: Path, file: Path | None = None) -> None:
        self.store = store
        self._file = file  # None: nothing is written before `begin` or `seal`
        self._settled: dict[str, Checksum] = {}
        self._pending: dict[str, list[Checksum]] = {}
        self._sealed = False
        self._lock = threading.Lock()  # zarr may write from several threads

    @classmethod
    def of(cls, store: Path) -> "Checksums | None":
        """Read the checksums of a store; None if it has none, as those of other programs and of raterzoo 0.1."""
        root = (store / ROOT).read_bytes()  # before the checksums, which are sealed before it is replaced
        found = sorted(store.glob(f"*/*/{CHECKSUMS}"))
        if len(found) > 1:
            raise damaged(store, _key(found[1], store), "it has two files of checksums")
        if not found:
            if root.endswith(STAMP):
                raise damaged(store, CHECKSUMS, "the file of its checksums is missing")
            return None
        result = cls(store, found[0])
        result._parse()
        if not result._sealed and WRITTEN not in (json.loads(root).get("attributes") or {}):
            raise result._malformed("its last lines are missing")
        return result

    @classmethod
    def adopted(cls, store: Path) -> "Checksums":
        """Return checksums of the files of a store without any, as they are now, and write them."""
        result = cls(store)
        result._settled = {key: Checksum.of_file(store / key) for key, _ in _files(store)}
        result.begin()
        return result

    def moved(self, store: Path) -> Self:
        """Return the checksums of the store after it was moved."""
        result = type(self)(store, store / _key(self._home, self.store))
        result._settled = self._settled
        return result

    def _parse(self) -> None:
        """Read the file."""
        file = self._home
        if file.stat().st_size > MAX_CHECKSUMS:
            raise self._malformed("it is too long")
        lines = file.read_bytes().splitlines(keepends=True)
        if not lines or lines[0] != FORMAT:
            raise self._malformed("it has another format")
        if not lines[-1].endswith(b"\n"):  # a write that was interrupted
            lines.pop()
        self._settled, self._pending, self._sealed = {}, {}, False
        crc = google_crc32c.value(FORMAT)
        for line in lines[1:]:
            text = line[:-1]
            self._sealed = text.startswith(END.encode() + b" ")
            if self._sealed:
                if text != _end(crc):
                    raise self._malformed("its own checksum is another")
            elif text == MARK.encode():
                self._settle()
            elif found := LINE.fullmatch(text):
                key = found[3].decode("utf-8", "replace")
                self._pending.setdefault(key, []).append(Checksum(int(found[1], 16), int(found[2])))
            else:
                raise self._malformed("a line of it is none of checksums")
            crc = google_crc32c.extend(crc, line)

    @property
    def _home(self) -> Path:
        """Path of the file of checksums."""
        assert self._file is not None
        return self._file

    def _malformed(self, problem: str) -> DamageError:
        """Error of a damaged file of checksums."""
        return damaged(self.store, _key(self._home, self.store), problem)

    # --- Writing ---

    def record(self, key: str, data: Any) -> None:
        """Record the bytes that are about to be written as a file."""
        checksum = Checksum.of(data)
        with self._lock:
            if self._file is not None:
                self._append(_line(key, checksum))
            self._pending.setdefault(key, []).append(checksum)

    def mark(self) -> None:
        """Record that all files so far have been written."""
        self._append(MARK)
        self._settle()

    def resolve(self) -> None:
        """Settle the files since the last mark as they are: a kill may have come between a line and its file."""
        for key, known in self._pending.items():
            file = self.store / key
            if file.is_file() and (found := Checksum.of_file(file)) in known:
                self._settled[key] = found
        if self._pending:
            self._pending = {}
            self._write([*map(_line, self._settled, self._settled.values()), MARK])

    def forget(self, removed: str) -> None:
        """Forget a file or folder that is removed while a store is made; "" is the store."""
        folder = f"{removed}/" if removed else ""
        for found in (self._settled, self._pending):
            for key in [key for key in found if key == removed or key.startswith(folder)]:
                del found[key]

    def begin(self) -> None:
        """Write the file of a new store, whose files have all been written."""
        self._settle()
        self._file = self._new_home()
        self._write([*map(_line, self._settled, self._settled.values()), MARK])

    def seal(self, last: dict[str, bytes] | None = None) -> None:
        """Write the final file; `last` are files that are yet to be replaced."""
        self._settle()
        if self._file is None:
            self._file = self._new_home()
        lines = [*map(_line, self._settled, self._settled.values()), MARK]
        for key, data in (last or {}).items():
            self._pending[key] = [Checksum.of(data)]
            lines.append(_line(key, self._pending[key][0]))
        text = FORMAT + b"".join(line.encode() + b"\n" for line in lines)
        self._write([*lines, _end(google_crc32c.value(text)).decode()])

    def _settle(self) -> None:
        """Count all pending files as written."""
        self._settled |= {key: found[-1] for key, found in self._pending.items()}
        self._pending = {}

    def _new_home(self) -> Path:
        """Path of the file of a store without one: in the folder of the first array of a group."""
        for file in sorted(self.store.glob(f"*/*/{ROOT}")):
            if json.loads(file.read_bytes())["node_type"] == "array":
                return file.with_name(CHECKSUMS)
        raise ValueError(f"{self.store}: there are no arrays in it")

    def _write(self, lines: list[str]) -> None:
        """Write or replace the file atomically."""
        partial = self._home.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(FORMAT + b"".join(line.encode() + b"\n" for line in lines))
        os.replace(partial, self._home)

    def _append(self, line: str) -> None:
        """Append a line whole or not at all."""
        with self._home.open("r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(end - 1)
            if file.read(1) != b"\n":  # left by a kill
                file.seek(0)
                end = file.read().rindex(b"\n") + 1
                file.seek(end)
                file.truncate()
            try:
                file.write(line.encode() + b"\n")
            except OSError:  # the disk is full
                file.truncate(end)
                raise

    # --- Reading ---

    def check(self, key: str, data: Any) -> None:
        """Raise a `DamageError` unless bytes, or None for no file, are those that were written under a key."""
        found = None if data is None else Checksum.of(data)
        if self._problem(key, found) is None:
            return
        if self._file is not None:
            self._parse()  # a writer may have replaced the file in the meantime
        if problem := self._problem(key, found):
            raise damaged(self.store, key, problem)

    def _problem(self, key: str, found: Checksum | None) -> str | None:
        """Return the defect of a file, None if it is as it was written."""
        settled, pending = self._settled.get(key), self._pending.get(key, [])
        if found is None:
            return None if settled is None else "it is missing"
        known = [*pending, *([] if settled is None else [settled])]
        if not known:
            return UNKNOWN
        if found in known:
            return None
        if found.size not in [checksum.size for checksum in known]:
            return f"it has {found.size:,} bytes, and {known[0].size:,} were written"
        return "its bytes are not those that were written (its checksum is another)"

    def verify(self) -> None:
        """Read all files, and raise a `DamageError` at the first that is not as it was written."""
        sizes = dict(_files(self.store))
        for key in self._settled.keys() - sizes.keys():
            self.check(key, None)
        with step("Checking the stored posterior", sum(sizes.values())) as shown:
            for key, size in sizes.items():
                if self._problem(key, Checksum.of_file(self.store / key)):
                    self._parse()  # a writer may have replaced the file in the meantime
                    if problem := self._problem(key, Checksum.of_file(self.store / key)):
                        raise damaged(self.store, key, problem)
                shown.advance(size)


def damaged(store: Path, key: str, problem: str) -> DamageError:
    """`DamageError` for a file of a store."""
    remedy = (
        "copy the store again from where it is whole, or fit again; if you changed it yourself, write it to another "
        "store by xarray (open_datatree, to_zarr), which is read without checksums"
    )
    if problem == UNKNOWN:
        remedy = f"remove it, if it is no part of the posterior; else {remedy}"
    return DamageError(problem, remedy=remedy, where=f"{store}, {key}")


def _line(key: str, checksum: Checksum) -> str:
    """Return the line of a file."""
    return f"{checksum.crc:08x} {checksum.size} {key}"


def _end(crc: int) -> bytes:
    """Return the last line, with the checksum of the lines before."""
    return f"{END} {crc:08x}".encode()


def _key(file: Path, store: Path) -> str:
    """Return the key of a file."""
    return file.relative_to(store).as_posix()


def _files(store: Path) -> Iterator[tuple[str, int]]:
    """Yield key and size of the files of a store, without those of checksums, hidden, temporary and harmless ones."""
    for folder, _, names in os.walk(store):
        for name in names:
            file = Path(folder, name)
            passed_over = name == CHECKSUMS or name.startswith(".") or name.lower() in HARMLESS
            if not passed_over and file.suffix != ".partial":
                yield _key(file, store), file.stat().st_size


# --- netCDF ---


def append_checksum(path: Path) -> None:
    """Append the checksum of a netCDF file to it; a comment that HDF5 keeps says so."""
    with h5py.File(path, "r+") as file:
        file["/"].id.set_comment(b".", COMMENT)
    crc = Checksum.of_file(path).crc
    with path.open("ab") as file:
        file.write(b"\n%b %08x\n" % (COMMENT, crc))


def check_netcdf_bytes(path: Path) -> None:
    """Raise a `DamageError` if a netCDF file has a checksum, and is not as it was written."""
    size, tail = path.stat().st_size, _tail(path)
    if tail is not None:
        with step("Checking the stored posterior"):
            if Checksum.of_file(path, size - TAIL_LENGTH).crc != int(tail[1], 16):
                problem = "its bytes are not those that were written (its checksum is another)"
                raise _damaged_netcdf(path, problem)
        return
    with path.open("rb") as file:
        end = _end_of_hdf5(file.read(64), size)
        file.seek(min(end, size))
        behind = file.read(TAIL_LENGTH)
    if behind and (size - end <= 2 * TAIL_LENGTH or TAIL.fullmatch(behind)):
        raise _damaged_netcdf(path, "the checksum at its end is damaged")


def check_netcdf_comment(path: Path) -> None:
    """Raise a `DamageError` if a netCDF file that `check_netcdf` has accepted had a checksum, and lost it."""
    if _tail(path) is None:
        with h5py.File(path, "r") as file:
            if file["/"].id.get_comment(b".") == COMMENT:
                problem = (
                    "the checksum at its end is missing: another program has changed the file, or it was cut"
                )
                raise _damaged_netcdf(path, problem)


def _tail(path: Path) -> re.Match[bytes] | None:
    """Return the checksum at the end of a file; None if there is none."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_LENGTH, 0))
        return TAIL.fullmatch(file.read())


def _end_of_hdf5(start: bytes, size: int) -> int:
    """Return the number of bytes of HDF5 by the superblock at the start of a file; `size` if there is none."""
    place = {0: 40, 1: 44, 2: 28, 3: 28}.get(start[8] if len(start) == 64 else -1)
    return size if place is None else int.from_bytes(start[place : place + 8], "little")


def _damaged_netcdf(path: Path, problem: str) -> DamageError:
    """`DamageError` for a netCDF file."""
    remedy = (
        "copy it again from where it is whole, or fit again; if you changed it yourself, write it to another file by "
        "xarray (open_datatree, to_netcdf), which is read without a checksum"
    )
    return DamageError(problem, remedy=remedy, where=str(path))


def has_checksums(path: Path) -> bool:
    """Whether a store or netCDF file has checksums, by which its bytes can be verified."""
    return _tail(path) is not None if path.is_file() else Checksums.of(path) is not None

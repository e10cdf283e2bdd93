"""Journal files: a JSON note and arrays in one npz file, written atomically and read without pickle.

Files are read as untrusted input: members must be stored uncompressed, as `numpy.savez` writes them, and
declare no more bytes than the file has. Anything else is refused before memory is allocated.
"""

import json
import math
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from .._legible import shown

__all__ = ["Kept", "keep", "kept", "refuse_journal"]

JOURNAL_VERSION = 1  # "journal_version" in the notes; 0.1.0 wrote version 1 without it
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, BadZipFile, zlib.error)
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|][biufU]\d{1,9})', 'fortran_order': (?:True|False), 'shape': \(((?:\d{1,18},? ?)*)\), \} *\n"
)


class Kept(dict[str, Any]):
    """Content of a journal file; a missing entry raises a `ValueError` that names the file."""

    def __init__(self, path: Path, held: Mapping[str, Any]) -> None:
        super().__init__(held)
        self._path = path

    def __missing__(self, name: str) -> NoReturn:
        """Raise a `ValueError` with the file and the missing entry."""
        refuse_journal(self._path, f"there is no {shown(name)} in it")


def refuse_journal(path: Path, problem: str) -> NoReturn:
    """Raise a `ValueError` with the journal file, the problem, and the remedy."""
    raise ValueError(
        f"{path} is missing or damaged ({problem}): the draws in the store can be read, but the run cannot be resumed; "
        "start anew with another store"
    )


def keep(path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write or replace a journal file atomically.

    `path` has the suffix ``.npz``; `note` is JSON-serialisable; `arrays` hold numbers or text, and none is
    named "note".
    """
    said = {"journal_version": JOURNAL_VERSION, **note}
    texts = {"note": np.array(json.dumps(said, default=_plain))}
    unnamed = path.with_suffix(".partial")
    with unnamed.open("wb") as file:
        np.savez(file, allow_pickle=False, **texts, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unnamed, path)


def _plain(number: Any) -> Any:
    """Convert a NumPy scalar to a Python one, for JSON."""
    if isinstance(number, np.generic):
        return number.item()
    raise TypeError(f"a {type(number).__name__} cannot be kept")


def kept(path: Path) -> tuple[Kept, Kept]:
    """Read a journal file; return its note and its arrays.

    Raises `ValueError` if it is missing or damaged, declares more bytes than it has, or is of a newer
    version.
    """
    try:
        with path.open("rb") as raw, ZipFile(raw) as archive:
            _check_members(archive, os.fstat(raw.fileno()).st_size)
            arrays = {m.filename[:-4]: _array(archive, m) for m in archive.infolist()}
        note = json.loads(str(arrays.pop("note")))
    except _Refused as problem:
        refuse_journal(path, str(problem))
    except DAMAGE as problem:
        refuse_journal(path, type(problem).__name__)
    if not isinstance(note, dict):
        refuse_journal(path, "its note is no mapping")
    version = note.pop("journal_version", 1)
    if type(version) is not int or not 1 <= version <= JOURNAL_VERSION:
        raise ValueError(
            f"{path} has journal_version {shown(version)}; this version of raterzoo resumes version {JOURNAL_VERSION}: "
            "install the newer one that wrote it"
        )
    return Kept(path, note), Kept(path, arrays)


class _Refused(ValueError):
    """Member of a journal file that `keep` cannot have written."""


def _check_members(archive: ZipFile, size: int) -> None:
    """Raise unless all members are uncompressed arrays that fit into a file of `size` bytes."""
    members = archive.infolist()
    if any(m.compress_type != ZIP_STORED or m.file_size != m.compress_size for m in members):
        raise _Refused("a member is compressed")
    if (declared := sum(m.file_size for m in members)) > size:
        raise _Refused(f"its members declare {declared:,} bytes, and it has {size:,}")
    if not all(m.filename.endswith(".npy") for m in members):
        raise _Refused("a member is no array")


def _array(archive: ZipFile, member: ZipInfo) -> np.ndarray:
    """Read a member as an array, after checking that its header matches its size."""
    with archive.open(member) as file:
        start = file.read(len(MAGIC) + 2)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        header = HEADER.fullmatch(file.read(length))
        if not start.startswith(MAGIC) or header is None:
            raise _Refused(f"{shown(member.filename)} is no array of numbers or text")
        shape = [int(n) for n in header[2].split(b",") if n.strip()]
        count, width = math.prod(shape), np.dtype(header[1].decode()).itemsize
        there = member.file_size - len(start) - length
        if count * width != there or count > there:
            name = shown(member.filename)
            raise _Refused(f"{name} declares {shown(count)} numbers, and {there:,} bytes are there")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)

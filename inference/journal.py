"""Files of a journal: a note and arrays each, there as a whole or not at all, and without pickle.

What is read is a file of strangers: its members are as `numpy.savez` writes them, not compressed and no larger than the file, or
it is refused before anything is allocated.
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

JOURNAL_VERSION = 1  # of the files, "journal_version" in their notes; those of 0.1.0 have none, and are of version 1
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, BadZipFile, zlib.error)
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|][biufU]\d{1,9})', 'fortran_order': (?:True|False), 'shape': \(((?:\d{1,18},? ?)*)\), \} *\n"
)


class Kept(dict[str, Any]):
    """What a file of a journal holds; what is missing in it is a `ValueError` that names the file."""

    def __init__(self, path: Path, held: Mapping[str, Any]) -> None:
        super().__init__(held)
        self._path = path

    def __missing__(self, name: str) -> NoReturn:
        refuse_journal(self._path, f"there is no {shown(name)} in it")


def refuse_journal(path: Path, problem: str) -> NoReturn:
    """Raise, and say what to do without a journal.

    Parameters
    ----------
    path : Path
        The file.
    problem : str
        What is wrong with it.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"{path} is missing or damaged ({problem}): what was drawn can be read, but not gone on with; "
        "start anew with another store"
    )


def keep(path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file, or replace it.

    Parameters
    ----------
    path : Path
        With suffix ``.npz``.
    note : mapping
        What JSON can hold.
    arrays : mapping of str to ndarray
        Numbers or text; none is named "note".
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
    """Return a number of NumPy as one of Python."""
    if isinstance(number, np.generic):
        return number.item()
    raise TypeError(f"a {type(number).__name__} cannot be kept")


def kept(path: Path) -> tuple[Kept, Kept]:
    """Read a file.

    Parameters
    ----------
    path : Path
        As it was kept.

    Returns
    -------
    note : dict
        The note.
    arrays : dict of str to ndarray
        The arrays.

    Raises
    ------
    ValueError
        If the file is missing or damaged, says that it is larger than it is, or a newer version wrote it.
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
            f"{path} has journal_version {shown(version)}; this version of raterzoo goes on with {JOURNAL_VERSION}: "
            "install the newer one that wrote it"
        )
    return Kept(path, note), Kept(path, arrays)


class _Refused(ValueError):
    """A member that is not as it is written."""


def _check_members(archive: ZipFile, size: int) -> None:
    """Raise unless all members together are stored in a file of this size, as they are."""
    members = archive.infolist()
    if any(m.compress_type != ZIP_STORED or m.file_size != m.compress_size for m in members):
        raise _Refused("a member is compressed")
    if (declared := sum(m.file_size for m in members)) > size:
        raise _Refused(f"its members declare {declared:,} bytes, and it has {size:,}")
    if not all(m.filename.endswith(".npy") for m in members):
        raise _Refused("a member is no array")


def _array(archive: ZipFile, member: ZipInfo) -> np.ndarray:
    """Return an array, whose header says what is there."""
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

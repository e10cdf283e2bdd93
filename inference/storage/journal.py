"""Journal files: a JSON note and arrays in one npz file, written atomically and read without pickle.

Files are read as untrusted input: members must be stored uncompressed, as `numpy.savez` writes them, and
declare no more bytes than the file has. Anything else is refused before memory is allocated.
"""

import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from ..._messages import short_repr
from ..runs.run import Draws

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
        refuse_journal(self._path, f"there is no {short_repr(name)} in it")


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
            f"{path} has journal_version {short_repr(version)}; this version of raterzoo resumes version {JOURNAL_VERSION}: "
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
            raise _Refused(f"{short_repr(member.filename)} is no array of numbers or text")
        shape = [int(n) for n in header[2].split(b",") if n.strip()]
        count, width = math.prod(shape), np.dtype(header[1].decode()).itemsize
        there = member.file_size - len(start) - length
        if count * width != there or count > there:
            name = short_repr(member.filename)
            raise _Refused(f"{name} declares {short_repr(count)} numbers, and {there:,} bytes are there")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


# --- Validation of the notes of a journal, which are untrusted input, before anything is drawn ---

MOST = 2**62

# errors that builders raise for malformed arguments
NO_MODEL = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError)

WORD = re.compile(r"[\w.+!-]{1,60}", re.ASCII)  # name of a package, or its version

Allowed = tuple[Callable[[Any], bool], str]


def _whole(least: int) -> Allowed:
    """Rule for whole numbers from `least`."""
    return lambda n: type(n) is int and least <= n < MOST, f"a whole number from {least}"


def _is_text(value: Any) -> bool:
    """Whether a value is a string."""
    return type(value) is str


def _is_plain(value: Any) -> bool:
    """Whether a value is text or a finite number."""
    return type(value) in (str, int) or (type(value) is float and math.isfinite(value))


def _is_versions(value: Any) -> bool:
    """Whether a text is a JSON object of package names and their versions."""
    try:
        versions = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(versions, dict) and all(
        _is_text(version) and WORD.fullmatch(name) and WORD.fullmatch(version)
        for name, version in versions.items()
    )


MAPPING: Allowed = lambda value: isinstance(value, dict), "a mapping"

FLAG: Allowed = lambda value: type(value) is bool, "true or false"

SECONDS: Allowed = lambda x: type(x) in (int, float) and 0 <= x < 1e12, "a number from 0"

PLAN: dict[str, Allowed] = {
    "draws": _whole(1),
    "tune": (lambda n: n is None or _whole(0)[0](n), "a whole number from 0, or null"),
    "chains": _whole(1),
    "cores": (lambda n: n is None or _whole(1)[0](n), "a whole number from 1, or null"),
    "seed": (lambda n: type(n) is int and 0 <= n < 2**1024, "a whole number from 0"),
    "progressbar": FLAG,
    "thin": (lambda n: n == "pilot" or _whole(1)[0](n), "a whole number from 1, or 'pilot'"),
    "dtype": (lambda kind: kind in ("float32", "float64"), "'float32' or 'float64'"),
    "densities": FLAG,
}

RUN: dict[str, Allowed] = {
    "plan": MAPPING,
    "recipe": (lambda value: value is None or isinstance(value, dict), "a mapping, or null"),
    "fingerprint": (_is_text, "a text"),
    "attributes": MAPPING,
}

OWN: dict[str, Allowed] = {"piece": _whole(1)}

NUTS: dict[str, Allowed] = {"every": _whole(1), "options": MAPPING}

OPTIONS: dict[str, Allowed] = {
    "target_accept": (lambda x: type(x) in (int, float) and 0 < x < 1, "between 0 and 1")
}

ATTRIBUTES: dict[str, Allowed] = {
    "method": (_is_text, "a text"),
    "versions": (_is_versions, "JSON of packages and their versions"),
}

STATE: dict[str, Allowed] = {  # union over all kinds of runs; each has some of these
    "drawn": _whole(0),
    "number": _whole(0),
    "seconds": SECONDS,
    "restarts": (lambda given: isinstance(given, list) and all(map(_whole(0)[0], given)), "whole numbers from 0"),
    "warned": _whole(0),
    "first": (_is_text, "a text"),
}  # fmt: skip


def check_run(path: Path, note: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Validate the note of a run; raise `ValueError` if the run cannot be resumed from it.

    `path` is the journal file, `sizes` the lengths of the dims of the stored posterior. Entries may be
    missing, of another type, unknown, or inconsistent with the numbers of draws and chains in the store.
    """
    _check(path, "", note, RUN)
    _check(path, "attributes: ", note["attributes"], ATTRIBUTES)
    _check(path, "plan: ", note["plan"], PLAN)
    for name, value in note["attributes"].items():
        if not _is_plain(value):
            refuse_journal(
                path, f"attributes: {short_repr(name)} is {short_repr(value)}, not a number or text"
            )
    if further := sorted(note["plan"].keys() - {field.name for field in fields(Draws)}):
        refuse_journal(path, f"plan: {short_repr(further[0])} is unknown")
    for name, dim in (("draws", "draw"), ("chains", "chain")):
        if note["plan"][name] != sizes.get(dim, 0):
            refuse_journal(
                path, f"plan: {name} is {note['plan'][name]}, and the store has {sizes.get(dim, 0)}"
            )
    if note["attributes"]["method"] != "nuts":
        _check(path, "", note, OWN)
        return
    _check(path, "", note, NUTS)
    if further := sorted(note["options"].keys() - OPTIONS.keys()):
        refuse_journal(path, f"options: {short_repr(further[0])} is unknown")
    _check(path, "options: ", note["options"], {k: OPTIONS[k] for k in note["options"]})


def check_state(
    path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> None:
    """Validate the state of a run against the size of its store.

    Raises `ValueError` if numbers are of another type, or exceed the store.

    `path` is the journal file, `sizes` the lengths of the dims of the stored posterior.
    """
    _check(path, "", note, {name: allowed for name, allowed in STATE.items() if name in note})
    draws = sizes.get("draw", 0)
    for drawn in (note.get("drawn", 0), *note.get("restarts", ())):
        if drawn > draws:
            refuse_journal(path, f"it counts {drawn} draws, but the store has {draws}")
    done = arrays.get("done")
    if done is not None and (done.dtype != bool or done.shape != (sizes.get("item", done.size),)):
        refuse_journal(path, "'done' is not one truth value for each item")


def _check(path: Path, where: str, note: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise at the first of the named values that is missing or not allowed."""
    for name, (fits, words) in allowed.items():
        if name not in note:
            refuse_journal(path, f"{where}there is no {name!r} in it")
        if not fits(note[name]):
            refuse_journal(path, f"{where}{name!r} is {short_repr(note[name])}, not {words}")


@contextmanager
def of_recipe(path: Path) -> Iterator[None]:
    """Context manager: re-raise the error of a recipe that builds no model, with file and remedy."""
    try:
        yield
    except NO_MODEL as problem:
        raise ValueError(
            f"{path}: the recipe in its journal builds no model ({type(problem).__name__}); build the model and pass it: "
            "inference.resume(path, model)"
        ) from problem


@contextmanager
def of_state(path: Path) -> Iterator[None]:
    """Context manager: re-raise the error of a state that does not fit the model, with the store's path."""
    try:
        yield
    except ValueError:
        refuse_journal(path, "the state in its journal is not one of its model")

"""Journal files: a JSON note and arrays in one npz file, written atomically and read without pickle.

Files are read as untrusted input: members must be stored uncompressed, as `numpy.savez` writes them, and
declare no more bytes than the file has. Anything else is refused before memory is allocated.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from ..._messages import short_repr
from ...models.data.reading.array_archives import DAMAGE, MalformedMember, read_member
from ..runs.run import Draws

JOURNAL_VERSION = 1  # "journal_version" in the notes; 0.1.0 wrote version 1 without it


class JournalEntries(dict[str, Any]):
    """Content of a journal file; a missing entry raises a `ValueError` that names the file."""

    def __init__(self, path: Path, held: Mapping[str, Any]) -> None:
        super().__init__(held)
        self._path = path

    def __missing__(self, name: str) -> NoReturn:
        """Raise the error."""
        raise_journal_error(self._path, f"there is no {short_repr(name)} in it")


def raise_journal_error(path: Path, problem: str) -> NoReturn:
    """Raise a `ValueError` with the journal file, the problem, and the remedy."""
    raise ValueError(
        f"{path} is missing or damaged ({problem}): the draws in the store can be read, but the run cannot be resumed; "
        "start anew with another store"
    )


def write_journal(path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write or replace an ``.npz`` atomically: a JSON note, and arrays of numbers or text, none named "note"."""
    text = json.dumps({"journal_version": JOURNAL_VERSION, **note}, default=np.generic.item)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, note=np.array(text), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def read_journal(path: Path) -> tuple[JournalEntries, JournalEntries]:
    """Read note and arrays of a journal file; `ValueError` if it is missing, damaged, hostile or of a newer version."""
    try:
        with path.open("rb") as raw, ZipFile(raw) as archive:
            _check_members(archive, os.fstat(raw.fileno()).st_size)
            arrays = {m.filename[:-4]: read_member(archive, m) for m in archive.infolist()}
        note = json.loads(str(arrays.pop("note")))
    except MalformedMember as problem:
        raise_journal_error(path, str(problem))
    except DAMAGE as problem:
        raise_journal_error(path, type(problem).__name__)
    if not isinstance(note, dict):
        raise_journal_error(path, "its note is no mapping")
    version = note.pop("journal_version", 1)
    if type(version) is not int or not 1 <= version <= JOURNAL_VERSION:
        raise ValueError(
            f"{path} has journal_version {short_repr(version)}; this version of raterzoo resumes version {JOURNAL_VERSION}: "
            "install the newer one that wrote it"
        )
    return JournalEntries(path, note), JournalEntries(path, arrays)


def _check_members(archive: ZipFile, size: int) -> None:
    """Raise unless all members are uncompressed arrays that fit into a file of `size` bytes."""
    members = archive.infolist()
    if any(m.compress_type != ZIP_STORED or m.file_size != m.compress_size for m in members):
        raise MalformedMember("a member is compressed")
    if (declared := sum(m.file_size for m in members)) > size:
        raise MalformedMember(f"its members declare {declared:,} bytes, and it has {size:,}")
    if not all(m.filename.endswith(".npy") for m in members):
        raise MalformedMember("a member is no array")


# --- Validation of the notes of a journal, which are untrusted input, before anything is drawn ---

# errors that builders raise for malformed arguments
BUILDER_ERRORS = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError)  # fmt: skip
WORD = re.compile(r"[\w.+!-]{1,60}", re.ASCII)  # name of a package, or its version
Allowed = tuple[Callable[[Any], bool], str]


def _whole(least: int) -> Allowed:
    """Rule for whole numbers from `least`."""
    return lambda n: type(n) is int and least <= n < 2**62, f"a whole number from {least}"


def _is_versions(value: Any) -> bool:
    """Whether a text is a JSON object of package names and their versions."""
    try:
        versions = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(versions, dict) and all(
        type(version) is str and WORD.fullmatch(name) and WORD.fullmatch(version)
        for name, version in versions.items()
    )


MAPPING: Allowed = lambda value: isinstance(value, dict), "a mapping"
FLAG: Allowed = lambda value: type(value) is bool, "true or false"
TEXT: Allowed = lambda value: type(value) is str, "a text"

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
    "fingerprint": TEXT,
    "attributes": MAPPING,
}
COMPILED: dict[str, Allowed] = {"piece": _whole(1)}
NUTS: dict[str, Allowed] = {
    "options": MAPPING,
    "sampler": (lambda name: name in ("nutpie", "pymc"), "'nutpie' or 'pymc'"),
}
OPTIONS: dict[str, Allowed] = {
    "target_accept": (lambda x: type(x) in (int, float) and 0 < x < 1, "between 0 and 1"),
    "max_treedepth": _whole(1),
}
ATTRIBUTES: dict[str, Allowed] = {"method": TEXT, "versions": (_is_versions, "JSON of packages and their versions")}  # fmt: skip
STATE: dict[str, Allowed] = {  # union over all kinds of runs; each has some of these
    "drawn": _whole(0),
    "number": _whole(0),
    "seconds": (lambda x: type(x) in (int, float) and 0 <= x < 1e12, "a number from 0"),
    "warned": _whole(0),
    "first": TEXT,
}  # fmt: skip


def check_run(path: Path, note: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise unless the note of a run has all entries, known and of their type, and fits the `sizes` of its store."""
    _check(path, "", note, RUN)
    _check(path, "attributes: ", note["attributes"], ATTRIBUTES)
    _check(path, "plan: ", note["plan"], PLAN)
    for name, value in note["attributes"].items():
        if type(value) not in (str, int) and not (type(value) is float and math.isfinite(value)):
            raise_journal_error(
                path, f"attributes: {short_repr(name)} is {short_repr(value)}, not a number or text"
            )
    if further := sorted(note["plan"].keys() - {field.name for field in fields(Draws)}):
        raise_journal_error(path, f"plan: {short_repr(further[0])} is unknown")
    for name, dim in (("draws", "draw"), ("chains", "chain")):
        if note["plan"][name] != sizes.get(dim, 0):
            raise_journal_error(
                path, f"plan: {name} is {note['plan'][name]}, and the store has {sizes.get(dim, 0)}"
            )
    if note["attributes"]["method"] != "nuts":
        _check(path, "", note, COMPILED)
        return
    _check(path, "", note, NUTS)
    if further := sorted(note["options"].keys() - OPTIONS.keys()):
        raise_journal_error(path, f"options: {short_repr(further[0])} is unknown")
    _check(path, "options: ", note["options"], {k: OPTIONS[k] for k in note["options"]})


def check_state(
    path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> None:
    """Raise if numbers in the state of a run are of another type, or exceed the `sizes` of its store."""
    _check(path, "", note, {name: allowed for name, allowed in STATE.items() if name in note})
    draws = sizes.get("draw", 0)
    if (drawn := note.get("drawn", 0)) > draws:
        raise_journal_error(path, f"it counts {drawn} draws, but the store has {draws}")
    done = arrays.get("done")
    if done is not None and (done.dtype != bool or done.shape != (sizes.get("item", done.size),)):
        raise_journal_error(path, "'done' is not one truth value for each item")


def _check(path: Path, where: str, note: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise at the first of the named values that is missing or not allowed."""
    for name, (fits, words) in allowed.items():
        if name not in note:
            raise_journal_error(path, f"{where}there is no {name!r} in it")
        if not fits(note[name]):
            raise_journal_error(path, f"{where}{name!r} is {short_repr(note[name])}, not {words}")


@contextmanager
def recipe_errors(path: Path) -> Iterator[None]:
    """Context manager: re-raise the error of a recipe that builds no model, with file and remedy."""
    try:
        yield
    except BUILDER_ERRORS as problem:
        raise ValueError(
            f"{path}: the recipe in its journal builds no model ({type(problem).__name__}); build the model and pass it: "
            "inference.resume(path, model)"
        ) from problem


@contextmanager
def state_errors(path: Path) -> Iterator[None]:
    """Context manager: re-raise the error of a state that does not fit the model, with the store's path."""
    try:
        yield
    except ValueError:
        raise_journal_error(path, "the state in its journal is not one of its model")

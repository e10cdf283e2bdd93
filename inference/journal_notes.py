"""Validation of the notes of a journal, which are untrusted input, before anything is drawn."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from .._legible import shown
from .journal import refuse_journal
from .plan import Draws

__all__ = ["check_run", "check_state", "of_recipe"]

MOST = 2**62
# errors that builders raise for malformed arguments
NO_MODEL = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)
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
    "target_accept": (lambda x: type(x) in (int, float) and 0 < x < 1, "between 0 and 1"),
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
                path, f"attributes: {shown(name)} is {shown(value)}, not a number or text"
            )
    if further := sorted(note["plan"].keys() - {field.name for field in fields(Draws)}):
        refuse_journal(path, f"plan: {shown(further[0])} is unknown")
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
        refuse_journal(path, f"options: {shown(further[0])} is unknown")
    _check(path, "options: ", note["options"], {k: OPTIONS[k] for k in note["options"]})


def check_state(
    path: Path,
    note: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
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
            refuse_journal(path, f"{where}{name!r} is {shown(note[name])}, not {words}")


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

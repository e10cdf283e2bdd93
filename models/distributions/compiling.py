"""Compiled functions that are kept between runs until any of the source they may contain changes.

numba compares a kept function with its own file alone, and would go on with an old version of what that file imports.
"""

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba as nb

__all__ = ["kept", "source_stamp"]

IMPORT = re.compile(r"^from (\.*)([\w.]+) import", re.MULTILINE)


@cache
def source_stamp(path: str) -> int:
    """Return a number that changes with the source that a compiled function may contain.

    Parameters
    ----------
    path : str
        File of the function; what it imports from files beside or above it belongs to it as well, and what those import.

    Returns
    -------
    int
        The first 60 bits of a digest; PyTensor takes it into the keys of what it keeps.
    """
    found, new = set(), {Path(path)}
    while new:
        found |= new
        new = {there for source in new for there in _imported(source)} - found
    digest = sha256()
    for source in sorted(found):
        digest.update(source.read_bytes())
    return int(digest.hexdigest()[:15], 16)


@cache
def _imported(source: Path) -> frozenset[Path]:
    """Return the files of this package, or of the folder of a script, that a file imports."""
    found = set()
    for dots, name in IMPORT.findall(source.read_text(encoding="utf-8")):
        there = source.parents[max(len(dots) - 1, 0)].joinpath(*name.split("."))
        found.add(there / "__init__.py" if there.is_dir() else there.with_suffix(".py"))
    return frozenset(path for path in found if path.is_file())


def kept(**options: Any) -> Callable[[Callable], Any]:
    """Compile a function when it is first called, and keep it on disk.

    Parameters
    ----------
    **options
        Of `numba.njit`.

    Returns
    -------
    callable
        Decorator.
    """

    def decorate(function: Callable) -> Any:
        compiled = nb.njit(cache=True, **options)(function)
        stamp = source_stamp(function.__code__.co_filename)
        cast(Any, compiled)._cache._cache_file._source_stamp = stamp
        return compiled

    return decorate

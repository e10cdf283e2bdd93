"""Disk cache of numba functions, invalidated when any source file they may contain changes.

numba itself checks only the function's own file, and would keep an old version of imported functions.
"""

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba as nb

IMPORT = re.compile(r"^from (\.*)([\w.]+) import", re.MULTILINE)


@cache
def source_digest(path: str) -> int:
    """Return a 60-bit digest of a source file and of all package files it imports, directly or indirectly.

    PyTensor takes it into its cache keys.
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
    """Return the files of this package, or of a script's folder, that a source file imports."""
    found = set()
    for dots, name in IMPORT.findall(source.read_text(encoding="utf-8")):
        there = source.parents[max(len(dots) - 1, 0)].joinpath(*name.split("."))
        found.add(there / "__init__.py" if there.is_dir() else there.with_suffix(".py"))
    return frozenset(path for path in found if path.is_file())


def cached_njit(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator: `numba.njit` with these options, compiled at the first call and cached on disk."""

    def decorate(function: Callable) -> Any:
        compiled = nb.njit(cache=True, **options)(function)
        index = cast(Any, compiled)._cache._cache_file
        index._source_stamp = source_digest(function.__code__.co_filename)
        load = index._load_index

        def load_index() -> dict:
            try:
                return load()
            except (
                AttributeError,
                ImportError,
            ):  # numba unpickles before it compares digests: a class was renamed
                return {}

        index._load_index = load_index
        return compiled

    return decorate

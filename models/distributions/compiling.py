"""Compiled functions that are kept between runs until any of the source they may contain changes.

numba compares a kept function with its own file alone, and would go on with an old version of what that file imports.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba as nb

__all__ = ["kept", "source_stamp"]

HERE = Path(__file__).parent


@cache
def source_stamp(folder: Path = HERE) -> int:
    """Return a number that changes with the source that a compiled function may contain.

    Parameters
    ----------
    folder : Path, optional
        Folder of the function; what is in this one belongs to it as well.

    Returns
    -------
    int
        The first 60 bits of a digest; PyTensor takes it into the keys of what it keeps.
    """
    digest = sha256()
    for source in sorted({*folder.glob("*.py"), *HERE.glob("*.py")}):
        digest.update(source.read_bytes())
    return int(digest.hexdigest()[:15], 16)


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
        folder = Path(function.__code__.co_filename).parent
        cast(Any, compiled)._cache._cache_file._source_stamp = source_stamp(folder)
        return compiled

    return decorate

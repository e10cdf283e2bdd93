"""Thread pool map with results in order."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["MOST_THREADS", "in_threads"]

MOST_THREADS = 4


def in_threads[Result](
    function: Callable[..., Result], *arguments: Iterable[Any], most: int = MOST_THREADS
) -> Iterator[Result]:
    """Yield the results of `map(function, *arguments)` in order, computed on up to `most` threads."""
    if most == 1:
        yield from map(function, *arguments)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, most)) as threads:
        yield from threads.map(function, *arguments)

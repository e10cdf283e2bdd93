"""Work that runs on several threads, its results in order."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["MOST_THREADS", "in_threads"]

MOST_THREADS = 4


def in_threads[Result](
    function: Callable[..., Result], *arguments: Iterable[Any], most: int = MOST_THREADS
) -> Iterator[Result]:
    """Yield the function of the arguments as `map` does, on as many threads as there are cores, but not more than `most`."""
    if most == 1:
        yield from map(function, *arguments)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, most)) as threads:
        yield from threads.map(function, *arguments)

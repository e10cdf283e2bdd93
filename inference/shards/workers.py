"""Tasks on anything with ``.submit``: a bounded number of them at a time, repeated where a worker has died."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from queue import Queue
from typing import Any, Protocol

from .processes import Processes

__all__ = ["AnyExecutor", "Submits", "Workers", "WorkersLost", "is_of_processes", "workers_of"]

AHEAD = 2  # tasks that each worker has been given: one that it does, and the next
MOST_TRIES = 20  # a worker may be killed for nothing that its task does
LOST = {"KilledWorker", "FutureCancelledError", "CancelledError"}  # of dask: the worker is gone


class Submits(Protocol):
    """Anything that takes work: an `Executor`, or a `dask.distributed.Client`."""

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Any:
        """Start a call and return its future."""
        ...


AnyExecutor = Submits | int | None


class WorkersLost(RuntimeError):
    """A task was tried as often as is allowed, and the worker died each time."""


@dataclass
class Workers:
    """Where tasks are done.

    Attributes
    ----------
    executor : Submits
        Takes the tasks.
    count : int
        Tasks that it does at a time.
    of_dask : bool
        Whether it is a `dask.distributed.Client`.
    most_tries : int
        How often a task is begun whose worker dies.
    deaths : int
        How many times a worker has died so far.
    """

    executor: Submits
    count: int
    of_dask: bool = False
    most_tries: int = MOST_TRIES
    deaths: int = field(default=0, init=False)

    def run(
        self,
        function: Callable,
        tasks: Iterable[tuple[Any, ...]],
        named: Callable[[int], str] = lambda number: f"task {number}",
    ) -> Iterator[tuple[int, Any]]:
        """Do tasks, and yield the number and result of each as they come.

        Parameters
        ----------
        function : callable
            What to do; it must give the same result when it is done again.
        tasks : iterable of tuple
            Its arguments. They are taken only when a worker is about to be free, and no more results are kept waiting than there
            are tasks at a time: the memory does not grow with their number.
        named : callable
            Name of a task by its number, for errors.

        Yields
        ------
        tuple of int and object
            Number and result.

        Raises
        ------
        WorkersLost
            If the workers of one task die every time.
        """
        done: Queue[tuple[int, Any]] = Queue()
        left = enumerate(tasks)
        at_work: dict[int, tuple] = {}
        tries: dict[int, int] = {}

        def start(number: int, arguments: tuple) -> None:
            at_work[number] = arguments
            tries[number] = tries.get(number, 0) + 1
            future = self._submit(function, arguments)
            future.add_done_callback(lambda future: done.put((number, future)))

        for number, arguments in islice(left, AHEAD * self.count):
            start(number, arguments)
        while at_work:
            number, future = done.get()
            arguments = at_work.pop(number)
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or self._is_lost(error):
                self.deaths += 1
                if tries[number] >= self.most_tries or not self._survives():
                    raise WorkersLost(self._lost(named(number), tries[number])) from error
                start(number, arguments)
                continue
            if error is not None:
                error.add_note(f"while working on {named(number)}")
                raise error
            del tries[number], arguments
            result = future.result()
            del future  # dask keeps results that somebody holds
            yield number, result
            del result
            for further, arguments in islice(left, 1):
                start(further, arguments)

    def ordered(
        self,
        function: Callable,
        tasks: Iterable[tuple[Any, ...]],
        named: Callable[[int], str] = lambda number: f"task {number}",
    ) -> Iterator[Any]:
        """Do tasks, and yield their results in the order of the tasks, for sums that do not depend on who is first.

        Parameters
        ----------
        function, tasks, named
            As of `run`.

        Yields
        ------
        object
            Results; only those that came too early are kept waiting.
        """
        early: dict[int, Any] = {}
        awaited = 0
        for number, result in self.run(function, tasks, named):
            early[number] = result
            del result
            while awaited in early:
                yield early.pop(awaited)
                awaited += 1

    def _submit(self, function: Callable, arguments: tuple) -> Future[Any]:
        if self.of_dask:
            return self.executor.submit(function, *arguments, pure=False)
        return self.executor.submit(function, *arguments)

    def _is_lost(self, error: BaseException | None) -> bool:
        return isinstance(error, BrokenProcessPool) or (
            self.of_dask and type(error).__name__ in LOST
        )

    def _survives(self) -> bool:
        """Tell whether the executor goes on after a death: our processes and dask do, a pool of somebody else is broken."""
        return self.of_dask or isinstance(self.executor, Processes)

    def _lost(self, name: str, tries: int) -> str:
        """Say what was being done when workers died, and what to do about it."""
        if not self._survives():
            return (
                f"{name}: a process of the pool died, and a {type(self.executor).__name__} does not go on after that; "
                "pass a number of processes, which are replaced when they die"
            )
        return (
            f"{name}: the worker died {tries} times; there may be too little memory for so much at a time: use smaller shards "
            "or fewer workers"
        )


@contextmanager
def workers_of(executor: AnyExecutor, most_tries: int = MOST_TRIES) -> Iterator[Workers]:
    """Lend the workers that an argument ``executor`` stands for.

    Parameters
    ----------
    executor : Executor, dask.distributed.Client, int or None
        Anything with ``submit``; or a number of processes, by default one for each core, which end with the work.
    most_tries : int
        How often a task is begun whose worker dies.

    Yields
    ------
    Workers
        Where tasks are done.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if executor is None or (isinstance(executor, int) and not isinstance(executor, bool)):
        count = os.cpu_count() or 1 if executor is None else executor
        if count < 1:
            raise ValueError(f"executor={executor!r}: a number of processes is at least one")
        own = Processes(count)
        try:
            yield Workers(own, count, most_tries=most_tries)
        finally:
            own.shutdown(cancel_futures=True)
        return
    if isinstance(executor, bool) or not callable(getattr(executor, "submit", None)):
        raise ValueError(
            f"executor={executor!r} takes no work: pass a number of processes, a concurrent.futures.Executor or a "
            "dask.distributed.Client"
        )
    yield _given(executor, most_tries)


def _given(executor: Submits, most_tries: int) -> Workers:
    """Describe an executor of the caller."""
    nthreads = getattr(executor, "nthreads", None)
    if callable(nthreads):
        counts = nthreads()
        threads = sum(counts.values()) if isinstance(counts, dict) else 1
        return Workers(executor, max(threads, 1), of_dask=True, most_tries=most_tries)
    count = getattr(executor, "count", None) or getattr(executor, "_max_workers", None)
    count = count or os.cpu_count() or 1
    return Workers(executor, count, most_tries=most_tries)


def is_of_processes(executor: AnyExecutor) -> bool:
    """Tell whether functions have to be sent to other processes by pickle.

    Parameters
    ----------
    executor : Executor, dask.distributed.Client, int or None
        As of `workers_of`.

    Returns
    -------
    bool
        Dask sends whatever it can describe; threads take anything.
    """
    ours = executor is None or isinstance(executor, int | Processes)
    return ours or isinstance(executor, ProcessPoolExecutor)

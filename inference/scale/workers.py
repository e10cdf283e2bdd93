"""Task runner on any executor: a bounded number of tasks in flight, repeated if a worker dies."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from queue import Queue
from typing import Any, Protocol

from .processes import Processes

TASKS_PER_WORKER = 2  # tasks submitted per worker: the running one and the next
MOST_TRIES = 20  # a worker may be killed for reasons unrelated to its task
DASK_LOST_WORKER = {"KilledWorker", "FutureCancelledError", "CancelledError"}  # dask errors of a lost worker


class Submits(Protocol):
    """Interface of executors: an `Executor` or a `dask.distributed.Client`."""

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Any:
        """Start a call and return its future."""
        ...


AnyExecutor = Submits | int | None


class WorkersLost(RuntimeError):
    """Error: the worker of one task died in every try."""


@dataclass
class Workers:
    """Executor with the number of its workers."""

    executor: Submits
    count: int  # tasks that run at a time
    of_dask: bool = False
    most_tries: int = MOST_TRIES  # per task, if its worker dies
    deaths: int = field(default=0, init=False)  # of workers, so far

    def run(
        self,
        function: Callable,
        tasks: Iterable[tuple[Any, ...]],
        named: Callable[[int], str] = lambda number: f"task {number}",
    ) -> Iterator[tuple[int, Any]]:
        """Run tasks and yield (number, result) in the order of completion.

        `function` must return the same result when it is repeated, as happens if its worker dies. `tasks` holds
        the arguments; they are consumed only when a worker is about to be free, and waiting results are bounded
        by the tasks in flight, so memory does not grow with the number of tasks. `named` names a task for errors.
        Raises `WorkersLost` if every try of a task fails.
        """
        done: Queue[tuple[int, Any]] = Queue()
        left = enumerate(tasks)
        at_work: dict[int, tuple] = {}
        tries: dict[int, int] = {}

        def start(number: int, arguments: tuple) -> None:
            at_work[number] = arguments
            tries[number] = tries.get(number, 0) + 1
            options = {"pure": False} if self.of_dask else {}
            future = self.executor.submit(function, *arguments, **options)
            future.add_done_callback(lambda future: done.put((number, future)))

        for number, arguments in islice(left, TASKS_PER_WORKER * self.count):
            start(number, arguments)
        while at_work:
            number, future = done.get()
            arguments = at_work.pop(number)
            error = None if future.cancelled() else future.exception()
            lost = self.of_dask and type(error).__name__ in DASK_LOST_WORKER
            if lost or future.cancelled() or isinstance(error, BrokenProcessPool):
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
            del future  # dask keeps a result as long as its future is referenced
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
        """Yield results of `run` in the order of the tasks, for sums that do not depend on timing; only early ones are kept."""
        early: dict[int, Any] = {}
        awaited = 0
        for number, result in self.run(function, tasks, named):
            early[number] = result
            del result
            while awaited in early:
                yield early.pop(awaited)
                awaited += 1

    def _survives(self) -> bool:
        """Return whether the executor survives a death, as our processes and dask do."""
        return self.of_dask or isinstance(self.executor, Processes)

    def _lost(self, name: str, tries: int) -> str:
        """Return the error message of a lost task, with the remedy."""
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
def workers_of(executor: AnyExecutor) -> Iterator[Workers]:
    """Context manager: workers of an executor with ``submit``, or of a number of processes (one for each core), ended after."""
    if executor is None or (isinstance(executor, int) and not isinstance(executor, bool)):
        count = os.cpu_count() or 1 if executor is None else executor
        if count < 1:
            raise ValueError(f"executor={executor!r}: a number of processes is at least one")
        own = Processes(count)
        try:
            yield Workers(own, count)
        finally:
            own.shutdown(cancel_futures=True)
        return
    if isinstance(executor, bool) or not callable(getattr(executor, "submit", None)):
        raise ValueError(
            f"executor={executor!r} has no method submit: pass a number of processes, a concurrent.futures.Executor or a "
            "dask.distributed.Client"
        )
    threads_of_dask = getattr(executor, "nthreads", None)
    if callable(threads_of_dask):
        counts = threads_of_dask()
        threads = sum(counts.values()) if isinstance(counts, dict) else 1
        yield Workers(executor, max(threads, 1), of_dask=True)
    else:
        count = getattr(executor, "count", None) or getattr(executor, "_max_workers", None)
        yield Workers(executor, count or os.cpu_count() or 1)


def is_of_processes(executor: AnyExecutor) -> bool:
    """Return whether functions are pickled by reference; dask pickles by value, threads not at all."""
    ours = executor is None or isinstance(executor, int | Processes)
    return ours or isinstance(executor, ProcessPoolExecutor)

"""Tasks on any executor, a bounded number of them in flight; a number of processes is an executor made for the call."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from uuid import uuid4

from threadpoolctl import threadpool_limits

from ..storage.interruptions import exit_with_driver

TASKS_PER_WORKER = 2  # tasks submitted per worker: the running one and the next
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WORKER_DIED = (
    "a worker process died, and its pool with it. If memory was short, use smaller shards or fewer workers. If it could not "
    "start: processes import the main script, so put its code below `if __name__ == '__main__':`. A call that writes to a folder "
    "goes on when it is repeated; workers of dask (pass a dask.distributed.Client) are replaced when they die"
)


class Submits(Protocol):
    """Interface of executors: an `Executor` or a `dask.distributed.Client`."""

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Any:
        """Start a call and return its future."""
        ...


AnyExecutor = Submits | int | None


@dataclass(frozen=True)
class Workers:
    """Executor with the number of its workers."""

    submit: Callable[..., Any]
    count: int  # tasks that run at a time
    load: Callable[[Any], Any] = lambda result: result

    def run(
        self,
        function: Callable,
        tasks: Iterable[tuple[Any, ...]],
        named: Callable[[int], str] = lambda number: f"task {number}",
    ) -> Iterator[tuple[int, Any]]:
        """Run tasks and yield (number, result) in the order of completion.

        `tasks` holds the arguments; they are consumed only when a worker is about to be free, and waiting results are bounded
        by the tasks in flight, so memory does not grow with the number of tasks. `named` names a task for errors.
        Raises RuntimeError if a process of a pool dies.
        """
        done: Queue[tuple[int, Any]] = Queue()
        left, at_work = enumerate(tasks), 0
        try:
            while True:
                for number, arguments in islice(left, TASKS_PER_WORKER * self.count - at_work):
                    future = self.submit(function, *arguments)
                    future.add_done_callback(lambda future, number=number: done.put((number, future)))
                    at_work += 1
                if not at_work:
                    return
                number, future = done.get()
                at_work -= 1
                try:
                    result = self.load(future.result())
                except Exception as error:
                    error.add_note(f"while working on {named(number)}")
                    raise
                del future  # dask keeps a result as long as its future is referenced
                yield number, result
                del result
        except BrokenProcessPool as error:
            raise RuntimeError(WORKER_DIED) from error

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


@contextmanager
def workers_of(executor: AnyExecutor) -> Iterator[Workers]:
    """Context manager: workers of an executor with ``submit``, or of a number of processes (one for each core), ended after."""
    if executor is None or (isinstance(executor, int) and not isinstance(executor, bool)):
        count = os.cpu_count() or 1 if executor is None else executor
        if count < 1:
            raise ValueError(f"executor={executor!r}: a number of processes is at least one")
        with _processes(count) as workers:
            yield workers
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
        yield Workers(partial(executor.submit, pure=False), max(threads, 1))
    else:
        count = getattr(executor, "count", None) or getattr(executor, "_max_workers", None)
        yield Workers(executor.submit, count or os.cpu_count() or 1)


def is_of_processes(executor: AnyExecutor) -> bool:
    """Return whether functions are pickled by reference; dask pickles by value, threads not at all."""
    return executor is None or isinstance(executor, int | ProcessPoolExecutor)


# --- Processes of one call ---


@contextmanager
def _processes(count: int) -> Iterator[Workers]:
    """Context manager: processes of one thread each, killed if the block raises."""
    with TemporaryDirectory(prefix="raterzoo-", ignore_cleanup_errors=True) as folder:
        pool = ProcessPoolExecutor(count, get_context("spawn"), initialise_worker, (folder,))
        try:
            yield Workers(partial(pool.submit, call_to_file, folder), count, load_result)
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.kill()  # its result is not needed, and an interrupted driver has little time
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def call_to_file(folder: str, function: Callable, *arguments: Any) -> str:
    """Write the result to a file: a process killed while it sends a large one through a pipe leaves the driver waiting."""
    path = Path(folder, uuid4().hex)
    with path.open("xb") as file:
        pickle.dump(function(*arguments), file, protocol=5)
    return str(path)


def load_result(path: str) -> Any:
    """Read a result of `call_to_file` and remove its file."""
    with open(path, "rb") as file:
        result = pickle.load(file)
    os.unlink(path)
    return result


def initialise_worker(folder: str) -> None:
    """Initialise a process: one thread, its own folder for code compiled by PyTensor, and exit when the driver exits."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    threadpool_limits(1)  # for libraries that are already loaded
    flags = filter(None, (os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={folder}/{os.getpid()}"))
    os.environ["PYTENSOR_FLAGS"] = ",".join(flags)
    exit_with_driver()

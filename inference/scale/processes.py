"""Executor of processes that may die: each is a pool of one, so a death loses only its own work."""

import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from io import FileIO
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import ref

import numpy as np
from threadpoolctl import threadpool_limits

from ..storage.interruptions import exit_with_driver

LEAST = 2**10  # bytes; smaller results go through the pipe: Linux writes up to 4,096 bytes atomically
SUFFIX = ".result"


class FileResult(NamedTuple):
    """Result in a file, arrays before the pickle: a process killed while it writes to a pipe would leave the driver waiting."""

    file: str
    lengths: tuple[int, ...]  # bytes of each part

    def load(self) -> Any:
        """Read the result and remove the file."""
        try:
            with open(self.file, "rb", buffering=0) as file:
                *arrays, rest = [_read(file, length) for length in self.lengths]
        finally:
            self.remove()
        return pickle.loads(rest, buffers=arrays)

    def remove(self) -> None:
        """Remove the file."""
        Path(self.file).unlink(missing_ok=True)


def call_with_file_result(folder: str, function: Callable, *arguments: Any) -> Any:
    """Call a function; return its result, or a `FileResult` if it is large and the file can be written."""
    result = function(*arguments)
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=arrays.append)
    parts = [*(array.raw() for array in arrays), memoryview(rest)]
    lengths = tuple(part.nbytes for part in parts)
    if sum(lengths) < LEAST:
        return result
    stored = FileResult(str(Path(folder, uuid4().hex).with_suffix(SUFFIX)), lengths)
    try:
        with open(stored.file, "xb", buffering=0) as file:
            for part in parts:
                _write(file, part)
    except OSError:
        stored.remove()
        return result
    return stored


def loaded_future(sent: Future[Any]) -> Future[Any]:
    """Return a future of the result from that of a call of `call_with_file_result`; cancelling cancels the call."""
    future: Future[Any] = Future()

    def pass_on(sent: Future[Any]) -> None:
        if sent.cancelled():
            future.cancel()
        wanted = future.set_running_or_notify_cancel()
        try:
            result = sent.result()
            if isinstance(result, FileResult):
                result = result.load() if wanted else result.remove()
        except BaseException as error:
            if wanted:
                future.set_exception(error)
        else:
            if wanted:
                future.set_result(result)

    call = ref(sent)  # weak: `sent` already refers to the future

    def cancel(future: Future[Any]) -> None:
        own = call()
        if own is not None and future.cancelled():
            own.cancel()

    sent.add_done_callback(pass_on)
    future.add_done_callback(cancel)
    return future


def _read(file: FileIO, length: int) -> memoryview:
    """Read exactly `length` bytes; one system call may return fewer."""
    part = left = memoryview(np.empty(length, np.uint8))
    while left.nbytes:
        taken = file.readinto(left)
        if not taken:
            raise EOFError(f"{left.nbytes:,} bytes of a result are missing")
        left = left[taken:]
    return part


def _write(file: FileIO, part: memoryview) -> None:
    """Write all bytes; one system call may take fewer."""
    while part.nbytes:
        part = part[file.write(part) :]


START_FAILED = (
    "a worker process could not start; see the error above. Worker processes import the main script: put its code below "
    "`if __name__ == '__main__':`, or pass workers that exist, such as a dask.distributed.Client"
)

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Processes(Executor):
    """Executor of processes, in which a dead one is replaced.

    The work of a process that dies ends in `BrokenProcessPool`; that of the others continues. A process works
    on one thread, and has its own folder for results, which are transferred as files, and for compiled
    PyTensor code (unless the script that starts the processes has loaded PyTensor at import).
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._folder = Path(mkdtemp(prefix="raterzoo-"))
        self._pools: list[ProcessPoolExecutor | None] = [None] * count
        self._processes: list[list[BaseProcess]] = [[] for _ in range(count)]
        self._waiting: list[set[Future]] = [set() for _ in range(count)]

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call an importable function in the process with the fewest tasks; RuntimeError if the process cannot start."""
        place = min(range(self.count), key=lambda k: len(self._waiting[k]))
        task = (call_with_file_result, str(self._folder / str(place)), partial(fn, **kwargs), *args)
        try:
            sent = self._sent(place, task)
        except (EOFError, ConnectionError) as problem:  # the fork server ended
            raise RuntimeError(START_FAILED) from problem
        self._processes[place] = list((self._pool(place)._processes or {}).values())
        self._waiting[place].add(sent)
        sent.add_done_callback(self._waiting[place].discard)
        return loaded_future(sent)

    def _sent(self, place: int, task: tuple[Any, ...]) -> Future[Any]:
        """Send a call to a process, or to its replacement."""
        try:
            return self._pool(place).submit(*task)
        except BrokenProcessPool:  # it died idle, or a future has already reported its death
            own = self._folder / str(place)
            if not own.exists() and any(p.exitcode == 1 for p in self._processes[place]):
                raise RuntimeError(START_FAILED) from None
            for left in own.glob("*" + SUFFIX):  # by the dead process
                left.unlink(missing_ok=True)
            self._pools[place] = None
            return self._pool(place).submit(*task)

    def _pool(self, place: int) -> ProcessPoolExecutor:
        """Return the pool of one process, created on first use."""
        pool = self._pools[place]
        if pool is None:
            context = get_context("spawn" if sys.platform == "win32" else "forkserver")
            own = str(self._folder / str(place))
            pool = ProcessPoolExecutor(1, context, initializer=initialise_worker, initargs=(own,))
            self._pools[place] = pool
        return pool

    @property
    def pids(self) -> list[int]:
        """Ids of the running processes."""
        return [pid for pool in self._pools if pool for pid in pool._processes or ()]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `cancel_futures` kill those at work and remove waiting tasks."""
        for pool, waiting in zip(self._pools, self._waiting, strict=True):
            if cancel_futures and pool is not None and waiting:
                for process in list((pool._processes or {}).values()):
                    process.kill()  # its result is not needed, and an interrupted driver has little time
        for pool in self._pools:
            if pool is not None:
                pool.shutdown(wait, cancel_futures=cancel_futures)
        rmtree(self._folder, ignore_errors=True)


def initialise_worker(own: str) -> None:
    """Initialise a process: one thread, its own folder, and exit when the driver exits."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    threadpool_limits(1)  # for libraries that are already loaded
    Path(own).mkdir(exist_ok=True)
    flags = filter(None, (os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={own}"))
    os.environ["PYTENSOR_FLAGS"] = ",".join(flags)
    exit_with_driver()

"""Large results of worker processes, transferred through files instead of pipes.

A process that is killed while it writes to a pipe leaves half a message, and the driver would wait forever
for the rest. Through the pipe goes only a message so short that it is written at once or not at all. A pipe
would also copy each byte of a large result several times, in the driver too.
"""

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import ref

import numpy as np

__all__ = ["Parcel", "clear", "handed_over", "packed"]

# bytes; smaller results go through the pipe: Linux writes up to 4,096 bytes atomically
LEAST = 2**10
SUFFIX = ".parcel"


class Parcel(NamedTuple):
    """Result in a file: its arrays one after the other, then the pickle of the rest."""

    file: str
    lengths: tuple[int, ...]  # bytes of each part

    def opened(self) -> Any:
        """Read the result and remove the file."""
        try:
            with open(self.file, "rb", buffering=0) as file:
                *arrays, rest = [_read(file, length) for length in self.lengths]
        finally:
            self.drop()
        return pickle.loads(rest, buffers=arrays)

    def drop(self) -> None:
        """Remove the file."""
        Path(self.file).unlink(missing_ok=True)


def packed(folder: str, function: Callable, *arguments: Any) -> Any:
    """Call a function; return its result, or a `Parcel` if it is large and the file can be written."""
    result = function(*arguments)
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=arrays.append)
    parts = [*(array.raw() for array in arrays), memoryview(rest)]
    lengths = tuple(part.nbytes for part in parts)
    if sum(lengths) < LEAST:
        return result
    parcel = Parcel(str(Path(folder, uuid4().hex).with_suffix(SUFFIX)), lengths)
    try:
        with open(parcel.file, "xb", buffering=0) as file:
            for part in parts:
                _write(file, part)
    except OSError:
        parcel.drop()
        return result
    return parcel


def handed_over(sent: Future[Any]) -> Future[Any]:
    """Return a future of the result from that of a call of `packed`; cancelling cancels the call."""
    future: Future[Any] = Future()

    def pass_on(sent: Future[Any]) -> None:
        if sent.cancelled():
            future.cancel()
        wanted = future.set_running_or_notify_cancel()
        try:
            result = sent.result()
            if isinstance(result, Parcel):
                result = result.opened() if wanted else result.drop()
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


def clear(folder: Path) -> None:
    """Remove files of results that a dead process left."""
    for left in folder.glob("*" + SUFFIX):
        left.unlink(missing_ok=True)


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

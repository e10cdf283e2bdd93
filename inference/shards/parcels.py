"""Results that processes hand over as files.

A process that is killed while it writes to a pipe leaves half a message, for whose other half the driver would wait for ever.
What goes through the pipe is therefore so short that it is written at once, or not at all. And through a pipe each byte of a
large result would be copied several times, by the driver too.
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

LEAST = 2**10  # bytes; fewer are sent as they are, and at once: Linux writes 4,096
SUFFIX = ".parcel"


class Parcel(NamedTuple):
    """A result in a file.

    Attributes
    ----------
    file : str
        Path.
    lengths : tuple of int
        Bytes of its parts, one behind the other: of its arrays, and last of all else, pickled.
    """

    file: str
    lengths: tuple[int, ...]

    def opened(self) -> Any:
        """Return the result, and remove the file."""
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
    """Call a function, and put its result into a parcel unless it is small.

    Parameters
    ----------
    folder : str
        Where to write the file.
    function : callable
        What to call.
    *arguments
        Its arguments.

    Returns
    -------
    Parcel or object
        The result itself if it is small, or if there is no room for the file.
    """
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
    """Return a future of the result that a process sends as `packed` makes it.

    Parameters
    ----------
    sent : Future
        Of the call of `packed`.

    Returns
    -------
    Future
        Of the result itself; where it is cancelled, the call is, too.
    """
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

    call = ref(sent)  # it holds the future

    def cancel(future: Future[Any]) -> None:
        own = call()
        if own is not None and future.cancelled():
            own.cancel()

    sent.add_done_callback(pass_on)
    future.add_done_callback(cancel)
    return future


def clear(folder: Path) -> None:
    """Remove what a process has left that died while it wrote.

    Parameters
    ----------
    folder : Path
        Where it wrote.
    """
    for left in folder.glob("*" + SUFFIX):
        left.unlink(missing_ok=True)


def _read(file: FileIO, length: int) -> memoryview:
    """Return the next bytes, of which a system gives as many at a time as it likes."""
    part = left = memoryview(np.empty(length, np.uint8))
    while left.nbytes:
        taken = file.readinto(left)
        if not taken:
            raise EOFError(f"{left.nbytes:,} bytes of a result are missing")
        left = left[taken:]
    return part


def _write(file: FileIO, part: memoryview) -> None:
    """Write bytes, of which a system takes as many at a time as it likes."""
    while part.nbytes:
        part = part[file.write(part) :]

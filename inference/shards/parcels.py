"""Results that processes hand over as files: through a pipe each of their bytes is copied several times, by the driver too.

The numbers of a result go into one file, as they are; the rest is small, and is sent. Who receives it maps the file into memory
and removes its name: the memory goes with the arrays that lie in it.
"""

import pickle
from collections.abc import Callable
from itertools import accumulate
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

__all__ = ["Parcel", "clear", "packed"]

LEAST = 2**20  # bytes; fewer are sent as they are
ALIGNED = 64  # bytes
SUFFIX = ".parcel"


class Parcel(NamedTuple):
    """A result whose numbers lie in a file.

    Attributes
    ----------
    file : str
        Path.
    lengths : tuple of int
        Bytes of its arrays; each begins at the next multiple of `ALIGNED`.
    rest : bytes
        All else, pickled.
    """

    file: str
    lengths: tuple[int, ...]
    rest: bytes

    def opened(self) -> Any:
        """Return the result, and remove the name of the file."""
        with open(self.file, "rb") as file:
            numbers = memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY))
        Path(self.file).unlink()
        places = zip(_starts(self.lengths), self.lengths, strict=True)
        return pickle.loads(self.rest, buffers=[numbers[k : k + n] for k, n in places])


def packed(folder: str, function: Callable, *arguments: Any) -> Any:
    """Call a function, and put its result into a parcel if it is large.

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
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    if sum(part.nbytes for part in parts) < LEAST:
        return result
    file = Path(folder, uuid4().hex).with_suffix(SUFFIX)
    try:
        _write(file, parts)
    except OSError:
        file.unlink(missing_ok=True)
        return result
    return Parcel(str(file), tuple(part.nbytes for part in parts), rest)


def clear(folder: Path) -> None:
    """Remove what a process has left that died while it wrote.

    Parameters
    ----------
    folder : Path
        Where it wrote.
    """
    for left in folder.glob("*" + SUFFIX):
        left.unlink(missing_ok=True)


def _starts(lengths: tuple[int, ...]) -> list[int]:
    """Return where each array begins."""
    rooms = (-(-length // ALIGNED) * ALIGNED for length in lengths[:-1])
    return [*accumulate(rooms, initial=0)]


def _write(path: Path, parts: list[memoryview]) -> None:
    """Write arrays to a new file."""
    starts = _starts(tuple(part.nbytes for part in parts))
    with path.open("xb", buffering=0) as file:
        for start, part in zip(starts, parts, strict=True):
            file.seek(start)
            while part.nbytes:  # a system takes as many bytes at a time as it likes
                part = part[file.write(part) or 0 :]

"""One writer at a time: a lock that its process loses when it dies, however it dies."""

import errno
import os
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: two writers at a time are not noticed there
    fcntl = None

__all__ = ["StoreLock"]


class StoreLock:
    """The lock of a store, a file that holds the number of the process that has it."""

    def __init__(self, file: Path, store: Path) -> None:
        self._path, self._store = file, store
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, or raise `BlockingIOError` with the number of the process that has it."""
        file = self._path.open("a+")
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise BlockingIOError(
                errno.EWOULDBLOCK,
                f"process {owner} is writing to {self._store}; wait until it has ended, or end it",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None

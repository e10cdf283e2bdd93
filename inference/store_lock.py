"""Lock file of a store: one writer at a time; the system releases the lock when its process dies."""

import errno
import os
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: simultaneous writers are not detected
    fcntl = None

__all__ = ["StoreLock"]


class StoreLock:
    """Exclusive lock of a store, on a file that holds the process id of the owner."""

    def __init__(self, file: Path, store: Path) -> None:
        self._path, self._store = file, store
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Acquire the lock; raise `BlockingIOError` with the process id of the owner if it is taken."""
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
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

"""Permissions of files with anonymised data: of the user alone, whatever the umask is."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

OTHERS = 0o077  # permissions of the group and of all
_private_stores: ContextVar[bool] = ContextVar("private_stores", default=False)


@contextmanager
def private_stores(private: bool) -> Iterator[None]:
    """Context manager: stores that are begun meanwhile are private, and stay so when they are resumed."""
    token = _private_stores.set(private)
    try:
        yield
    finally:
        _private_stores.reset(token)


def make_journal(folder: Path) -> None:
    """Make the journal of a new store; its permissions are those of all files of the store."""
    folder.mkdir(parents=True, exist_ok=True)
    if _private_stores.get():
        folder.chmod(0o700)


def is_private(folder: Path) -> bool:
    """Whether a folder is of the user alone."""
    return not folder.stat().st_mode & OTHERS


@contextmanager
def private_files(private: bool, written: Path | None = None) -> Iterator[None]:
    """Context manager: make files with mode 0600 and folders with 0700 meanwhile, if `private`.

    Files at or in the path `written` that existed before, and are written meanwhile, get 0600 too.
    """
    if not private:
        yield
        return
    begun, before = time.time() - 1, os.umask(OTHERS)  # clocks of file systems are coarse
    try:
        yield
    finally:
        os.umask(before)
        for file in [] if written is None else [written, *written.rglob("*")]:
            if file.is_file() and not file.is_symlink() and file.stat().st_mtime >= begun:
                file.chmod(0o600)

"""Command line: ``raterzoo --help``."""

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from .commands import app

    if isinstance(
        sys.stdout, TextIOWrapper
    ):  # a pipe on Windows may lack letters of an id: these are escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    atexit.register(gc.freeze)  # else a second and more of visiting what goes with the process anyway
    with _sources_removed():
        app(prog_name="raterzoo")


SOURCES, SINCE = "generated_src_dir", (3, 3, 7)  # option of PyTensor, and a version that has it


@contextmanager
def _sources_removed() -> Iterator[None]:
    """Context manager: PyTensor writes the source of what it compiles, a file for each function, to a folder that is removed."""
    from importlib.metadata import version
    from re import findall
    from tempfile import TemporaryDirectory

    flags = os.environ.get("PYTENSOR_FLAGS", "")
    if SOURCES in flags or tuple(map(int, findall(r"\d+", version("pytensor"))[:3])) < SINCE:
        yield
        return
    with TemporaryDirectory(prefix="raterzoo-", ignore_cleanup_errors=True) as folder:
        os.environ["PYTENSOR_FLAGS"] = f"{SOURCES}={folder}" + (f",{flags}" if flags else "")
        yield

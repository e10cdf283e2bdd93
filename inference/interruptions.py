"""Signals that end a process wait until the draws in hand are on disk, or temporary files are gone."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

__all__ = ["Interruptions", "cleaned_up"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruptions:
    """A block in which SIGINT and SIGTERM are noted, and delivered where it ends; the second one is delivered at once.

    In other threads than the main one nothing is noted: signals do not reach them.

    Attributes
    ----------
    asked : signal.Signals or None
        What has been noted.
    """

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._note) for s in SIGNALS}
        return self

    def __exit__(self, *raised: object) -> None:
        self._restore()
        if self.asked is not None and raised[0] is None:
            signal.raise_signal(self.asked)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Note a signal, or deliver the second one."""
        if self.asked is None:
            self.asked = signal.Signals(number)
            return
        self._restore()
        signal.raise_signal(number)

    def _restore(self) -> None:
        """Let signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


@contextmanager
def cleaned_up() -> Iterator[None]:
    """Let SIGTERM end a block as an exception does, so that what it has opened is closed; the second one ends it at once.

    Where somebody else handles the signal, and in other threads than the main one, it does what it did.

    Raises
    ------
    SystemExit
        At SIGTERM, with the status that shells give it: 128 and its number.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, frame: FrameType | None) -> None:
    """Exit, and leave the next signal to the system."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)

"""Deferred handling of SIGINT and SIGTERM, so that draws reach the disk and temporary files are removed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruptions:
    """Context manager: defer the first SIGINT or SIGTERM of the main thread to the end, as ``asked``; deliver the second."""

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
        """Signal handler: record the first signal, deliver the second."""
        if self.asked is None:
            self.asked = signal.Signals(number)
            return
        self._restore()
        signal.raise_signal(number)

    def _restore(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


@contextmanager
def cleaned_up() -> Iterator[None]:
    """Context manager: SIGTERM raises `SystemExit`, a second one ends the process; no effect beside another handler or thread."""
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
    """Signal handler: restore the default action, and raise `SystemExit`."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)

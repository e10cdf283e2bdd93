"""SIGINT (Ctrl-C) and SIGTERM: draws reach the disk, temporary files are removed, and one message says how to go on."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from types import FrameType
from typing import Any, NamedTuple, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Advice(NamedTuple):
    """What a stopped run has left, and how to go on with it."""

    kept: str
    in_python: str
    on_command_line: str


NOTHING_KEPT = Advice(
    "nothing has been written yet", "the same call begins anew", "the same command begins anew"
)


class Interrupted(KeyboardInterrupt):
    """A run was stopped by a signal; its text says what is kept and how to go on if known, `with_option` on the command line."""

    def __init__(self, advice: Advice | None = None, number: int = signal.SIGINT) -> None:
        super().__init__("stopped" + (f": {advice.kept}; {advice.in_python}" if advice else ""))
        self.with_option: str = "stopped" + (f": {advice.kept}; {advice.on_command_line}" if advice else "")
        self.advice: Advice | None = advice
        self.exit_code: int = 128 + number
        self.number: int = number


class Interruptions:
    """Context manager: defer the first SIGINT or SIGTERM of the main thread to the end, as ``asked``; deliver the second.

    Delivered at the end, a signal that raises KeyboardInterrupt raises `Interrupted` with `advice()`, and one that ends the
    process writes it to standard error. Signals that are ignored stay ignored.
    """

    def __init__(self, advice: Callable[[], Advice]) -> None:
        self.asked: signal.Signals | None = None
        self._advice, self._before = advice, {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heeded = [s for s in SIGNALS if signal.getsignal(s) is not signal.SIG_IGN]
            self._before: dict[signal.Signals, Any] = {s: signal.signal(s, self._note) for s in heeded}
        return self

    def __exit__(self, *raised: object) -> None:
        self._restore()
        if self.asked is None or raised[0] is not None:
            return
        if signal.getsignal(self.asked) is signal.SIG_DFL:
            _tell(Interrupted(self._advice(), self.asked))
        with adviser(self._advice):
            signal.raise_signal(self.asked)

    def raise_unless(self, finished: bool) -> None:
        """Raise `Interrupted` if a handler of signals did not end a run that is not finished."""
        if not finished:
            raise Interrupted(self._advice(), self.asked or signal.SIGINT)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Signal handler: record the first signal, deliver the second."""
        if self.asked is None:
            self.asked = signal.Signals(number)
            return
        self._restore()
        signal.raise_signal(number)

    def _restore(self) -> None:
        """Restore the previous signal handlers, once: a handler that the second signal calls may set others."""
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def adviser(advice: Callable[[], Advice]) -> Iterator[None]:
    """Context manager: KeyboardInterrupt becomes `Interrupted` with `advice()`; an exit at SIGTERM prints it to stderr."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if isinstance(stop, Interrupted) and stop.advice is not None:
            raise
        raise Interrupted(advice(), getattr(stop, "number", signal.SIGINT)) from None
    except SystemExit as end:
        if end.code == 128 + signal.SIGTERM:
            _tell(Interrupted(advice(), signal.SIGTERM))
        raise


def _tell(stop: Interrupted) -> None:
    """Write the message of a stop that no exception carries to standard error."""
    sys.stderr.write(f"raterzoo: {stop}\n")
    sys.stderr.flush()


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Context manager: SIGTERM raises `Interrupted`, as Ctrl-C does; no effect beside another handler or thread."""
    with _handled(_interrupt):
        yield


@contextmanager
def cleaned_up() -> Iterator[None]:
    """Context manager: SIGTERM raises `SystemExit`, a second one ends the process; no effect beside another handler or thread."""
    with _handled(_exit):
        yield


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Context manager: a handler of SIGTERM, if there is no other and this is the main thread."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, frame: FrameType | None) -> None:
    """Signal handler: restore the default action, and raise `SystemExit`."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Signal handler: restore the default action, and raise `Interrupted`."""
    signal.signal(number, signal.SIG_DFL)
    raise Interrupted(number=number)


def exit_with_driver() -> None:
    """Let this process end when the one that started it does; a killed driver cannot stop its processes itself."""
    threading.Thread(target=_end_with_the_driver, daemon=True).start()


def _end_with_the_driver() -> None:
    """Wait for the driver to end, then exit."""
    driver = parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)

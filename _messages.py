"""Text for people: untrusted text in messages, on one bounded line without control characters, and progress on the terminal."""

import os
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from itertools import islice
from threading import RLock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# frames that a warning skips, so that it names the line of the user
_ROOT = os.path.dirname(__file__)
_PACKAGES = ("posterior", "models", "inference", "evaluation", "reports")
OUR_FILES = (os.path.join(_ROOT, "_"), *(os.path.join(_ROOT, package, "") for package in _PACKAGES))
MAX_LENGTH = 1_500
JOINERS = "\u200c\u200d"  # of letters in Persian, of people in families


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the line of the user that led here."""
    warnings.warn(text, category, skip_file_prefixes=OUR_FILES)


class _Short(reprlib.Repr):
    """Repr of bounded length; Python refuses to write integers of more than 4,300 digits."""

    def __init__(self) -> None:
        super().__init__(maxstring=60, maxother=60)

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < 256 else f"<integer of {bits:,} bits>"


_may_show: ContextVar[Callable[[str], bool] | None] = ContextVar("may_show", default=None)
HIDDEN = "(hidden)"


@contextmanager
def quotes_hidden(may_show: Callable[[str], bool]) -> Iterator[None]:
    """Context manager: messages quote a text only if `may_show` of it is true, as any other may name a rater."""
    token = _may_show.set(may_show)
    try:
        yield
    finally:
        _may_show.reset(token)


def is_shown(value: object) -> bool:
    """Whether messages may quote a value: all values, except within `quotes_hidden`."""
    may_show = _may_show.get()
    return may_show is None or (isinstance(value, str) and may_show(value))


_by_options: ContextVar[bool] = ContextVar("by_options", default=False)


@contextmanager
def by_options() -> Iterator[None]:
    """Context manager of the command line: remedies name its options, not arguments in Python."""
    token = _by_options.set(True)
    try:
        yield
    finally:
        _by_options.reset(token)


def way(option: str, call: str) -> str:
    """Words for a remedy: an option on the command line, an argument or call in Python."""
    return option if _by_options.get() else call


def quoted_error(error: Exception) -> str:
    """Text of an error of another library in parentheses, which may quote what is read; empty if that is hidden."""
    text = " ".join(str(error).split())[:200]
    return f" ({text})" if is_shown(text) else ""


def short_repr(value: object) -> str:
    """Repr of a value on one line of about a hundred characters at most, unless quotes are hidden."""
    if not is_shown(value):
        return HIDDEN
    return printable_line(_Short().repr(value).replace("\n", " "))


def first_reprs(names: Iterable[object], most: int = 12) -> str:
    """First `most` names, comma-separated reprs, with "..." for the rest; "none" if there are none."""
    first = [short_repr(name) for name in islice(names, most + 1)]
    return ", ".join(first[:most] + ["..."] * (len(first) > most)) or "none"


def printable_line(text: str) -> str:
    """One printable line of bounded length: the middle is cut, and non-printable characters are escaped."""
    if len(text) > MAX_LENGTH:
        text = f"{text[: MAX_LENGTH // 2]} ... {text[-MAX_LENGTH // 2 :]}"
    return escaped(text)


def escaped(text: str) -> str:
    """Escape all non-printable characters; the length is not bounded."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )


# --- Progress: one line on standard error for each running step, with its clock and, if known, the time left ---

DELAY = 0.3  # seconds before a step is shown; shorter ones are not


class Step:
    """A line of the display; without a terminal nothing is shown. Safe to use from any thread."""

    def __init__(self, text: str, total: float | None, completed: int, shown: bool) -> None:
        self._text, self.visible = text, shown and _display.available
        self._task = _display.open(text, total, completed) if self.visible else None

    def advance(self, amount: float = 1) -> None:
        """Move the bar forward."""
        if self._task is not None:
            _display.progress.advance(self._task, amount)

    def describe(self, text: str | None = None) -> None:
        """Show another text on the line, or its own again."""
        if self._task is not None:
            _display.progress.update(self._task, description=text or self._text)

    def close(self) -> None:
        """Remove the line."""
        if self._task is not None:
            _display.close(self._task)


@contextmanager
def step(text: str, total: float | None = None, *, completed: int = 0, shown: bool = True) -> Iterator[Step]:
    """Context manager: show a step of the work; with a `total`, such as a number of draws, as a bar with a percentage."""
    own = Step(text, total, completed, shown)
    try:
        yield own
    finally:
        own.close()


COMPILING = "Compiling the sampler, once on this machine"


@contextmanager
def compiled_step(
    text: str, total: float | None = None, *, completed: int = 0, shown: bool = True
) -> Iterator[Step]:
    """Context manager: show a step; while numba compiles functions for it, which it then keeps, say so."""
    from numba.core.event import Event, Listener, install_listener

    class Compilations(Listener):
        depth = 0  # one thread compiles at a time

        def on_start(self, event: Event) -> None:
            self.depth += 1
            own.describe(COMPILING)

        def on_end(self, event: Event) -> None:
            self.depth -= 1
            if not self.depth:
                own.describe()

    with step(text, total, completed=completed, shown=shown) as own:
        with install_listener("numba:compile", Compilations()):
            yield own


class _Display:
    """The live display of the process: rich allows one at a time."""

    def __init__(self) -> None:
        self._lock, self._timer, self._progress, self._open = RLock(), None, None, 0
        self._live, self._paused = False, 0

    @property
    def available(self) -> bool:
        """Whether standard error is a terminal, or a notebook with ipywidgets, without which rich warns of each bar."""
        from rich.console import Console

        console = Console(stderr=True)
        return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)

    @property
    def progress(self) -> "Progress":
        if self._progress is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.table import Column

            columns = (
                TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            console = Console(stderr=True)
            self._progress = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        return self._progress

    def open(self, text: str, total: float | None, completed: int) -> "TaskID":
        with self._lock:
            task = self.progress.add_task(text, total=total, completed=completed)
            self._open += 1
            if self._open == 1:
                self._timer = Timer(DELAY, self._start)
                self._timer.daemon = True
                self._timer.start()
            return task

    def _start(self) -> None:
        with self._lock:
            if self._open and not self._live and not self._paused:
                self.progress.start()
                self._live = True

    def close(self, task: "TaskID") -> None:
        with self._lock:
            self.progress.remove_task(task)
            self._open -= 1
            if not self._open:
                self._stop()
                self._progress = None  # standard error may be another one next time

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._live:
            self.progress.stop()
            self._live = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            self._stop()
            self._paused += 1
        try:
            yield
        finally:
            with self._lock:
                self._paused -= 1
                self._start()


_display = _Display()
paused: Callable[[], AbstractContextManager[None]] = _display.paused
"""Context manager: nothing is shown meanwhile, so that other text can be printed."""


@contextmanager
def handed_over(text: str, *, shown: bool) -> Iterator[None]:
    """Context manager: say once what follows, and leave the terminal to a display of others."""
    with paused():
        if shown and _display.available:
            print(text, file=sys.stderr)
        yield

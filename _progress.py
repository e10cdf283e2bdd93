"""Progress on the terminal: a line on standard error for each running step, with its clock and, if known, the time left."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from threading import RLock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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

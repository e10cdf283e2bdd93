"""Compilation by numba, which takes seconds, once on a machine: shown as a step of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener

from ..._progress import Step, step

COMPILING = "Compiling the sampler, once on this machine"


class _Compilations(Listener):
    """Show on the line of a step that functions are being compiled; those in numba's cache are not."""

    def __init__(self, shown: Step) -> None:
        self.shown, self.depth = shown, 0  # one thread compiles at a time

    def on_start(self, event: Event) -> None:
        self.depth += 1
        self.shown.describe(COMPILING)

    def on_end(self, event: Event) -> None:
        self.depth -= 1
        if not self.depth:
            self.shown.describe()


@contextmanager
def compiled_step(
    text: str, total: float | None = None, *, completed: float = 0, shown: bool = True
) -> Iterator[Step]:
    """Context manager: show a step; while functions are compiled for it, say so."""
    with (
        step(text, total, completed=completed, shown=shown) as own,
        install_listener("numba:compile", _Compilations(own)),
    ):
        yield own

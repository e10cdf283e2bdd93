"""Terminal output: text and tables."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._legible import escaped

__all__ = ["say", "show", "width", "working"]

_console = Console(soft_wrap=True)
_progress = Console(stderr=True)


def say(text: str) -> None:
    """Print text with control characters escaped, and without interpreting markup."""
    _console.print(Text("\n".join(map(escaped, text.split("\n")))))


def width() -> int:
    """Return the number of characters per line."""
    return _console.width


def working(text: str) -> AbstractContextManager[object]:
    """Context manager: show a status text on standard error, if it is a terminal."""
    return _progress.status(Text(text))


def show(
    rows: Sequence[Mapping[str, object]],
    title: str = "",
    *,
    folds: str | None = None,
    whole: Sequence[str] = (),
) -> None:
    """Print a table of rows with the same keys.

    `folds` is the only column that may be folded, all others being numeric; by default every column but the
    first may be, except those in `whole`.
    """
    table = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False
    )
    for name in rows[0]:
        number = all(isinstance(row[name], int | float | None) for row in rows)
        if folds is not None:
            number = name != folds
        table.add_column(
            Text(name),
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=name in whole or (name == next(iter(rows[0])) if folds is None else number),
        )
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    _console.print(table)


def _cell(value: object) -> str:
    """Return the text of a cell."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else escaped(str(value))

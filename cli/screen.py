"""What the terminal shows: text and tables."""

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
    """Show text as it is: labels may hold what looks like markup, or what steers a terminal."""
    _console.print(Text("\n".join(map(escaped, text.split("\n")))))


def width() -> int:
    """Return how many letters a line has room for."""
    return _console.width


def working(text: str) -> AbstractContextManager[object]:
    """Show that something takes its time, while it does; nothing where nobody watches.

    Parameters
    ----------
    text : str
        What is being done.

    Returns
    -------
    context manager
        The text goes when it ends.
    """
    return _progress.status(Text(text))


def show(
    rows: Sequence[Mapping[str, object]],
    title: str = "",
    *,
    folds: str | None = None,
    whole: Sequence[str] = (),
) -> None:
    """Show a table.

    Parameters
    ----------
    rows : sequence of mappings
        With the same keys.
    title : str
        Heading.
    folds : str, optional
        The one column of text that may be folded, the others hold figures; by default every column but the first may be.
    whole : sequence of str
        Further columns that are not folded.
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

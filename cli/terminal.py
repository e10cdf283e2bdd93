"""Terminal output: text and tables."""

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._messages import by_options, escaped, paused, printable_line, step
from ..inference.storage.interruptions import Interrupted, interrupted_by_sigterm

if TYPE_CHECKING:
    from ..reports.analyses.analysis import Answer

DECODERS = ("h5py", "numcodecs", "zarr")


def exit_on_input_error[**P](command: Callable[P, None]) -> Callable[P, None]:
    """Decorate a command: an error of bad input becomes a message on standard error and exit code 2, a signal 130 or 143."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            said = step(f"raterzoo {command.__name__}")
            with by_options(), interrupted_by_sigterm(), warnings.catch_warnings(), said:
                warnings.showwarning = _said_once()
                command(*args, **kwargs)
        except KeyboardInterrupt as stop:
            own = stop if isinstance(stop, Interrupted) else Interrupted()
            typer.echo(f"raterzoo: {printable_line(own.with_option)}", err=True)
            raise typer.Exit(own.exit_code) from None
        except (ValueError, OSError) as problem:
            # a ValueError, but never an input error: a defect, which keeps its traceback
            if type(problem).__name__ == "LinAlgError":
                raise
            message = getattr(problem, "with_option", str(problem))
            if isinstance(problem, OSError) and problem.strerror and problem.filename is None:
                message = problem.strerror  # without "[Errno 2]"
            typer.echo(f"raterzoo: {printable_line(message)}", err=True)
            raise typer.Exit(2) from problem
        except RuntimeError as problem:
            if not _of_stored_data(problem):
                raise
            typer.echo(f"raterzoo: a stored array is damaged ({printable_line(str(problem))})", err=True)
            raise typer.Exit(2) from problem

    return run


def _of_stored_data(problem: BaseException) -> bool:
    """Return whether an error was raised by a decoder of stored arrays, which are read lazily."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return module.partition(".")[0] in DECODERS


# words of Python in errors and warnings of containers -> the same on the command line
OPTIONS = {
    "missing='drop'": "--drop-missing",
    "keep='last'": "--keep-answers last",
    "pass categories= with": "--categories",
    "add it to categories=": "add it to --categories",
    "bounds=(low, high)": "--bounds low,high",
    "no_answer=": "--no-answer",
    "add it to levels=": "add it to --levels",
    "levels=": "--levels",
    "strength='ignored'": "--strength ignored",
    'from_table(..., shown="rank")': "--column shown=rank",
    "shown= a column": "--column shown= a column",
    # of predictions
    "or leave the prediction out": "or leave the row out",
    ", leave the prediction out, or pass new_items='add' to take items that no rater answered": ", or leave the row out",
    "read the labels with categories= that have it": "add it to --categories",
    "read the annotations with categories= that have it": "add it to --categories",
    # of features
    ": .select(items=...)": "",
    "; ids in the index of a pandas frame: features.reset_index(names='item')": "",
    ", for example by pandas.get_dummies": "",
}


def on_command_line(text: str) -> str:
    """Return a text in the words of the command line."""
    for python, option in OPTIONS.items():
        text = text.replace(python, option)
    return text


def _said_once() -> Callable[..., None]:
    """Return a printer of warnings that says each text once: a command builds models and fits more than one time."""
    said: set[str] = set()

    def say(message: Warning | str, *where: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            _say_warning(message)

    return say


def _say_warning(message: Warning | str, *where: Any) -> None:
    """Print a warning without its location in the code."""
    with paused():
        typer.echo(f"raterzoo: {printable_line(on_command_line(str(message)))}", err=True)


class _Terminal(Console):
    """Console whose command goes on, to its files, when the reader of its output, such as head, has enough."""

    def on_broken_pipe(self) -> None:
        """Print nothing more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_console = _Terminal(soft_wrap=True)


def print_text(text: str) -> None:
    """Print text with control characters escaped, and without interpreting markup."""
    with paused():
        _console.print(Text("\n".join(map(escaped, text.split("\n")))))


def print_answers(answers: "Sequence[Answer]") -> None:
    """Print the answers of an analysis, a line each."""
    for answer in answers:
        print_text(f"{answer.question} {answer.text}")


def print_note(text: str) -> None:
    """Print how something was read to standard error."""
    _say_warning(text)


def width() -> int:
    """Return the number of characters per line."""
    return _console.width


LONGEST = 20  # characters of a cell of numbers that is not folded beside a column with a least width


def print_table(
    rows: Sequence[Mapping[str, object]],
    title: str = "",
    *,
    folds: str | None = None,
    whole: Sequence[str] = (),
    narrowest: int = 0,
) -> None:
    """Print a table of rows with the same keys.

    `folds` is the only column that may be folded, all others being numeric; by default every column but the
    first may be, except those in `whole`. With `narrowest`, its least width, other cells of more than `LONGEST` characters
    may be folded, too.
    """
    table = Table(title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        number = all(isinstance(row[name], int | float | None) for row in rows)
        longest = max(len(_cell(row[name])) for row in rows)
        if folds is not None:
            number = name != folds
        table.add_column(
            Text(name),
            justify="right" if number else "left",
            overflow="fold",
            min_width=min(longest, narrowest) if narrowest and name == folds else None,
            no_wrap=name in whole
            or (
                name == next(iter(rows[0]))
                if folds is None
                else number and not (narrowest and longest > LONGEST)
            ),
        )
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    with paused():
        _console.print(table)


def _cell(value: object) -> str:
    """Return the text of a cell."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else escaped(str(value))

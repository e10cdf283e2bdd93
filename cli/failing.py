"""Error handling: bad input prints one message, without a traceback, and exits with code 2."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from .._legible import legible

__all__ = ["plainly"]

DECODERS = ("h5py", "numcodecs", "zarr")


def plainly[**P](command: Callable[P, None]) -> Callable[P, None]:
    """Decorate a command: an error of bad input becomes a message on standard error and exit code 2."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning
                command(*args, **kwargs)
        except (ValueError, OSError) as problem:
            # a ValueError, but never an input error: a defect, which keeps its traceback
            if type(problem).__name__ == "LinAlgError":
                raise
            typer.echo(f"raterzoo: {legible(str(problem))}", err=True)
            raise typer.Exit(2) from problem
        except RuntimeError as problem:
            if not _of_stored_data(problem):
                raise
            typer.echo(f"raterzoo: a stored array is damaged ({legible(str(problem))})", err=True)
            raise typer.Exit(2) from problem

    return run


def _of_stored_data(problem: BaseException) -> bool:
    """Return whether an error was raised by a decoder of stored arrays, which are read lazily."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return module.partition(".")[0] in DECODERS


def _say_warning(message: Warning | str, *where: Any) -> None:
    """Print a warning without its location in the code."""
    typer.echo(f"raterzoo: {legible(str(message))}", err=True)

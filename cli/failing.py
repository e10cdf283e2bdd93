"""Bad input ends in one readable message and exit code 2, never in a traceback; a warning is a line of its own."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from .._legible import legible

__all__ = ["plainly"]

DECODERS = ("h5py", "numcodecs", "zarr")


def plainly[**P](command: Callable[P, None]) -> Callable[P, None]:
    """Turn what the doors raise on bad input into a message on standard error.

    Parameters
    ----------
    command : callable
        A command.

    Returns
    -------
    callable
        The command, which exits with 2 on a `ValueError` (every door's error is one) or a file that cannot be used.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning
                command(*args, **kwargs)
        except (ValueError, OSError) as problem:
            # a ValueError that no door raises: a defect
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
    """Tell whether it was found by what decodes stored arrays, which are read late, and not by us."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return module.partition(".")[0] in DECODERS


def _say_warning(message: Warning | str, *where: Any) -> None:
    """Show what a warning says, without the place in the code that says it."""
    typer.echo(f"raterzoo: {legible(str(message))}", err=True)

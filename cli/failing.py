"""Bad input ends in one readable message and exit code 2, never in a traceback."""

from collections.abc import Callable
from functools import wraps

import typer

__all__ = ["plainly"]


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
            command(*args, **kwargs)
        except (ValueError, OSError) as problem:
            typer.echo(f"raterzoo: {problem}", err=True)
            raise typer.Exit(2) from problem

    return run

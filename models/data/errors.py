"""The one error of every door: where it is, what was found, what is allowed, what to do."""

from functools import partial
from pathlib import Path
from typing import Any, Self

from ..._legible import legible, shown

__all__ = ["BUILDERS", "DataError", "DataWarning", "shown"]

# frames that a warning skips, to name the line of whoever calls a builder
BUILDERS = (str(Path(__file__).parents[1]),)


class DataWarning(UserWarning):
    """Data that can be read, but cannot answer what is asked of them."""


class DataError(ValueError):
    """Data that a container or a reader refuses.

    Parameters
    ----------
    problem : str
        What is wrong, the value found included.
    row : int, optional
        Row of the table, counted from 1 as a person counts data rows; a header has no number.
    column : str, optional
        Name of the column, or of the argument.
    value : object, optional
        The value found.
    allowed : str, optional
        What is allowed there.
    remedy : str
        What to do about it.
    where : str, optional
        Where it is, if row and column do not say it best.

    Attributes
    ----------
    problem, row, column, value, allowed, remedy, where
        As given; ``str(error)`` is all of it on one line.
    """

    def __init__(
        self,
        problem: str,
        *,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
        allowed: str = "",
        remedy: str,
        where: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.row = row
        self.column = column
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        self.where: str = where or _place(row, column)

    def __str__(self) -> str:
        message = f"{self.where}: {self.problem}" if self.where else self.problem
        if self.allowed:
            message += f"; allowed: {self.allowed}"
        return legible(f"{message}; remedy: {self.remedy}")

    def __reduce__(self) -> tuple[partial[Self], tuple[str]]:
        # The reduction of exceptions forgets keywords; workers send errors home as pickles.
        return partial(type(self), **self._details()), (self.problem,)

    def moved(self, where: str) -> Self:
        """Return the same error found elsewhere.

        Parameters
        ----------
        where : str
            Place to name in front of the problem.

        Returns
        -------
        DataError
            A copy that names the other place.
        """
        details: dict[str, Any] = {**self._details(), "where": where}
        return type(self)(self.problem, **details)

    def _details(self) -> dict[str, Any]:
        names = ("row", "column", "value", "allowed", "remedy", "where")
        return {name: getattr(self, name) for name in names}


def _place(row: int | None, column: str | None) -> str:
    parts = [] if row is None else [f"row {row:,}"]
    if column is not None:
        parts.append(f"column {shown(column)}")
    return ", ".join(parts)

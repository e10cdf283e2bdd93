"""Errors and warnings of containers and readers: place, value found, values allowed, remedy."""

from functools import partial
from typing import Any, Self

from ..._messages import printable_line, short_repr


class DataWarning(UserWarning):
    """Valid data that cannot answer the question asked of them.

    Examples
    --------
    >>> from raterzoo import models
    >>> issubclass(models.DataWarning, UserWarning)
    True
    """


class DataError(ValueError):
    """Data that a container or a reader refuses.

    Parameters
    ----------
    problem, allowed, remedy : str
        What is wrong, including the value found; what is allowed there; what to do about it.
    row : int, optional
        Row of the table, counted from 1 without the header.
    column : str, optional
        Name of the column, or of the argument.
    value : object, optional
        The value found.
    where : str, optional
        Place in words, in place of row and column.

    Attributes
    ----------
    problem, row, column, value, allowed, remedy, where
        As given; ``str(error)`` is all of it on one line.

    Examples
    --------
    >>> from raterzoo import models
    >>> try:
    ...     models.Labels.from_table({"item": [1], "rater": [""], "label": ["cat"]})
    ... except models.DataError as error:
    ...     error.row, error.column
    (1, 'rater')
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
        return printable_line(f"{message}; remedy: {self.remedy}")

    def __reduce__(self) -> tuple[partial[Self], tuple[str]]:
        # the default reduction of exceptions drops keywords, but workers return errors pickled
        return partial(type(self), **self._details()), (self.problem,)

    def moved(self, where: str) -> Self:
        """Copy the error with another place.

        Parameters
        ----------
        where : str
            Place to name in front of the problem.

        Returns
        -------
        DataError
            A copy that names the other place.

        Examples
        --------
        >>> from raterzoo import models
        >>> error = models.DataError("the file is empty", remedy="check its source")
        >>> print(error.moved("labels.csv"))
        labels.csv: the file is empty; remedy: check its source
        """
        details: dict[str, Any] = {**self._details(), "where": where}
        return type(self)(self.problem, **details)

    def _details(self) -> dict[str, Any]:
        names = ("row", "column", "value", "allowed", "remedy", "where")
        return {name: getattr(self, name) for name in names}


def refused_argument(
    argument: str, problem: str, *, value: object = None, allowed: str = "", remedy: str
) -> DataError:
    """Error about an argument."""
    where = f"argument {argument}"
    return DataError(problem, column=argument, value=value, allowed=allowed, remedy=remedy, where=where)


def _place(row: int | None, column: str | None) -> str:
    """Phrase with row and column."""
    parts = [] if row is None else [f"row {row:,}"]
    if column is not None:
        parts.append(f"column {short_repr(column)}")
    return ", ".join(parts)

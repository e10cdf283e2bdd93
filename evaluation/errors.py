"""Exception of evaluation, and checks of the arguments that several questions share."""

import numpy as np

from .._messages import printable_line


class EvaluationError(ValueError):
    """Invalid posterior, predictions or argument of an evaluation; the message names the remedy.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> try:
    ...     evaluation.top_k_accuracy(0)
    ... except evaluation.EvaluationError as error:
    ...     print(error)
    k=0: expected a whole number from 1
    """

    def __str__(self) -> str:
        return printable_line(super().__str__())


def check_probability(name: str, value: object) -> None:
    """Raise unless a probability is a number strictly between 0 and 1."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < 1:
        raise EvaluationError(f"{name}={value!r}: expected a number between 0 and 1")


def check_whole(
    name: str, value: object, least: int, expected: str = "a whole number", remark: str = ""
) -> None:
    """Raise unless an argument is an integer, Python's or numpy's, from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise EvaluationError(f"{name}={value!r}: expected {expected} from {least}{remark}")

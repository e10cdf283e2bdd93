"""Exception of evaluation."""

from .._messages import legible

__all__ = ["EvaluationError"]


class EvaluationError(ValueError):
    """Invalid posterior, predictions or argument of an evaluation; the message names the remedy.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> try:
    ...     evaluation.top_k_accuracy(0)
    ... except evaluation.EvaluationError as error:
    ...     print(error)
    top_0_accuracy: 0 labels; expected a positive integer
    """

    def __str__(self) -> str:
        return legible(super().__str__())

"""The error of evaluation: what was given cannot be evaluated, and why."""

from .._legible import legible

__all__ = ["EvaluationError"]


class EvaluationError(ValueError):
    """A posterior, predictions or an argument that cannot be evaluated, with the remedy."""

    def __str__(self) -> str:
        return legible(super().__str__())

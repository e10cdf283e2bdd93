"""The error of evaluation: what was given cannot be evaluated, and why."""

__all__ = ["EvaluationError"]


class EvaluationError(ValueError):
    """A posterior, predictions or an argument that cannot be evaluated, with the remedy."""

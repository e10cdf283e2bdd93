"""What is said of runs that do not go on as if nothing had happened."""

__all__ = ["ResumeWarning"]


class ResumeWarning(UserWarning):
    """A run that goes on is not, to the last bit, what it would have been."""

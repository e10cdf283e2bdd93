"""Numbers that simulators are told: within their range, or an error that names the argument."""

import numpy as np

from ..data.whole_numbers import MAX_COUNT

__all__ = ["LARGEST", "SMALLEST", "refuse_counts", "refuse_number"]

SMALLEST, LARGEST = 1e-50, 1e50  # of scales and the like: whatever is drawn is a legal score


def refuse_counts(**counts: object) -> None:
    """Raise unless each argument is a whole number from 1.

    Parameters
    ----------
    **counts : object
        Arguments by name.

    Raises
    ------
    ValueError
        If one is no such number.
    """
    for name, count in counts.items():
        if (
            isinstance(count, bool)
            or not isinstance(count, int | np.integer)
            or not 1 <= count <= MAX_COUNT
        ):
            raise ValueError(f"{name}={count!r} must be a whole number from 1 to {MAX_COUNT:,}")


def refuse_number(name: str, number: object, least: float, most: float) -> None:
    """Raise unless an argument is a number in a range.

    Parameters
    ----------
    name : str
        Of the argument.
    number : object
        The argument.
    least, most : float
        The ends of the range, which belong to it.

    Raises
    ------
    ValueError
        If it is no number, or lies outside.
    """
    value = number.item() if isinstance(number, np.generic) else number  # the ends have 64 bits
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name}={number!r} must be a number from {least:g} to {most:g}")

"""Validate the numeric arguments of simulators."""

import numpy as np

from ..data.whole_numbers import MAX_COUNT

__all__ = ["LARGEST", "SMALLEST", "refuse_counts", "refuse_number"]

SMALLEST, LARGEST = 1e-50, 1e50  # range of scales within which every draw is a valid score


def refuse_counts(**counts: object) -> None:
    """Raise ValueError unless each named argument is a whole number from 1."""
    for name, count in counts.items():
        if (
            isinstance(count, bool)
            or not isinstance(count, int | np.integer)
            or not 1 <= count <= MAX_COUNT
        ):
            raise ValueError(f"{name}={count!r} must be a whole number from 1 to {MAX_COUNT:,}")


def refuse_number(name: str, number: object, least: float, most: float) -> None:
    """Raise ValueError unless an argument is a number from `least` to `most`, both included."""
    value = number.item() if isinstance(number, np.generic) else number  # the ends have 64 bits
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name}={number!r} must be a number from {least:g} to {most:g}")

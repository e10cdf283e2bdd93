"""Validation of the numeric arguments of sharded runs."""

import numpy as np

__all__ = ["check_numbers"]


def check_numbers(**numbers: int | str | None) -> None:
    """Raise unless every number is whole and large enough; None stands for the default."""
    for name, number in numbers.items():
        least = 0 if name in ("tune", "random_seed") else 1
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise ValueError(f"{name}={number!r} must be a whole number from {least}")

"""How much room texts need, in inches of print and in units of an axis."""

from collections.abc import Iterable

import numpy as np

__all__ = ["letters_wide", "limits_with_texts"]

LETTER = 0.058  # inches of a letter of 7.5 points
MARGIN = 0.03  # of the axis, beyond what is drawn
MOST = 0.36  # of the axis, on either side of a place with a text


def letters_wide(names: Iterable[object]) -> float:
    """Return how many inches the longest of some names takes, with the gap to the axis."""
    return 0.15 + LETTER * max((len(str(name)) for name in names), default=0)


def limits_with_texts(
    drawn: tuple[float, float], middles: np.ndarray, letters: int, width: float
) -> tuple[float, float]:
    """Return limits of an axis of `width` inches, within which stay what is drawn and the texts centred on `middles`."""
    low, high = drawn
    if not len(middles):
        return low - MARGIN * (high - low), high + MARGIN * (high - low)
    first, last = float(middles.min()), float(middles.max())
    half = min(LETTER * letters / 2 / width, MOST)
    left, right = low, high
    for _ in range(60):  # wider limits make texts wider in units of the axis: by a factor below one
        span = (right - left) or 0.1
        left = min(low - MARGIN * span, first - half * span)
        right = max(high + MARGIN * span, last + half * span)
    return left, right

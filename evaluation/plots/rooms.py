"""Text widths, in inches and in units of an axis."""

from collections.abc import Iterable

import numpy as np

__all__ = ["letters_wide", "limits_with_texts"]

LETTER = 0.058  # inches, width of a letter at 7.5 points
MARGIN = 0.03  # of the axis, beyond the data
MOST = 0.36  # of the axis, half the width of a text at most


def letters_wide(names: Iterable[object]) -> float:
    """Return the width in inches of the longest name, with the gap to the axis."""
    return 0.15 + LETTER * max((len(str(name)) for name in names), default=0)


def limits_with_texts(
    drawn: tuple[float, float], middles: np.ndarray, letters: int, width: float
) -> tuple[float, float]:
    """Return axis limits that contain the data and the texts centred at `middles`.

    `drawn` is the range of the data, `width` that of the axis in inches, `letters` the length of the longest
    text.
    """
    low, high = drawn
    if not len(middles):
        return low - MARGIN * (high - low), high + MARGIN * (high - low)
    first, last = float(middles.min()), float(middles.max())
    half = min(LETTER * letters / 2 / width, MOST)
    left, right = low, high
    for _ in range(60):  # fixed point: a wider axis makes texts wider in its units, by a factor < 1
        span = (right - left) or 0.1
        left = min(low - MARGIN * span, first - half * span)
        right = max(high + MARGIN * span, last + half * span)
    return left, right

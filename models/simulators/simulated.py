"""Result of a simulator: data and the truth behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..data.reading.numbers import MAX_COUNT

SMALLEST, LARGEST = 1e-50, 1e50  # range of scales within which every draw is a valid score


def check_counts(**counts: object) -> None:
    """Raise ValueError unless each named argument is a whole number from 1."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MAX_COUNT:
            raise ValueError(f"{name}={count!r} must be a whole number from 1 to {MAX_COUNT:,}")


def check_number(name: str, number: object, least: float, most: float) -> None:
    """Raise ValueError unless an argument is a number from `least` to `most`, both included."""
    value = number.item() if isinstance(number, np.generic) else number  # the ends have 64 bits
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name}={number!r} must be a number from {least:g} to {most:g}")


# --- Result of a simulator: data and the truth behind them ---


@dataclass(frozen=True, eq=False)
class Simulated[Data]:
    """Simulated annotations and the parameters that generated them.

    Attributes
    ----------
    data : PartialRankings, Labels, Comparisons or Scores
        The annotations.
    truth : mapping of str to ndarray
        True parameters, as listed by the simulator; rows and columns follow ``data.items`` and
        ``data.categories``.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="dirichlet", items=20, random_seed=1)
    >>> len(simulated.data.items), simulated.truth["plausibility"].shape
    (20, (20, 3))
    """

    data: Data
    truth: Mapping[str, np.ndarray]

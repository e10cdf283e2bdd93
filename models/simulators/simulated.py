"""Result of a simulator: data and the truth behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

SMALLEST, LARGEST = 1e-50, 1e50  # range of scales within which every draw is a valid score


def check_whole(least: int = 1, most: float = np.inf, **numbers: object) -> None:
    """Raise ValueError unless each named argument is a whole number from `least`, up to `most` if given."""
    for name, number in numbers.items():
        whole = isinstance(number, int | np.integer) and least <= number <= most
        if not whole or isinstance(number, bool):
            end = f" to {most:,}" if most < np.inf else ""
            raise ValueError(f"{name}={number!r} must be a whole number from {least}{end}")


def check_not_negative(**numbers: float) -> None:
    """Raise ValueError unless each named argument is a finite number from 0."""
    for name, number in numbers.items():
        if not 0 <= number < np.inf:
            raise ValueError(f"{name}={number!r} must be a finite number from 0")


def draw_columns(rng: np.random.Generator, probability: np.ndarray) -> np.ndarray:
    """Draw one column for each row of probabilities, shape (row,)."""
    return (probability.cumsum(axis=1)[:, :-1] < rng.random((len(probability), 1))).sum(axis=1)


def check_numbers(least: float, most: float, **numbers: object) -> None:
    """Raise ValueError unless each named argument is a number from `least` to `most`, both included."""
    for name, number in numbers.items():
        value = number.item() if isinstance(number, np.generic) else number  # the ends have 64 bits
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"{name}={number!r} must be a number from {least:g} to {most:g}")


@dataclass(frozen=True, eq=False)
class Simulated[Data]:
    """Simulated annotations and the parameters that generated them.

    Attributes
    ----------
    data : PartialRankings, Labels, Comparisons or Scores
        The annotations.
    truth : mapping of str to ndarray
        True parameters, as listed by the simulator, in the order of ``data.items`` and ``data.categories``.
    features : mapping of str to ndarray, optional
        Table of the features of the items, a column of ids and one for each feature, if the simulator was asked for some.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="dirichlet", items=20, random_seed=1)
    >>> len(simulated.data.items), simulated.truth["plausibility"].shape
    (20, (20, 3))
    """

    data: Data
    truth: Mapping[str, np.ndarray]
    features: Mapping[str, np.ndarray] | None = None


KINDS = np.array(["judge a", "judge b", "person"])  # by `families`, -1 last


def families(raters: int) -> np.ndarray:
    """Family of each simulated rater (rater,): -1 for people, the first third, then 0 or 1 by turns; 0 alone of up to three."""
    people = raters // 3
    judges = np.arange(raters - people)
    return np.concatenate([np.full(people, -1), judges % 2 if len(judges) > 3 else 0 * judges])

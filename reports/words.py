"""Figures in words: every number with its interval."""

from collections.abc import Sequence

import numpy as np

__all__ = [
    "few",
    "interval",
    "percent",
    "percent_with_interval",
    "share_interval",
    "share_with_interval",
    "with_interval",
]

SHARES = 100_000  # draws from the law of a share


def interval(lower: float, upper: float, digits: int = 3) -> str:
    """Return both ends of an interval."""
    return f"{lower:z.{digits}f} to {upper:z.{digits}f}"


def with_interval(mean: float, lower: float, upper: float, digits: int = 3) -> str:
    """Return a figure and its interval, if it is finite."""
    if not np.isfinite(mean):
        return "not defined" if np.isnan(mean) else "infinite"
    return f"{mean:z.{digits}f} ({interval(lower, upper, digits)})"


def percent(probability: float) -> str:
    """Return a probability as a percentage; what is nearly none or all is not said to be."""
    if not np.isfinite(probability):
        return "not defined"
    if probability < 0.001:
        return "< 0.1%"
    if probability > 0.999:
        return "> 99.9%"
    return f"{probability:.1%}"


def share_interval(count: int, total: int, probability: float = 0.9) -> tuple[float, float]:
    """Return the interval of a share of a population, of which `total` were seen: Jeffreys'."""
    law = np.random.default_rng(0).beta(count + 0.5, total - count + 0.5, SHARES)
    lower, upper = np.quantile(law, [(1 - probability) / 2, (1 + probability) / 2]).tolist()
    return (0.0 if count == 0 else lower), (1.0 if count == total else upper)


def share_with_interval(count: int, total: int) -> str:
    """Return a share of the items and its 90 % interval as percentages."""
    return percent_with_interval(count / total, *share_interval(count, total))


def percent_with_interval(share: float, lower: float, upper: float) -> str:
    """Return a share and its interval as percentages."""
    return f"{share:.0%} ({lower:.0%} to {upper:.0%})"


def few(names: Sequence[object], shown: int = 5, joint: str = ", ") -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return joint.join(str(name) for name in names[:shown]) + more

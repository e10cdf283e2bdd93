"""Where the power curve rises above a score, and what to say of it.

    equivalence = k - (c_k - s_k) / ((c_k - s_k) - (c_{k-1} - s_{k-1})),  k the smallest with c_k > s_k

the smallest interpolated number of raters whose labels score above the classifier, also where the curve falls again. s_k is the
score of the classifier on the items that c_k is over: one number where all items have as many labels.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, algorithm 4.
"""

import numpy as np

__all__ = ["crossing", "in_words", "interval_of", "share_ahead"]

ROUNDING = 1e-12  # relative to the scores, or to one


def crossing(curve: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the equivalence of scores (..., k) on curves (..., k).

    -inf where the curve starts above the score, inf where it never is above, NaN where curve or score have no value at k = 0.
    """
    gap = lead(curve, score)
    above = gap > 0
    k = above.argmax(axis=-1)
    here = np.take_along_axis(gap, k[..., None], -1)[..., 0]
    before = np.take_along_axis(gap, np.maximum(k - 1, 0)[..., None], -1)[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = k - np.where(np.isinf(here), 1.0, here / (here - before))
    found = np.where(above.any(axis=-1), np.where(k == 0, -np.inf, inside), np.inf)
    return np.where(np.isnan(gap[..., 0]), np.nan, found)


def lead(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return by how much values are above others: 0 where they agree but for rounding, or are infinite alike."""
    with np.errstate(invalid="ignore"):
        gap = value - other
        size = np.maximum(1, np.maximum(np.abs(value), np.abs(other)))
        # against an infinite one nothing is rounding
        tied = (value == other) | (np.isfinite(gap) & (np.abs(gap) <= ROUNDING * size))
    return np.where(tied, 0.0, gap)


def share_ahead(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the share of draws (..., draw) where values are above others, ties by half."""
    gap = lead(value, other)
    return (gap > 0).mean(axis=-1) + (gap == 0).mean(axis=-1) / 2


def interval_of(draws: np.ndarray, probability: float) -> np.ndarray:
    """Return the bounds (..., 2) between equal tails of draws (..., draw).

    Where draws are infinite the bounds are draws, not interpolations between them. NaN, of resamples without a value, is left
    out.
    """
    tails = [(1 - probability) / 2, (1 + probability) / 2]
    if np.isfinite(draws).all():
        return np.moveaxis(np.quantile(draws, tails, axis=-1), 0, -1)
    bounds = np.full((*draws.shape[:-1], 2), np.nan)
    for place in np.ndindex(draws.shape[:-1]):
        own = draws[place][~np.isnan(draws[place])]
        if len(own):
            method = "linear" if np.isfinite(own).all() else "closest_observation"
            bounds[place] = np.quantile(own, tails, method=method)
    return bounds


def in_words(equivalence: float, largest: int, interval: np.ndarray | None) -> str:
    """Return the equivalence as a reader would say it."""
    if np.isnan(equivalence):
        return "unknown"
    said = _number(equivalence, largest)
    said += " rater" if said == "1.0" or (np.isposinf(equivalence) and largest == 1) else " raters"
    if interval is None or np.isnan(interval).any():
        return said
    low, high = (_number(bound, largest) for bound in interval)
    return said if np.isinf(equivalence) and low == high else f"{said} ({low} to {high})"


def _number(equivalence: float, largest: int) -> str:
    if np.isneginf(equivalence):
        return "less than 0"
    return f"more than {largest}" if np.isposinf(equivalence) else f"{equivalence:.1f}"

"""Survey equivalence: the number of raters at which the power curve crosses a classifier's score.

    equivalence = k - (c_k - s_k) / ((c_k - s_k) - (c_{k-1} - s_{k-1})),  k the smallest with c_k > s_k

This is the smallest interpolated number of raters whose labels score above the classifier, also if the curve
falls again. s_k is the score of the classifier on the items of c_k: one number if all items have as many
labels.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, algorithm 4.
"""

import numpy as np

__all__ = ["crossing", "in_words", "interval_of", "share_ahead"]

ROUNDING = 1e-12  # relative to the scores, or to one


def crossing(curve: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the equivalence (...) of scores (..., k) on curves (..., k).

    -inf if the curve starts above the score, inf if it never is above, NaN if either is NaN at k = 0.
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
    """Return value - other; 0 where they agree up to rounding or are the same infinity."""
    with np.errstate(invalid="ignore"):
        gap = value - other
        size = np.maximum(1, np.maximum(np.abs(value), np.abs(other)))
        # rounding applies to finite gaps only
        tied = (value == other) | (np.isfinite(gap) & (np.abs(gap) <= ROUNDING * size))
    return np.where(tied, 0.0, gap)


def share_ahead(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the share of draws (..., draw) in which value exceeds other, ties counted half."""
    gap = lead(value, other)
    return (gap > 0).mean(axis=-1) + (gap == 0).mean(axis=-1) / 2


def interval_of(draws: np.ndarray, probability: float) -> np.ndarray:
    """Return the equal-tailed interval (..., 2) of draws (..., draw).

    With infinite draws the bounds are draws, not interpolations between them. NaN, from resamples without a
    value, is ignored.
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
    """Return the equivalence as text, such as "2.3 raters (1.8 to 3.0)"."""
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

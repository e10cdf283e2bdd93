"""What the models of scores share: coordinates, the scores one by one, their usual size, the prior of an item."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

from ..data.container import expect
from ..data.errors import BUILDERS, DataError, DataWarning
from ..data.scores import Scores

__all__ = [
    "ScorePrior",
    "keep_bounds",
    "known_scorers",
    "observed_scores",
    "score_prior",
    "score_scale",
]

MAX_SCORES = 200_000_000
ROUNDING = 1e-12  # of the largest score: differences up to this are none, but errors of arithmetic
LARGEST = 1e100  # prior mean and spread; the squares of all numbers are still doubles
WIDTHS = 6.0  # standard deviations between the bounds, in a usual item


class ScorePrior(NamedTuple):
    """Normal-inverse-gamma prior of the items.

    Attributes
    ----------
    mean, mean_weight, shape, rate : ndarray of float, shape (item,)
        m0, k0, a0 and b0.
    """

    mean: np.ndarray
    mean_weight: np.ndarray
    shape: np.ndarray
    rate: np.ndarray


def known_scorers(scores: Scores, model: str) -> Scores:
    """Return the scores, or raise if their raters are not told apart.

    Parameters
    ----------
    scores : Scores
        The annotations.
    model : str
        Name of the model, for the message.

    Returns
    -------
    Scores
        The same.
    """
    expect(scores, Scores)
    if scores.anonymous:
        raise ValueError(
            f"{model} describes each rater, but these scores are of anonymous raters; "
            "read a table with a column of raters, or use models.normal_scores"
        )
    return scores


def observed_scores(
    scores: Scores,
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinates of a model, and every single score.

    Parameters
    ----------
    scores : Scores
        The annotations.

    Returns
    -------
    coords : dict of str to ndarray
        Ids of items; of raters, with their attributes as ``rater_...``, unless they are anonymous; numbers of scores.
    item, rater : ndarray of int64, shape (score,)
        Codes.
    score : ndarray of float, shape (score,)
        The scores.

    Raises
    ------
    DataError
        If there are none, or more than fit into memory.

    Warns
    -----
    DataWarning
        If no item has two scores.
    """
    total = _check_number(scores)
    if not scores.identified:
        warnings.warn(
            "no item has two scores: how far those of an item are apart is not identified, and the posterior repeats its prior",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    coords = {"item": scores.items, "annotation": np.arange(total)}
    coords["score_bound"] = np.array(["lower", "upper"])
    if not scores.anonymous:
        coords["rater"] = scores.raters
        coords |= {f"rater_{name}": values for name, values in scores.rater_attributes.items()}
    columns = (scores.annotation_item, scores.annotation_rater, scores.score)
    item, rater, score = (np.repeat(column, scores.count) for column in columns)
    return coords, item.astype(np.int64), rater.astype(np.int64), score.astype(np.float64)


def keep_bounds(scores: Scores) -> None:
    """Register ``score_bounds``: a threshold may lie anywhere between them, whatever was observed.

    Parameters
    ----------
    scores : Scores
        The annotations.
    """
    if scores.bounds is not None:
        pm.Data("score_bounds", np.array(scores.bounds), dims="score_bound")


def usual_score(scores: Scores) -> tuple[float, float]:
    """Return where scores usually are, and how far those of one item usually are apart.

    Parameters
    ----------
    scores : Scores
        The annotations.

    Returns
    -------
    middle : float
        The middle of the bounds; without them, the mean of all scores.
    spread : float
        A sixth of the distance between the bounds; without them, the root of half the variance of all scores. Zero if these are
        equal but for rounding.
    """
    _check_number(scores)
    if scores.bounds is not None:
        low, high = scores.bounds
        return 0.5 * low + 0.5 * high, (high - low) / WIDTHS
    middle = np.average(scores.score, weights=scores.count)
    if np.ptp(scores.score) <= ROUNDING * np.abs(scores.score).max():
        return float(scores.score[0]), 0.0
    variance = np.average((scores.score - middle) ** 2, weights=scores.count)
    return float(middle), float(np.sqrt(0.5 * variance))


def _check_number(scores: Scores) -> int:
    """Return the number of scores, or raise if there are none, or more than fit into memory."""
    total = len(scores)
    if not 0 < total <= MAX_SCORES:
        raise DataError(
            f"there are {total:,} scores to learn from",
            allowed=f"from 1 to {MAX_SCORES:,}",
            remedy="check what was read or selected",
        )
    return total


def score_scale(scores: Scores, mean: float | None, spread: float | None) -> tuple[float, float]:
    """Return where scores usually are and how far apart, as said, or else as `usual_score` finds them.

    Parameters
    ----------
    scores : Scores
        The annotations.
    mean, spread : float, optional
        As `hierarchical_scores` takes them.

    Returns
    -------
    mean, spread : float
        Finite numbers, the second positive.

    Raises
    ------
    ValueError
        If they are not, or the scores do not tell them.
    """
    middle, unit = usual_score(scores)
    if mean is not None:
        middle = float(prior_numbers("mean", mean, (), positive=False))
    unit = _told(unit, "spread") if spread is None else float(prior_numbers("spread", spread, ()))
    least = max(1 / LARGEST, ROUNDING * np.abs(scores.score).max())
    if not least <= unit <= LARGEST:
        raise ValueError(
            f"spread={unit:g} must be from {least:g} to {LARGEST:g}, for double precision to tell scores apart"
        )
    # not Python's floats: PyTensor would try, aloud, whether these fit single precision
    return np.float64(middle), np.float64(unit)


def score_prior(scores: Scores, mean: Any, mean_weight: Any, shape: Any, rate: Any) -> ScorePrior:
    """Return the prior of the items, with defaults on the scale of the data.

    Parameters
    ----------
    scores : Scores
        The annotations.
    mean, mean_weight, shape, rate
        As `normal_scores` takes them.

    Returns
    -------
    ScorePrior
        Finite numbers, positive but for the mean.

    Raises
    ------
    ValueError
        If they are not, or the scores do not tell their scale.
    """
    expect(scores, Scores)
    middle, spread = usual_score(scores)
    own = (len(scores.items),)
    a0 = prior_numbers("shape", shape, own)
    if rate is None:
        # the prior mean of the variance is spread ** 2; where it has none, its usual inverse is spread ** -2
        rate = _told(spread, "rate") ** 2 * np.where(a0 > 1, a0 - 1, a0)
    return ScorePrior(
        prior_numbers("mean", middle if mean is None else mean, own, positive=False),
        prior_numbers("mean_weight", mean_weight, own),
        a0,
        prior_numbers("rate", rate, own),
    )


def _told(spread: float, argument: str) -> float:
    """Return how far scores usually are apart, or raise if they do not tell."""
    if not spread**2 > 0:
        raise ValueError(
            "all scores are equal, but for rounding, and have no bounds: they do not tell how far scores can be apart; "
            f"give {argument}=, or bounds= to Scores.from_table"
        )
    return spread


def prior_numbers(
    name: str, value: Any, shape: tuple[int, ...], *, positive: bool = True
) -> np.ndarray:
    """Return finite numbers of a shape.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float or array_like
        Broadcast to the shape.
    shape : tuple of int
        The shape.
    positive : bool, default True
        Whether they have to be positive.

    Returns
    -------
    ndarray of float
        A fresh array.

    Raises
    ------
    ValueError
        If it does not broadcast, a number is not finite or not positive, or it is text or a truth value.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iuf":
            raise TypeError
        array = np.array(np.broadcast_to(given.astype(np.float64), shape))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r} must be a number{f', or numbers of shape {shape}' if shape else ''}"
        ) from None
    wrong = ~((array > 0) & np.isfinite(array)) if positive else ~(np.abs(array) <= LARGEST)
    if wrong.any():
        what = "positive and finite" if positive else f"finite, at most {LARGEST:g} in size"
        raise ValueError(f"{name} holds {array[wrong][0]:g}; it must be {what}")
    return array

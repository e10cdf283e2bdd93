"""Shared parts of the models of scores: coordinates, single scores, typical location and spread, priors."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from ..._messages import warn_user
from .._hierarchy import Number, is_expression, prior_array
from ..data.container import require_container
from ..data.errors import DataError, DataWarning
from ..data.scores import Scores

MAX_SCORES = 200_000_000
ROUNDING = 1e-12  # of the largest score: smaller differences are rounding errors
LARGEST = 1e100  # prior mean and spread; the squares of all numbers are still doubles
WIDTHS = 6.0  # standard deviations between the bounds, in a typical item


class ScorePrior(NamedTuple):
    """Normal-inverse-gamma prior of each item: arrays or expressions (item,)."""

    mean: Any  # m0
    mean_weight: Any  # k0
    shape: Any  # a0
    rate: Any  # b0


def require_identified_raters(scores: Scores, model: str) -> Scores:
    """Return the scores, or raise ValueError if the raters are anonymous."""
    require_container(scores, Scores)
    if scores.anonymous:
        raise ValueError(
            f"{model} describes each rater, but these scores are of anonymous raters; "
            "read a table with a column of raters, or use models.normal_scores"
        )
    return scores


def observed_scores(scores: Scores) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinates of a model, and item, rater and value of every single score.

    Raises DataError if there are no scores or too many; warns (DataWarning) if no item has two.

    Shapes: item, rater and score (score,); rater attributes are coordinates ``rater_...``.
    """
    total = _check_number(scores)
    if not scores.identified:
        warn_user(
            "no item has two scores: the spread of the scores of an item is not identified, and its posterior repeats the prior",
            DataWarning,
        )
    coords = {"item": scores.items, "annotation": np.arange(total)}
    coords["score_bound"] = np.array(["lower", "upper"])
    if not scores.anonymous:
        coords["rater"] = scores.raters
        coords |= {f"rater_{name}": values for name, values in scores.rater_attributes.items()}
    columns = (scores.annotation_item, scores.annotation_rater, scores.score)
    item, rater, score = (np.repeat(column, scores.count) for column in columns)
    return coords, item.astype(np.int64), rater.astype(np.int64), score.astype(np.float64)


def register_bounds(scores: Scores) -> None:
    """Register ``score_bounds``: thresholds may lie between them, outside the observed scores."""
    if scores.bounds is not None:
        pm.Data("score_bounds", np.array(scores.bounds), dims="score_bound")


def typical_location_and_spread(scores: Scores) -> tuple[float, float]:
    """Return location and spread of typical scores: the middle of the bounds and a sixth of their distance.

    Without bounds, the mean of all scores and the root of half their variance, 0 if equal up to rounding.
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
    """Return the number of scores, or raise DataError if there are none, or more than fit into memory."""
    total = len(scores)
    if not 0 < total <= MAX_SCORES:
        raise DataError(
            f"there are {total:,} scores to learn from",
            allowed=f"from 1 to {MAX_SCORES:,}",
            remedy="check what was read or selected",
        )
    return total


def score_scale(scores: Scores, mean: Number | None, spread: Number | None) -> tuple[Any, Any]:
    """Return `mean` and `spread` as given, or by default from `typical_location_and_spread`; raises ValueError."""
    middle, unit = typical_location_and_spread(scores)
    if mean is not None:
        middle = prior_array("mean", mean, (), real_numbers)
    unit = (
        _require_spread(unit, "spread")
        if spread is None
        else prior_array("spread", spread, (), prior_numbers)
    )
    least = max(1 / LARGEST, ROUNDING * np.abs(scores.score).max())
    if not is_expression(unit) and not least <= unit <= LARGEST:
        raise ValueError(
            f"spread={unit:g} must be from {least:g} to {LARGEST:g}, for double precision to tell scores apart"
        )
    # not Python floats, for which PyTensor warns about single precision
    middle, unit = (x if is_expression(x) else np.float64(x) for x in (middle, unit))
    return middle, unit


def score_prior(scores: Scores, mean: Any, mean_weight: Any, shape: Any, rate: Any) -> ScorePrior:
    """Return the validated prior of the items, with defaults on the scale of the data; raises ValueError."""
    require_container(scores, Scores)
    middle, spread = typical_location_and_spread(scores)
    own = (len(scores.items),)
    a0 = prior_array("shape", shape, own, prior_numbers)
    if rate is None:
        # the prior mean of the variance is spread ** 2; where it has none, its usual inverse is spread ** -2
        where: Any = pt.where if is_expression(a0) else np.where
        rate = _require_spread(spread, "rate") ** 2 * where(a0 > 1, a0 - 1, a0)
    return ScorePrior(
        prior_array("mean", middle if mean is None else mean, own, real_numbers),
        prior_array("mean_weight", mean_weight, own, prior_numbers),
        a0,
        prior_array("rate", rate, own, prior_numbers),
    )


def _require_spread(spread: float, argument: str) -> float:
    """Return the spread of typical scores, or raise if the scores do not determine it."""
    if not spread**2 > 0:
        raise ValueError(
            "all scores are equal, but for rounding, and have no bounds, so that their spread is unknown; "
            f"give {argument}=, or bounds= to Scores.from_table"
        )
    return spread


def prior_numbers(name: str, value: Any, shape: tuple[int, ...], *, positive: bool = True) -> np.ndarray:
    """Return finite (and `positive`) numbers broadcast to `shape`, a new array; ValueErrors name `name`."""
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


def real_numbers(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `prior_numbers` that need not be positive."""
    return prior_numbers(name, value, shape, positive=False)

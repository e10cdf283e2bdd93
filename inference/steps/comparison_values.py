"""Transforms between the coordinates of the sampler and the values of the model's variables."""

import numpy as np

from ..kernels.anchored_posterior import BOX, LOG, NONE, SHARED, PairPrior

__all__ = ["coordinates_of", "values_of"]

ROLES = ("quality_scale", "rater_scale", "left_bias", "tie")  # in the order of `PairPrior.at`


def values_of(theta: np.ndarray, prior: PairPrior) -> dict[str, np.ndarray]:
    """Transform coordinates to values of the variables, by role.

    Shapes: theta (..., coordinate); result: quality (..., item); rater, as drawn in the model, and
    reliability (..., rater), unless it is shared; quality_scale, rater_scale, left_bias, tie (...), where the
    model has them.
    """
    n, k = prior.n_items, prior.n_raters
    q, r = theta[..., :n], theta[..., n : n + k]
    values = {}
    if prior.form == BOX:
        values["quality"] = _logistic(q)
        values["rater"] = values["reliability"] = prior.low + (prior.high - prior.low) * _logistic(
            r
        )
    else:
        values["quality"] = q - q.mean(axis=-1, keepdims=True)
        if prior.form != SHARED:
            values["rater"] = r - r.mean(axis=-1, keepdims=True)
            values["reliability"] = (
                np.exp(values["rater"]) if prior.form == LOG else 1.0 + values["rater"]
            )
    for role, place in zip(ROLES, prior.at, strict=True):
        if place != NONE:
            own = theta[..., place]
            values[role] = own.copy() if role == "left_bias" else np.exp(own)
    return values


def coordinates_of(
    values: dict[str, np.ndarray], prior: PairPrior, means: np.ndarray
) -> np.ndarray:
    """Transform values of the variables, by role, of one draw, to coordinates; the reliability is not read.

    Shapes: means (2,), of the coordinates of items and of raters, which the model does not determine; result
    (coordinate,).
    """
    parts = []
    if prior.form == BOX:
        share = (values["rater"] - prior.low) / (prior.high - prior.low)
        parts += [_logit(values["quality"]), _logit(share)]
    else:
        parts.append(values["quality"] + means[0])
        if prior.form != SHARED:
            parts.append(values["rater"] + means[1])
    for role, place in zip(ROLES, prior.at, strict=True):
        if place != NONE:
            own = values[role] if role == "left_bias" else np.log(values[role])
            parts.append(np.atleast_1d(own))
    return np.concatenate(parts)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _logit(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)

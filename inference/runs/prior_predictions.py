"""Reader of the strength of a classifier's probabilities in a prior, from the PyMC graph."""

from collections.abc import Sequence

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import HalfNormalRV
from pytensor.tensor.variable import TensorVariable

from ...models._hierarchy import random_ancestors
from ...models._prior_predictions import STRENGTH
from .model_graph import NotConjugate, constant_value, evaluator, is_equal

SHARED_STRENGTH = "the strength of the prior predictions"  # by all items
LOG_2_OVER_PI = np.log(2 / np.pi)


def read_strength(model: pm.Model) -> tuple[TensorVariable, float]:
    """Return the strength and the scale of its half-normal prior; NotConjugate for another prior."""
    strength = next(rv for rv in model.free_RVs if rv.name == STRENGTH)
    if not isinstance(strength.owner.op, HalfNormalRV):
        raise NotConjugate(f"the prior of {STRENGTH!r} is {strength.owner.op}, not a HalfNormal")
    place, scale = (
        constant_value(p, f"a parameter of {STRENGTH!r}")
        for p in strength.owner.op.dist_params(strength.owner)
    )
    if place.any() or scale.size != 1 or not scale > 0:
        raise NotConjugate(
            f"the HalfNormal prior of {STRENGTH!r} has a location, or a scale that is not positive"
        )
    return strength, float(scale)


def affine_in_strength(
    strength: TensorVariable, parameters: Sequence[Variable], shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return base and slope of a concentration, base + strength * slope, and the other parameters, which are constant.

    `parameters` are those of the prior, the concentration first; all are of `shape`. NotConjugate for another function.
    """
    for other in random_ancestors([*parameters]):
        if other is not strength:
            raise NotConjugate(f"a parameter of the prior depends on the random variable {other.name!r}")
    compiled = evaluator([strength], list(parameters))

    def at(x: float) -> list[np.ndarray]:
        return [np.array(np.broadcast_to(p, shape), np.float64) for p in compiled(np.array(x))]

    (base, *others), (one, *_) = at(0.0), at(1.0)
    slope = one - base
    for x in (0.37, 7.0):
        found, *rest = at(x)
        alike = is_equal(found, base + x * slope, 1e-9, 1e-12)
        if not alike or any(not np.array_equal(p, q) for p, q in zip(rest, others, strict=True)):
            raise NotConjugate(
                f"the concentration is not affine in {STRENGTH!r}, or another parameter depends on it"
            )
    for p in (base, *others):
        if not ((p > 0) & (p < np.inf)).all():
            raise NotConjugate("a parameter of the prior is not positive and finite")
    if not (slope >= 0).all():
        raise NotConjugate(f"the concentration falls with {STRENGTH!r}")
    return base, slope, others


def strength_log_prior(strength: np.ndarray, scale: float) -> np.ndarray:
    """Return the half-normal log density, elementwise."""
    return 0.5 * LOG_2_OVER_PI - np.log(scale) - 0.5 * (strength / scale) ** 2

"""Reader of ranking models: rankings and Gamma priors, from the PyMC graph."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import log as log_of
from pytensor.tensor.random.basic import GammaRV
from pytensor.tensor.subtensor import AdvancedSubtensor
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.partial_ranking import PartialRankingRV
from ..runs.model_graph import (
    MOST_COPIES,
    NotConjugate,
    constant_value,
    only_observed,
    positive_constant,
    shape_of,
)


@dataclass(frozen=True, eq=False)
class RankingLikelihood:
    """Observed rankings of a model, and the worths they depend on."""

    worth: TensorVariable  # free random variable
    candidate: np.ndarray  # int (annotation, place), index into the raveled worths
    block: np.ndarray  # int (annotation, place), observed block numbers
    reliability: np.ndarray  # () or (annotation,), power of the likelihood


def read_rankings(model: pm.Model) -> RankingLikelihood:
    """Read a Plackett-Luce likelihood, one observed `PartialRanking` of ``log(worth)[index]``; NotConjugate for others."""
    observed = only_observed(model, PartialRankingRV)
    log_worth, _, reliability = observed.owner.op.dist_params(observed.owner)
    worth, index = _gathered(log_worth, model)
    width = int(np.prod(shape_of(worth)[1:]))  # of a row, when whole rows are gathered
    candidate = index[:, None] * width + np.arange(width) if index.ndim == 1 else index
    block = constant_value(model.rvs_to_values[observed], "the observed rankings")
    power = constant_value(reliability, "reliability")
    repeated = "the Gibbs sampler repeats every annotation that many times"
    if (wrong := (power < 1) | (power != np.floor(power))).any():
        raise NotConjugate(f"reliability={power[wrong].flat[0]:g} is not a whole number from 1: {repeated}")
    if (power > MOST_COPIES).any():
        raise NotConjugate(f"reliability={power.max():g} is above {MOST_COPIES:,}: {repeated}")
    return RankingLikelihood(worth, candidate, block, power)


def _gathered(log_worth: Variable, model: pm.Model) -> tuple[TensorVariable, np.ndarray]:
    """Return worth and index of ``log(worth)[index]``, or raise."""
    gather = log_worth.owner
    source, *index = (
        gather.inputs if gather is not None and isinstance(gather.op, AdvancedSubtensor) else (log_worth,)
    )
    if len(index) != 1 or source.owner is None or source.owner.op != log_of:
        raise NotConjugate(
            "the rankings do not depend on log(worth)[index] but on another function of the worths"
        )
    worth = source.owner.inputs[0]
    if worth not in model.free_RVs:
        raise NotConjugate("the worths are not a free random variable of the model")
    if children := [rv.name for rv in model.free_RVs if rv is not worth and worth in ancestors([rv])]:
        raise NotConjugate(f"{children[0]!r} depends on the worths, too")
    if not isinstance(worth.owner.op, GammaRV):
        raise NotConjugate(f"the prior of {worth.name!r} is {worth.owner.op}, not a Gamma")
    return worth, constant_value(index[0], "the index of the worths")


def gamma_parameters(worth: TensorVariable) -> tuple[np.ndarray, np.ndarray]:
    """Return shape and rate, (candidate,) each, of a Gamma prior; raise NotConjugate if one is random."""
    alpha, scale = (
        positive_constant(p, f"a parameter of the prior of {worth.name!r}")
        for p in worth.owner.op.dist_params(worth.owner)
    )
    shape, rate = (np.broadcast_to(p, shape_of(worth)).ravel() for p in (alpha, 1 / scale))
    return shape, rate

"""Reader of comparison models: data and priors of the Laplace-split sampler, from the PyMC graph."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.graph.basic import Variable
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot
from pytensor.tensor.math import add as add_op
from pytensor.tensor.math import exp as exp_op
from pytensor.tensor.random.basic import LogNormalRV, NormalRV, UniformRV
from pytensor.tensor.subtensor import AdvancedSubtensor
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.paired_comparisons import PairedComparisonsRV
from ...models.distributions.paired_comparisons_kernels import law_code
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    only_observed,
    refuse_further,
    refuse_random_prior,
    shape_of,
)
from .kernels.likelihood import PairCells, pair_cells
from .kernels.posterior import BOX, LOG, NONE, SHARED, SIGNED, PairPrior

MOST_COORDINATES = 4_000  # the metric is dense: memory grows with the square


class Votes(NamedTuple):
    """Votes one by one, each with covariates of its own."""

    rater: np.ndarray  # int64 (vote,)
    covariate: np.ndarray  # float64 (vote, covariate), left minus right


@dataclass(frozen=True, eq=False)
class PairStructure:
    """Observed comparisons of a model, its priors, and its free random variables by role."""

    cells: PairCells  # the answers
    prior: PairPrior  # priors of the coordinates
    # by role: quality, rater (behind the reliabilities), quality_scale, rater_scale, left_bias, tie, effect (of covariates)
    variables: dict[str, TensorVariable]
    votes: Votes | None = None  # where votes have covariates


def read_comparisons(model: pm.Model) -> PairStructure:
    """Read a `PairedComparisons` with zero-sum or uniform parameters; NotConjugate, with where it differs, for other models."""
    observed = only_observed(model, PairedComparisonsRV)
    parameters = observed.owner.op.dist_params(observed.owner)
    quality, reliability, left_bias, tie, *codes = parameters
    if quality not in model.free_RVs:
        raise NotConjugate("the qualities are not a free random variable but computed from others")
    reliability, of_votes = _by_vote(reliability)
    form, rater = _raters(reliability, model)
    variables: dict[str, TensorVariable] = {"quality": quality}
    if rater is not None:
        variables["rater"] = rater
    laws: dict[str, Any] = {}
    if form == BOX and rater is not None:
        laws["low"], laws["high"] = _box(quality, rater)
    else:
        laws["quality_scale"] = _scale(quality, "quality_scale", variables, model)
        if rater is not None:
            laws["reliability_scale"] = _scale(rater, "rater_scale", variables, model)
    left_bias, covariate, laws["effect"] = _covariates(left_bias, variables, model)
    laws["left_bias"] = _shared(left_bias, NormalRV, "left_bias", 0.0, variables, model)
    laws["tie"] = _tie(tie, observed, variables, model)
    if len({rv.name for rv in variables.values()}) < len(variables):
        raise NotConjugate(
            "one free variable has two roles, such as the scale of qualities and of reliabilities"
        )
    refuse_further(model, list(variables.values()))
    n_items, n_raters = shape_of(quality)[0], 1 if rater is None else shape_of(rater)[0]
    prior = _prior(form, (n_items, n_raters), variables, laws)
    left, right, who, _ = (constant_value(code, "the codes of the annotations") for code in codes)
    if covariate is not None:
        covariate = covariate[who]
    if of_votes is not None:
        who = of_votes[who]
    counts = constant_value(model.rvs_to_values[observed], "the observed answers")
    op = observed.owner.op
    law = law_code(op.link, op.n_outcomes == 3)
    votes = None if covariate is None else Votes(who, covariate)
    who = np.zeros_like(who) if form == SHARED else who
    cells = pair_cells(law, (left, right, who), counts, n_raters, "left_bias" in variables, covariate)
    return PairStructure(cells, prior, variables, votes)


def _by_vote(reliability: TensorVariable) -> tuple[TensorVariable, np.ndarray | None]:
    """Return reliabilities by rater, and the rater of each vote where the law has them by vote."""
    if reliability.owner is None or not isinstance(reliability.owner.op, AdvancedSubtensor):
        return reliability, None
    by_rater, *places = reliability.owner.inputs
    if len(places) != 1 or by_rater.type.ndim != 1:
        raise NotConjugate("the reliabilities are not looked up by the rater of each vote")
    return cast(TensorVariable, by_rater), constant_value(places[0], "the raters of the votes")


def _covariates(
    side: TensorVariable, variables: dict[str, TensorVariable], model: pm.Model
) -> tuple[Variable, np.ndarray | None, np.ndarray]:
    """Split an advantage of the left side + covariate * effect, of each vote, at its sum.

    Returns the advantage, the covariates (vote, covariate), and mean and sd of the effects (2, covariate).
    """
    bare = _bare(side)
    if bare.owner is None or not isinstance(bare.owner.op, Elemwise) or bare.owner.op != add_op:
        return side, None, np.empty((2, 0))
    dots = [v for v in bare.owner.inputs if _bare(v).owner is not None and isinstance(_bare(v).owner.op, Dot)]
    if not dots:
        return side, None, np.empty((2, 0))
    if len(dots) != 1 or len(bare.owner.inputs) != 2:
        raise NotConjugate("the left side is no sum of an advantage and of covariates times their effects")
    (advantage,) = (v for v in bare.owner.inputs if v is not dots[0])
    value, effect = _bare(dots[0]).owner.inputs
    effect = _bare(effect)
    if effect not in model.free_RVs or not isinstance(effect.owner.op, NormalRV) or effect.type.ndim != 1:
        raise NotConjugate("the effects of covariates are not one free Normal")
    covariate = constant_value(value, "the covariates of the votes")
    laws = [
        constant_value(p, f"the prior of {effect.name!r}") for p in effect.owner.op.dist_params(effect.owner)
    ]
    variables["effect"] = effect
    return (
        advantage,
        covariate,
        np.stack([np.broadcast_to(p, covariate.shape[1]) for p in laws]).astype(float),
    )


def _bare(variable: Variable) -> TensorVariable:
    """Return the variable behind names and changes of shape."""
    while variable.owner is not None:
        op = variable.owner.op
        if not (
            isinstance(op, DimShuffle | Alloc) or type(op).__name__ in ("ViewOp", "Squeeze", "ExpandDims")
        ):
            break
        variable = variable.owner.inputs[0]
    return cast(TensorVariable, variable)


def _raters(reliability: Variable, model: pm.Model) -> tuple[int, TensorVariable | None]:
    """Return the form of the reliabilities, and the free random variable behind them, or raise."""
    bare = _bare(reliability)
    if bare in model.free_RVs and isinstance(bare.owner.op, UniformRV):
        return BOX, bare
    op, inputs = (None, []) if bare.owner is None else (bare.owner.op, bare.owner.inputs)
    of_raters = [v for v in map(_bare, inputs) if v in model.free_RVs]
    if isinstance(op, Elemwise) and len(of_raters) == 1 and _is_zero_sum(of_raters[0]):
        if op == exp_op:
            return LOG, of_raters[0]
        if op == add_op and len(inputs) == 2:
            (constant,) = (v for v in inputs if _bare(v) is not of_raters[0])
            if np.all(constant_value(constant, "the mean reliability") == 1):
                return SIGNED, of_raters[0]
    if np.all(constant_value(reliability, "the reliability") == 1):
        return SHARED, None
    raise NotConjugate("the reliabilities are none of: 1, exp(ZeroSumNormal), 1 + ZeroSumNormal, Uniform")


def _is_zero_sum(variable: Variable) -> bool:
    return variable.owner is not None and isinstance(variable.owner.op, ZeroSumNormalRV)


def _box(quality: TensorVariable, rater: TensorVariable) -> tuple[float, float]:
    """Return the range of the reliabilities; raise unless the qualities are uniform on (0, 1)."""
    if not isinstance(quality.owner.op, UniformRV):
        raise NotConjugate("uniform reliabilities need qualities that are uniform from 0 to 1")
    bounds = []
    for rv in (quality, rater):
        for p in rv.owner.op.dist_params(rv.owner):
            value = np.unique(constant_value(p, f"a bound of {rv.name!r}"))
            if len(value) != 1:
                raise NotConjugate(f"{rv.name!r} has bounds that differ")
            bounds.append(float(value[0]))
    if bounds[:2] != [0.0, 1.0] or not 0 <= bounds[2]:
        raise NotConjugate("uniform qualities must be on (0, 1), and reliabilities non-negative")
    return bounds[2], bounds[3]


def _scale(
    rv: TensorVariable, role: str, variables: dict[str, TensorVariable], model: pm.Model
) -> tuple[float, float]:
    """Return mean and sd of the log scale of a ZeroSumNormal; the sd is 0 if the scale is known."""
    if not _is_zero_sum(rv):
        raise NotConjugate(f"the prior of {rv.name!r} is {rv.owner.op}, not a ZeroSumNormal")
    if shape_of(rv) == (1,):
        raise NotConjugate(f"{rv.name!r} has one entry, which is zero")
    sigma = _bare(rv.owner.op.dist_params(rv.owner)[0])
    if sigma not in model.free_RVs or not isinstance(sigma.owner.op, LogNormalRV):
        refuse_random_prior(model, rv, [v for v in model.free_RVs if v is not rv])
    if sigma not in model.free_RVs:
        value = np.unique(constant_value(sigma, f"the scale of {rv.name!r}"))
        if len(value) != 1:
            raise NotConjugate(f"{rv.name!r} has scales that differ")
        return float(np.log(value[0])), 0.0
    if not isinstance(sigma.owner.op, LogNormalRV) or shape_of(sigma) != ():
        raise NotConjugate(f"the prior of {sigma.name!r} is {sigma.owner.op}, not one LogNormal")
    variables[role] = sigma
    return _mean_and_sd(sigma)


def _shared(
    parameter: Variable,
    law: type,
    role: str,
    known: float,
    variables: dict[str, TensorVariable],
    model: pm.Model,
) -> tuple[float, float]:
    """Return mean and sd of a parameter (or of its log) that all raters share; zeros if it is known."""
    bare = _bare(parameter)
    if bare in model.free_RVs and isinstance(bare.owner.op, law) and shape_of(bare) == ():
        variables[role] = bare
        return _mean_and_sd(bare)
    if np.all(constant_value(bare, f"the parameter {role}") == known):
        return 0.0, 0.0
    raise NotConjugate(f"{role} is neither {known:g} nor one free {law.__name__} that all raters share")


def _tie(
    tie: Variable, observed: TensorVariable, variables: dict[str, TensorVariable], model: pm.Model
) -> tuple[float, float]:
    """Return mean and sd of the log of the tie parameter; zeros without ties."""
    if observed.owner.op.n_outcomes == 2:
        return 0.0, 0.0
    return _shared(tie, LogNormalRV, "tie", np.nan, variables, model)


def _mean_and_sd(rv: TensorVariable) -> tuple[float, float]:
    mean, sd = (
        constant_value(p, f"a parameter of the prior of {rv.name!r}")
        for p in rv.owner.op.dist_params(rv.owner)
    )
    return float(mean), float(sd)


def _prior(
    form: int, sizes: tuple[int, int], variables: dict[str, TensorVariable], laws: dict[str, Any]
) -> PairPrior:
    """Assign a place to every coordinate, and collect the priors."""
    n_items, n_raters = sizes
    place = n_items + (0 if form == SHARED else n_raters)
    at = []
    for role in ("quality_scale", "rater_scale", "left_bias", "tie"):
        at.append(place if role in variables else NONE)
        place += role in variables
    if place + laws["effect"].shape[1] > MOST_COORDINATES:
        raise NotConjugate(
            f"{n_items:,} items and {n_raters:,} raters are more than the dense metric of the sampler is made for"
        )
    known = (0.0, 0.0)
    return PairPrior(
        n_items=n_items,
        n_raters=n_raters,
        form=form,
        at=(at[0], at[1], at[2], at[3]),
        quality_scale=laws.get("quality_scale", known),
        reliability_scale=laws.get("reliability_scale", known),
        left_bias=laws["left_bias"],
        tie=laws["tie"],
        low=laws.get("low", 0.0),
        high=laws.get("high", 1.0),
        effect=laws["effect"],
    )


# --- Transforms between the coordinates of the sampler and the values of the model's variables ---

ROLES = ("quality_scale", "rater_scale", "left_bias", "tie")  # in the order of `PairPrior.at`


def values_of(theta: np.ndarray, prior: PairPrior) -> dict[str, np.ndarray]:
    """Transform coordinates to values of the variables, by role.

    Shapes: theta (..., coordinate); result: quality (..., item); rater, as drawn in the model, and
    reliability (..., rater), unless shared; scales, left_bias, tie (...) and effect (..., covariate), where the model has them.
    """
    n, k = prior.n_items, prior.n_raters
    q, r = theta[..., :n], theta[..., n : n + k]
    values = {}
    if prior.form == BOX:
        values["quality"] = _logistic(q)
        values["rater"] = values["reliability"] = prior.low + (prior.high - prior.low) * _logistic(r)
    else:
        values["quality"] = q - q.mean(axis=-1, keepdims=True)
        if prior.form != SHARED:
            values["rater"] = r - r.mean(axis=-1, keepdims=True)
            values["reliability"] = np.exp(values["rater"]) if prior.form == LOG else 1.0 + values["rater"]
    for role, place in zip(ROLES, prior.at, strict=True):
        if place != NONE:
            own = theta[..., place]
            values[role] = own.copy() if role == "left_bias" else np.exp(own)
    if n_effects := prior.effect.shape[1]:
        values["effect"] = theta[..., theta.shape[-1] - n_effects :].copy()
    return values


def coordinates_of(values: dict[str, np.ndarray], prior: PairPrior, means: np.ndarray) -> np.ndarray:
    """Coordinates of values by role; means (2,) of items and raters are free. The reliability is not read."""
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
    if "effect" in values:
        parts.append(values["effect"])
    return np.concatenate(parts)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _logit(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)

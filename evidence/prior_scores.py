"""Scores of the priors: derivatives of the log prior by a dose, the test functions with the most power against such a dose.

The score of a dose has mean zero under the right prior. A sampler of the posterior under the prior with a small dose moves it by

    dose * E[Var(score | annotations)]

if its draws are independent of where they start, and by ``dose * E[(after - before)^2] / 2`` if not: the derivative of a
stationary mean by the law, to first order, whatever the sampler. This is how `power` knows the smallest dose that a test catches.

Doses are given in these units, so that no score has infinite variance where a spread is near zero:

shape or concentration    added; of a shape that is itself random and below one, a share
scale, rate or sd         a share of it
mean                      a share of the sd

References
----------
Rao (1948), Large sample tests of statistical hypotheses concerning several parameters, Mathematical Proceedings of the Cambridge
Philosophical Society 44, doi:10.1017/S0305004100023987.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from pytensor.compile.maker import function
from pytensor.graph.replace import vectorize_graph
from raterzoo.models._hierarchy import random_ancestors
from scipy.special import digamma

from .joint_law import Values

__all__ = ["PriorScores", "Scores", "of_dirichlet", "of_inverse_gamma", "of_normal"]

Scores = dict[str, np.ndarray]
"""Scores of every entry of a variable, shape (draw, ...), by the parameter that has the dose."""


def of_dirichlet(x: np.ndarray, concentration: np.ndarray) -> Scores:
    """Return the scores of a Dirichlet law: a dose of all concentrations of a row, and of its first."""
    score = np.log(x) - digamma(concentration) + digamma(concentration.sum(axis=-1, keepdims=True))
    return {"concentration": score.sum(axis=-1), "first concentration": score[..., 0]}


def _of_beta(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> Scores:
    both = digamma(a + b)
    return {"first shape": np.log(x) - digamma(a) + both, "second shape": np.log1p(-x) - digamma(b) + both}


def _of_gamma(x: np.ndarray, shape: np.ndarray, scale: np.ndarray) -> Scores:
    return {"shape": _unit(shape) * (np.log(x / scale) - digamma(shape)), "scale": x / scale - shape}


def of_inverse_gamma(x: np.ndarray, shape: np.ndarray, rate: np.ndarray) -> Scores:
    """Return the scores of an inverse Gamma law; x (draw, ...), parameters (1, ...) or (draw, ...)."""
    return {"shape": _unit(shape) * (np.log(rate / x) - digamma(shape)), "rate": shape - rate / x}


def _unit(shape: np.ndarray) -> np.ndarray:
    """Return the unit of a dose of a shape: one; where the shape is random (one for each draw) and below one, the shape."""
    return np.minimum(shape, 1.0) if len(shape) > 1 else np.ones_like(shape)


def of_normal(x: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> Scores:
    """Return the scores of a normal law; x (draw, ...), parameters (1, ...) or (draw, ...)."""
    z = (x - mean) / sd
    return {"mean": z, "sd": z**2 - 1}


def _of_half_normal(x: np.ndarray, _: np.ndarray, sd: np.ndarray) -> Scores:
    return {"sd": (x / sd) ** 2 - 1}


def _of_log_normal(x: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> Scores:
    return of_normal(np.log(x), mean, sd)


def _of_zero_sum_normal(x: np.ndarray, sd: np.ndarray, _: np.ndarray) -> Scores:
    return {"sd": (x / sd) ** 2 - 1 + 1 / x.shape[-1]}


def _of_categorical(x: np.ndarray, p: np.ndarray) -> Scores:
    """Return no scores: a dose of a membership is one of the shares, which have their own."""
    return {}


FAMILIES: dict[str, Callable[..., Scores]] = {
    "DirichletRV": of_dirichlet,
    "BetaRV": _of_beta,
    "CategoricalRV": _of_categorical,
    "GammaRV": _of_gamma,
    "InvGammaRV": of_inverse_gamma,
    "NormalRV": of_normal,
    "HalfNormalRV": _of_half_normal,
    "LogNormalRV": _of_log_normal,
    "ZeroSumNormalRV": _of_zero_sum_normal,
}
"""Scores by the class of the random variable, as functions of draws and the parameters that PyMC gives it."""


class PriorScores:
    """Scores of all priors of a model, each the sum over the entries of a variable.

    Parameters
    ----------
    model : pymc.Model
        Its free variables are of the laws of `FAMILIES`.
    """

    def __init__(self, model: pm.Model) -> None:
        free: list[Any] = model.free_RVs
        self._families = {str(rv.name): FAMILIES[type(rv.owner.op).__name__] for rv in free}
        self._parameters: dict[str, list[Any]] = {}
        for rv in free:
            own = rv.owner.op.dist_params(rv.owner)
            self._parameters[str(rv.name)] = [_of_draws(parameter, free) for parameter in own]
        self.names = list(self._named(_one_draw(model)))

    def of(self, values: Values) -> np.ndarray:
        """Return the scores of draws, shape (draw, score); values of shapes (draw, ...)."""
        return np.column_stack([*self._named(values).values()])

    def _named(self, values: Values) -> Scores:
        found = {}
        for name, family in self._families.items():
            x = values[name].astype(np.float64)
            parameters = [np.asarray(p(values), np.float64) for p in self._parameters[name]]
            for parameter, score in family(x, *(_aligned(p, x) for p in parameters)).items():
                found[f"{parameter} of {name}"] = score.reshape(len(x), -1).sum(axis=1)
        return found


def _aligned(parameter: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Insert dims after the first, (draw,), until a parameter has those of the draws."""
    missing = x.ndim - parameter.ndim
    return parameter.reshape(len(parameter), *[1] * missing, *parameter.shape[1:])


def _one_draw(model: pm.Model) -> Values:
    """Return one draw of the free variables from their prior, with a leading dim."""
    drawn = pm.draw(model.free_RVs, random_seed=1)
    return {str(rv.name): np.asarray(x)[None] for rv, x in zip(model.free_RVs, drawn, strict=True)}


def _of_draws(parameter: Any, free: list[Any]) -> Callable[[Values], np.ndarray]:
    """Return a function from draws of the free variables, shapes (draw, ...), to a parameter of each, (draw, ...) or (1, ...)."""
    parents = [rv for rv in free if rv in {*random_ancestors([parameter])}]
    if not parents:
        constant = np.asarray(parameter.eval(mode="FAST_COMPILE"))[None]
        return lambda _: constant
    inputs = [rv.type.clone(shape=(None, *rv.type.shape))(name=rv.name) for rv in parents]
    batched: Any = vectorize_graph(parameter, dict(zip(parents, inputs, strict=True)))
    # parents of a replaced parent are left over
    compiled: Any = function(inputs, batched, mode="FAST_COMPILE", on_unused_input="ignore")
    names = [str(rv.name) for rv in parents]
    return lambda values: compiled(*(values[name] for name in names))

"""StatedLogOdds: distribution of the log odds that raters state beside their labels, with the true category summed out."""

import math
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.special import logsumexp
from pytensor.tensor.variable import TensorVariable

from .compiling import cached_njit, inner_njit, source_digest
from .marginal_labels import draw_category, log_prior

LOG_TWO_PI = float(np.log(2 * np.pi))
tensor = cast(Any, pt)  # whose functions have no precise types


class StatedLogOddsRV(RandomVariable):
    """Random variable of log odds, infinite where a rater gives the label outright."""

    name = "stated_log_odds"
    signature = "(i,j),(r,j,l),(r,j),(r,j),(a),(a),(a)->(a)"
    dtype = "float64"
    _print_name = ("StatedLogOdds", "\\operatorname{StatedLogOdds}")

    @classmethod
    def rng_fn(cls, rng, prior, share, mean, sd, item, rater, label, size=None):
        """Draw the truth of every item given its labels, then what is stated; `size` is the batch shape."""
        given = (prior, share, mean, sd)
        core = (2, 3, 2, 2)
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - k] for x, k in zip(given, core, strict=True)))
        batch = batch if size is None else tuple(size)
        given = [
            np.broadcast_to(x, (*batch, *x.shape[x.ndim - k :])) for x, k in zip(given, core, strict=True)
        ]
        item, rater, label = (x.reshape(-1, x.shape[-1])[0] for x in (item, rater, label))
        drawn = np.empty((*batch, len(item)))
        for index in np.ndindex(batch):
            draw_statements(rng, tuple(x[index] for x in given), (item, rater, label), drawn[index])
        return drawn


@inner_njit(error_model="numpy")
def draw_above(rng: np.random.Generator, least: float) -> float:
    """Draw a standard normal variable above a bound (Robert 1995, doi:10.1007/BF00143942)."""
    if least <= 0.0:
        while True:
            z = rng.standard_normal()
            if z > least:
                return z
    rate = 0.5 * (least + math.sqrt(least * least + 4.0))
    while True:
        z = least + rng.standard_exponential() / rate
        if rng.random() <= math.exp(-0.5 * (z - rate) ** 2):
            return z


@cached_njit(error_model="numpy")
def draw_statements(
    rng: np.random.Generator,
    law: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    drawn: np.ndarray,
) -> None:
    """Draw the truth of every item given its labels, then what is stated, overwritten (annotation,)."""
    prior, share, mean, sd = law
    item, rater, label = rows
    truth = np.array([draw_category(rng, prior[i]) for i in range(len(prior))])
    for a in range(len(item)):
        k, j = rater[a], truth[item[a]]
        side = 1.0 if label[a] == 1 else -1.0
        away = side * mean[k, j] / sd[k, j]
        stated = share[k, j, 2] * 0.5 * math.erfc(-away / math.sqrt(2.0))
        if rng.random() * (share[k, j, label[a]] + stated) < stated:
            drawn[a] = side * sd[k, j] * (away + draw_above(rng, -away))
        else:
            drawn[a] = side * np.inf


@numba_core_rv_funcify.register(StatedLogOddsRV)
def _numba_stated_log_odds(op, node):
    @numba_njit
    def random_fn(rng, prior, share, mean, sd, item, rater, label):
        drawn = np.empty(len(item))
        draw_statements(rng, (prior, share, mean, sd), (item, rater, label), drawn)
        return drawn

    return random_fn, source_digest(__file__)


def hard_labels(share: Any, mean: Any, sd: Any) -> TensorVariable:
    """Return p(label | rater, true category), of a label outright or of a statement on its side, (rater, category, 2)."""
    away = mean / sd
    sides = tensor.stack([_cdf(-away), _cdf(away)], axis=2)
    return cast(TensorVariable, share[:, :, :2] + share[:, :, 2:] * sides)


def _cdf(x: Any) -> Any:
    """Return the standard normal distribution function."""
    return 0.5 * tensor.erfc(-x / np.sqrt(2.0))


def statement_evidence(
    log_odds: Any, law: tuple[Any, Any, Any], rows: tuple[Any, Any, Any], items: Any
) -> TensorVariable:
    """Return log p(what is stated | label, true category), summed by item, (item, category).

    Shapes: log_odds, and item, rater and label of `rows`, (annotation,); `law`: share (rater, category, 3), mean and standard
    deviation (rater, category).
    """
    share, mean, sd = law
    item, rater, label = rows
    stated = tensor.abs(log_odds) < np.inf
    z = tensor.where(stated, log_odds, 0.0)[:, None]
    log_share = tensor.log(share)
    normal = -0.5 * (((z - mean[rater]) / sd[rater]) ** 2 + LOG_TWO_PI) - tensor.log(sd)[rater]
    own = tensor.where(stated[:, None], log_share[rater, :, 2] + normal, log_share[rater, :, label])
    own = own - tensor.log(hard_labels(share, mean, sd))[rater, :, label]
    return cast(TensorVariable, sum_by_item(own, item, items))


def sum_by_item(values: Any, item: Any, items: Any) -> Any:
    """Return sums of values (annotation, category) by item (item, category)."""
    return tensor.inc_subtensor(tensor.zeros((items, values.shape[1]))[item], values)


@cast(Any, _logprob).register(StatedLogOddsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log density of what is stated given the labels, pointwise by item."""
    *_, prior, share, mean, sd, item, rater, label = inputs
    log_odds, before = values[0], log_prior(prior)
    evidence = statement_evidence(log_odds, (share, mean, sd), (item, rater, label), prior.shape[0])
    return cast(
        TensorVariable, cast(Any, logsumexp(before + evidence, axis=1)) - cast(Any, logsumexp(before, axis=1))
    )


class StatedLogOdds(pm.Continuous):
    """Log odds of the second of two categories that raters state beside their labels, the true category summed out.

        T_i ~ Categorical(p_i)                                     given the labels of the item
        s_a ~ Categorical(rho[rater_a, T])                         the first label outright, the second, or a statement
        z_a ~ Normal(mu[rater_a, T], sigma[rater_a, T])            the log odds of a statement, else infinite

    given that the label is the side of zero on which the log odds lie; pointwise by item. Arguments: prior (item, category),
    share (rater, category, 3), mean and sd (rater, category), and codes of item, rater and label (annotation,).
    """

    rv_op = StatedLogOddsRV()

    @classmethod
    def dist(cls, prior: Any, share: Any, mean: Any, sd: Any, rows: Any, **kwargs: Any) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        law = map(tensor.as_tensor_variable, (prior, share, mean, sd, *rows))
        return super().dist([*law], **kwargs)

"""ItemScores: normal distribution of scores about the location of their item."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .compiling import source_digest


class ItemScoresRV(RandomVariable):
    """Random variable of scores."""

    name = "item_scores"
    signature = "(i),(i),(a)->(a)"
    dtype = "float64"
    _print_name = ("ItemScores", "\\operatorname{ItemScores}")

    @classmethod
    def rng_fn(cls, rng, location, variance, item, size=None):
        """Draw all scores; `size` is the batch shape."""
        batch = np.broadcast_shapes(location.shape[:-1], variance.shape[:-1])
        batch = batch if size is None else tuple(size)
        code = item.reshape(-1, item.shape[-1])[0]
        noise = rng.standard_normal((*batch, len(code)))
        return location[..., code] + np.sqrt(variance[..., code]) * noise


@cast(Any, _logprob).register(ItemScoresRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of the scores, pointwise by item, from sufficient statistics."""
    *_, location, variance, item = inputs
    (score,) = values

    def by_item(x):
        return pt.zeros(location.shape, np.float64)[item].inc(x)

    count = by_item(pt.ones(item.shape, np.float64))
    mean = by_item(score) / pt.maximum(count, 1.0)
    # sum_a (y_a - mu)^2 = sum_a (y_a - mean)^2 + n (mean - mu)^2
    squares = by_item((score - mean[item]) ** 2)
    distance = squares + count * (mean - location) ** 2
    log_p = -0.5 * (count * pt.log(2 * np.pi * variance) + distance / variance)
    return cast(TensorVariable, pt.switch((variance > 0).all(), log_p, -np.inf))


@numba_core_rv_funcify.register(ItemScoresRV)
def _numba_item_scores(op, node):
    @numba_njit
    def random_fn(rng, location, variance, item):
        score = np.empty(len(item))
        for a in range(len(item)):
            score[a] = rng.normal(location[item[a]], np.sqrt(variance[item[a]]))
        return score

    return random_fn, source_digest(__file__)


class ItemScores(pm.Continuous):
    """Scores of items, each normal about the location of its item.

        y_a ~ Normal(mu_item(a), sigma2_item(a))

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    mu                    location                                                    item
    sigma2                variance                                                    item
    item(a)               item: item code of each score                               annotation
    y                     value: the scores                                           annotation
    ====================  ==========================================================  ====================

    The log probability is pointwise by item. Number, mean and sum of squares of an item's scores are
    constants of the compiled graph, so that its cost does not grow with the number of scores.

    Parameters
    ----------
    location : tensor, shape (item,)
        Mean score of each item.
    variance : tensor, shape (item,)
        Variance of a score about it, positive.
    item : array_like, shape (annotation,)
        Code of the item of each score.

    Examples
    --------
    Locations that follow a covariate of the items:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import ItemScores
    >>> item, score, x = [0, 0, 1, 2, 2], [1.0, 1.5, 2.0, 3.5, 3.0], np.array([0.0, 1.0, 2.0])
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     ItemScores("score", 1 + slope * x, np.full(3, 0.25), item, observed=score)
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    score
    >>> tree["posterior"]["slope"].shape
    (1, 20)

    References
    ----------
    The normal law of a score about its item, in sufficient statistics; with raters: `raterzoo.models.hierarchical_scores`.
    """

    rv_op = ItemScoresRV()

    @classmethod
    def dist(cls, location, variance, item, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        parameters = [pt.as_tensor_variable(x) for x in (location, variance, item)]
        return super().dist(parameters, **kwargs)

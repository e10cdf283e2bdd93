"""MixedCounts: distribution of label counts of items in one of a few states, with the state summed out."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.special import logsumexp
from pytensor.tensor.variable import TensorVariable

from .compiling import source_digest


class MixedCountsRV(RandomVariable):
    """Random variable of the label counts of all items."""

    name = "mixed_counts"
    signature = "(j),(j,c),(j),(i)->(i,c)"
    dtype = "int64"
    _print_name = ("MixedCounts", "\\operatorname{MixedCounts}")

    @classmethod
    def rng_fn(cls, rng, weight, probability, spread, total, size=None):
        """Draw all items, one replicate after the other; `size` is the batch shape."""
        given = (weight, probability, spread, total)
        core = (1, 2, 1, 1)
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - k] for x, k in zip(given, core, strict=True)))
        batch = batch if size is None else tuple(size)
        given = [
            np.broadcast_to(x, (*batch, *x.shape[x.ndim - k :])) for x, k in zip(given, core, strict=True)
        ]
        counts = np.empty((*batch, given[3].shape[-1], given[1].shape[-1]), cls.dtype)
        for index in np.ndindex(batch):
            w, theta, rho, n = (x[index] for x in given)
            state = rng.choice(len(w), len(n), p=w / w.sum())
            q = theta[state]
            spread_out = np.flatnonzero(rho[state] > 0)
            for i in spread_out:
                own = rho[state[i]]
                q[i] = rng.dirichlet((1 / own - 1) * q[i])
            counts[index] = rng.multinomial(n, q / q.sum(axis=1, keepdims=True))
        return counts


@cast(Any, _logprob).register(MixedCountsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return log p of the answers, pointwise by item, computed once per distinct row of counts."""
    *_, weight, probability, spread, _ = inputs
    (counts,) = values
    pattern = None
    if isinstance(counts, Constant):
        distinct, pattern = np.unique(counts.data, axis=0, return_inverse=True)
        counts = pt.as_tensor_variable(distinct)
    joint = _log_joint(weight, probability, spread, counts)
    log_p = cast(TensorVariable, logsumexp(joint, axis=1))
    return log_p if pattern is None else log_p[pattern]


def _log_joint(
    weight: TensorVariable, probability: TensorVariable, spread: TensorVariable, counts: TensorVariable
) -> TensorVariable:
    """Return log p(state, answers) of rows of counts, shape (row, state)."""
    step = spread / (1 - spread)
    total = counts.sum(axis=1)
    most = total.max()
    rises = pt.arange(most)
    # log of prod_(u < n) (theta_jc + u t_j) and of prod_(u < N) (1 + u t_j), for every n and N
    named = _running_sum(pt.log(probability[:, :, None] + rises * step[:, None, None]))
    given = _running_sum(pt.log1p(rises * step[:, None]))
    category = cast(Any, pt.arange(cast(Any, probability).shape[1]))
    log_named = named[:, category[None], counts].sum(axis=2)
    log_weight = cast(Any, pt.log(weight))
    log_p = log_named - given[:, total] + log_weight[:, None]
    return cast(TensorVariable, log_p.T)


def _running_sum(terms: Any) -> Any:
    """Return sums of the first 0, 1, 2, ... terms along the last axis."""
    # terms[..., :1] has no entry where nobody answered, and PyTensor believes that it has one
    nothing = pt.zeros((*terms.shape[:-1], 1))
    return pt.concatenate([nothing, pt.cumsum(terms, axis=-1)], axis=-1)


@numba_core_rv_funcify.register(MixedCountsRV)
def _numba_mixed_counts(op, node):
    @numba_njit
    def random_fn(rng, weight, probability, spread, total):
        n_states, n = probability.shape
        counts = np.zeros((len(total), n), np.int64)
        q = np.empty(n)
        for i in range(len(total)):
            point, state = rng.random() * weight.sum(), 0
            while state < n_states - 1 and point >= weight[state]:
                point -= weight[state]
                state += 1
            q[:] = probability[state]
            if spread[state] > 0.0:
                for c in range(n):
                    q[c] = rng.standard_gamma((1.0 / spread[state] - 1.0) * q[c])
            left, mass = total[i], q.sum()
            for c in range(n - 1):
                if left > 0 and mass > 0.0:
                    counts[i, c] = rng.binomial(left, min(1.0, q[c] / mass))
                left -= counts[i, c]
                mass -= q[c]
            counts[i, n - 1] = left
        return counts

    return random_fn, source_digest(__file__)


class MixedCounts(pm.Discrete):
    """Label counts of items in one of a few states.

        z_i ~ Categorical(w)
        q_i ~ Dirichlet(s_z theta_z),   s = 1 / rho - 1         (q_i = theta_z where rho is zero)
        n_i ~ prod_c q_ic ^ n_ic               (sequence of answers: no multinomial coefficient)

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    w                     weight: share of the states                                 state
    theta                 probability of each label                                   state, category
    rho                   spread: correlation between two answers to an item,         state
                          given its state; from 0 to below 1
    sum n                 total: number of answers                                    item
    n                     value: counts of the labels                                 item, category
    z, q                  summed out                                                  item
    ====================  ==========================================================  ====================

    With t = rho / (1 - rho) the answers of an item in state j have probability

        prod_c prod_(u < n_c) (theta_jc + u t_j)  /  prod_(u < N) (1 + u t_j)

    also at rho = 0. The log probability is pointwise by item.

    References
    ----------
    Skellam (1948), A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials, JRSS B 10(2), for one state and two labels,
    doi:10.1111/j.2517-6161.1948.tb00014.x.
    """

    rv_op = MixedCountsRV()

    @classmethod
    def dist(cls, weight, probability, spread, total, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        parameters = [pt.as_tensor_variable(x) for x in (weight, probability, spread, total)]
        return super().dist(parameters, **kwargs)

"""CountedLabels: distribution of an item's label counts, with a power of the likelihood."""

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


class CountedLabelsRV(RandomVariable):
    """Random variable of the label counts of an item."""

    name = "counted_labels"
    signature = "(k),(),()->(k)"
    dtype = "int64"
    _print_name = ("CountedLabels", "\\operatorname{CountedLabels}")

    @classmethod
    def rng_fn(cls, rng, plausibility, total, reliability, size=None):
        """Draw replicates at power one."""
        return rng.multinomial(total, plausibility, size=size)


@cast(Any, _logprob).register(CountedLabelsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of the answers, pointwise by item."""
    *_, plausibility, _, reliability = inputs
    (counts,) = values
    terms = pt.switch(pt.eq(counts, 0), 0.0, counts * pt.log(plausibility))
    return reliability * cast(TensorVariable, terms).sum(axis=-1)


@numba_core_rv_funcify.register(CountedLabelsRV)
def _numba_counted_labels(op, node):
    @numba_njit
    def random_fn(rng, plausibility, total, reliability):
        counts = np.zeros(len(plausibility), np.int64)
        # multinomial by binomials: n_k ~ Binomial(answers left, p_k / probability left)
        left, mass = total.item(), 1.0
        for k in range(len(plausibility) - 1):
            if left > 0 and mass > 0.0:
                counts[k] = rng.binomial(left, min(1.0, plausibility[k] / mass))
            left -= counts[k]
            mass -= plausibility[k]
        counts[-1] = left
        return counts

    return random_fn, source_digest(__file__)


class CountedLabels(pm.Discrete):
    """Label counts of items, with a power of the likelihood.

        n ~ (prod_k p_k ^ n_k) ^ gamma           (sequence of answers: no multinomial coefficient)

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    p                     plausibility: probability of each label                     category
    n                     value: counts of the labels                                 category
    sum n                 total: number of answers                                    scalar
    gamma                 reliability: power of the likelihood, positive              scalar
    ====================  ==========================================================  ====================

    Leading dims broadcast. The log probability is pointwise by item. Replicates are drawn at power one.

    Parameters
    ----------
    plausibility : tensor, shape (..., category)
        Probability of each label of an item.
    total : array_like, shape (...)
        Number of answers to the item. It counts for replicates alone.
    reliability : tensor, default 1
        Power of the likelihood, positive.

    Examples
    --------
    Shares of labels that follow a covariate of the items:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import CountedLabels
    >>> counts, x = np.array([[3, 0], [2, 1], [0, 3]]), np.array([-1.0, 0.0, 1.0])
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     share = pm.math.softmax(slope * x[:, None] * np.array([0.0, 1.0]), axis=1)
    ...     CountedLabels("count", share, counts.sum(axis=1), observed=counts)
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    count
    >>> tree["posterior"]["slope"].shape
    (1, 20)

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix
    A, arXiv:2307.02191.
    """

    rv_op = CountedLabelsRV()

    @classmethod
    def dist(cls, plausibility, total, reliability=1.0, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        parameters = [pt.as_tensor_variable(x) for x in (plausibility, total, reliability)]
        return super().dist(parameters, **kwargs)

"""CountedLabels: how often each label was given to an item, with a power of the likelihood.

    n ~ prod_k p_k ^ n_k           (the answers in a sequence: no multinomial coefficient)

====================  ==========================================================  ====================
symbol                argument                                                    dims
====================  ==========================================================  ====================
p                     plausibility                                                category
n                     value: counts of the labels                                 category
sum n                 total                                                       scalar
gamma                 reliability: power of the likelihood                        scalar
====================  ==========================================================  ====================

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix A, arXiv:2307.02191.
"""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .compiling import source_stamp

__all__ = ["CountedLabels", "CountedLabelsRV"]


class CountedLabelsRV(RandomVariable):
    """Random variable of the counts of an item's labels."""

    name = "counted_labels"
    signature = "(k),(),()->(k)"
    dtype = "int64"
    _print_name = ("CountedLabels", "\\operatorname{CountedLabels}")

    @classmethod
    def rng_fn(cls, rng, plausibility, total, reliability, size=None):
        """Draw all answers at power one."""
        return rng.multinomial(total, plausibility, size=size)


@cast(Any, _logprob).register(CountedLabelsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of each item's answers."""
    *_, plausibility, _, reliability = inputs
    (counts,) = values
    terms = pt.switch(pt.eq(counts, 0), 0.0, counts * pt.log(plausibility))
    return reliability * cast(TensorVariable, terms).sum(axis=-1)


@numba_core_rv_funcify.register(CountedLabelsRV)
def _numba_counted_labels(op, node):
    @numba_njit
    def random_fn(rng, plausibility, total, reliability):
        counts = np.zeros(len(plausibility), np.int64)
        left, mass = total.item(), 1.0
        for k in range(len(plausibility) - 1):
            if left > 0 and mass > 0.0:
                counts[k] = rng.binomial(left, min(1.0, plausibility[k] / mass))
            left -= counts[k]
            mass -= plausibility[k]
        counts[-1] = left
        return counts

    return random_fn, source_stamp(__file__)


class CountedLabels(pm.Discrete):
    r"""Counts of the labels given to items.

    Parameters
    ----------
    plausibility : tensor_like of float, shape (..., category)
        Probability of each label.
    total : tensor_like of int, shape (...)
        Number of answers.
    reliability : tensor_like of float, default 1
        Positive power of the likelihood; replicates are drawn at power one.
    """

    rv_op = CountedLabelsRV()

    @classmethod
    def dist(cls, plausibility, total, reliability=1.0, **kwargs) -> TensorVariable:
        """Return the law as a tensor variable, without a model."""
        parameters = [pt.as_tensor_variable(x) for x in (plausibility, total, reliability)]
        return super().dist(parameters, **kwargs)

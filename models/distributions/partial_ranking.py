"""PartialRanking: Plackett-Luce distribution of rankings with ties whose last block is unranked."""

from importlib.util import find_spec
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
from .ranking_kernel import draw_ranking
from .ranking_op import partial_ranking_logp

if find_spec("jax"):
    from .ranking_jax import jax_partial_ranking as jax_partial_ranking

__all__ = ["PartialRanking", "PartialRankingRV", "RankedCandidates", "RankedCandidatesRV"]

NO_REPLICATES = (
    "candidates='ranked' lays out only the categories that the observed rankings name; a replicate could name others, so it has "
    "no prior or posterior predictive. Build the model with candidates='all' (the same posterior) to draw replicates"
)


class PartialRankingRV(RandomVariable):
    """Random variable of a partial ranking, as block numbers."""

    name = "partial_ranking"
    signature = "(k),(l),()->(k)"
    dtype = "int16"
    _print_name = ("PartialRanking", "\\operatorname{PartialRanking}")

    @classmethod
    def rng_fn(cls, rng, log_worth, sizes, reliability, size=None):
        """Draw rankings one after the other; `size` is the batch shape."""
        batch = np.broadcast_shapes(log_worth.shape[:-1], sizes.shape[:-1], np.shape(reliability))
        batch = batch if size is None else tuple(size)
        log_worth = np.broadcast_to(log_worth, (*batch, log_worth.shape[-1]))
        sizes = np.broadcast_to(sizes, (*batch, sizes.shape[-1]))
        block = np.empty(log_worth.shape, cls.dtype)
        for index in np.ndindex(batch):
            draw_ranking(rng, log_worth[index], sizes[index], block[index])
        return block


class RankedCandidatesRV(PartialRankingRV):
    """Random variable of a partial ranking among the categories that the observed rankings name."""

    name = "partial_ranking_of_ranked_candidates"

    @classmethod
    def rng_fn(cls, rng, log_worth, sizes, reliability, size=None):
        """Raise: the candidates depend on the observed rankings, which replicates would replace."""
        raise ValueError(NO_REPLICATES)


@cast(Any, _logprob).register(PartialRankingRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of block numbers, times the reliability."""
    *_, log_worth, _, reliability = inputs
    return reliability * partial_ranking_logp(log_worth, values[0])


@numba_core_rv_funcify.register(PartialRankingRV)
def _numba_partial_ranking(op, node):
    @numba_njit
    def random_fn(rng, log_worth, sizes, reliability):
        block = np.empty(log_worth.shape[0], np.int16)
        draw_ranking(rng, log_worth, sizes, block)
        return block

    return random_fn, source_stamp(__file__)


@numba_core_rv_funcify.register(RankedCandidatesRV)
def _numba_ranked_candidates(op, node):
    raise ValueError(NO_REPLICATES)


class PartialRanking(pm.Discrete):
    """Plackett-Luce distribution of a ranking with ties whose last block is unranked.

        b ~ PartialRanking(log worth, sizes) ** reliability
        p(b) = prod_l p(block l before everything after it),  p(k first) = w_k / sum(w)  for a block of one

    ====================  ====================================================  ==========
    symbol                argument                                              dims
    ====================  ====================================================  ==========
    log w                 log_worth; any value in places after the candidates   place
    |b_1|, ..., |b_L|     sizes: size of every block, the unranked one last,    block
                          then zeros
    r (paper: gamma)      reliability: power of the likelihood, positive        scalar
    b                     value: block number of each candidate, -1 = padding   place
    ====================  ====================================================  ==========

    Leading dims broadcast. A replicate is an order of all candidates, cut at the given block sizes: it
    conditions on them, and is drawn at power one.

    References
    ----------
    Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
    doi:10.1080/10618600.2012.638220, section 2. Stutz et al. (2025), Evaluating medical AI systems in
    dermatology under uncertain ground truth, section 2.4 and appendix B, arXiv:2307.02191.
    """

    rv_op = PartialRankingRV()

    @classmethod
    def dist(cls, log_worth, sizes, reliability=1.0, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        parameters = [pt.as_tensor_variable(x) for x in (log_worth, sizes, reliability)]
        return super().dist(parameters, **kwargs)


class RankedCandidates(PartialRanking):
    """`PartialRanking` among the categories named in the observed rankings: no replicates."""

    rv_op = RankedCandidatesRV()

"""PartialRanking: Plackett-Luce distribution of rankings with ties whose last block is unranked."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .compiling import source_digest
from .jax_dispatch import register_in_jax
from .partial_ranking_kernels import draw_ranking, rankings_log_p


class PartialRankingLogP(Op):
    """Op: log p of partial rankings (row,) and d log p / d log worth (row, place)."""

    __props__ = ()
    default_output = 0
    gufunc_signature = "(r,k),(r,k)->(r),(r,k)"

    def make_node(self, log_worth: Variable, block: Variable) -> Apply:
        """Apply to log worths and block numbers, matrices (row, place) of floats and integers."""
        log_worth = pt.as_tensor_variable(log_worth).astype("float64")
        block = pt.as_tensor_variable(block)
        if log_worth.type.ndim != 2 or block.type.ndim != 2:
            raise TypeError("log_worth and block must be matrices (row, place)")
        if block.type.dtype not in ("int8", "int16", "int32", "int64"):
            raise TypeError(f"block numbers must be signed integers, not {block.type.dtype}")
        rows, places = (
            a if a is not None else b for a, b in zip(log_worth.type.shape, block.type.shape, strict=True)
        )
        outputs = [pt.tensor(dtype="float64", shape=(rows,))]
        outputs.append(pt.tensor(dtype="float64", shape=(rows, places)))
        return Apply(self, [log_worth, block], outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        output_storage[0][0], output_storage[1][0] = _evaluate(*inputs)

    def infer_shape(self, node: Apply, input_shapes: list) -> list:
        """Return the shapes of log p and of the gradient."""
        return [(input_shapes[0][0],), input_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare that only the log worths are differentiable."""
        return [[True, False], [False, False]]

    def pullback(self, inputs: list, outputs: list, cotangents: list) -> list:
        """Return the cotangent times the gradient computed with log p."""
        cotangent, of_gradient = cotangents
        if not isinstance(of_gradient.type, DisconnectedType):
            raise NotImplementedError("partial rankings have no second derivative here")
        return [cotangent[:, None] * outputs[1], disconnected_type()]

    def pushforward(self, inputs: list, outputs: list, tangents: list) -> list:
        """Return the directional derivative."""
        return [(tangents[0] * outputs[1]).sum(axis=-1), disconnected_type()]


def _evaluate(log_worth: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Run the kernel on new output arrays."""
    log_p = np.empty(len(log_worth))
    gradient = np.empty(log_worth.shape)
    rankings_log_p(np.ascontiguousarray(log_worth), np.ascontiguousarray(block), log_p, gradient)
    return log_p, gradient


@register_funcify_default_op_cache_key(PartialRankingLogP)
def _numba_partial_ranking_log_p(op, node, **kwargs):
    @numba_njit
    def partial_ranking(log_worth, block):
        log_p = np.empty(log_worth.shape[0])
        gradient = np.empty(log_worth.shape)
        rankings_log_p(log_worth, block, log_p, gradient)
        return log_p, gradient

    return (partial_ranking, source_digest(__file__))  # part of PyTensor's cache key


_op = PartialRankingLogP()


def partial_ranking_logp(log_worth: TensorVariable, block: TensorVariable) -> TensorVariable:
    """Return the log probability of partial rankings, pointwise.

    Shapes: log_worth and block (..., place), block numbers from 0, the largest = unranked, -1 after the
    candidates; result (...).

    Reference: Stutz et al. (2025), appendix B, arXiv:2307.02191.
    """
    log_worth, block = pt.broadcast_arrays(pt.as_tensor_variable(log_worth), pt.as_tensor_variable(block))
    if block.type.ndim == 2:
        return cast(TensorVariable, _op(log_worth, block))
    places = block.shape[-1]
    log_p = _op(log_worth.reshape((-1, places)), block.reshape((-1, places)))
    return cast(TensorVariable, log_p).reshape(block.shape[:-1], ndim=block.type.ndim - 1)


register_in_jax(PartialRankingLogP, "jax_partial_ranking")

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

    return random_fn, source_digest(__file__)


@numba_core_rv_funcify.register(RankedCandidatesRV)
def _numba_ranked_candidates(op, node):
    raise ValueError(NO_REPLICATES)


class PartialRanking(pm.Discrete):
    """Plackett-Luce distribution of a ranking with ties whose last block is unranked.

    Law of a ranking b:

        b ~ PartialRanking(log worth, sizes) ** reliability
        p(b) = prod_l p(block l before everything after it),  p(k first) = w_k / sum(w)  for a block of one

    ====================  ====================================================  ==========
    symbol                argument                                              dims
    ====================  ====================================================  ==========
    log w                 log_worth; any value in places after the candidates   place
    sizes of b_1 ... b_L  sizes: size of every block, the unranked one last,    block
                          then zeros
    r (paper: gamma)      reliability: power of the likelihood, positive        scalar
    S                     shown: whether a candidate was shown; all by default  place
    b                     value: block number of each candidate, -1 = padding   place
    ====================  ====================================================  ==========

    Leading dims broadcast. A candidate that was not shown has no worth there: it stands in the unranked block, and nothing is
    learnt of it. A replicate is an order of all candidates shown, cut at the given block sizes: it
    conditions on them, and is drawn at power one. The log probability is pointwise by row; its gradient is compiled by numba or
    JAX.

    Parameters
    ----------
    log_worth : tensor, shape (..., place)
        Log worth of each candidate, up to a constant.
    sizes : array_like, shape (..., block)
        Number of candidates in each block, the unranked one last. They count for replicates alone.
    reliability : tensor, default 1
        Power of the likelihood.
    shown : array_like of bool, shape (..., place), optional
        Which candidates the rater was shown, such as the answers of a pair or of best-of-n.

    Examples
    --------
    Choices of the best among those shown, where worths follow a price:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import PartialRanking
    >>> price = np.array([1.0, 2.0, 3.0])
    >>> shown = np.array([[True, True, False], [True, True, True]])
    >>> best = np.array([[0, 1, 1], [1, 0, 1]])  # block 0: the choice; block 1: all others
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     log_worth = pm.math.stack([slope * price] * 2)
    ...     PartialRanking("choice", log_worth, [[1, 2]] * 2, shown=shown, observed=best)
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    choice
    >>> tree["posterior"]["slope"].shape
    (1, 20)

    References
    ----------
    Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
    doi:10.1080/10618600.2012.638220, section 2. Stutz et al. (2025), Evaluating medical AI systems in
    dermatology under uncertain ground truth, section 2.3.3 and appendix B, arXiv:2307.02191v2.
    """

    rv_op = PartialRankingRV()

    @classmethod
    def dist(
        cls, log_worth: Any, sizes: Any, reliability: Any = 1.0, *, shown: Any = None, **kwargs: Any
    ) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        if shown is not None:
            log_worth = pt.switch(shown, log_worth, -np.inf)
        parameters = [pt.as_tensor_variable(x) for x in (log_worth, sizes, reliability)]
        return super().dist(parameters, **kwargs)


class RankedCandidates(PartialRanking):
    """`PartialRanking` among the categories named in the observed rankings: no replicates."""

    rv_op = RankedCandidatesRV()

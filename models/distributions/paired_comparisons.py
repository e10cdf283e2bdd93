"""PairedVotes: distribution of the answers of raters shown two items, one left and one right."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.logprob.abstract import _logprob
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.tensor.variable import TensorVariable

from ...posterior.links import LOGISTIC, Link
from .compiling import source_digest
from .jax_dispatch import register_in_jax
from .paired_comparisons_kernels import PairCodes, Strengths, pair_sweeps
from .vote_counts import VoteCountsRV, possible_counts, vote_parameters


class _PairOp(Op):
    """Base Op with a link and a number of outcomes."""

    __props__ = ("link", "n_outcomes")

    def __init__(self, link: Link, n_outcomes: int) -> None:
        self.link: Link = link
        self.n_outcomes = n_outcomes
        super().__init__()

    def cache_key(self) -> str:
        """Return PyTensor's cache key of the compiled Op."""
        law = f"{self.link} with {self.n_outcomes} outcomes"
        return f"raterzoo {type(self).__name__} {source_digest(__file__)} for {law}"


class PairLogP(_PairOp):
    """Op: log p of each annotation without the multinomial coefficient, and its slopes in x and tie.

    Shapes: three outputs, each (annotation,).
    """

    default_output = 0

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to quality, reliability, left_bias, tie, left, right, rater and counts.

        Shapes: as in `Strengths` and `PairCodes`; counts (annotation, outcome).
        """
        variables = list(map(pt.as_tensor_variable, inputs))
        strengths = [x.astype("float64") for x in variables[:4]]
        if any(x.type.ndim != 1 for x in variables[:7]) or variables[7].type.ndim != 2:
            raise TypeError("parameters and codes must be vectors, and counts a matrix")
        if variables[7].type.shape[1] not in (None, self.n_outcomes):
            raise ValueError(
                f"counts have {variables[7].type.shape[1]} columns; one is needed for each of {self.n_outcomes} outcomes"
            )
        annotations = variables[4].type.shape
        outputs = [pt.tensor(dtype="float64", shape=annotations) for _ in range(3)]
        return Apply(self, [*strengths, *variables[4:]], outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        arrays = list(map(np.ascontiguousarray, inputs))
        found = tuple(np.empty(len(arrays[4])) for _ in range(3))
        sweeps = pair_sweeps(self.link, self.n_outcomes)
        sweeps.log_p(Strengths(*arrays[:4]), PairCodes(*arrays[4:7]), arrays[7], found)
        for storage, array in zip(output_storage, found, strict=True):
            storage[0] = array

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the number of annotations three times."""
        return [shapes[4]] * 3

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare that only the parameters are differentiable."""
        return [[True] * 3] * 4 + [[False] * 3] * 4

    def pullback(self, inputs: list, outputs: list, cotangents: list) -> list:
        """Return the gradient: sums of the slopes, with the cotangent as weight of each annotation."""
        weight, *others = cotangents
        if any(not isinstance(other.type, DisconnectedType) for other in others):
            raise NotImplementedError("the slopes of the log probability have no derivative here")
        gradient = PairGradient(self.link, self.n_outcomes)
        sums = gradient.make_node(*inputs[:7], outputs[1], outputs[2], weight).outputs
        return [*sums, *(disconnected_type() for _ in range(4))]


class PairGradient(_PairOp):
    """Op: weighted sums of the slopes by quality, reliability, left bias and tie."""

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to quality, reliability, left_bias, tie, left, right, rater, slope, tie_slope and weight."""
        variables = list(map(pt.as_tensor_variable, inputs))
        outputs = [pt.tensor(dtype="float64", shape=x.type.shape) for x in variables[:4]]
        return Apply(self, variables, outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        arrays = list(map(np.ascontiguousarray, inputs))
        sums = Strengths(*(np.empty(len(x)) for x in arrays[:4]))
        sweeps = pair_sweeps(self.link, self.n_outcomes)
        sweeps.gradient(Strengths(*arrays[:4]), PairCodes(*arrays[4:7]), tuple(arrays[7:]), sums)
        for storage, array in zip(output_storage, sums, strict=True):
            storage[0] = array

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of the parameters."""
        return shapes[:4]


@register_funcify_and_cache_key(PairLogP)
def _numba_log_p(op, node, **kwargs):
    sweep = pair_sweeps(op.link, op.n_outcomes).log_p

    @numba_njit
    def pair_log_p(quality, reliability, left_bias, tie, left, right, rater, counts):
        n = len(left)
        found = (np.empty(n), np.empty(n), np.empty(n))
        strengths = Strengths(quality, reliability, left_bias, tie)
        sweep(strengths, PairCodes(left, right, rater), counts, found)
        return found

    return pair_log_p, op.cache_key()


@register_funcify_and_cache_key(PairGradient)
def _numba_gradient(op, node, **kwargs):
    sweep = pair_sweeps(op.link, op.n_outcomes).gradient

    @numba_njit
    def pair_gradient(quality, reliability, left_bias, tie, left, right, rater, slope, tie_slope, weight):
        raters = len(reliability)
        sums = Strengths(np.empty(len(quality)), np.empty(raters), np.empty(raters), np.empty(raters))
        strengths = Strengths(quality, reliability, left_bias, tie)
        sweep(strengths, PairCodes(left, right, rater), (slope, tie_slope, weight), sums)
        return sums.quality, sums.reliability, sums.left_bias, sums.tie

    return pair_gradient, op.cache_key()


def pair_logp(
    strengths: Strengths, codes: PairCodes, counts: TensorVariable, law: tuple[Link, int]
) -> TensorVariable:
    """Return the log probability of each annotation, without the multinomial coefficient.

    Shapes: strengths and codes as in `Strengths` and `PairCodes`; counts (annotation, outcome), of answers left,
    right and, with ties, tie; law = (link, number of outcomes); result (annotation,).
    """
    node = PairLogP(*law).make_node(*map(pt.as_tensor_variable, (*strengths, *codes, counts)))
    return cast(TensorVariable, node.outputs[0])


register_in_jax(PairLogP, "jax_pair_log_p")
register_in_jax(PairGradient, "jax_pair_gradient")


class PairedComparisonsRV(VoteCountsRV):
    """Random variable of counts of answers: left, right and, with three outcomes, tie."""

    name = "paired_comparisons"
    of_law = "r"
    _print_name = ("PairedVotes", "\\operatorname{PairedVotes}")

    @property
    def draw(self) -> Callable:
        """Compiled draws of the multinomial counts."""
        return pair_sweeps(self.link, self.n_outcomes).draw


@cast(Any, _logprob).register(PairedComparisonsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of each annotation, with the multinomial coefficient."""
    *_, quality, reliability, left_bias, tie, left, right, rater, total = inputs
    counts, orders = possible_counts(values[0], total)
    strengths = Strengths(quality, reliability, left_bias, tie)
    log_p = pair_logp(strengths, PairCodes(left, right, rater), counts, (op.link, op.n_outcomes))
    log_p = cast(TensorVariable, log_p + orders)
    if op.n_outcomes == 2:
        return log_p
    positive = cast(Any, pt.all(cast(Any, tie) > 0))
    return cast(TensorVariable, check_parameters(log_p, positive, msg="tie > 0"))


class PairedVotes(pm.Discrete):
    """Counts of raters' answers to pairs of items.

    Law of the answers of annotation a:

        x_a ~ rho_k (q_left - q_right) + b_k                    rater k of annotation a
        n_a ~ Multinomial(total_a, p(x_a))                      p(left), p(right) and, with ties, p(tie)

    =============  ======================================  ===========================================
    link           without ties                            with ties
    =============  ======================================  ===========================================
    bradley_terry  p(left) = F(x),  F(x) = 1 / (1 + e^-x)  e^(x/2) : e^(-x/2) : nu
    thurstone      p(left) = Phi(x)                        p(left) = Phi(x - t), p(right) = Phi(-x - t)
    =============  ======================================  ===========================================

    These are the laws of Bradley and Terry [1]_, with ties of Davidson [2]_, and of Thurstone [3]_, with ties [4]_.

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    q                     quality                                                     item
    rho                   reliability; negative if the rater prefers the worse item   rater, or scalar
    left, right, k        codes: item on the left, item on the right, rater           annotation
    b                     left_bias: advantage of the left side                       rater, or scalar
    nu, t                 tie, positive; two outcomes if None                         rater, or scalar
    total                 total: number of answers                                    annotation
    n                     value: counts of the answers                                annotation, outcome
    ====================  ==========================================================  ====================

    One annotation holds one rater's answers to one ordered pair. The log probability is pointwise by
    annotation, with the multinomial coefficient; its gradient is compiled by numba or JAX. Replicates draw the counts of every
    annotation, given its total.

    Parameters
    ----------
    quality : tensor, shape (item,)
        Quality of each item; only differences count.
    reliability : tensor, default 1
        Factor of the differences, shape (rater,), or one number for all.
    codes : tuple of array_like
        Codes (left, right, rater), each (annotation,); without the third all votes are of one rater.
    total : array_like, shape (annotation,), optional
        Number of votes of each annotation, 1 by default.
    left_bias : tensor, default 0
        Advantage of the left side, for all raters or (rater,).
    tie : tensor, optional
        Parameter of ties, positive; without it a vote has two outcomes.
    link : {"bradley_terry", "thurstone"}
        The law of one vote.

    Raises
    ------
    ValueError
        If a code is out of range, arrays differ in length, or the link is none of these.

    Examples
    --------
    Qualities that follow a covariate of the items, with ties:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import PairedVotes
    >>> left, right = [0, 1, 2, 0], [1, 2, 3, 3]
    >>> votes = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]  # left, right, tie
    >>> with pm.Model() as model:
    ...     slope = pm.Normal("slope")
    ...     quality = slope * np.array([0.0, 1.0, 2.0, 3.0])
    ...     tie = pm.LogNormal("tie")
    ...     PairedVotes("vote", quality, codes=(left, right), tie=tie, observed=votes)
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    vote
    >>> tree["posterior"]["slope"].shape
    (1, 20)

    References
    ----------
    .. [1] Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39,
       doi:10.1093/biomet/39.3-4.324.
    .. [2] Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison
       experiments, JASA 65, doi:10.1080/01621459.1970.10481082.
    .. [3] Thurstone (1927), A law of comparative judgment, Psychological Review 34, doi:10.1037/h0070288.
    .. [4] Glenn and David (1960), Ties in paired-comparison experiments using a modified Thurstone-Mosteller
       model, Biometrics 16, doi:10.2307/2527957.
    """

    rv_type = PairedComparisonsRV
    rv_op = PairedComparisonsRV.rv_op

    @classmethod
    def dist(
        cls,
        quality: Any,
        reliability: Any = 1.0,
        codes: Any = (),
        total: Any = None,
        *,
        left_bias: Any = 0.0,
        tie: Any = None,
        link: Link = LOGISTIC,
        **kwargs: Any,
    ) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        parameters = vote_parameters(
            quality, reliability, [left_bias, 1.0 if tie is None else tie], codes, total, link
        )
        n_outcomes = 2 if tie is None else 3
        return super().dist(parameters, link=link, n_outcomes=n_outcomes, **kwargs)

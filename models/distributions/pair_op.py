"""PyTensor Op of the likelihood of comparisons: log p of every annotation and its slopes, in one pass.

A second Op sums the slopes by item and rater: the gradient.
"""

from typing import cast

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.tensor.variable import TensorVariable

from .compiling import source_stamp
from .pair_sweep import Codes, Link, Strengths, pair_sweeps

__all__ = ["PairGradient", "PairLogP", "pair_logp"]


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
        return f"raterzoo {type(self).__name__} {source_stamp(__file__)} for {law}"


class PairLogP(_PairOp):
    """Op: log p of each annotation without the multinomial coefficient, and its slopes in x and tie.

    Shapes: three outputs, each (annotation,).
    """

    default_output = 0

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to quality, reliability, left_bias, tie, left, right, rater and counts.

        Shapes: as in `Strengths` and `Codes`; counts (annotation, outcome).
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
        sweeps.log_p(Strengths(*arrays[:4]), Codes(*arrays[4:7]), arrays[7], found)
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
        sweeps.pull(Strengths(*arrays[:4]), Codes(*arrays[4:7]), tuple(arrays[7:]), sums)
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
        sweep(strengths, Codes(left, right, rater), counts, found)
        return found

    return pair_log_p, op.cache_key()


@register_funcify_and_cache_key(PairGradient)
def _numba_gradient(op, node, **kwargs):
    sweep = pair_sweeps(op.link, op.n_outcomes).pull

    @numba_njit
    def pair_gradient(
        quality, reliability, left_bias, tie, left, right, rater, slope, tie_slope, weight
    ):
        raters = len(reliability)
        sums = Strengths(
            np.empty(len(quality)), np.empty(raters), np.empty(raters), np.empty(raters)
        )
        strengths = Strengths(quality, reliability, left_bias, tie)
        sweep(strengths, Codes(left, right, rater), (slope, tie_slope, weight), sums)
        return sums.quality, sums.reliability, sums.left_bias, sums.tie

    return pair_gradient, op.cache_key()


def pair_logp(
    strengths: Strengths, codes: Codes, counts: TensorVariable, law: tuple[Link, int]
) -> TensorVariable:
    """Return the log probability of each annotation, without the multinomial coefficient.

    Shapes: strengths and codes as in `Strengths` and `Codes`; counts (annotation, outcome), of answers left,
    right and, with ties, tie; law = (link, number of outcomes); result (annotation,).
    """
    node = PairLogP(*law).make_node(*map(pt.as_tensor_variable, (*strengths, *codes, counts)))
    return cast(TensorVariable, node.outputs[0])

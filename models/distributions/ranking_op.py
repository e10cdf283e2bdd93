"""PyTensor Op of the likelihood of partial rankings: log p and gradient of every row in one pass."""

from typing import cast

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor.variable import TensorVariable

from .compiling import source_stamp
from .ranking_kernel import rankings_log_p

__all__ = ["PartialRankingLogP", "partial_ranking_logp"]


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
            a if a is not None else b
            for a, b in zip(log_worth.type.shape, block.type.shape, strict=True)
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
def _numba_partial_ranking(op, node, **kwargs):
    @numba_njit
    def partial_ranking(log_worth, block):
        log_p = np.empty(log_worth.shape[0])
        gradient = np.empty(log_worth.shape)
        rankings_log_p(log_worth, block, log_p, gradient)
        return log_p, gradient

    return (
        partial_ranking,
        source_stamp(__file__),
    )  # part of PyTensor's cache key


_op = PartialRankingLogP()


def partial_ranking_logp(log_worth: TensorVariable, block: TensorVariable) -> TensorVariable:
    """Return the log probability of partial rankings, pointwise.

    Shapes: log_worth and block (..., place), block numbers from 0, the largest = unranked, -1 after the
    candidates; result (...).

    Reference: Stutz et al. (2025), appendix B, arXiv:2307.02191.
    """
    log_worth, block = pt.broadcast_arrays(
        pt.as_tensor_variable(log_worth), pt.as_tensor_variable(block)
    )
    if block.type.ndim == 2:
        return cast(TensorVariable, _op(log_worth, block))
    places = block.shape[-1]
    log_p = _op(log_worth.reshape((-1, places)), block.reshape((-1, places)))
    return cast(TensorVariable, log_p).reshape(block.shape[:-1], ndim=block.type.ndim - 1)

"""PyTensor Op of the likelihood of labels: log p of each item's answers, and of its true category given them.

Its derivative with respect to a log probability is the expected number of answers that use it; a second Op
computes these counts.
"""

from typing import cast

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.tensor.variable import TensorVariable

from .answer_sweep import ANY, Answers, answer_sweeps
from .compiling import source_stamp

__all__ = ["ExpectedAnswers", "LabelLogP", "label_logp"]


MOST_UNROLLED = 32  # categories; for more, compilation costs more than it saves


def _cache_key(op: Op, n_categories: int, nodes: int = 1) -> str:
    """Return PyTensor's cache key of a compiled Op: Op, source digest, numbers of categories and nodes."""
    return f"raterzoo {type(op).__name__} {source_stamp(__file__)} for {n_categories} categories by {nodes}"


def _unrolled(n_categories: int | None) -> int:
    """Return the number of categories if it is known and small, else `ANY`."""
    return n_categories if n_categories and n_categories <= MOST_UNROLLED else ANY


class LabelLogP(Op):
    """Op: log p of each item's answers (item,) and p(true category | answers) (item, category).

    With several `nodes` a category is a block of that many states, and the second output is (item, state).
    """

    __props__ = ("nodes",)
    default_output = 0

    def __init__(self, nodes: int = 1) -> None:
        self.nodes = nodes

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to log prevalence (category,), log table (rater * label, category), start, code and known."""
        log_prevalence, log_table, *answers = map(pt.as_tensor_variable, inputs)
        if log_prevalence.type.ndim != 1 or log_table.type.ndim != 2:
            raise TypeError("log_prevalence must be a vector, and log_table a matrix")
        floats = [x.astype("float64") for x in (log_prevalence, log_table)]
        categories = floats[0].type.shape[0]
        items = answers[2].type.shape[0]
        outputs = [pt.tensor(dtype="float64", shape=(items,))]
        outputs.append(pt.tensor(dtype="float64", shape=(items, categories)))
        return Apply(self, [*floats, *answers], outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        log_prevalence, log_table, *answers = map(np.ascontiguousarray, inputs)
        log_p = np.empty(len(answers[2]))
        plausibility = np.empty((len(log_p), len(log_prevalence)))
        answer_sweeps(nodes=self.nodes).log_p(
            np.exp(log_prevalence), np.exp(log_table), Answers(*answers), log_p, plausibility
        )
        output_storage[0][0], output_storage[1][0] = log_p, plausibility

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of log p and of the plausibility."""
        return [shapes[4], (shapes[4][0], shapes[0][0])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare that only the log probabilities are differentiable."""
        return [[True, True], [True, True], [False] * 2, [False] * 2, [False] * 2]

    def pullback(self, inputs: list, outputs: list, cotangents: list) -> list:
        """Return the gradient: expected counts, with the cotangent as weight of each item."""
        weight, of_plausibility = cotangents
        if not isinstance(of_plausibility.type, DisconnectedType):
            raise NotImplementedError("the plausibility of labels has no derivative here")
        _, log_table, start, code, _ = inputs
        counts = _counts(outputs[1], weight, start, code, log_table)
        return [pt.dot(weight, outputs[1]), counts, *(disconnected_type() for _ in range(3))]


class ExpectedAnswers(Op):
    """Op: weighted expected number of each rater's labels by true category (rater * label, category)."""

    __props__ = ()

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to plausibility, weight, start, code and a table of the result's shape."""
        inputs = tuple(map(pt.as_tensor_variable, inputs))
        return Apply(self, inputs, [pt.tensor(dtype="float64", shape=inputs[4].type.shape)])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        plausibility, weight, start, code, table = map(np.ascontiguousarray, inputs)
        counts = np.empty(table.shape)
        nobody = np.empty(0, np.int64)
        answer_sweeps().counts(plausibility, weight, Answers(start, code, nobody), counts)
        output_storage[0][0] = counts

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shape of the table."""
        return [shapes[4]]


_counts = ExpectedAnswers()


@register_funcify_and_cache_key(LabelLogP)
def _numba_log_p(op, node, **kwargs):
    n_categories = _unrolled(node.inputs[0].type.shape[0])
    sweep = answer_sweeps(n_categories, op.nodes).log_p

    @numba_njit
    def label_log_p(log_prevalence, log_table, start, code, known):
        log_p = np.empty(len(known))
        plausibility = np.empty((len(known), len(log_prevalence)))
        answers = Answers(start, code, known)
        sweep(np.exp(log_prevalence), np.exp(log_table), answers, log_p, plausibility)
        return log_p, plausibility

    return label_log_p, _cache_key(op, n_categories, op.nodes)


@register_funcify_and_cache_key(ExpectedAnswers)
def _numba_counts(op, node, **kwargs):
    n_categories = _unrolled(node.inputs[0].type.shape[1])
    sweep = answer_sweeps(n_categories).counts

    @numba_njit
    def expected_answers(plausibility, weight, start, code, table):
        counts = np.empty(table.shape)
        sweep(plausibility, weight, Answers(start, code, code), counts)
        return counts

    return expected_answers, _cache_key(op, n_categories)


def label_logp(
    prevalence: TensorVariable,
    confusion: TensorVariable,
    answers: Answers | tuple,
    nodes: int = 1,
) -> tuple[TensorVariable, TensorVariable]:
    """Return log p of each item's answers, and p(true category | answers).

    Shapes: prevalence (category,); confusion (rater, category, label); answers as in `Answers`, arrays or
    integer variables; results (item,) and (item, category). With `nodes` > 1 categories become states,
    `nodes` adjacent ones for each category, except in ``known``.

    Reference: Dawid and Skene (1979), section 2 and equation 2.5, doi:10.2307/2346806.
    """
    log_table = cast(TensorVariable, pt.log(confusion)).transpose(0, 2, 1)
    log_table = log_table.reshape((-1, log_table.shape[2]))
    log_prevalence = cast(TensorVariable, pt.log(prevalence))
    node = LabelLogP(nodes).make_node(
        log_prevalence, log_table, *map(pt.as_tensor_variable, answers)
    )
    log_p, plausibility = node.outputs
    return cast(TensorVariable, log_p), cast(TensorVariable, plausibility)

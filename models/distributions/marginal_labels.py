"""MarginalLabels: distribution of answers to items whose true category is summed out."""

from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.variable import shared_rng
from pytensor.tensor.variable import TensorVariable

from .answer_sweep import Answers
from .compiling import source_stamp
from .distinct_items import distinct_items
from .drawn_labels import draw_labels
from .label_op import label_logp

if find_spec("jax"):
    from .label_jax import jax_label_log_p as jax_label_log_p

__all__ = ["MarginalLabels", "MarginalLabelsRV"]


class MarginalLabelsRV(RandomVariable):
    """Random variable of label codes; a category is a block of `nodes` states."""

    name = "marginal_labels"
    signature = "(j),(r,j,l),(s),(a),(i)->(a)"
    dtype = "int32"
    _print_name = ("MarginalLabels", "\\operatorname{MarginalLabels}")
    __props__ = (*RandomVariable.__props__, "nodes")

    def __init__(self, nodes: int = 1, **kwargs: Any) -> None:
        self.nodes = nodes
        super().__init__(**kwargs)

    def rng_fn(self, rng, prevalence, confusion, start, rater, known, size=None):
        """Draw all answers, one replicate after the other; `size` is the batch shape."""
        batch = np.broadcast_shapes(prevalence.shape[:-1], confusion.shape[:-3])
        batch = batch if size is None else tuple(size)
        prevalence = np.broadcast_to(prevalence, (*batch, prevalence.shape[-1]))
        confusion = np.broadcast_to(confusion, (*batch, *confusion.shape[-3:]))
        start, rater, known = (x.reshape(-1, x.shape[-1])[0] for x in (start, rater, known))
        label = np.empty((*batch, len(rater)), self.dtype)
        for index in np.ndindex(batch):
            of_item = (start, rater, known)
            draw_labels(rng, prevalence[index], confusion[index], of_item, label[index], self.nodes)
        return label


@cast(Any, _logprob).register(MarginalLabelsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of the answers, pointwise by item.

    Label codes are checked first, so that compiled code never reads outside the table.
    """
    *_, prevalence, confusion, start, rater, known = inputs
    label, who = (x.data if isinstance(x, Constant) else x for x in (values[0], rater))  # for JAX
    n_labels = confusion.type.shape[2] or confusion.shape[2]
    possible = (label >= 0) & (label < n_labels)
    code = who * n_labels + (np.where if isinstance(possible, np.ndarray) else pt.switch)(
        possible, label, 0
    )
    log_p = _pointwise(prevalence, confusion, (start, code, known), op.nodes)
    return cast(TensorVariable, pt.switch(possible.all(), log_p, -np.inf))


def _pointwise(prevalence, confusion, answers, nodes: int) -> TensorVariable:
    """Return log p of each item's answers; with several nodes, computed once per distinct item."""
    constant = [x.data if isinstance(x, Constant) else x for x in answers]
    if nodes == 1 or not all(isinstance(x, np.ndarray) for x in constant):
        return label_logp(prevalence, confusion, answers, nodes)[0]
    answers, kind = distinct_items(Answers(*constant))
    return cast(Any, label_logp(prevalence, confusion, answers, nodes)[0])[kind]


@numba_core_rv_funcify.register(MarginalLabelsRV)
def _numba_marginal_labels(op, node):
    nodes = op.nodes

    @numba_njit
    def random_fn(rng, prevalence, confusion, start, rater, known):
        label = np.empty(len(rater), np.int32)
        draw_labels(rng, prevalence, confusion, (start, rater, known), label, nodes)
        return label

    return random_fn, source_stamp(__file__)


class MarginalLabels(pm.Discrete):
    """Answers of raters to items whose true category is summed out.

        T_i ~ Categorical(p)                              known for gold items
        y_a ~ Categorical(pi[rater_a, T_item(a), :])

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    p                     prevalence                                                  category
    pi                    confusion: p(label | rater, true category)                  rater, category, label
    y                     value: label code of every answer, item by item             annotation
    start                 start: answers of item i are ``start[i]:start[i + 1]``      item + 1
    rater                 rater: rater code of every answer                           annotation
    T                     summed out; known: category of gold items, -1 elsewhere     item
    ====================  ==========================================================  ====================

    With ``nodes`` > 1 a category is a block of that many states, the nodes of a quadrature over item effects:
    p and pi are over states, ``known`` is a category, and the state is summed out (of gold items within their
    block). The log probability is pointwise by item: the answers to one item are dependent once its category
    is summed out.

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), section 2 (unknown true category; equation 2.5 for its probability), doi:10.2307/2346806.
    """

    rv_type = MarginalLabelsRV

    @classmethod
    def dist(cls, prevalence, confusion, start, rater, known, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        given = (prevalence, confusion, start, rater, known)
        parameters = [pt.as_tensor_variable(x) for x in given]
        _check_answers(parameters, kwargs.get("nodes", 1))
        return super().dist(parameters, **kwargs)

    @classmethod
    def rv_op(cls, *parameters, nodes=1, size=None, rng=None) -> TensorVariable:
        """Return the random variable for `nodes` states of each category."""
        rng = shared_rng(seed=None) if rng is None else rng
        op = MarginalLabelsRV(nodes)
        return cast(Any, op(*parameters, size=size, rng=rng, return_next_rng=True))[1]


def _check_answers(parameters: list[TensorVariable], nodes: int) -> None:
    """Raise if constant answers have rater or category codes out of range, or are not grouped by item."""
    prevalence, confusion, *answers = parameters
    values = [variable.data for variable in answers if isinstance(variable, Constant)]
    if len(values) < len(answers):
        return
    start, rater, known = values
    n_raters, n_states = confusion.type.shape[-3], prevalence.type.shape[-1]
    n_categories = None if n_states is None else n_states // nodes
    for name, codes, least, end in (
        ("rater", rater, 0, n_raters),
        ("known", known, -1, n_categories),
    ):
        wrong = (codes < least) | (codes >= (np.inf if end is None else end))
        if wrong.any():
            place = int(wrong.argmax())
            raise ValueError(
                f"{name}[{place}] is {codes[place]}; it must be from {least} to below {end}"
            )
    rises = len(start) == len(known) + 1 and start[0] == 0 and (np.diff(start) >= 0).all()
    if not rises or start[-1] != len(rater):
        raise ValueError(
            f"start must rise from 0 to {len(rater)}, the number of answers, over one entry more than the {len(known)} items"
        )

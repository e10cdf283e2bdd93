"""RaterLabels: distribution of answers to items whose true category is summed out."""

from typing import Any, cast

import numpy as np
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.scalar.basic import Exp
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.variable import shared_rng
from pytensor.tensor.special import Softmax
from pytensor.tensor.variable import TensorVariable

from .compiling import cached_njit, inner_njit, source_digest
from .jax_dispatch import register_in_jax
from .marginal_labels_kernels import ANY_NUMBER, Answers, answer_sweeps, sweep_by_item
from .rater_answers import UNKNOWN_TRUTH, LabelLaw, RaterAnswers, answer_rows, check_codes, prior_of_truth


def distinct_items(answers: Answers) -> tuple[Answers, np.ndarray]:
    """Return the answers of distinct items, in order of first appearance, and the distinct item of each item.

    The order of answers within an item is ignored.

    Shapes: second result int64 (item,), an index into the distinct items.
    """
    start, code, gold_category = answers
    length = np.diff(start)
    code = code[np.lexsort((code, np.repeat(np.arange(len(length)), length)))]  # sorted within each item
    own = [code[start[i] : start[i + 1]] for i in range(len(length))]
    seen: dict[tuple[int, bytes], int] = {}
    keys = ((int(gold), codes.tobytes()) for gold, codes in zip(gold_category, own, strict=True))
    distinct_index = np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)
    first = np.unique(distinct_index, return_index=True)[1]
    starts = np.concatenate([[0], np.cumsum(length[first])]).astype(start.dtype)
    codes = np.concatenate([*(own[i] for i in first), code[:0]])
    return Answers(starts, codes, gold_category[first]), distinct_index


# --- Draw replicates of labels: true categories, and answers given them ---


@cached_njit(error_model="numpy")
def draw_labels(
    rng: np.random.Generator,
    prevalence: np.ndarray,
    confusion: np.ndarray,
    item_layout: tuple[np.ndarray, np.ndarray, np.ndarray],
    label: np.ndarray,
    nodes: int = 1,
) -> None:
    """Draw the true category of every item and overwrite `label` with its answers.

    Shapes: prevalence (category,); confusion (rater, category, answer); `item_layout` holds start (item + 1,),
    rater (answer,) and known category (item,), -1 without a gold label; label (answer,). With `nodes` > 1
    prevalence and confusion are over states, `nodes` adjacent ones for each category.
    """
    start, rater, gold_category = item_layout
    for i in range(len(gold_category)):
        if gold_category[i] < 0:
            truth = draw_category(rng, prevalence)
        elif nodes == 1:
            truth = gold_category[i]
        else:
            # gold item: a state of the known category
            block = prevalence[gold_category[i] * nodes : (gold_category[i] + 1) * nodes]
            truth = gold_category[i] * nodes + draw_category(rng, block / block.sum())
        for a in range(start[i], start[i + 1]):
            label[a] = draw_category(rng, confusion[rater[a], truth])


@cached_njit(error_model="numpy")
def draw_labels_by_item(
    rng: np.random.Generator,
    prior: np.ndarray,
    confusion: np.ndarray,
    item_layout: tuple[np.ndarray, np.ndarray, np.ndarray],
    label: np.ndarray,
    nodes: int = 1,
) -> None:
    """Do as `draw_labels` for a prior of each item's true category, shape (item, category), or of its state."""
    start, rater, gold_category = item_layout
    for i in range(len(gold_category)):
        if gold_category[i] < 0:
            truth = draw_category(rng, prior[i])
        else:
            block = prior[i, gold_category[i] * nodes : (gold_category[i] + 1) * nodes]
            truth = gold_category[i] * nodes
            truth += draw_category(rng, block / block.sum()) if nodes > 1 else 0
        for a in range(start[i], start[i + 1]):
            label[a] = draw_category(rng, confusion[rater[a], truth])


@inner_njit(error_model="numpy")
def draw_category(rng: np.random.Generator, p: np.ndarray) -> int:
    """Draw from a categorical distribution."""
    left = rng.random()
    for k in range(len(p) - 1):
        left -= p[k]
        if left < 0.0:
            return k
    return len(p) - 1


# --- PyTensor Op of the likelihood of labels: log p of each item's answers, and of its true category given them ---

MOST_UNROLLED = 32  # categories; for more, compilation costs more than it saves


def _cache_key(op: Op, n_categories: int, nodes: int = 1) -> str:
    """Return PyTensor's cache key of a compiled Op: Op, source digest, numbers of categories and nodes."""
    return f"raterzoo {type(op).__name__} {source_digest(__file__)} for {n_categories} categories by {nodes}"


def _unrolled(n_categories: int | None) -> int:
    """Return the number of categories if it is known and small, else `ANY_NUMBER`."""
    return n_categories if n_categories and n_categories <= MOST_UNROLLED else ANY_NUMBER


def slope_of_truth(truth: Any, cotangent: Any) -> Any:
    """Return the derivative by the log joint of p(true category | answers), a softmax of it: (item, state) each."""
    return truth * (cotangent - (truth * cotangent).sum(axis=1, keepdims=True))


def _weighted(truth: Any, weight: Any, of_truth: Any) -> tuple[Any, Any]:
    """Return the derivative by the log joint (item, state), as a table and a factor (item,), given both cotangents."""
    if isinstance(of_truth.type, DisconnectedType):
        return truth, weight
    slope = slope_of_truth(truth, of_truth)
    if not isinstance(weight.type, DisconnectedType):
        slope += weight[:, None] * truth
    return slope, pt.ones(truth.shape[:1])


class LabelLogP(Op):
    """Op: log p of each item's answers (item,) and p(true category | answers) (item, category).

    With several `nodes` a category is a block of that many states, and the second output is (item, state).
    """

    __props__ = ("nodes",)
    default_output = 0

    def __init__(self, nodes: int = 1) -> None:
        self.nodes = nodes

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to log prevalence (category,), log table (rater * label, category), start, code and gold_category."""
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
        weight, of_truth = cotangents
        _, log_table, start, code, _ = inputs
        expected, one = _weighted(outputs[1], weight, of_truth)
        counts = _counts(expected, one, start, code, log_table)
        return [(one[:, None] * expected).sum(0), counts, *(disconnected_type() for _ in range(3))]


class LabelLogPByItem(LabelLogP):
    """Op: the outputs of `LabelLogP` for a prior of each item's true category, and p(true category | answers) less the prior.

    The last, (item, category), is the derivative of log p in the log prior. With several `nodes` both are (item, state).
    """

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to log prior (item, category), normalised or not, log table, start, code and gold_category."""
        log_prior, log_table, *answers = map(pt.as_tensor_variable, inputs)
        if log_prior.type.ndim != 2 or log_table.type.ndim != 2:
            raise TypeError("log_prior and log_table must be matrices")
        floats = [x.astype("float64") for x in (log_prior, log_table)]
        items = answers[2].type.shape[0] or log_prior.type.shape[0]
        outputs = [pt.tensor(dtype="float64", shape=(items,))]
        shape = (items, log_table.type.shape[1] or log_prior.type.shape[1])
        outputs += [pt.tensor(dtype="float64", shape=shape) for _ in range(2)]
        return Apply(self, [*floats, *answers], outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        log_prior, log_table, *answers = map(np.ascontiguousarray, inputs)
        log_p = np.empty(len(answers[2]))
        plausibility, gain = np.empty(log_prior.shape), np.empty(log_prior.shape)
        sweep_by_item(nodes=self.nodes)(
            log_prior, np.exp(log_table), Answers(*answers), log_p, plausibility, gain
        )
        for place, array in zip(output_storage, (log_p, plausibility, gain), strict=True):
            place[0] = array

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of log p, plausibility and gain."""
        return [shapes[4], shapes[0], shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare that only the log probabilities are differentiable."""
        return [[True] * 3, [True] * 3, [False] * 3, [False] * 3, [False] * 3]

    def pullback(self, inputs: list, outputs: list, cotangents: list) -> list:
        """Return the gradient: p(true category | answers) less the prior, and expected counts, weighted by item."""
        weight, of_truth, of_gain = cotangents
        if not isinstance(of_gain.type, DisconnectedType):
            raise NotImplementedError("the gain over the prior has no derivative here")
        _, log_table, start, code, _ = inputs
        expected, one = _weighted(outputs[1], weight, of_truth)
        counts = _counts(expected, one, start, code, log_table)
        of_prior = [] if isinstance(weight.type, DisconnectedType) else [weight[:, None] * outputs[2]]
        if not isinstance(of_truth.type, DisconnectedType):
            of_prior.append(slope_of_truth(outputs[1], of_truth))
        return [sum(of_prior), counts, *(disconnected_type() for _ in range(3))]


class ExpectedAnswers(Op):
    """Op: weighted expected number of each rater's labels by true category (rater * label, category).

    These are the derivatives of the log likelihood in the log probabilities.
    """

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
    def label_log_p(log_prevalence, log_table, start, code, gold_category):
        log_p = np.empty(len(gold_category))
        plausibility = np.empty((len(gold_category), len(log_prevalence)))
        answers = Answers(start, code, gold_category)
        sweep(np.exp(log_prevalence), np.exp(log_table), answers, log_p, plausibility)
        return log_p, plausibility

    return label_log_p, _cache_key(op, n_categories, op.nodes)


@register_funcify_and_cache_key(LabelLogPByItem)
def _numba_log_p_by_item(op, node, **kwargs):
    n_categories = _unrolled(node.outputs[1].type.shape[1])
    sweep = sweep_by_item(n_categories, op.nodes)

    @numba_njit
    def label_log_p_by_item(log_prior, log_table, start, code, gold_category):
        log_p = np.empty(len(gold_category))
        plausibility, gain = np.empty(log_prior.shape), np.empty(log_prior.shape)
        answers = Answers(start, code, gold_category)
        sweep(log_prior, np.exp(log_table), answers, log_p, plausibility, gain)
        return log_p, plausibility, gain

    return label_log_p_by_item, _cache_key(op, n_categories, op.nodes)


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
    prevalence: TensorVariable, confusion: TensorVariable, answers: Answers | tuple, nodes: int = 1
) -> tuple[TensorVariable, TensorVariable]:
    """Return log p of each item's answers, and p(true category | answers).

    Shapes: prevalence (category,), or (item, category) for a prior of each item's true category; confusion (rater,
    category, answer); answers as in `Answers`, arrays or integer variables; results (item,) and (item, category). With
    `nodes` > 1 categories become states, `nodes` adjacent ones for each category, except in ``gold_category``.

    Reference: Dawid and Skene (1979), section 2 and equation 2.5, doi:10.2307/2346806.
    """
    log_table = log_confusion(confusion).transpose(0, 2, 1)
    log_table = log_table.reshape((-1, log_table.shape[2]))
    by_item = prevalence.type.ndim == 2
    log_prevalence = log_prior(prevalence) if by_item else cast(TensorVariable, pt.log(prevalence))
    op = LabelLogPByItem(nodes) if by_item else LabelLogP(nodes)
    node = op.make_node(log_prevalence, log_table, *map(pt.as_tensor_variable, answers))
    log_p, plausibility = node.outputs[:2]
    return cast(TensorVariable, log_p), cast(TensorVariable, plausibility)


def log_confusion(confusion: TensorVariable) -> TensorVariable:
    """Return the log of confusion matrices: of exponentials, whose gradient is lost where they underflow, the argument."""
    owner = confusion.owner
    if owner is not None and isinstance(owner.op, Elemwise) and isinstance(owner.op.scalar_op, Exp):
        return cast(TensorVariable, owner.inputs[0])
    return cast(TensorVariable, pt.log(confusion))


def log_prior(prior: TensorVariable) -> TensorVariable:
    """Return the log of a prior (item, category) but for a constant of each item: the log odds of a softmax."""
    if prior.owner is not None and isinstance(prior.owner.op, Softmax) and prior.owner.op.axis in (1, (1,)):
        return cast(TensorVariable, prior.owner.inputs[0])
    return cast(TensorVariable, pt.log(prior))


register_in_jax(LabelLogPByItem, "jax_label_log_p_by_item")
register_in_jax(LabelLogP, "jax_label_log_p")
register_in_jax(ExpectedAnswers, "jax_expected_answers")


# --- RaterLabels: distribution of answers to items whose true category is summed out ---


class RaterLabelsRV(RandomVariable):
    """Random variable of label codes; a category is a block of `nodes` states."""

    name = "rater_labels"
    signature = "(j),(r,j,l),(s),(a),(i)->(a)"
    dtype = "int32"
    _print_name = ("RaterLabels", "\\operatorname{RaterLabels}")
    __props__ = (*RandomVariable.__props__, "nodes")

    def __init__(self, nodes: int = 1, **kwargs: Any) -> None:
        self.nodes = nodes
        super().__init__(**kwargs)

    def rng_fn(self, rng, prevalence, confusion, start, rater, gold_category, size=None):
        """Draw all answers, one replicate after the other; `size` is the batch shape."""
        batch = np.broadcast_shapes(prevalence.shape[:-1], confusion.shape[:-3])
        batch = batch if size is None else tuple(size)
        prevalence = np.broadcast_to(prevalence, (*batch, prevalence.shape[-1]))
        confusion = np.broadcast_to(confusion, (*batch, *confusion.shape[-3:]))
        start, rater, gold_category = (x.reshape(-1, x.shape[-1])[0] for x in (start, rater, gold_category))
        label = np.empty((*batch, len(rater)), self.dtype)
        for index in np.ndindex(batch):
            item_layout = (start, rater, gold_category)
            draw_labels(rng, prevalence[index], confusion[index], item_layout, label[index], self.nodes)
        return label


class RaterLabelsByItemRV(RaterLabelsRV):
    """Random variable of label codes, with a prior of each item's true category, or of its state."""

    name = "rater_labels_by_item"
    signature = "(i,j),(r,j,l),(s),(a),(i)->(a)"

    def rng_fn(self, rng, prevalence, confusion, start, rater, gold_category, size=None):
        """Draw all answers, one replicate after the other; `size` is the batch shape."""
        batch = np.broadcast_shapes(prevalence.shape[:-2], confusion.shape[:-3])
        batch = batch if size is None else tuple(size)
        prior = np.broadcast_to(prevalence, (*batch, *prevalence.shape[-2:]))
        confusion = np.broadcast_to(confusion, (*batch, *confusion.shape[-3:]))
        start, rater, gold_category = (x.reshape(-1, x.shape[-1])[0] for x in (start, rater, gold_category))
        label = np.empty((*batch, len(rater)), self.dtype)
        for index in np.ndindex(batch):
            item_layout = (start, rater, gold_category)
            draw_labels_by_item(rng, prior[index], confusion[index], item_layout, label[index], self.nodes)
        return label


@cast(Any, _logprob).register(RaterLabelsRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of the answers, pointwise by item.

    Label codes are checked first, so that compiled code never reads outside the table.
    """
    *_, prevalence, confusion, start, rater, gold_category = inputs
    label, who = (x.data if isinstance(x, Constant) else x for x in (values[0], rater))  # for JAX
    n_labels = confusion.type.shape[2] or confusion.shape[2]
    possible = (label >= 0) & (label < n_labels)
    code = who * n_labels + (np.where if isinstance(possible, np.ndarray) else pt.switch)(possible, label, 0)
    log_p = _pointwise(prevalence, confusion, (start, code, gold_category), op.nodes)
    return cast(TensorVariable, pt.switch(possible.all(), log_p, -np.inf))


def _pointwise(prevalence, confusion, answers, nodes: int) -> TensorVariable:
    """Return log p of each item's answers; with several nodes and one prior, computed once per distinct item."""
    constant = [x.data if isinstance(x, Constant) else x for x in answers]
    if nodes == 1 or prevalence.type.ndim == 2 or not all(isinstance(x, np.ndarray) for x in constant):
        return label_logp(prevalence, confusion, answers, nodes)[0]
    answers, distinct_index = distinct_items(Answers(*constant))
    return cast(Any, label_logp(prevalence, confusion, answers, nodes)[0])[distinct_index]


@numba_core_rv_funcify.register(RaterLabelsRV)
def _numba_marginal_labels(op, node):
    nodes = op.nodes

    @numba_njit
    def random_fn(rng, prevalence, confusion, start, rater, gold_category):
        label = np.empty(len(rater), np.int32)
        draw_labels(rng, prevalence, confusion, (start, rater, gold_category), label, nodes)
        return label

    return random_fn, source_digest(__file__)


@numba_core_rv_funcify.register(RaterLabelsByItemRV)
def _numba_marginal_labels_by_item(op, node):
    nodes = op.nodes

    @numba_njit
    def random_fn(rng, prior, confusion, start, rater, gold_category):
        label = np.empty(len(rater), np.int32)
        draw_labels_by_item(rng, prior, confusion, (start, rater, gold_category), label, nodes)
        return label

    return random_fn, source_digest(__file__) + 1


class RaterLabels(LabelLaw):
    """Answers of raters to items whose true category is summed out.

        T_i ~ Categorical(p)                              known for gold items
        y_a ~ Categorical(pi[rater_a, T_item(a), :])

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    p                     prior, or its log odds logit_prior                          category, or item,
                                                                                      category
    pi                    confusion: p(label | rater, true category)                  rater, category, answer
    item(a), rater_a, y   answers: codes of item, rater and label                     annotation
    T                     summed out; gold: code of gold items, -1 elsewhere          item
    ====================  ==========================================================  ====================

    The log probability is pointwise by item, shape (item,): the answers to one item are dependent once its category is
    summed out. Its gradient is one pass over the answers, compiled by numba or JAX. Replicates draw the true category of each
    item, then its answers.

    Parameters
    ----------
    prior : tensor, optional
        Probabilities of the true category: (category,) of all items, or (item, category).
    confusion : tensor, shape (rater, category, answer)
        Probability of each answer of a rater, given the true category.
    answers : Labels, or tuple of array_like
        `raterzoo.models.Labels`; or arrays of codes (item, rater, label), each (annotation,), sorted by item. These are
        observed. Arrays (item, rater) alone are not: the answers are then a free or, with ``observed=``, a given variable.
    logit_prior : tensor, optional
        Log odds instead of `prior`, up to a constant of each item: any regression, process or tree of the items.
    gold : array_like, shape (item,), optional
        Code of the true category of gold items, -1 elsewhere; by default that of the labels, or unknown.
    nodes : int, default 1
        With more, each category is a block of so many states, the nodes of a quadrature over item effects: `prior` (state,) or
        (item, state) and `confusion` are over states, `gold` is a category, and the state is summed out, of gold items within
        their block.

    Raises
    ------
    ValueError
        If both or neither of `prior` and `logit_prior` are given, answers are not sorted by item, or a code is out of range.

    See Also
    --------
    truth_probability : p(true category | answers, parameters), a tensor to go on with.

    Examples
    --------
    A model by hand, which `raterzoo.inference.sample` draws by the compiled sampler of `raterzoo.models.dawid_skene`:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import RaterLabels
    >>> item, rater, label = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]
    >>> with pm.Model() as model:
    ...     p = pm.Dirichlet("p", np.ones(2))
    ...     pi = pm.Dirichlet("pi", np.eye(2) * 4 + 1, shape=(2, 2, 2))
    ...     y = RaterLabels("y", prior=p, confusion=pi, answers=(item, rater, label))
    >>> model.compile_logp(y, sum=False)(model.initial_point())[0].round(2)
    array([-1.02, -1.02, -1.97])
    >>> with model:
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    >>> tree["posterior"]["pi"].shape
    (1, 20, 2, 2, 2)

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), section 2 (unknown true category; equation 2.5 for its probability), doi:10.2307/2346806.
    """

    rv_type = RaterLabelsRV

    @classmethod
    def dist(
        cls,
        prior: Any = None,
        confusion: Any = None,
        answers: RaterAnswers | None = None,
        *,
        logit_prior: Any = None,
        gold: Any = None,
        nodes: int = 1,
        **kwargs: Any,
    ) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        law, layout = label_parameters(prior, confusion, answers, logit_prior, gold, nodes)
        return super().dist([*law, *map(pt.as_tensor_variable, layout)], nodes=nodes, **kwargs)

    @classmethod
    def rv_op(cls, *parameters, nodes=1, size=None, rng=None) -> TensorVariable:
        """Return the random variable for `nodes` states of each category, or for a prior of each item."""
        rng = shared_rng(seed=None) if rng is None else rng
        op = RaterLabelsByItemRV(nodes) if parameters[0].type.ndim == 2 else RaterLabelsRV(nodes)
        return cast(Any, op(*parameters, size=size, rng=rng, return_next_rng=True))[1]


def label_parameters(
    prior: Any, confusion: Any, answers: RaterAnswers | None, logit_prior: Any, gold: Any, nodes: int = 1
) -> tuple[list[TensorVariable], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return prior and confusion, and start, rater and gold of the answers; raise ValueError for codes out of range."""
    truth = prior_of_truth(prior, logit_prior)
    if confusion is None:
        raise ValueError(
            "confusion is missing: p(label | rater, true category), shape (rater, category, answer)"
        )
    confusion = pt.as_tensor_variable(confusion)
    if confusion.type.ndim != 3:
        raise ValueError(f"confusion has {confusion.type.ndim} dims; it has (rater, category, answer)")
    by_item = truth.type.ndim == 2
    start, rater, known, _ = answer_rows(answers, gold, truth.type.shape[0] if by_item else None)
    n_states, n_items = truth.type.shape[-1], len(known)
    if by_item and truth.type.shape[0] not in (None, n_items):
        raise ValueError(
            f"the prior has {truth.type.shape[0]} rows; it must have one for each of the {n_items} items"
        )
    check_codes("rater", rater, 0, confusion.type.shape[0])
    check_codes("gold", known, UNKNOWN_TRUTH, None if n_states is None else n_states // nodes)
    return [truth, cast(TensorVariable, confusion)], (start, rater, known)

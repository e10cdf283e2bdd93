"""SharedGuess: distribution of answers of raters of whom groups share a guess; truth and guesses are summed out."""

from typing import Any, cast

import numpy as np
import pytensor.tensor as pt
from pymc.logprob.abstract import _logprob
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.variable import shared_rng
from pytensor.tensor.variable import TensorVariable

from .compiling import cached_njit, inner_njit, source_digest
from .jax_dispatch import register_in_jax
from .marginal_labels import draw_category, label_parameters, log_prior, slope_of_truth
from .marginal_labels_kernels import softmax_rows
from .rater_answers import LabelLaw, RaterAnswers, check_codes
from .shared_guesses_kernels import (
    GroupedAnswers,
    GuessLaw,
    guess_counts,
    guess_counts_by_item,
    guess_log_p,
    guess_log_p_by_item,
)

N_LAW = 4  # inputs that are logs of parameters; the others are the answers
N_ANSWERS = 5
NO_GUESS = -1  # group of a rater who copies nobody


# --- Draw replicates of labels: true categories, guesses, and answers given them ---


@inner_njit(error_model="numpy")
def _draw_item(rng, truth, guessed, law, span, answers):
    """Draw the guesses (group,) and the answers of one item of known true category, in place."""
    confusion, guess, shared = law
    rater, group, label = answers
    for g in range(len(guess)):
        guessed[g] = draw_category(rng, guess[g, truth])
    for a in range(span[0], span[1]):
        k = rater[a]
        if group[k] >= 0 and rng.random() < shared[k]:
            label[a] = guessed[group[k]]
        else:
            label[a] = draw_category(rng, confusion[k, truth])


@cached_njit(error_model="numpy")
def draw_grouped_labels_by_item(
    rng: np.random.Generator,
    law: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    layout: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    label: np.ndarray,
) -> None:
    """Do as `draw_grouped_labels` for a prior of each item's true category (item, category), the first of the law."""
    prior, confusion, guess, shared = law
    start, rater, group, gold_category = layout
    guessed = np.empty(len(guess), np.int64)
    for i in range(len(gold_category)):
        truth = gold_category[i] if gold_category[i] >= 0 else draw_category(rng, prior[i])
        span = (start[i], start[i + 1])
        _draw_item(rng, truth, guessed, (confusion, guess, shared), span, (rater, group, label))


@cached_njit(error_model="numpy")
def draw_grouped_labels(
    rng: np.random.Generator,
    law: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    layout: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    label: np.ndarray,
) -> None:
    """Draw true category and guesses of every item, and overwrite `label` (answer,) with its answers.

    Shapes: law: prevalence (category,), confusion (rater, category, answer), guess (group, category, answer), shared
    (rater,); layout: start (item + 1,), rater (answer,), group (rater,), known category (item,).
    """
    prevalence, confusion, guess, shared = law
    start, rater, group, gold_category = layout
    guessed = np.empty(len(guess), np.int64)
    for i in range(len(gold_category)):
        truth = gold_category[i] if gold_category[i] >= 0 else draw_category(rng, prevalence)
        span = (start[i], start[i + 1])
        _draw_item(rng, truth, guessed, (confusion, guess, shared), span, (rater, group, label))


# --- PyTensor Op of the likelihood: log p of each item's answers, and of its true category given them ---


class GuessLogP(Op):
    """Op: log p of each item's answers (item,) and p(true category | answers) (item, category).

    Inputs are the logs of prevalence (category,), of the answers that are not copied (rater * label, category),
    of the guesses (group, category, answer) and of the shares (rater,), then the fields of `GroupedAnswers`.
    """

    __props__ = ()
    default_output = 0

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to four log parameters and the fields of the answers."""
        logs = [pt.as_tensor_variable(x).astype("float64") for x in inputs[:N_LAW]]
        answers = [pt.as_tensor_variable(x) for x in inputs[N_LAW:]]
        items, categories = answers[4].type.shape[0], logs[0].type.shape[0]
        outputs = [pt.tensor(dtype="float64", shape=(items,))]
        outputs.append(pt.tensor(dtype="float64", shape=(items, categories)))
        return Apply(self, [*logs, *answers], outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        law, answers = _law_and_answers(inputs)
        log_p = np.empty(len(answers.gold_category))
        plausibility = np.empty((len(log_p), len(law.prevalence)))
        guess_log_p(answers, law, log_p, plausibility)
        output_storage[0][0], output_storage[1][0] = log_p, plausibility

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of log p and of the plausibility."""
        return [shapes[-1], (shapes[-1][0], shapes[0][0])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare that only the log probabilities are differentiable."""
        return [[True, True]] * N_LAW + [[False, False]] * N_ANSWERS

    def pullback(self, inputs: list, outputs: list, cotangents: list) -> list:
        """Return the gradient: expected counts, with the cotangent as weight of each item.

        That of the truth is the sum over its categories of the counts if each were known, weighted by its slope.
        """
        weight, of_truth = cotangents
        given = [] if isinstance(weight.type, DisconnectedType) else [(weight, inputs)]
        if not isinstance(of_truth.type, DisconnectedType):
            slope = slope_of_truth(outputs[1], of_truth)
            known = (inputs[0].type.shape[-1], *(log.type.shape[1] for log in inputs[1:3]))
            n = next((length for length in known if length is not None), None)
            if n is None:
                raise NotImplementedError("the derivative of the truth needs a static number of categories")
            given += [(slope[:, j], [*inputs[:-1], pt.full_like(inputs[-1], j)]) for j in range(n)]
        counts = [self._counts()(weight, *own, return_list=True) for weight, own in given]
        return [*map(sum, zip(*counts, strict=True)), *(disconnected_type() for _ in range(N_ANSWERS))]

    @staticmethod
    def _counts() -> Any:
        """Return the Op of the gradient."""
        return ExpectedGuesses()


class ExpectedGuesses(Op):
    """Op: weighted expected numbers of items, own answers, guesses and copies, in the shapes of the log parameters.

    These are the derivatives of the log likelihood in the logs of the parameters.
    """

    __props__ = ()

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to a weight (item,) and the inputs of `GuessLogP`."""
        inputs = tuple(map(pt.as_tensor_variable, inputs))
        return Apply(self, inputs, [x.type() for x in inputs[1 : 1 + N_LAW]])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        law, answers = _law_and_answers(inputs[1:])
        counts = tuple(np.empty(x.shape) for x in inputs[1 : 1 + N_LAW])
        guess_counts(answers, law, np.ascontiguousarray(inputs[0]), counts)
        for place, array in zip(output_storage, counts, strict=True):
            place[0] = array

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of the log parameters."""
        return shapes[1 : 1 + N_LAW]


class GuessLogPByItem(GuessLogP):
    """Op: the outputs of `GuessLogP` for a log prior of each item's true category (item, category), normalised or not."""

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to the log prior, three further log parameters and the fields of the answers."""
        node = super().make_node(*inputs)
        outputs = [node.outputs[0].type(), pt.tensor(dtype="float64", shape=node.inputs[0].type.shape)]
        return Apply(self, node.inputs, outputs)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        law, answers = _law_and_answers([np.zeros(1), *inputs[1:]])
        prior = softmax_rows(np.ascontiguousarray(inputs[0]))
        log_p, plausibility = np.empty(len(prior)), np.empty(prior.shape)
        guess_log_p_by_item(answers, law, prior, log_p, plausibility)
        output_storage[0][0], output_storage[1][0] = log_p, plausibility

    def infer_shape(self, node: Apply, shapes: list) -> list:
        """Return the shapes of log p and of the plausibility."""
        return [shapes[-1], shapes[0]]

    @staticmethod
    def _counts() -> Any:
        return ExpectedGuessesByItem()


class ExpectedGuessesByItem(ExpectedGuesses):
    """Op: the outputs of `ExpectedGuesses` for a log prior of each item: the first is the derivative in it."""

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list) -> None:
        """Compute outside compiled graphs."""
        law, answers = _law_and_answers([np.zeros(1), *inputs[2:]])
        prior = softmax_rows(np.ascontiguousarray(inputs[1]))
        counts = tuple(np.empty(x.shape) for x in inputs[1 : 1 + N_LAW])
        guess_counts_by_item(answers, law, prior, np.ascontiguousarray(inputs[0]), counts)
        for place, array in zip(output_storage, counts, strict=True):
            place[0] = array


def _law_and_answers(inputs: list[np.ndarray]) -> tuple[GuessLaw, GroupedAnswers]:
    """Return parameters and answers of the inputs of `GuessLogP`."""
    logs, answers = inputs[:N_LAW], map(np.ascontiguousarray, inputs[N_LAW:])
    return GuessLaw(*(np.ascontiguousarray(np.exp(x)) for x in logs)), GroupedAnswers(*answers)


@register_funcify_and_cache_key(GuessLogP)
def _numba_log_p(op, node, **kwargs):
    @numba_njit
    def log_p_of_guesses(prevalence, own, guess, shared, start, rater, label, group, gold_category):
        log_p = np.empty(len(gold_category))
        plausibility = np.empty((len(gold_category), len(prevalence)))
        law = GuessLaw(np.exp(prevalence), np.exp(own), np.exp(guess), np.exp(shared))
        answers = GroupedAnswers(start, rater, label, group, gold_category)
        guess_log_p(answers, law, log_p, plausibility)
        return log_p, plausibility

    return log_p_of_guesses, f"raterzoo {type(op).__name__} {source_digest(__file__)}"


@register_funcify_and_cache_key(ExpectedGuesses)
def _numba_counts(op, node, **kwargs):
    @numba_njit
    def expected_guesses(weight, prevalence, own, guess, shared, start, rater, label, group, gold_category):
        items, labels = np.empty(prevalence.shape), np.empty(own.shape)
        guesses, copied = np.empty(guess.shape), np.empty(shared.shape)
        law = GuessLaw(np.exp(prevalence), np.exp(own), np.exp(guess), np.exp(shared))
        answers = GroupedAnswers(start, rater, label, group, gold_category)
        guess_counts(answers, law, weight, (items, labels, guesses, copied))
        return items, labels, guesses, copied

    return expected_guesses, f"raterzoo {type(op).__name__} {source_digest(__file__)}"


@register_funcify_and_cache_key(GuessLogPByItem)
def _numba_log_p_by_item(op, node, **kwargs):
    @numba_njit
    def log_p_of_guesses_by_item(log_prior, own, guess, shared, start, rater, label, group, gold_category):
        log_p, plausibility, prior = (
            np.empty(len(log_prior)),
            np.empty(log_prior.shape),
            softmax_rows(log_prior),
        )
        law = GuessLaw(prior[0], np.exp(own), np.exp(guess), np.exp(shared))
        answers = GroupedAnswers(start, rater, label, group, gold_category)
        guess_log_p_by_item(answers, law, prior, log_p, plausibility)
        return log_p, plausibility

    return log_p_of_guesses_by_item, f"raterzoo {type(op).__name__} {source_digest(__file__)}"


@register_funcify_and_cache_key(ExpectedGuessesByItem)
def _numba_counts_by_item(op, node, **kwargs):
    @numba_njit
    def expected_guesses_by_item(
        weight, log_prior, own, guess, shared, start, rater, label, group, gold_category
    ):
        gain, labels, prior = np.empty(log_prior.shape), np.empty(own.shape), softmax_rows(log_prior)
        guesses, copied = np.empty(guess.shape), np.empty(shared.shape)
        law = GuessLaw(prior[0], np.exp(own), np.exp(guess), np.exp(shared))
        answers = GroupedAnswers(start, rater, label, group, gold_category)
        guess_counts_by_item(answers, law, prior, weight, (gain, labels, guesses, copied))
        return gain, labels, guesses, copied

    return expected_guesses_by_item, f"raterzoo {type(op).__name__} {source_digest(__file__)}"


register_in_jax(GuessLogPByItem, "jax_guess_log_p")
register_in_jax(ExpectedGuessesByItem, "jax_expected_guesses")
register_in_jax(GuessLogP, "jax_guess_log_p")
register_in_jax(ExpectedGuesses, "jax_expected_guesses")


def guess_logp(
    prevalence: TensorVariable,
    confusion: TensorVariable,
    guess: TensorVariable,
    shared: TensorVariable,
    answers: GroupedAnswers | tuple,
) -> tuple[TensorVariable, TensorVariable]:
    """Return log p of each item's answers, and p(true category | answers).

    Shapes: prevalence (category,), or (item, category) for a prior of each item's true category; confusion (rater,
    category, answer); guess (group, category, answer); shared (rater,), 0 where the rater copies nobody; answers as in
    `GroupedAnswers`, arrays or integer variables; results (item,) and (item, category).
    """
    kept: Any = pt.log1p(-shared)
    own: Any = pt.log(confusion) + kept[:, None, None]
    own = own.transpose(0, 2, 1)
    by_item = prevalence.type.ndim == 2
    first = log_prior(prevalence) if by_item else pt.log(prevalence)
    logs: list[Any] = [first, own.reshape((-1, own.shape[2])), pt.log(guess), pt.log(shared)]
    node = (GuessLogPByItem() if by_item else GuessLogP()).make_node(
        *logs, *map(pt.as_tensor_variable, answers)
    )
    log_p, plausibility = node.outputs
    return cast(TensorVariable, log_p), cast(TensorVariable, plausibility)


# --- SharedGuess: distribution of answers of raters of whom groups share a guess ---


class SharedGuessRV(RandomVariable):
    """Random variable of label codes."""

    name = "shared_guess"
    signature = "(j),(r,j,l),(g,j,l),(r),(s),(a),(r),(i)->(a)"
    dtype = "int32"
    _print_name = ("SharedGuess", "\\operatorname{SharedGuess}")
    draw = staticmethod(draw_grouped_labels)

    def rng_fn(
        self, rng, prevalence, confusion, guess, shared, start, rater, group, gold_category, size=None
    ):
        """Draw all answers, one replicate after the other; `size` is the batch shape."""
        law = (prevalence, confusion, guess, shared)
        core = (self.ndims_params[0], 3, 3, 1)
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(law, core, strict=True)))
        batch = batch if size is None else tuple(size)
        law = [np.broadcast_to(x, (*batch, *x.shape[x.ndim - n :])) for x, n in zip(law, core, strict=True)]
        layout = tuple(
            np.ascontiguousarray(x.reshape(-1, x.shape[-1])[0]) for x in (start, rater, group, gold_category)
        )
        label = np.empty((*batch, len(layout[1])), self.dtype)
        for index in np.ndindex(batch):
            own = tuple(np.ascontiguousarray(x[index]) for x in law)
            self.draw(rng, own, layout, label[index])
        return label


class SharedGuessByItemRV(SharedGuessRV):
    """Random variable of label codes, with a prior of each item's true category."""

    name = "shared_guess_by_item"
    signature = "(i,j),(r,j,l),(g,j,l),(r),(s),(a),(r),(i)->(a)"
    draw = staticmethod(draw_grouped_labels_by_item)


@cast(Any, _logprob).register(SharedGuessRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of the answers, pointwise by item.

    Label codes are checked first, so that compiled code never reads outside the tables.
    """
    prevalence, confusion, guess, shared, start, rater, group, gold_category = inputs[-8:]
    label = values[0].data if isinstance(values[0], Constant) else values[0]  # for JAX
    n_labels = confusion.type.shape[2] or confusion.shape[2]
    possible = (label >= 0) & (label < n_labels)
    switch: Any = np.where if isinstance(possible, np.ndarray) else pt.switch
    code = switch(possible, label, 0).astype("int64")
    answers = (start, rater, code, group, gold_category)
    log_p, _ = guess_logp(prevalence, confusion, guess, shared, answers)
    return cast(TensorVariable, pt.switch(possible.all(), log_p, -np.inf))


@numba_core_rv_funcify.register(SharedGuessRV)
def _numba_shared_guesses(op, node):
    draw = op.draw

    @numba_njit
    def random_fn(rng, prevalence, confusion, guess, shared, start, rater, group, gold_category):
        label = np.empty(len(rater), np.int32)
        law, layout = (prevalence, confusion, guess, shared), (start, rater, group, gold_category)
        draw(rng, law, layout, label)
        return label

    return random_fn, source_digest(__file__) + isinstance(op, SharedGuessByItemRV)


class SharedGuess(LabelLaw):
    """Answers of raters to items, of whom groups share a guess; truth and guesses are summed out.

        T_i  ~ Categorical(p)                                         known for gold items
        G_ig ~ Categorical(Phi[g, T_i, :])
        y_a  = G_i,group(k) with probability s_k, else ~ Categorical(pi[k, T_i, :]),   k the rater of answer a

    ====================  ==========================================================  =======================
    symbol                argument                                                    dims
    ====================  ==========================================================  =======================
    p                     prior, or its log odds logit_prior                          category, or item,
                                                                                      category
    pi                    confusion: p(label | rater, true category)                  rater, category, answer
    Phi                   guess: p(guess | group, true category)                      group, category, answer
    s                     shared: probability that a rater copies; 0 without a group  rater
    group                 group: group of every rater, -1 for none                    rater
    i, k, y               answers: codes of item, rater and label                     annotation
    T                     summed out; gold: code of gold items, -1 elsewhere          item
    G                     summed out                                                  item, group
    ====================  ==========================================================  =======================

    The log probability is pointwise by item, shape (item,), with a gradient compiled by numba or JAX. Replicates draw true
    category and guesses of each item, then its answers.

    Parameters
    ----------
    prior, confusion, answers, logit_prior, gold
        As in `RaterLabels`.
    guess : tensor, shape (group, category, answer)
        Probability of each guess of a group, given the true category.
    shared : tensor, shape (rater,)
        Probability that an answer of a rater is the guess of the group; 0 for raters without a group.
    group : array_like, shape (rater,)
        Code of the group of each rater, -1 for none.

    Raises
    ------
    ValueError
        As in `RaterLabels`, or if a group has no guess.

    Examples
    --------
    >>> import numpy as np, pymc as pm
    >>> from raterzoo import models
    >>> from raterzoo.models.distributions import SharedGuess
    >>> labels = models.simulators.labels(model="shared_guess", items=30, raters=4, categories=2, random_seed=1).data
    >>> with pm.Model() as model:
    ...     p = pm.Dirichlet("p", np.ones(2))
    ...     pi, phi = (pm.Dirichlet(name, 4 * np.eye(2) + 1, shape=(n, 2, 2)) for name, n in (("pi", 4), ("phi", 1)))
    ...     s = pm.Beta("s", 1, 1, shape=4)
    ...     y = SharedGuess("y", prior=p, confusion=pi, guess=phi, shared=s, group=[0, 0, 0, 0], answers=labels)
    ...     tree = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
    >>> tree["posterior"]["s"].shape
    (1, 20, 4)

    References
    ----------
    Li, Rubinstein and Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML, PMLR 97,
    section 3: copies are answers with the same latent source.
    """

    rv_type = SharedGuessRV

    @classmethod
    def rv_op(cls, *parameters, size=None, rng=None) -> TensorVariable:
        """Return the random variable for one prior, or for a prior of each item."""
        rng = shared_rng(seed=None) if rng is None else rng
        op = SharedGuessByItemRV() if parameters[0].type.ndim == 2 else SharedGuessRV()
        return cast(Any, op(*parameters, size=size, rng=rng, return_next_rng=True))[1]

    @classmethod
    def dist(
        cls,
        prior: Any = None,
        confusion: Any = None,
        answers: RaterAnswers | None = None,
        *,
        guess: Any,
        shared: Any,
        group: Any,
        logit_prior: Any = None,
        gold: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        own, (start, rater, known) = label_parameters(prior, confusion, answers, logit_prior, gold)
        law = [*own, *map(pt.as_tensor_variable, (guess, shared))]
        group = np.asarray(group).astype(np.int64)
        check_codes("group", group, NO_GUESS, law[2].type.shape[0])
        return super().dist([*law, *map(pt.as_tensor_variable, (start, rater, group, known))], **kwargs)

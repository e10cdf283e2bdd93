"""Probability of the true category, given answers and parameters, as a tensor."""

from typing import Any, cast

import numpy as np
import pymc as pm
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.variable import TensorVariable

from .marginal_labels import RaterLabelsRV, distinct_items, label_logp
from .marginal_labels_kernels import Answers
from .rater_answers import check_codes
from .shared_guesses import SharedGuessRV, guess_logp

__all__ = ["truth_probability"]


def truth_probability(answers: TensorVariable, labels: Any = None) -> TensorVariable:
    """Return p(true category | answers, parameters) of each item, a tensor with a gradient.

        p(T_i = j | y_i) = p_j prod_a pi[rater_a, j, y_a] / (its sum over the categories)

    Registered as ``plausibility`` (item, category) it is what evaluation reads. It is no number but a function of the
    parameters: a regression on the truth, a survival time or a cost that enters as a mixture with these weights is estimated
    together with the raters, without the attenuation of a regression on the best label.

    Parameters
    ----------
    answers : TensorVariable
        Random variable of the answers: `RaterLabels` or `SharedGuess`, observed in the model of the context.
    labels : array_like or tensor, shape (annotation,), optional
        Codes of the labels, instead of the observed ones.

    Returns
    -------
    TensorVariable, shape (item, category)
        Probabilities that sum to one for each item; 1 at the category of a gold item.

    Raises
    ------
    TypeError
        If `answers` are of another law.
    ValueError
        If they are not observed, and no labels are given.

    Examples
    --------
    A measurement z of each item, with a mean for each true category:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import RaterLabels, truth_probability
    >>> item, rater, label = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]
    >>> with pm.Model() as model:
    ...     pi = pm.Dirichlet("pi", np.eye(2) * 4 + 1, shape=(2, 2, 2))
    ...     y = RaterLabels("y", prior=[0.5, 0.5], confusion=pi, answers=(item, rater, label))
    ...     mean = pm.Normal("mean", 0, 5, shape=2)
    ...     parts = pm.Normal.dist(mean[None, :], 1, shape=(3, 2))
    ...     z = pm.Mixture("z", w=truth_probability(y), comp_dists=parts, observed=[-1.0, 1.2, 0.9])
    >>> model.compile_dlogp()(model.initial_point()).shape
    (6,)

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS C 28(1),
    equation 2.5, doi:10.2307/2346806.
    """
    op = answers.owner.op if answers.owner is not None else None
    if isinstance(op, SharedGuessRV):
        given: Any = op.dist_params(answers.owner)
        *law, start, rater, group, known = given
        code = _labels(answers, labels, _number_of_labels(law[1])).astype("int64")
        return cast(Any, guess_logp)(*law, (start, rater, code, group, known))[1]
    if not isinstance(op, RaterLabelsRV):
        raise TypeError(f"answers are {op or answers}; pass the variable of RaterLabels or SharedGuess")
    if op.nodes > 1:
        state, item = state_probability(answers, labels)
        return state.reshape((state.shape[0], -1, op.nodes)).sum(axis=2)[item]
    prior, confusion, rows = _read(answers, labels)
    return label_logp(prior, confusion, rows)[1]


def state_probability(answers: TensorVariable, labels: Any = None) -> tuple[Any, np.ndarray]:
    """Return p(state | parameters, answers) of distinct items (distinct item, state), and the distinct item of each item.

    With a prior of each item all are distinct.
    """
    prior, confusion, rows = _read(answers, labels)
    by_item = prior.type.ndim == 2
    distinct, item = (rows, np.arange(len(rows.gold_category))) if by_item else distinct_items(rows)
    return label_logp(prior, confusion, distinct, cast(Any, answers.owner).op.nodes)[1], item


def _read(answers: TensorVariable, labels: Any) -> tuple[TensorVariable, TensorVariable, Answers]:
    """Return prior, confusion and constant answers of `RaterLabels`."""
    node: Any = answers.owner
    prior, confusion, start, rater, known = node.op.dist_params(node)
    n = _number_of_labels(confusion)
    return prior, confusion, Answers(start.data, rater.data * n + _labels(answers, labels, n), known.data)


def _number_of_labels(confusion: TensorVariable) -> int:
    """Return the last length of the confusion matrices."""
    known = confusion.type.shape[2]
    return int(cast(Any, confusion).shape[2].eval(mode="FAST_COMPILE")) if known is None else known


def _labels(answers: TensorVariable, labels: Any, n: int) -> Any:
    """Return the codes of the labels, given or observed in the model of the context: an array, or a `pymc.Data`."""
    if labels is None:
        model = pm.modelcontext(None)
        if answers not in model.observed_RVs:
            raise ValueError(f"{answers.name or 'the variable'} is not observed in the model; pass labels=")
        labels = model.rvs_to_values[answers]
    if isinstance(labels, Variable) and not isinstance(labels, Constant):
        return cast(Any, labels).astype("int64")
    codes = np.asarray(labels.data if isinstance(labels, Constant) else labels)
    check_codes("labels", codes, 0, n)
    return codes

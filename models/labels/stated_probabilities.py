"""Probabilities that raters state: given the truth, their log odds are normal, with a mean and spread of each rater.

    s_a    ~ Categorical(rho_k,T_i)               the first label outright, the second, or a probability between 0 and 1
    v_kj   ~ InverseGamma(a, b u_k^2)             variable statement_variance
    mu_kj  ~ Normal(m_j u_k, v_kj / c)            variable statement_mean, in log odds; m = (-m, m)
    z_a    ~ Normal(mu_k,T_i, v_k,T_i)            log odds of the second category, where a probability is stated
    y_a    the label outright, or the second where z_a > 0: p(y | T) is the confusion matrix

The unit u_k is the root mean square of the rater's log odds, so that the prior is the same for one who says .6 and one who says
.99. Probabilities of 0 and 1 are labels outright, and a rater who states no other keeps a confusion matrix.

Reference: DeGroot and Fienberg (1983), The comparison and evaluation of forecasters, The Statistician 32, doi:10.2307/2987588
(a forecaster's probabilities are evidence, by their law given the truth).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable

from .._hierarchy import refuse_expression
from .._prior_arguments import positive_array
from ..data.errors import refused_argument
from ..data.labels import Labels, expand_answers
from ..distributions.marginal_labels import log_prior
from ..distributions.stated_log_odds import StatedLogOdds, hard_labels, statement_evidence, sum_by_item
from .observed import concentration_of_confusion, register_answers

INFORMATIVE, IGNORED = "informative", "ignored"
SHARE, VARIANCE, MEAN = "answer_share", "statement_variance", "statement_mean"
OBSERVED, STATED = "observed_statement", "a probability"
USED_MORE = 0.5  # of each kind of answer, in the shares at which the prior of a rater is centred
PRIOR = (0.5, 1.0, 2.0, 0.5)  # m, c, a, b


class Statements(NamedTuple):
    """Log odds that raters state, by annotation, and who states any."""

    log_odds: np.ndarray  # (annotation,) of the second category, infinite where the label is given outright
    judges: np.ndarray  # int64 (judge,): codes of the raters who state any
    unit: np.ndarray  # (judge,)


def read_statements(labels: Labels, probability: str, unit: Any = None) -> Statements | None:
    """Return what raters state, None if nothing is stated or it is ignored; raise unless there are two categories."""
    if probability not in (INFORMATIVE, IGNORED):
        raise ValueError(f"probability={probability!r} must be {INFORMATIVE!r} or {IGNORED!r}")
    stated = np.repeat(labels.probabilities, labels.count) if len(labels.probabilities) else np.ones(0)
    if probability == IGNORED or not (stated < 1).any():
        return None
    if len(labels.categories) != 2:
        problem = f"probabilities beside {len(labels.categories)} categories have no law here"
        remedy = 'build the model with probability="ignored", which reads the labels'
        raise refused_argument("probability", problem, allowed="two categories", remedy=remedy)
    _, rater, label = expand_answers(labels)
    with np.errstate(divide="ignore"):
        log_odds = np.where(label == 1, 1.0, -1.0) * (np.log(stated) - np.log1p(-stated))
    finite = np.isfinite(log_odds)
    n = np.bincount(rater, finite, len(labels.raters))
    squares = np.bincount(rater, np.where(finite, log_odds, 0.0) ** 2, len(labels.raters))
    judges = np.flatnonzero(n)
    if unit is None:
        found = np.sqrt(squares[judges] / n[judges])
        units = np.where(found > 0, found, 1.0)
    else:
        refuse_expression("statement_unit", unit, "it is a unit of measurement")
        units = positive_array("statement_unit", unit, (len(judges),))
    return Statements(log_odds, judges, units)


def refuse_beside(others: Mapping[str, bool]) -> None:
    """Raise at options that the law of stated probabilities does not have."""
    for name, given in others.items():
        if given:
            problem = "the law of stated probabilities does not have this option"
            remedy = 'leave it out, or build the model with probability="ignored"'
            raise refused_argument(name, problem, remedy=remedy)


def coords_of_statements(labels: Labels, said: Statements | None) -> dict[str, np.ndarray]:
    """Return the coordinates of the judges, who state probabilities, and of the kinds of answers."""
    if said is None:
        return {}
    kinds = np.array([*map(str, labels.categories.tolist()), STATED])
    return {"judge": labels.raters[said.judges], "kind_of_answer": kinds}


def observe_statements(
    labels: Labels, said: Statements, prior: TensorVariable, concentration: Any, numbers: Any
) -> None:
    """Register the law of labels and statements, ``confusion`` and ``plausibility``; `prior` (category,) or (item, category)."""
    m, c, a, b = _prior_numbers(numbers)
    n_raters, judges = len(labels.raters), said.judges
    share = pm.Dirichlet(
        SHARE, _concentration(labels, said, concentration), dims=("rater", "category", "kind_of_answer")
    )
    unit = said.unit[:, None]
    variance = pm.InverseGamma(VARIANCE, a, b * unit**2 * np.ones(2), dims=("judge", "category"))
    mean = pm.Normal(MEAN, m * unit * [-1.0, 1.0], pt.sqrt(variance / c), dims=("judge", "category"))
    places = pt.set_subtensor(pt.zeros((n_raters, 2))[judges], mean)
    spread = pt.set_subtensor(pt.ones((n_raters, 2))[judges], pt.sqrt(variance))
    law = (share, places, spread)
    confusion: Any = pm.Deterministic("confusion", hard_labels(*law), dims=("rater", "category", "answer"))
    register_answers(labels, prior, confusion)
    rows = item, rater, label = expand_answers(labels)
    of_labels = sum_by_item(cast(Any, pt.log(confusion))[rater, :, label], item, len(labels.items))
    joint = (log_prior(prior) if prior.type.ndim == 2 else pt.log(prior)) + of_labels
    known = labels.gold[:, None]
    joint = pt.where((known < 0) | (known == np.arange(2)), joint, -np.inf)
    StatedLogOdds(OBSERVED, softmax(joint, axis=1), *law, rows, observed=said.log_odds, dims="annotation")
    evidence = statement_evidence(said.log_odds, law, rows, len(labels.items))
    pm.Deterministic("plausibility", softmax(joint + evidence, axis=1), dims=("item", "category"))


def _prior_numbers(numbers: Any) -> tuple[float, ...]:
    """Return m, c, a and b, or raise ValueError."""
    refuse_expression("statement_prior", numbers, "the samplers need numbers")
    found = positive_array("statement_prior", numbers, (4,))
    return tuple(cast(Any, found).tolist())


def _concentration(labels: Labels, said: Statements, concentration: Any) -> np.ndarray:
    """Return the Dirichlet concentration of the kinds of answers of each rater and true category (rater, category, kind).

    That of the labels is the one of the confusion matrix without statements. That of a statement is in the proportion in which
    the rater states: how an answer is given says nothing of the truth unless the answers say so.
    """
    shape = (len(labels.raters), 2, 2)
    refuse_expression(
        "confusion_concentration", concentration, "the law of stated probabilities takes numbers"
    )
    beta = np.broadcast_to(concentration_of_confusion(labels, concentration, shape), shape)
    _, rater, _ = expand_answers(labels)
    stated = np.bincount(rater, np.isfinite(said.log_odds), shape[0])
    outright = np.bincount(rater, np.isinf(said.log_odds), shape[0])
    ratio = (stated + USED_MORE) / (outright + USED_MORE)
    more = np.maximum(beta.sum(axis=2) * ratio[:, None], USED_MORE)
    return np.concatenate([beta, more[:, :, None]], axis=2)

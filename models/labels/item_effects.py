"""Models whose items differ beyond their category: the effect of an item is summed out over nodes.

    T_i      ~ Categorical(p)                          summed out; known for gold items
    theta_i  ~ sum_q w_q delta(z_q)                    summed out: the nodes of a normal
    y_a      ~ Categorical(pi[rater_a, T_i, theta_i])

A pair of category and node is a state, and given the states the answers are as in Dawid-Skene: one sweep serves both. What is
left to draw are the parameters of raters and population, and the likelihood is pointwise by item with its effect summed out, so
that leave-one-out compares with that of Dawid-Skene.
"""

import warnings
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.errors import BUILDERS, DataWarning
from ..data.labels import Labels
from ..data.single_answers import one_by_one
from ..distributions.answer_sweep import Answers
from ..distributions.distinct_items import distinct_items
from ..distributions.label_op import label_logp
from ..distributions.marginal_labels import MarginalLabels

__all__ = [
    "check_size",
    "favoured_contrasts",
    "most_answers",
    "observe_blocks",
    "observe_states",
]

MOST_CELLS = 50_000_000  # numbers of a table; several copies of it are in memory
FEWEST = 5  # nodes with which a model of effects is still one


def observe_states(
    labels: Labels,
    prevalence: TensorVariable,
    weight: np.ndarray,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
    *,
    effect: TensorVariable | None = None,
) -> TensorVariable:
    """Register ``observed_label``, pointwise by item, and ``plausibility``: p(true category | parameters, answers).

    Parameters
    ----------
    labels : Labels
        The annotations; an answer that was given n times is n annotations.
    prevalence : TensorVariable, shape (category,)
        Probability of each category.
    weight : ndarray, shape (node,)
        Probability of each node.
    confusion : TensorVariable, shape (rater, category, node, label)
        Probability of each label.
    rater : ndarray of int, shape (annotation of the container,), optional
        Whose probabilities each answer goes by; by default the rater's own.
    effect : TensorVariable, shape (category, node, contrast), optional
        Effect of an item in each state, to register ``expected_effect`` (item, contrast) given the parameters and answers.

    Returns
    -------
    TensorVariable, shape (item, category, node)
        p(category, node | parameters, answers), for the expected effect of an item.

    Raises
    ------
    ValueError
        If the table of probabilities would not fit into memory.

    Warns
    -----
    DataWarning
        If no item has two answers, or one and a known truth.
    """
    n, nodes = len(labels.categories), len(weight)
    check_size(labels, confusion.type.shape[0] or 1, n * nodes)
    probability = cast(TensorVariable, prevalence[:, None] * weight).reshape((n * nodes,))
    by_state = confusion.reshape((confusion.shape[0], n * nodes, n))
    state, kind = observe_blocks(labels, probability, by_state, nodes, rater)
    state = state.reshape((-1, n, nodes))
    pm.Deterministic("plausibility", state.sum(axis=2)[kind], dims=("item", "category"))
    if effect is not None:
        expected = cast(Any, pt.tensordot(state, effect, axes=[[1, 2], [0, 1]]))
        pm.Deterministic("expected_effect", expected[kind], dims=("item", "contrast"))
    return state[kind]


def observe_blocks(
    labels: Labels,
    probability: TensorVariable,
    confusion: TensorVariable,
    nodes: int,
    rater: np.ndarray | None = None,
) -> tuple[Any, np.ndarray]:
    """Register ``observed_label`` and what evaluation reads of the answers, and return p(state | parameters, answers).

    Parameters
    ----------
    labels : Labels
        The annotations.
    probability : TensorVariable, shape (state,)
        Probability of each state.
    confusion : TensorVariable, shape (rater, state, label)
        Probability of each label.
    nodes : int
        States of each category, side by side: those that a gold item may be in.
    rater : ndarray of int, shape (annotation of the container,), optional
        Whose probabilities each answer goes by; by default the rater's own.

    Returns
    -------
    state : TensorVariable, shape (kind, state)
        Sums to one; of items with the same answers once.
    kind : ndarray of int, shape (item,)
        Row of each item.
    """
    if not labels.identified:
        warnings.warn(
            "no item has two answers: the raters are not identified, and the posterior repeats their prior",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    item, own, label = one_by_one(labels)
    start = np.searchsorted(item, np.arange(len(labels.items) + 1)).astype(np.int64)
    by = (own if rater is None else np.repeat(rater, labels.count)).astype(np.int64)
    known = labels.gold.astype(np.int64)
    pm.Data("annotation_item", item, dims="annotation")
    pm.Data("annotation_rater", own, dims="annotation")
    pm.Data("gold", labels.gold, dims="item")
    law = (probability, confusion, start, by, known)
    MarginalLabels("observed_label", *law, nodes=nodes, observed=label, dims="annotation")
    answers, kind = distinct_items(Answers(start, by * len(labels.categories) + label, known))
    return label_logp(probability, confusion, answers, nodes)[1], kind


def favoured_contrasts(n_categories: int, diagonal: float) -> np.ndarray:
    """Return log odds of each label but the last against the last, where the right one is ahead of all others.

    Parameters
    ----------
    n_categories : int
        Number of categories, from two.
    diagonal : float
        Log odds of the right label against each other one.

    Returns
    -------
    ndarray, shape (category, contrast)
        `diagonal` where they are the same, its opposite in the row of the last category.
    """
    if not isinstance(diagonal, int | float) or not np.isfinite(diagonal):
        raise ValueError(f"diagonal={diagonal!r} must be a finite number")
    right = np.eye(n_categories)
    return diagonal * (right[:, :-1] - right[:, -1:])


def most_answers(labels: Labels) -> int:
    """Return the largest number of answers to an item."""
    return int(np.bincount(labels.annotation_item, labels.count, len(labels.items)).max())


def check_size(labels: Labels, raters: int, states: int) -> None:
    """Raise if a table of the probabilities of labels, or of states, would not fit into memory.

    Parameters
    ----------
    labels : Labels
        The annotations.
    raters : int
        Raters with probabilities of their own.
    states : int
        Categories times nodes.

    Raises
    ------
    ValueError
        If one has more than 50 million numbers; the message names ``nodes=``, or another model where even five are too many.
    """
    n, items = len(labels.categories), len(labels.items)
    tables = {f"{raters:,} raters x {n:,} labels": raters * n, f"{items:,} items": items}
    for rows, size in tables.items():
        if size * states > MOST_CELLS:
            fewer = (
                "ask for fewer nodes="
                if size * n * FEWEST <= MOST_CELLS
                else "use models.hierarchical_dawid_skene"
            )
            raise ValueError(
                f"{rows} x {states:,} states of an item are {size * states:,} probabilities, more than {MOST_CELLS:,}; {fewer}"
            )

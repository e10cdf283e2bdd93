"""Likelihood of models with item effects: the effect is summed out over quadrature nodes.

    T_i      ~ Categorical(p)                          summed out; known for gold items
    theta_i  ~ sum_q w_q delta(z_q)                    summed out: the nodes of a normal
    y_a      ~ Categorical(pi[rater_a, T_i, theta_i])

A pair of category and node is a state; given the states the answers are as in Dawid-Skene, and the same pass
serves both. The likelihood is pointwise by item, and so comparable with Dawid-Skene by leave-one-out.
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

MOST_CELLS = 50_000_000  # numbers in a table, of which memory holds several copies
FEWEST = 5  # fewest useful nodes


def observe_states(
    labels: Labels,
    prevalence: TensorVariable,
    weight: np.ndarray,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
    *,
    effect: TensorVariable | None = None,
) -> TensorVariable:
    """Register ``observed_label`` (pointwise by item), ``plausibility``; return p(category, node | answers).

    An answer given n times is n annotations. ``rater`` selects the confusion matrix of each annotation, by
    default that of its rater. With ``effect``, registers ``expected_effect`` (item, contrast), given
    parameters and answers. Warns (DataWarning) if no item has two answers, or one and a gold label.

    Shapes: prevalence (category,); weight (node,); confusion (rater, category, node, label); rater
    (annotation of the container,); effect (category, node, contrast); result (item, category, node).
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
    """Register ``observed_label`` and the data that evaluation reads; return p(state | parameters, answers).

    The state probabilities are computed once for items with the same answers (a kind). ``nodes`` is the
    number of adjacent states of each category, those possible for a gold item.

    Shapes: probability (state,); confusion (rater, state, label); rater (annotation of the container,);
    results (kind, state), and kind of each item (item,).
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
    """Return prior mean log odds of each label but the last against the last, favouring the right label.

    Shapes: result (category, contrast): `diagonal` where label and category agree, -`diagonal` in the last
    row.
    """
    if not isinstance(diagonal, int | float) or not np.isfinite(diagonal):
        raise ValueError(f"diagonal={diagonal!r} must be a finite number")
    right = np.eye(n_categories)
    return diagonal * (right[:, :-1] - right[:, -1:])


def most_answers(labels: Labels) -> int:
    """Return the largest number of answers to an item."""
    return int(np.bincount(labels.annotation_item, labels.count, len(labels.items)).max())


def check_size(labels: Labels, raters: int, states: int) -> None:
    """Raise ValueError if a table of label or state probabilities has more than 50 million numbers.

    The message suggests fewer ``nodes=``, or another model if even five nodes are too many.
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

"""Conditionals of raters who answer along a tree: Beta variables of decisions, given the true categories.

Each decision has two alternatives; the answers of a rater that took the first and the second are counted over the true categories
that offer both:

    decision | T, y    Beta(a + first, b + second)

    ability     true or wrong              caution     an ancestor or the leaf, of the true
    height      higher or lowest, of the   nearness    a sibling or elsewhere, of the wrong
                ancestors
"""

from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import inner_njit
from ....models.distributions.marginal_labels_kernels import ELSEWHERE, EXACT, HIGHER, LOWEST, SIBLING
from ...kernels.random_streams import log_standard_gamma

ABILITY, CAUTION, HEIGHT, NEARNESS = range(4)


class Relations(NamedTuple):
    """Relation of each answer to each true category, and the Beta priors of the decisions."""

    code: np.ndarray  # int8 (label, category)
    size: np.ndarray  # int64 (category, relation), answers of each relation
    offers: np.ndarray  # bool (category, decision), whether there is a decision
    concentration: np.ndarray  # (rater, decision, 2)


NO_RELATIONS = Relations(
    np.empty((0, 0), np.int8), np.empty((0, 0), np.int64), np.empty((0, 0), bool), np.empty((0, 0, 2))
)


@inner_njit(error_model="numpy")
def draw_relations(rng: np.ndarray, relations: Relations, counts: np.ndarray, table: np.ndarray) -> None:
    """Draw the decisions of all raters, and overwrite their matrices.

    Shapes: counts int64, table (rater * label, category).
    """
    n_labels = len(relations.code)
    taken, p = np.empty((4, 2)), np.empty((4, 2))
    for first in range(0, len(table), n_labels):
        for decision in range(4):
            for k in range(2):
                taken[decision, k] = relations.concentration[first // n_labels, decision, k]
        _count_decisions(relations, counts, first, taken)
        for decision in range(4):
            one = log_standard_gamma(rng, taken[decision, 0])
            other = log_standard_gamma(rng, taken[decision, 1])
            p[decision, 0] = 1.0 / (1.0 + np.exp(other - one))
            p[decision, 1] = 1.0 / (1.0 + np.exp(one - other))
        _write_matrix(relations, p, table, first)


@inner_njit(error_model="numpy")
def _count_decisions(relations, counts, first, taken):
    """Add the answers of one rater that took either alternative of each decision (decision, 2)."""
    code, offers = relations.code, relations.offers
    for label in range(code.shape[0]):
        for j in range(code.shape[1]):
            n, relation = counts[first + label, j], code[label, j]
            if n == 0:
                continue
            if relation >= SIBLING:
                taken[ABILITY, 1] += n
                if offers[j, NEARNESS]:
                    taken[NEARNESS, 0 if relation == SIBLING else 1] += n
            else:
                taken[ABILITY, 0] += n
                if offers[j, CAUTION]:
                    taken[CAUTION, 1 if relation == EXACT else 0] += n
                if relation != EXACT and offers[j, HEIGHT]:
                    taken[HEIGHT, 0 if relation == HIGHER else 1] += n


@inner_njit(error_model="numpy")
def _write_matrix(relations, p, table, first):
    """Overwrite the matrix of one rater, given the probabilities of both alternatives of the decisions (decision, 2)."""
    code, size, offers, _ = relations
    share = np.empty(5)
    for j in range(code.shape[1]):
        share[EXACT], share[LOWEST], share[HIGHER] = p[ABILITY, 0], 0.0, 0.0
        if offers[j, CAUTION]:
            share[EXACT] *= p[CAUTION, 1]
            share[LOWEST] = p[ABILITY, 0] * p[CAUTION, 0]
        if offers[j, HEIGHT]:
            share[HIGHER] = share[LOWEST] * p[HEIGHT, 0]
            share[LOWEST] *= p[HEIGHT, 1]
        share[SIBLING], share[ELSEWHERE] = p[ABILITY, 1], p[ABILITY, 1]
        if offers[j, NEARNESS]:
            share[SIBLING] *= p[NEARNESS, 0]
            share[ELSEWHERE] *= p[NEARNESS, 1]
        for label in range(code.shape[0]):
            relation = code[label, j]
            table[first + label, j] = share[relation] / size[j, relation]


def decisions_of(confusion: np.ndarray, relations: Relations) -> tuple[np.ndarray, ...]:
    """Return the decisions behind matrices (..., rater, category, answer), (..., rater) each, of those that are offered."""
    ancestors, wrong = (LOWEST, HIGHER), (SIBLING, ELSEWHERE)
    sides = (
        ((EXACT, *ancestors), wrong),
        (ancestors, (EXACT,)),
        ((HIGHER,), (LOWEST,)),
        ((SIBLING,), (ELSEWHERE,)),
    )

    def share(j: int, first: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
        """Return how much of row j is of the first of two alternatives."""
        rows, relation = confusion[..., j, :], relations.code[:, j]
        one, two = (rows[..., np.isin(relation, which)].sum(axis=-1) for which in (first, other))
        return one / (one + two)

    offers = zip(relations.offers.T, sides, strict=True)
    return tuple(share(int(own.argmax()), *both) for own, both in offers if own.any())

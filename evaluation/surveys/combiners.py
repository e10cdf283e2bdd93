"""Combiners: predictions of a reference rater's label from the labels of k raters.

    plurality     the most frequent label; ties averaged
    frequency     y_l / k
    mean          sum_l v_l y_l / k, a number
    ABC           p(l | y) = sum_j p(y | n_j) p(l | y, n_j) / sum_j p(y | n_j), over other items j

The anonymous Bayesian combiner (ABC) looks up the labels of further raters on items that showed the same k
labels. ``predicted`` takes the number of items (pattern,) of each pattern that a combiner learns from, and
the number of copies of the predicted item among them; ``learns`` says whether it depends on them.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 3 and algorithms 5-6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...posterior.errors import EvaluationError
from .subsets import Predicted, Subsets

Learn = Literal["leave-one-out", "in-sample"] | int


@dataclass(frozen=True)
class Plurality:
    """Most frequent label; of no labels any, with equal chances."""

    learns: bool = False

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the plurality label of every entry; tied labels become separate entries."""
        return _predicted(subsets, subsets.drawn).top_label()


@dataclass(frozen=True)
class Frequency:
    """Relative frequencies of the labels."""

    label_total: np.ndarray | None  # (pattern, category), the prediction at k = 0; None for equal shares

    @property
    def learns(self) -> bool:
        """Whether the prediction from no labels depends on the weights."""
        return self.label_total is not None

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the relative frequencies of every entry."""
        drawn = subsets.drawn
        k = drawn.sum(axis=1, keepdims=True)
        if k.any():
            return _predicted(subsets, drawn / k)
        total = np.ones(drawn.shape[1]) if self.label_total is None else weights @ self.label_total
        return _predicted(subsets, np.broadcast_to(total / total.sum(), drawn.shape))


@dataclass(frozen=True)
class Function:
    """User's function of counts (row, category), in the order of its ``categories`` if it has any, that returns probabilities."""

    function: Callable[[np.ndarray], object]
    categories: np.ndarray  # (category,), of the labels
    learns: bool = False

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the probabilities that the function predicts for every state."""
        given = self.categories.tolist()
        own = [str(name) for name in getattr(self.function, "categories", given)]
        if sorted(own) != sorted(given):
            raise EvaluationError(
                f"combiner: its categories are {', '.join(own)}, and those of the labels are {', '.join(given)}; fit the model "
                "to labels of the same categories, or add the missing ones to the counts, with 0"
            )
        to = np.array([given.index(name) for name in own])
        law = checked_law(self.function(subsets.drawn[:, to]), subsets.drawn.shape)
        return _predicted(subsets, law[:, np.argsort(to)])


@dataclass(frozen=True)
class AnonymousBayesian:
    """Frequencies of the next label after the same labels, in other items, in all items, or in other folds.

    Where no other item can show the same labels, all categories are equally probable.
    """

    learn: Learn = "leave-one-out"
    learns: bool = True

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the probabilities of every entry."""
        if self.learn == "leave-one-out":
            law = _normalised(_of_others(subsets, weights, copies))
            return _predicted(subsets, law, np.arange(len(law)))
        joint = (weights[subsets.pattern] * subsets.chance)[:, None] * subsets.reference
        if self.learn == "in-sample":
            n_states = len(subsets.drawn)
            total = [np.bincount(subsets.state, part, n_states) for part in joint.T]
            return _predicted(subsets, _normalised(np.stack(total, axis=1)))
        others, bins = _of_other_folds(subsets, joint)
        return _predicted(subsets, _normalised(others), bins)


Combiner = Plurality | Frequency | Function | AnonymousBayesian


def checked_law(found: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return the probabilities that a user's function returned; raise if they are invalid."""
    law = np.asarray(found, float)
    if law.shape != shape:
        raise EvaluationError(
            f"combiner: it returned shape {law.shape} for counts of shape {shape}; expected the same"
        )
    wrong = ~np.isfinite(law).all(axis=1) | (law < 0).any(axis=1) | (abs(law.sum(axis=1) - 1) > 1e-6)
    if wrong.any():
        raise EvaluationError(
            f"combiner: it returned {law[wrong][0].tolist()}; expected probabilities, which sum to 1"
        )
    return law


def _of_others(subsets: Subsets, weights: np.ndarray, copies: int) -> np.ndarray:
    """Return the leave-one-out weights (entry, category) of the next label, given the labels of an entry.

    An item that outweighs all others together is left out of the sum instead of being subtracted from it,
    which avoids cancellation. Each state has at most one such item.
    """
    n_states = len(subsets.drawn)
    joint = subsets.chance[:, None] * subsets.reference
    weight = weights[subsets.pattern]
    mine = np.minimum(weight, copies)
    others = np.empty(joint.shape)
    for category, chance in enumerate(joint.T):
        total = np.bincount(subsets.state, weight * chance, n_states)[subsets.state]
        leads = mine * chance > total / 2
        outside = np.where(leads, 0.0, weight * chance)
        rest = np.bincount(subsets.state, outside, n_states)[subsets.state]
        alike = (weight - mine) * chance
        others[:, category] = np.where(leads, rest + alike, total - mine * chance)
    return others


def _of_other_folds(subsets: Subsets, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (bin, category) of the next label in other folds, and the bin, a fold and a state, of each entry."""
    n_states = len(subsets.drawn)
    bins, of_entry = np.unique(subsets.fold * n_states + subsets.state, return_inverse=True)
    state = bins % n_states
    others = np.empty((len(bins), joint.shape[1]))
    for category, part in enumerate(joint.T):
        own = np.bincount(of_entry, part, len(bins))
        total = np.bincount(state, own, n_states)[state]
        leads = own > total / 2
        rest = np.bincount(state, np.where(leads, 0.0, own), n_states)[state]
        others[:, category] = np.where(leads, rest, total - own)
    return others, of_entry


def _normalised(weight: np.ndarray) -> np.ndarray:
    total = weight.sum(axis=1, keepdims=True)
    uniform = np.full(weight.shape, 1 / weight.shape[1])
    return np.divide(weight, total, out=uniform, where=total > 0)


def _predicted(subsets: Subsets, law: np.ndarray, bins: np.ndarray | None = None) -> Predicted:
    """Return the predictions `law` (bin, category) with the bin (entry,) of each entry, by default its state."""
    bins = subsets.state if bins is None else bins
    return Predicted(subsets.pattern, subsets.chance, subsets.reference, bins, law)

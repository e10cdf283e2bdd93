"""How the labels of k raters become a prediction of what a further one says.

    plurality     the most frequent label; each of those that tie, with the same chance
    frequency     y_l / k
    mean          sum_l v_l y_l / k, a number
    ABC           p(l | y) = sum_j p(y | n_j) p(l | y, n_j) / sum_j p(y | n_j), over other items j

The anonymous Bayesian combiner (ABC) looks up what was said by further raters of items that had shown the same k labels.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 3 and algorithms 5-6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from ..errors import EvaluationError
from .predicted import Predicted
from .subsets import Subsets

__all__ = ["AnonymousBayesian", "Combiner", "Frequency", "Function", "Plurality", "checked_law"]

Learn = Literal["leave-one-out", "in-sample"] | int


class Combiner(Protocol):
    """Predicts from what k raters said.

    Weights (pattern,) say how often an item of a pattern counts when the combiner learns, `copies` how often the item that is
    predicted is among them.
    """

    @property
    def learns(self) -> bool:
        """Whether predictions depend on the weights."""
        ...

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return what is predicted for every entry of the subsets."""
        ...


@dataclass(frozen=True)
class Plurality:
    """The most frequent label. Of no labels: any."""

    learns: bool = False

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the label of every entry; ties are entries of their own."""
        return _by_state(subsets, subsets.drawn).decided()


@dataclass(frozen=True)
class Frequency:
    """Shares of the labels.

    Attributes
    ----------
    label_total : ndarray, shape (pattern, category), or None
        Labels whose shares are taken where k = 0; None for equal shares.
    """

    label_total: np.ndarray | None

    @property
    def learns(self) -> bool:
        """Whether the prediction of no labels depends on the weights."""
        return self.label_total is not None

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the shares of every entry."""
        drawn = subsets.drawn
        k = drawn.sum(axis=1, keepdims=True)
        if k.any():
            return _by_state(subsets, drawn / k)
        total = np.ones(drawn.shape[1]) if self.label_total is None else weights @ self.label_total
        return _by_state(subsets, np.broadcast_to(total / total.sum(), drawn.shape))


@dataclass(frozen=True)
class Function:
    """A function of counts (row, category) that returns probabilities of the same shape, such as of a fitted model.

    Attributes
    ----------
    categories : ndarray of str, shape (category,)
        Of the labels. A function with ``categories`` of its own gets the counts in their order.
    """

    function: Callable[[np.ndarray], object]
    categories: np.ndarray
    learns: bool = False

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return what the function says of every state."""
        to = self._places()
        law = checked_law(self.function(subsets.drawn[:, to]), subsets.drawn.shape, "combiner")
        return _by_state(subsets, law[:, np.argsort(to)])

    def _places(self) -> np.ndarray:
        """Return where the categories of the function are among those of the labels."""
        given = self.categories.tolist()
        own = [str(name) for name in getattr(self.function, "categories", given)]
        if sorted(own) != sorted(given):
            raise EvaluationError(
                f"combiner: it knows the categories {', '.join(own)}, and raters can give {', '.join(given)}; fit the model to "
                "labels of the same categories, or add those that are missing to the counts, with 0"
            )
        return np.array([given.index(name) for name in own])


@dataclass(frozen=True)
class AnonymousBayesian:
    """Frequencies of the further label after the same labels, among other items, all items, or those of other folds.

    Where no other item can show the labels, all categories are as probable.
    """

    learn: Learn = "leave-one-out"
    learns: bool = True

    def predicted(self, subsets: Subsets, weights: np.ndarray, copies: int = 1) -> Predicted:
        """Return the probabilities of every entry."""
        if self.learn == "leave-one-out":
            law = _normalised(_of_others(subsets, weights, copies))
            return _entries(subsets, np.arange(len(law)), law)
        joint = (weights[subsets.pattern] * subsets.chance)[:, None] * subsets.reference
        if self.learn == "in-sample":
            n_states = len(subsets.drawn)
            total = [np.bincount(subsets.state, part, n_states) for part in joint.T]
            return _by_state(subsets, _normalised(np.stack(total, axis=1)))
        others, bins = _of_other_folds(subsets, joint)
        return _entries(subsets, bins, _normalised(others))


def checked_law(found: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return the probabilities of a function of the caller; raise if they are none."""
    law = np.asarray(found, float)
    if law.shape != shape:
        raise EvaluationError(
            f"{what}: it returned shape {law.shape} for counts of shape {shape}; expected the same"
        )
    wrong = (
        ~np.isfinite(law).all(axis=1) | (law < 0).any(axis=1) | (abs(law.sum(axis=1) - 1) > 1e-6)
    )
    if wrong.any():
        raise EvaluationError(
            f"{what}: it returned {law[wrong][0].tolist()}; expected probabilities, which sum to 1"
        )
    return law


def _of_others(subsets: Subsets, weights: np.ndarray, copies: int) -> np.ndarray:
    """Return the weight (entry, category) of each label after the labels of an entry, among other items.

    An item that outweighs all others together is not subtracted from the sum but left out of it, so that nothing cancels. In each
    state there is one such at the most.
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
    """Return the weight (bin, category) of each label after the labels of a bin, in the folds that are not its own.

    A bin is a fold and a state that the fold can show; also return that of each entry. As of items, a fold that outweighs all
    others together is left out of the sum.
    """
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


def _by_state(subsets: Subsets, law: np.ndarray) -> Predicted:
    return _entries(subsets, subsets.state, law)


def _entries(subsets: Subsets, bins: np.ndarray, law: np.ndarray) -> Predicted:
    return Predicted(subsets.pattern, subsets.chance, subsets.reference, bins, law)

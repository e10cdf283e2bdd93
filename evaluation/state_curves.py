"""Power curves of a mixture of item states: what k raters of an item know of the next one's label, and what all raters know.

With weights w, probabilities theta and spreads rho of the states, t = rho / (1 - rho), k raters of one item give the counts y
with probability sum_j w_j p(y | j), and the next one gives label c with probability

    q_c(y) = sum_j p(j | y) (theta_jc + t_j y_c) / (1 + t_j k)

The anonymous Bayesian combiner (ABC) that knows the mixture predicts q(y): no other use of the labels scores better by a proper
score. Its curve is c_k = sum_y p(y) S(q(y), q(y)), where S(f, q) is the expected score of prediction f under q. It rises with k
to the asymptote: the score of the omniscient rater, who sees the item's own probabilities.

References
----------
Resnick et al. (2021), Survey equivalence, arXiv:2106.01254, algorithm 4 (ABC), theorems 4.1 and 4.2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
import xarray as xr
from scipy.special import betainc, digamma, gammaln

from .errors import EvaluationError
from .state_scores import Score, best_labels

__all__ = ["ItemStates", "asymptote", "curve_at", "n_count_vectors"]

CELLS = 2_000_000  # of (draw, state, count vector) that are computed at once
OMNISCIENT_DRAWS = 1000  # of an item's own probabilities, where a score has no closed form


@dataclass(frozen=True)
class ItemStates:
    """Draws of a mixture of item states.

    Attributes
    ----------
    weight : ndarray, shape (sample, state)
        Shares, summing to one.
    probability : ndarray, shape (sample, state, category)
        Probability of each label.
    spread : ndarray, shape (sample, state)
        Spread within a state; zero where the items of a state are alike.
    """

    weight: np.ndarray
    probability: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, posterior: xr.Dataset) -> "ItemStates":
        """Read them from a posterior, over all chains and draws.

        Raises
        ------
        EvaluationError
            If the posterior has no item states.
        """
        if not {"state_weight", "state_probability"} <= set(posterior.data_vars):
            raise EvaluationError(
                f"the posterior holds {', '.join(map(str, posterior.data_vars))}, but no 'state_weight' and 'state_probability'; "
                "sample models.item_states, or pass counts for the exact curve"
            )
        order = ("chain", "draw", "state")
        weight = posterior["state_weight"].transpose(*order).to_numpy().astype(float)
        probability = posterior["state_probability"].transpose(*order, "category").to_numpy()
        spread = np.zeros_like(weight)
        if "state_spread" in posterior:
            spread = posterior["state_spread"].transpose(*order).to_numpy().astype(float)
        n_states, n = probability.shape[2:]
        flat = probability.reshape(-1, n_states, n).astype(float)
        weight, spread = weight.reshape(-1, n_states), spread.reshape(-1, n_states)
        # storage in single precision leaves sums that miss one by 1e-7
        return cls(
            weight / weight.sum(axis=1, keepdims=True),
            flat / flat.sum(axis=2, keepdims=True),
            spread,
        )

    def taken(self, which: slice | np.ndarray) -> "ItemStates":
        """Return some of the samples."""
        return ItemStates(self.weight[which], self.probability[which], self.spread[which])

    @property
    def step(self) -> np.ndarray:
        """By how much a label makes itself likelier: t = rho / (1 - rho), shape (sample, state)."""
        return self.spread / (1 - self.spread)

    def log_probability(self, counts: np.ndarray) -> np.ndarray:
        """Return log p(answers | state) of count vectors, as sequences; shape (sample, state, row)."""
        floor = np.finfo(float).tiny
        if not self.spread.any():
            return np.log(np.maximum(self.probability, floor)) @ counts.T
        most = int(counts.sum(axis=1).max(initial=0))
        rises = self.step[..., None] * np.arange(most)
        given = _running_sum(np.log1p(rises))[..., counts.sum(axis=1)]
        total = -given
        for c in range(counts.shape[1]):
            own = np.maximum(self.probability[..., c, None] + rises, floor)
            total += _running_sum(np.log(own))[..., counts[:, c]]
        return total

    def next_label(self, joint: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p(y) (sample, row), and the law q(y) of the next label (sample, row, category), given p(y, state)."""
        given = joint / (1 + self.step[..., None] * counts.sum(axis=1))
        seen = joint.sum(axis=1)
        q = np.swapaxes(given, 1, 2) @ self.probability
        if self.spread.any():
            q += (given * self.step[..., None]).sum(axis=1)[..., None] * counts
        return seen, q / np.where(seen > 0, seen, 1.0)[..., None]


def _running_sum(terms: np.ndarray) -> np.ndarray:
    """Return sums of the first 0, 1, 2, ... terms of the last axis."""
    nothing = np.zeros((*terms.shape[:-1], 1))
    return np.concatenate([nothing, terms.cumsum(axis=-1)], axis=-1)


def n_count_vectors(k: int, categories: int) -> int:
    """Return how many count vectors k labels can have."""
    return comb(k + categories - 1, categories - 1)


def count_vectors(k: int, categories: int) -> np.ndarray:
    """Return all count vectors of k labels, shape (row, category)."""
    if categories == 1:
        return np.array([[k]])
    rows = []
    for first in range(k + 1):
        rest = count_vectors(k - first, categories - 1)
        rows.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(rows)


def curve_at(states: ItemStates, k: int, score: Score, combiner: str) -> np.ndarray:
    """Return the expected score of k combined labels against one more, summed over all count vectors.

    Parameters
    ----------
    states : ItemStates
        Draws of the mixture.
    k : int
        Number of raters whose labels are combined.
    score : Score
        The scorer.
    combiner : {"abc", "plurality"}
        Predict by the mixture, or the most frequent label, ties averaged.

    Returns
    -------
    ndarray, shape (sample,)
        One point of each draw's power curve.
    """
    counts = count_vectors(k, states.probability.shape[2])
    coefficient = gammaln(k + 1) - gammaln(counts + 1).sum(axis=1)
    result = np.empty(len(states.weight))
    for part in parts(states, len(counts)):
        own = states.taken(part)
        joint = np.exp(own.log_probability(counts) + coefficient) * own.weight[..., None]
        seen, q = own.next_label(joint, counts)
        prediction = q if combiner == "abc" else best_labels(counts)
        result[part] = (seen * score.expected(prediction, q)).sum(axis=1)
    return result


def parts(states: ItemStates, rows: int) -> Iterator[slice]:
    """Yield runs of samples that fit into memory with so many rows each."""
    size = max(1, CELLS // max(1, rows * states.weight.shape[1]))
    for first in range(0, len(states.weight), size):
        yield slice(first, first + size)


def drawn_curve_at(
    states: ItemStates, k: int, score: Score, combiner: str, rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate what `curve_at` sums, from count vectors drawn for each sample.

    Returns
    -------
    value, error : ndarray, shape (sample,)
        Estimates, and their Monte-Carlo standard errors.
    """
    value, error = np.empty(len(states.weight)), np.empty(len(states.weight))
    for s in range(len(states.weight)):
        own = states.taken(slice(s, s + 1))
        counts = rng.multinomial(k, item_probabilities(own, rows, rng))
        joint = np.exp(own.log_probability(counts)) * own.weight[..., None]
        _, q = own.next_label(joint, counts)
        found = score.expected(q if combiner == "abc" else best_labels(counts), q)[0]
        value[s], error[s] = found.mean(), found.std(ddof=1) / np.sqrt(rows)
    return value, error


def item_probabilities(one: ItemStates, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the probabilities of items from one sample of the mixture, shape (row, category)."""
    state = rng.choice(one.weight.shape[1], rows, p=one.weight[0])
    q, rho = one.probability[0][state], one.spread[0][state]
    apart = rho > 0
    if apart.any():
        gamma = rng.standard_gamma((1 / rho[apart] - 1)[:, None] * q[apart])
        gamma = np.maximum(gamma, np.finfo(float).tiny)
        q[apart] = gamma / gamma.sum(axis=1, keepdims=True)
    return q


def asymptote(states: ItemStates, score: Score, rng: np.random.Generator) -> np.ndarray:
    """Return the expected score of the omniscient rater, who predicts the item's own probabilities.

    Parameters
    ----------
    states : ItemStates
        Draws of the mixture.
    score : Score
        The scorer.
    rng : numpy.random.Generator
        For the agreement of three categories or more within states that spread, which has no closed form.

    Returns
    -------
    ndarray, shape (sample,)
        Limits of the power curves.
    """
    by_state = score.expected(states.probability, states.probability)
    if states.spread.any():
        by_state = _of_spread_states(states, score, rng)
    return (states.weight * by_state).sum(axis=1)


def _of_spread_states(states: ItemStates, score: Score, rng: np.random.Generator) -> np.ndarray:
    """Return E S(q, q) under q ~ Dirichlet(s theta) of every state."""
    mean, rho = states.probability, states.spread[..., None]
    if score.name == "brier":
        return (mean**2 + rho * mean * (1 - mean)).sum(axis=2) - 1
    size = 1 / np.maximum(rho, 1e-12) - 1  # rho is drawn from a density: it is not zero
    if score.name == "cross_entropy":
        return (mean * (digamma(size * mean + 1) - digamma(size + 1))).sum(axis=2) / score.log_base
    if mean.shape[2] == 2:
        a, b = np.moveaxis(size * mean, 2, 0)
        return mean[..., 0] * (1 - betainc(a + 1, b, 0.5)) + mean[..., 1] * betainc(a, b + 1, 0.5)
    found = np.empty(mean.shape[:2])
    for s in range(len(found)):
        gamma = rng.standard_gamma(size[s] * mean[s], (OMNISCIENT_DRAWS, *mean.shape[1:]))
        found[s] = (gamma.max(axis=2) / gamma.sum(axis=2)).mean(axis=0)
    return found

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
from functools import lru_cache
from math import comb

import numpy as np
import xarray as xr
from scipy.special import betainc, digamma, gammaincc, gammaincinv, gammaln, softmax

from .errors import EvaluationError
from .state_scores import Score, best_labels
from .threads import in_threads

__all__ = [
    "ItemStates",
    "asymptote",
    "count_vectors",
    "curve_at",
    "dirichlet",
    "item_probabilities",
    "n_count_vectors",
    "parts",
]

CELLS = 2_000_000  # of (draw, state, count vector) that are computed at once
NODES = 64  # of the quadrature where a score has no closed form


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
        # storage in single precision leaves sums that miss one by 1e-7, and rounds what is almost 1 to it
        return cls(
            weight / weight.sum(axis=1, keepdims=True),
            flat / flat.sum(axis=2, keepdims=True),
            np.minimum(spread, np.nextafter(1, 0)),
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

    def joint(self, counts: np.ndarray) -> np.ndarray:
        """Return p(y, state) of count vectors, in whatever order the labels came; shape (sample, state, row)."""
        ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        return np.exp(self.log_probability(counts) + ways) * self.weight[..., None]

    def next_label(self, joint: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p(y) (sample, row), and the law q(y) of the next label (sample, row, category), given p(y, state)."""
        given = joint / (1 + self.step[..., None] * counts.sum(axis=1))
        seen = joint.sum(axis=1)
        q = np.swapaxes(given, 1, 2) @ self.probability
        if self.spread.any():
            q += (given * self.step[..., None]).sum(axis=1)[..., None] * counts
        return seen, q / np.where(seen > 0, seen, 1.0)[..., None]

    def answered(self, label: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return p(label | y, state) (sample, state, row) of labels (sample, row) after counts (sample, row, category)."""
        given = np.take_along_axis(self.probability, label[:, None], 2)
        if not self.spread.any():
            return given
        own = np.take_along_axis(counts, label[..., None], 2)[:, None, :, 0]
        step = self.step[..., None]
        return (given + step * own) / (1 + step * counts.sum(axis=2)[:, None])

    def next_two(self, state: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the joint law of the next two labels (sample, row, category, category), given p(state | y) and the counts y."""
        theta, (n_samples, n_states, n) = self.probability, self.probability.shape
        pairs = (theta[..., None] * theta[..., None, :]).reshape(n_samples, n_states, n * n)
        shape = (*counts.shape, n)
        if not self.spread.any():
            return (np.swapaxes(state, 1, 2) @ pairs).reshape(shape)
        step, heard = self.step[..., None], counts.sum(axis=2)[:, None]
        p = np.swapaxes(state / (1 + step * heard) / (1 + step * (heard + 1)), 1, 2)
        one, both = p @ (step * theta), (p @ step**2)[..., None]
        first, second = counts[..., None], counts[..., None, :] + np.eye(n)
        law = (p @ pairs).reshape(shape) + both * first * second
        return law + one[..., None] * second + first * one[..., None, :]


def _running_sum(terms: np.ndarray) -> np.ndarray:
    """Return sums of the first 0, 1, 2, ... terms of the last axis."""
    nothing = np.zeros((*terms.shape[:-1], 1))
    return np.concatenate([nothing, terms.cumsum(axis=-1)], axis=-1)


def n_count_vectors(k: int, categories: int) -> int:
    """Return how many count vectors k labels can have."""
    return comb(k + categories - 1, categories - 1)


@lru_cache(256)
def count_vectors(k: int, categories: int) -> np.ndarray:
    """Return all count vectors of k labels, shape (row, category); not to be written to."""
    if categories == 1:
        return np.array([[k]])
    rows = []
    for first in range(k + 1):
        rest = count_vectors(k - first, categories - 1)
        rows.append(np.column_stack([np.full(len(rest), first), rest]))
    found = np.concatenate(rows)
    found.flags.writeable = False
    return found


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
    result = np.empty(len(states.weight))
    for part in parts(states, len(counts)):
        own = states.taken(part)
        seen, q = own.next_label(own.joint(counts), counts)
        prediction = q if combiner == "abc" else best_labels(counts)
        result[part] = (seen * score.expected(prediction, q)).sum(axis=1)
    return result


def parts(states: ItemStates, rows: int) -> Iterator[slice]:
    """Yield runs of samples that fit into memory with so many rows each."""
    size = max(1, CELLS // max(1, rows * states.weight.shape[1]))
    for first in range(0, len(states.weight), size):
        yield slice(first, first + size)


def item_probabilities(
    states: ItemStates, place: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the probabilities of items (sample, row, category) at places (sample, row), from 0 to 1, in the mixture."""
    ends = states.weight.cumsum(axis=1)[:, :-1]
    state = (place[..., None] > ends[:, None]).sum(axis=2)
    q = np.take_along_axis(states.probability, state[..., None], 1)
    rho = np.take_along_axis(states.spread, state, 1)
    apart = rho > 0
    if apart.any():
        size = (1 / rho[apart] - 1)[:, None] * q[apart]
        q[apart] = dirichlet(size, rng)
    return q


def dirichlet(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from Dirichlet laws, shape (..., category)."""
    with np.errstate(divide="ignore"):
        # Gamma(a) is Gamma(a + 1) U ^ (1 / a): of small concentrations only the logarithm is a number above zero
        log_gamma = (
            np.log(rng.standard_gamma(size + 1)) - rng.standard_exponential(size.shape) / size
        )
    return softmax(log_gamma, axis=-1)


def asymptote(states: ItemStates, score: Score) -> np.ndarray:
    """Return the expected score of the omniscient rater, who predicts the item's own probabilities.

    Parameters
    ----------
    states : ItemStates
        Draws of the mixture.
    score : Score
        The scorer.

    Returns
    -------
    ndarray, shape (sample,)
        Limits of the power curves.
    """
    by_state = score.attained(states.probability)
    if states.spread.any():
        by_state = _of_spread_states(states, score)
    return (states.weight * by_state).sum(axis=1)


def _of_spread_states(states: ItemStates, score: Score) -> np.ndarray:
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
    blocks = [size[part] * mean[part] for part in parts(states, NODES * mean.shape[2])]
    return np.concatenate(list(in_threads(_expected_largest, blocks)))


def _expected_largest(size: np.ndarray) -> np.ndarray:
    """Return E max q under q ~ Dirichlet(size), shape (...,), by quadrature.

    With independent g_c ~ Gamma(size_c) the sum is independent of the shares, so that E max q = E max g / E sum g, and E max g is
    the integral of 1 - prod_c p(g_c < x) over x: 1 from 0 to where the largest g cannot be, then a smooth function of log x.
    """
    largest = size.max(axis=-1)
    low = np.maximum(gammaincinv(largest, 1e-11), 1e-10 * np.minimum(largest, 1))
    high = largest + 8 * np.sqrt(largest) + 25
    node, weight = np.polynomial.legendre.leggauss(NODES)
    half = np.log(high / low)[..., None] / 2
    x = low[..., None] * np.exp(half * (node + 1))
    with np.errstate(divide="ignore"):
        above = -np.expm1(np.log1p(-gammaincc(size[..., None, :], x[..., None])).sum(axis=-1))
    return (low + (half * weight * x * above).sum(axis=-1)) / size.sum(axis=-1)

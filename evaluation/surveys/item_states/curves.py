"""Power curves of a mixture of item states: expected scores of k combined labels, and their asymptote.

With weights w, probabilities theta and spreads rho of the states, t = rho / (1 - rho), k raters of an item
give the counts y with probability sum_j w_j p(y | j), and the next rater gives label c with probability

    q_c(y) = sum_j p(j | y) (theta_jc + t_j y_c) / (1 + t_j k)

The anonymous Bayesian combiner (ABC) that knows the mixture predicts q(y): under a proper score no other use
of the labels is better. Its curve is c_k = sum_y p(y) S(q(y), q(y)), where S(f, q) is the expected score of
prediction f under q. It rises with k to the asymptote: the omniscient rater predicts the item's own label
distribution.

References
----------
Resnick et al. (2021), Survey equivalence, arXiv:2106.01254, algorithm 4 (ABC), theorems 4.1 and 4.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import comb
from numbers import Real

import numpy as np
import xarray as xr
from scipy.special import betainc, digamma, gammaincc, gammaincinv, gammaln, softmax, xlogy

from ....posterior.errors import EvaluationError
from ....posterior.plausibility import in_threads

SCORERS = ("cross_entropy", "brier", "agreement")
CELLS = 2_000_000  # (draw, state, count vector) entries computed at once
NODES = 64  # quadrature nodes, where a score has no closed form


@dataclass(frozen=True)
class Score:
    """Additive score of a prediction f against one label l, by name.

    cross_entropy    log f_l                         expected under q   sum_c q_c log f_c
    brier            - sum_c (f_c - [c = l])^2                          2 sum q f - sum f^2 - 1
    agreement        [l is the best label of f]                         mean of q over the best labels
    """

    name: str  # one of SCORERS
    base: float = 2.0  # of the logarithm in cross_entropy

    def __post_init__(self) -> None:
        if self.name not in SCORERS:
            raise EvaluationError(
                f"scorer={self.name!r}: a posterior of item states allows {', '.join(SCORERS)}; "
                "for other scorers pass counts of labels"
            )
        if not isinstance(self.base, Real) or not 1 < self.base < np.inf:
            raise EvaluationError(f"base={self.base!r}: expected a number above 1")

    @property
    def log_base(self) -> float:
        """Natural logarithm of the base."""
        return float(np.log(self.base))

    def expected(self, prediction: np.ndarray, law: np.ndarray) -> np.ndarray:
        """Return the expected score (...) of predictions under label laws, both (..., category)."""
        if self.name == "cross_entropy":
            return _total(xlogy(law, prediction)) / self.log_base
        if self.name == "brier":
            return _total(prediction * (2 * law - prediction)) - 1
        return _total(law * best_labels(prediction))

    def self_expected(self, law: np.ndarray) -> np.ndarray:
        """Return the expected score (...) of predicting the label laws (..., category) themselves."""
        if self.name == "cross_entropy":
            return _total(xlogy(law, law)) / self.log_base
        return _total(law**2) - 1 if self.name == "brier" else _largest(law)

    def by_label(self, prediction: np.ndarray) -> np.ndarray:
        """Return the score (..., category) that each label would give to predictions (..., category)."""
        if self.name == "cross_entropy":
            with np.errstate(divide="ignore"):
                return np.log(prediction) / self.log_base
        if self.name == "brier":
            return 2 * prediction - (prediction**2).sum(axis=-1, keepdims=True) - 1
        return best_labels(prediction)


def best_labels(values: np.ndarray) -> np.ndarray:
    """Return the indicator (..., category) of the largest value, shared equally between ties."""
    best = values == _largest(values)[..., None]
    return best / _total(best.astype(float))[..., None]


def _total(values: np.ndarray) -> np.ndarray:
    return np.einsum("...c->...", values)


def _largest(values: np.ndarray) -> np.ndarray:
    return reduce(np.maximum, np.moveaxis(values, -1, 0))


@dataclass(frozen=True)
class ItemStates:
    """Posterior draws of a mixture of item states."""

    weight: np.ndarray  # (sample, state), sums to one
    probability: np.ndarray  # (sample, state, category), sums to one
    spread: np.ndarray  # (sample, state), rho; 0 where the items of a state are identical

    @classmethod
    def of(cls, posterior: xr.Dataset) -> "ItemStates":
        """Read the states of a posterior over all chains and draws; raise if it has none."""
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
        # single-precision storage: sums are off by 1e-7, and a spread just below 1 is rounded to 1
        return cls(
            weight / weight.sum(axis=1, keepdims=True),
            flat / flat.sum(axis=2, keepdims=True),
            np.minimum(spread, np.nextafter(1, 0)),
        )

    def select(self, which: slice | np.ndarray) -> "ItemStates":
        """Return the states of some samples, by slice or index."""
        return ItemStates(self.weight[which], self.probability[which], self.spread[which])

    @property
    def step(self) -> np.ndarray:
        """Reinforcement of a label by one more of its kind, t = rho / (1 - rho), shape (sample, state)."""
        return self.spread / (1 - self.spread)

    def log_probability(self, counts: np.ndarray) -> np.ndarray:
        """Return log p(labels | state) (sample, state, row) of count vectors (row, category), for labels in one order.

        Polya urn: prod_c prod_{m < y_c} (theta_c + t m) / prod_{m < k} (1 + t m); without spread prod_c
        theta_c^y_c.
        """
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
        """Return p(y, state) (sample, state, row) of count vectors (row, category), in any order of labels."""
        ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        return np.exp(self.log_probability(counts) + ways) * self.weight[..., None]

    def next_label(self, joint: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p(y) and the law q(y) of the next label, given p(y, state).

        Shapes: joint (sample, state, row); counts (row, category); p(y) (sample, row); q (sample, row, c).
        """
        given = joint / (1 + self.step[..., None] * counts.sum(axis=1))
        seen = joint.sum(axis=1)
        q = np.swapaxes(given, 1, 2) @ self.probability
        if self.spread.any():
            q += (given * self.step[..., None]).sum(axis=1)[..., None] * counts
        return seen, q / np.where(seen > 0, seen, 1.0)[..., None]

    def label_probability(self, label: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return p(label | y, state) (sample, state, row); label (sample, row), y (sample, row, category)."""
        given = np.take_along_axis(self.probability, label[:, None], 2)
        if not self.spread.any():
            return given
        own = np.take_along_axis(counts, label[..., None], 2)[:, None, :, 0]
        step = self.step[..., None]
        return (given + step * own) / (1 + step * counts.sum(axis=2)[:, None])

    def next_two(self, state: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the joint law (sample, row, c, c) of the next two labels after counts (sample, row, c), given p(state | y)."""
        theta, (n_samples, n_states, n) = self.probability, self.probability.shape
        pairs = (theta[..., None] * theta[..., None, :]).reshape(n_samples, n_states, n * n)
        shape = (*counts.shape, n)
        if not self.spread.any():
            return (np.swapaxes(state, 1, 2) @ pairs).reshape(shape)
        step, k = self.step[..., None], counts.sum(axis=2)[:, None]
        p = np.swapaxes(state / (1 + step * k) / (1 + step * (k + 1)), 1, 2)
        one, both = p @ (step * theta), (p @ step**2)[..., None]
        first, second = counts[..., None], counts[..., None, :] + np.eye(n)
        law = (p @ pairs).reshape(shape) + both * first * second
        return law + one[..., None] * second + first * one[..., None, :]


def _running_sum(terms: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, 2, ... terms along the last axis."""
    nothing = np.zeros((*terms.shape[:-1], 1))
    return np.concatenate([nothing, terms.cumsum(axis=-1)], axis=-1)


def n_count_vectors(k: int, categories: int) -> int:
    """Return the number of count vectors of k labels."""
    return comb(k + categories - 1, categories - 1)


@lru_cache(256)
def count_vectors(k: int, categories: int) -> np.ndarray:
    """Return all count vectors (row, category) of k labels, lexicographic and read-only."""
    if categories == 1:
        found = np.array([[k]])
    else:
        rows = []
        for first in range(k + 1):
            rest = count_vectors(k - first, categories - 1)
            rows.append(np.column_stack([np.full(len(rest), first), rest]))
        found = np.concatenate(rows)
    found.flags.writeable = False
    return found


def curve_at(states: ItemStates, k: int, score: Score, combiner: str) -> np.ndarray:
    """Return the expected score (sample,) of k combined labels, summed over all count vectors.

    `combiner` "abc" predicts from the mixture, "plurality" the most frequent label, ties averaged.
    """
    counts = count_vectors(k, states.probability.shape[2])
    result = np.empty(len(states.weight))
    for part in parts(states, len(counts)):
        own = states.select(part)
        seen, q = own.next_label(own.joint(counts), counts)
        prediction = q if combiner == "abc" else best_labels(counts)
        result[part] = (seen * score.expected(prediction, q)).sum(axis=1)
    return result


def parts(states: ItemStates, rows: int) -> Iterator[slice]:
    """Yield slices of samples that fit into memory with `rows` rows for each sample and state."""
    size = max(1, CELLS // max(1, rows * states.weight.shape[1]))
    for first in range(0, len(states.weight), size):
        yield slice(first, first + size)


def item_probabilities(states: ItemStates, place: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw label distributions (sample, row, category) of items; `place` (sample, row) are quantiles that select their states."""
    ends = states.weight.cumsum(axis=1)[:, :-1]
    state = (place[..., None] > ends[:, None]).sum(axis=2)
    q = np.take_along_axis(states.probability, state[..., None], 1)
    rho = np.take_along_axis(states.spread, state, 1)
    apart = rho > 0
    if apart.any():
        q[apart] = dirichlet_draws((1 / rho[apart] - 1)[:, None] * q[apart], rng)
    return q


def dirichlet_draws(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from Dirichlet laws with concentrations (..., category)."""
    with np.errstate(divide="ignore"):
        # Gamma(a) = Gamma(a + 1) U ^ (1 / a); in logarithms, as small concentrations underflow
        log_gamma = np.log(rng.standard_gamma(size + 1)) - rng.standard_exponential(size.shape) / size
    return softmax(log_gamma, axis=-1)


def asymptote(states: ItemStates, score: Score) -> np.ndarray:
    """Return the limit (sample,) of the power curve: each item's own label distribution is predicted."""
    by_state = score.self_expected(states.probability)
    if states.spread.any():
        by_state = _of_spread_states(states, score)
    return (states.weight * by_state).sum(axis=1)


def _of_spread_states(states: ItemStates, score: Score) -> np.ndarray:
    """Return E S(q, q) (sample, state) under q ~ Dirichlet(s theta) of every state."""
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
    """Return E max q (...) under q ~ Dirichlet(size), size (..., category), by Gauss-Legendre quadrature.

    With independent g_c ~ Gamma(size_c) the sum is independent of the shares, so that E max q = E max g / E
    sum g. E max g integrates 1 - prod_c p(g_c < x) over x: 1 below the range of the largest g, then smooth in
    log x.
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

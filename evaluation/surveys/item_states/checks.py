"""Posterior predictive check of item states: power curves of replicated labels against that of the data.

The exact curve of the data at k raters is c_k = sum_{y,l} A(y, l) S(q(y), l). A(y, l) is the probability that
k + 1 labels drawn at random from an item are first y, in any order, and then l, averaged over the items with
more than k labels; q(y) is A(y, .) normalised, the combiner learned from the same items. Replicated labels
are drawn from the posterior, with as many labels for each item, and have curves of the same kind. If the
curve of the data lies in the tails of theirs, the mixture does not fit, and its asymptote and equivalence are
not to be trusted.

References
----------
Gelman, Meng and Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies,
Statistica Sinica 6(4). Rubin (1981), The Bayesian bootstrap, doi:10.1214/aos/1176345338. Deville and Särndal
(1992), Calibration estimators in survey sampling, JASA 87, doi:10.1080/01621459.1992.10475217 (regression
weights that reproduce known means).
"""

from collections.abc import Iterator
from functools import lru_cache
from math import comb

import numpy as np
from scipy.special import gammaln

from .curves import (
    CELLS,
    ItemStates,
    Score,
    best_labels,
    count_vectors,
    item_probabilities,
    n_count_vectors,
    parts,
)

CUTOFF = 1e-2  # relative cutoff of singular values: patterns that hardly occur


def observed_curve(counts: np.ndarray, ks: list[int], score: Score, combiner: str) -> np.ndarray:
    """Return the exact power curve of labels, with the combiner learned from the same items.

    Shapes: counts (item, category); result (k,), NaN where no item has more than k labels. `combiner` "abc"
    predicts from items with the same counts, "plurality" the most frequent label, ties averaged.
    """
    size = counts.sum(axis=1)
    scored = [k for k in ks if (size > k).any()]
    curve = dict.fromkeys(ks, np.nan)
    for k, table in _tables(counts, max(scored)) if scored else ():
        if k in curve:
            curve[k] = _score_of(table, k, score, combiner)
    return np.array([curve[k] for k in ks])


def _score_of(table: np.ndarray, k: int, score: Score, combiner: str) -> float:
    """Return one point of the curve from a table proportional to A(y, l) (count vector, category)."""
    seen = table.sum(axis=1)
    kept = seen > 0
    q = table[kept] / seen[kept, None]
    prediction = q if combiner == "abc" else best_labels(count_vectors(k, table.shape[1])[kept])
    return float(seen[kept] @ score.expected(prediction, q) / seen.sum())


def _tables(counts: np.ndarray, largest: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield k and n_k A(y, l), n_k items having more than k labels, for k from `largest` down to 0."""
    size, n = counts.sum(axis=1), counts.shape[1]
    drawn = _draw_probabilities(counts[size > largest], largest + 1)
    for k in range(largest, -1, -1):
        # in k + 1 exchangeable labels the last is l with probability (y_l + 1) / (k + 1)
        table = drawn[_with_one_more(k, n)] * (count_vectors(k, n) + 1) / (k + 1)
        yield k, table
        # the first k labels are a draw of k; items with exactly k labels join
        joining = _row_of_counts(counts[size == k])
        drawn = table.sum(axis=1) + np.bincount(joining, minlength=len(table))


def _draw_probabilities(counts: np.ndarray, k: int) -> np.ndarray:
    """Return the probabilities (count vector,) of all draws of k labels from each item, summed over items.

    The probability of y from counts m is a product over the categories of C(m_c, y_c) b^y_c, where b^-k is
    the number of ways to draw k of all: no factor over- or underflows.
    """
    patterns, items = _distinct(counts)
    n = counts.shape[1]
    vectors = count_vectors(k, n)
    # nonzero categories of each vector, padded with C(m_c, 0) = 1
    which = np.sort(np.where(vectors > 0, np.arange(n) * (k + 1) + vectors, 0), axis=1)[:, ::-1]
    which = which[:, : min(k, n)].T
    result = np.zeros(len(vectors))
    size = max(1, CELLS // len(vectors))
    for first in range(0, len(patterns), size):
        factor = _factors(patterns[first : first + size], k)
        product = factor[which[0]]
        for further in which[1:]:
            product *= factor[further]
        # einsum, not @: a BLAS product would start threads
        result += np.einsum("yi,i->y", product, items[first : first + size])
    return result


def _factors(counts: np.ndarray, k: int) -> np.ndarray:
    """Return C(m_c, y_c) b^y_c for each category and y_c from 0 to k, shape (category x y_c, row)."""
    log_factorial = gammaln(np.arange(counts.sum(axis=1).max() + 1) + 1)
    log_ways = _log_choose(log_factorial, counts.sum(axis=1), np.array([[k]]))
    y = np.arange(k + 1)[:, None]
    log_factor = _log_choose(log_factorial, counts.T[:, None], y) - y / k * log_ways
    return np.exp(log_factor).reshape(-1, len(counts))


def _log_choose(log_factorial: np.ndarray, m: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return log C(m, y), -inf where y > m."""
    left = m - y
    log_ways = log_factorial[m] - log_factorial[np.minimum(y, m)] - log_factorial[np.maximum(left, 0)]
    return np.where(left >= 0, log_ways, -np.inf)


def _distinct(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of counts, and the number of items with each."""
    base = int(counts.max()) + 1
    if base ** counts.shape[1] > np.iinfo(np.int64).max:
        return np.unique(counts, axis=0, return_counts=True)
    # rows encoded as integers: np.unique over rows takes ten times as long
    place = base ** np.arange(counts.shape[1])
    code, items = np.unique(counts @ place, return_counts=True)
    return code[:, None] // place % base, items


def _row_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return the rows of counts in the lexicographic table of all count vectors with as many labels."""
    n = counts.shape[1]
    left = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    ways = np.array([[comb(m + c, c) for c in range(n)] for m in range(int(left.max(initial=0)) + 1)])
    others = np.arange(n - 1, 0, -1)
    return (ways[left[:, :-1], others] - ways[left[:, 1:], others]).sum(axis=1)


@lru_cache(256)
def _with_one_more(k: int, categories: int) -> np.ndarray:
    """Return the row of y + e_l among the count vectors of k + 1 labels, shape (y, l)."""
    more = count_vectors(k, categories)[:, None] + np.eye(categories, dtype=int)
    return _row_of_counts(more.reshape(-1, categories)).reshape(-1, categories)


def replicated_curves(
    states: ItemStates, counts: np.ndarray, ks: list[int], how: tuple[Score, str], rng: np.random.Generator
) -> np.ndarray:
    """Return power curves (sample, k) of replicates of counts (item, category), one replicate for each draw of the mixture."""
    total = counts.sum(axis=1)
    curves = np.empty((len(states.weight), len(ks)))
    for s in range(len(curves)):
        own = states.select(slice(s, s + 1))
        replicate = rng.multinomial(total, item_probabilities(own, rng.random((1, len(total))), rng)[0])
        curves[s] = observed_curve(replicate, ks, *how)
    return curves


def checked_ks(counts: np.ndarray, most_vectors: int) -> list[int]:
    """Return the numbers of raters at which a curve is checked: those whose counts can be enumerated.

    They end where 90 % of the items have one label more. The few items with more labels are often the
    disputed ones, and their curve is not that of all items.
    """
    size = np.sort(counts.sum(axis=1))
    most = size[len(size) // 10] - 1 if len(size) else -1
    return [k for k in range(most + 1) if n_count_vectors(k, counts.shape[1]) <= most_vectors]


def classifier_scores(
    states: ItemStates, counts: np.ndarray, by_label: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the scores (sample, classifier) of classifiers jointly with the item states.

    Item i has label counts n_i of N_i and expected score T_i = sum_c (n_ic / N_i) S(f_i, c). In a draw with
    weights w and probabilities theta, an item with these counts is in state j with probability r_ij, and

        x_ijc = r_ij n_ic / N_i        has mean        X_jc = w_j theta_jc

    over the population of the draw. With B the coefficients of a linear regression of T on x, first on its
    sums over the states (the label frequencies) and then of the residuals, the score of the draw is

        sum_jc B_jc X_jc  +  sum_i u_i (T_i - sum_jc B_jc x_ijc),        u ~ Dirichlet(1, ..., 1)

    The part that the counts explain follows the draw's own item states and shares its errors with the curve:
    a constant prediction has the score of the draw's label frequencies. The residuals have the Bayesian
    bootstrap of the items, with the same weights for all classifiers. Predictions never inform the state of
    an item. If all items have as many labels, the two parts are independent to first order.

    Shapes: counts (item, category), at least one label for each item; by_label (classifier, item, category),
    the score that each label would give; `rng` draws the weights of the items.
    """
    distinct, pattern, items = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    share = counts / counts.sum(axis=1, keepdims=True)
    expected = np.multiply(share, by_label, out=np.zeros(by_label.shape), where=counts > 0)
    own = expected.sum(axis=2)  # T (classifier, item)
    mean = np.stack([np.bincount(pattern, t) / items for t in own], axis=1)  # (pattern, classifier)
    within = own.T - mean[pattern]
    known = np.empty((len(states.weight), len(own)))
    rest = np.empty((len(states.weight), len(own), len(distinct)))
    for part in parts(states, distinct.size):
        known[part], rest[part] = _regressed(states.select(part), distinct, items, mean)
    drawn = np.empty_like(known)
    for s in range(len(drawn)):
        u = rng.standard_exponential(len(counts))
        u /= u.sum()
        by_pattern = np.bincount(pattern, u, len(distinct))
        # einsum, not @: BLAS threads on a busy machine cost a hundred times the sum
        drawn[s] = known[s] + rest[s] @ by_pattern + np.einsum("i,ic->c", u, within)
    return drawn


def _regressed(
    states: ItemStates, counts: np.ndarray, items: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the regression part and the residuals of the scores in each draw.

    Shapes: counts (pattern, category); items (pattern,); mean (pattern, classifier); regression part
    (sample, classifier); residuals (sample, classifier, pattern).
    """
    joint = states.log_probability(counts) + np.log(np.maximum(states.weight, 1e-300))[..., None]
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    state = np.swapaxes(joint / joint.sum(axis=1, keepdims=True), 1, 2)
    share = counts / counts.sum(axis=1, keepdims=True)
    x = (state[..., None] * share[:, None]).reshape(len(state), len(counts), -1)
    root = np.sqrt(items)[:, None]  # weighted least squares: pattern p stands for items[p] items
    of_labels = np.linalg.pinv(share * root) @ (mean * root)
    mean = mean - share @ of_labels
    coefficient = np.linalg.pinv(x * root, rcond=CUTOFF) @ (mean * root)
    expected = states.weight[..., None] * states.probability  # X_jc
    known = expected.sum(axis=1) @ of_labels
    known += (expected.reshape(len(state), 1, -1) @ coefficient)[:, 0]
    return known, np.swapaxes(mean - x @ coefficient, 1, 2)

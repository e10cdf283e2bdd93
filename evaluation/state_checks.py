"""Whether a mixture of item states reproduces the power curve of the labels it was fitted to.

For k raters of N the exact curve of the data itself is c_k = sum_y,l A(y, l) S(q(y), l), with A(y, l) the share of draws of k + 1
of the labels of an item that are first y, in any order, and then l, averaged over the items with more than k labels, and q(y) the
shares of l in A(y, l): the combiner learned from these very items. Replicates of the labels, drawn from the posterior with as
many labels for each item, have curves of the same kind: if that of the data lies in the tails of theirs, the mixture is not the
law of the items, and neither its asymptote nor its equivalence is to be trusted.

References
----------
Gelman, Meng and Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica Sinica
6(4).
"""

from collections.abc import Iterator
from functools import lru_cache
from math import comb

import numpy as np
from scipy.special import gammaln

from .state_curves import CELLS, ItemStates, count_vectors, item_probabilities, n_count_vectors
from .state_scores import Score, best_labels

__all__ = ["checked_ks", "observed_curve", "replicated_curves"]


def observed_curve(counts: np.ndarray, ks: list[int], score: Score, combiner: str) -> np.ndarray:
    """Return the exact curve of labels, its combiner learned from the same items.

    Parameters
    ----------
    counts : ndarray of int, shape (item, category)
        Labels of the items.
    ks : list of int
        Numbers of raters whose labels are combined.
    score : Score
        The scorer.
    combiner : {"abc", "plurality"}
        Predict by the other labels with the same counts, or the most frequent label, ties averaged.

    Returns
    -------
    ndarray, shape (k,)
        Scores; NaN where no item has more than k labels.
    """
    size = counts.sum(axis=1)
    told = [k for k in ks if (size > k).any()]
    curve = dict.fromkeys(ks, np.nan)
    for k, table in _tables(counts, max(told)) if told else ():
        if k in curve:
            curve[k] = _score_of(table, k, score, combiner)
    return np.array([curve[k] for k in ks])


def _score_of(table: np.ndarray, k: int, score: Score, combiner: str) -> float:
    """Return one point of the curve, given A(y, l) times anything."""
    seen = table.sum(axis=1)
    kept = seen > 0
    q = table[kept] / seen[kept, None]
    prediction = q if combiner == "abc" else best_labels(count_vectors(k, table.shape[1])[kept])
    return float(seen[kept] @ score.expected(prediction, q) / seen.sum())


def _tables(counts: np.ndarray, largest: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield k and A(y, l) times the number of items with more than k labels, for k from the largest down to 0."""
    size, n = counts.sum(axis=1), counts.shape[1]
    drawn = _drawn(counts[size > largest], largest + 1)
    for k in range(largest, -1, -1):
        # of k + 1 labels in random order the last is l with the share of l among them
        table = drawn[_with_one_more(k, n)] * (count_vectors(k, n) + 1) / (k + 1)
        yield k, table
        # so that the first k, too, are labels drawn of these items; those with k labels and no more join
        joining = _places(counts[size == k])
        drawn = table.sum(axis=1) + np.bincount(joining, minlength=len(table))


def _drawn(counts: np.ndarray, k: int) -> np.ndarray:
    """Return the probabilities of all count vectors of k labels drawn of each item's, summed over the items.

    That of y, drawn of counts m, is a product over the categories of C(m_c, y_c) b^y_c, where b^-k is the number of ways to
    draw k of all: no factor leaves the range of numbers.
    """
    patterns, items = _distinct(counts)
    n = counts.shape[1]
    vectors = count_vectors(k, n)
    # of each vector the categories that it has, first those with most labels; C(m_c, 0) = 1 fills up
    which = np.sort(np.where(vectors > 0, np.arange(n) * (k + 1) + vectors, 0), axis=1)[:, ::-1]
    which = which[:, : min(k, n)].T
    result = np.zeros(len(vectors))
    size = max(1, CELLS // len(vectors))
    for first in range(0, len(patterns), size):
        factor = _factors(patterns[first : first + size], k)
        product = factor[which[0]]
        for further in which[1:]:
            product *= factor[further]
        # as a product of matrices this would start threads
        result += np.einsum("yi,i->y", product, items[first : first + size])
    return result


def _factors(counts: np.ndarray, k: int) -> np.ndarray:
    """Return C(m_c, y_c) b^y_c of each category and y_c from 0 to k, shape (category and y_c, row)."""
    log_factorial = gammaln(np.arange(counts.sum(axis=1).max() + 1) + 1)
    log_ways = _log_choose(log_factorial, counts.sum(axis=1), np.array([[k]]))
    y = np.arange(k + 1)[:, None]
    log_factor = _log_choose(log_factorial, counts.T[:, None], y) - y / k * log_ways
    return np.exp(log_factor).reshape(-1, len(counts))


def _log_choose(log_factorial: np.ndarray, m: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return log C(m, y), -inf where y > m."""
    left = m - y
    log_ways = (
        log_factorial[m] - log_factorial[np.minimum(y, m)] - log_factorial[np.maximum(left, 0)]
    )
    return np.where(left >= 0, log_ways, -np.inf)


def _distinct(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct counts, and how many items have them."""
    base = int(counts.max()) + 1
    if base ** counts.shape[1] > np.iinfo(np.int64).max:
        return np.unique(counts, axis=0, return_counts=True)
    # one number for each row: to sort rows takes ten times as long
    place = base ** np.arange(counts.shape[1])
    code, items = np.unique(counts @ place, return_counts=True)
    return code[:, None] // place % base, items


def _places(counts: np.ndarray) -> np.ndarray:
    """Return the rows that counts have among all count vectors of as many labels.

    Before counts come those with a smaller m_1; of the same m_1, those with a smaller m_2, and so on.
    """
    n = counts.shape[1]
    left = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    ways = np.array(
        [[comb(m + c, c) for c in range(n)] for m in range(int(left.max(initial=0)) + 1)]
    )
    others = np.arange(n - 1, 0, -1)
    return (ways[left[:, :-1], others] - ways[left[:, 1:], others]).sum(axis=1)


@lru_cache(256)
def _with_one_more(k: int, categories: int) -> np.ndarray:
    """Return the row of y + l among the count vectors of k + 1 labels, shape (y, l)."""
    more = count_vectors(k, categories)[:, None] + np.eye(categories, dtype=int)
    return _places(more.reshape(-1, categories)).reshape(-1, categories)


def replicated_curves(
    states: ItemStates,
    counts: np.ndarray,
    ks: list[int],
    score_and_combiner: tuple[Score, str],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the curves of replicated labels, one replicate for each sample of the mixture.

    Parameters
    ----------
    states : ItemStates
        Draws of the mixture.
    counts : ndarray of int, shape (item, category)
        What was observed; replicates have as many labels for each item.
    ks : list of int
        Numbers of raters whose labels are combined.
    score_and_combiner : Score and {"abc", "plurality"}
        As in `observed_curve`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (sample, k)
        Curves.
    """
    total = counts.sum(axis=1)
    curves = np.empty((len(states.weight), len(ks)))
    for s in range(len(curves)):
        own = states.taken(slice(s, s + 1))
        replicate = rng.multinomial(
            total, item_probabilities(own, rng.random((1, len(total))), rng)[0]
        )
        curves[s] = observed_curve(replicate, ks, *score_and_combiner)
    return curves


def checked_ks(counts: np.ndarray, most_vectors: int) -> list[int]:
    """Return the numbers of raters at which a curve is checked, as far as their count vectors can be summed over.

    They end where nine of ten items have a label more. Few items have more than that, and not any few: who is asked about
    most is often what is disputed, and the curve of such items is not that of all.
    """
    size = np.sort(counts.sum(axis=1))
    most = size[len(size) // 10] - 1 if len(size) else -1
    return [k for k in range(most + 1) if n_count_vectors(k, counts.shape[1]) <= most_vectors]

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

import numpy as np
from scipy.special import gammaln

from .state_curves import ItemStates, count_vectors, item_probabilities, n_count_vectors
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
    distinct, items = np.unique(counts, axis=0, return_counts=True)
    return np.array([_curve_at(distinct, items, k, score, combiner) for k in ks])


def _curve_at(counts: np.ndarray, items: np.ndarray, k: int, score: Score, combiner: str) -> float:
    """Return one point of the exact curve of patterns of counts."""
    enough = counts.sum(axis=1) > k
    if not enough.any():
        return np.nan
    counts, items = counts[enough], items[enough]
    drawn = count_vectors(k, counts.shape[1])
    total = counts.sum(axis=1)
    log_ways = gammaln(total + 1) - gammaln(k + 1) - gammaln(total - k + 1)
    table = np.zeros(drawn.shape)
    for y, row in zip(drawn, table, strict=True):
        left = counts - y
        fits = (left >= 0).all(axis=1)
        if not fits.any():
            continue
        n, own = counts[fits], left[fits]
        log_p = (gammaln(n + 1) - gammaln(y + 1) - gammaln(own + 1)).sum(axis=1) - log_ways[fits]
        share = items[fits] * np.exp(log_p) / (total[fits] - k)
        row[:] = share @ own
    table /= items.sum()
    seen = table.sum(axis=1)
    q = table[seen > 0] / seen[seen > 0, None]
    prediction = q if combiner == "abc" else best_labels(drawn[seen > 0])
    return float(seen[seen > 0] @ score.expected(prediction, q))


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

"""Draws of true categories where each item has a stream of its own, and what they add up to.

Items with the same answers are one pattern, and p(true category) is computed once for it. What a sum over items needs of the
draws is how many items of each pattern are of each category: the counts of labels follow from that by one pass over the patterns.
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from .confusion import ConfusionPrior, draw_confusion, draw_prevalence
from .gamma import log_standard_gamma
from .random_stream import uniform
from .vote import VOTE_JITTER, VOTE_WEIGHT

__all__ = ["count_drawn_categories", "count_near_vote", "draw_parameters"]


@kept(nogil=True, error_model="numpy")
def count_drawn_categories(
    streams: np.ndarray, pattern: np.ndarray, plausibility: np.ndarray, counts: np.ndarray
) -> None:
    """Draw the true category of every item, and count.

    Parameters
    ----------
    streams : ndarray of uint64, shape (4, item)
        Stream of each item, advanced in place.
    pattern : ndarray of int64, shape (item,)
        Pattern of each item.
    plausibility : ndarray, shape (pattern, category)
        p(true category | answers).
    counts : ndarray, shape (pattern, category)
        Items of each category are added.
    """
    rng = np.empty(4, np.uint64)
    for i in range(len(pattern)):
        rng[:] = streams[:, i]
        own = plausibility[pattern[i]]
        counts[pattern[i], _category(rng, own)] += 1.0


@kept(nogil=True, error_model="numpy")
def count_near_vote(
    streams: np.ndarray,
    pattern: np.ndarray,
    share: np.ndarray,
    known: np.ndarray,
    counts_and_kind: tuple[np.ndarray, bool],
) -> None:
    """Draw p(true category) of every item near the share of its votes, as `jittered_vote` does, and add up.

    Parameters
    ----------
    streams : ndarray of uint64, shape (4, item)
        Stream of each item, advanced in place.
    pattern : ndarray of int64, shape (item,)
        Pattern of each item.
    share : ndarray, shape (pattern, category)
        Share of each label among the answers.
    known : ndarray of int64, shape (pattern,)
        True category of gold items, -1 elsewhere.
    counts_and_kind : tuple of ndarray, shape (pattern, category), and bool
        Where to add; whether a category drawn from these probabilities is added, or they themselves.
    """
    counts, draws = counts_and_kind
    n = counts.shape[1]
    rng, p = np.empty(4, np.uint64), np.empty(n)
    for i in range(len(pattern)):
        rng[:] = streams[:, i]
        k = pattern[i]
        p[:] = share[k]
        if known[k] < 0:
            largest = -np.inf
            for j in range(n):
                p[j] = log_standard_gamma(rng, VOTE_WEIGHT * share[k, j] + VOTE_JITTER)
                largest = max(largest, p[j])
            total = 0.0
            for j in range(n):
                p[j] = math.exp(p[j] - largest)
                total += p[j]
            for j in range(n):
                p[j] /= total
        if draws:
            counts[k, _category(rng, p)] += 1.0
        else:
            for j in range(n):
                counts[k, j] += p[j]


@nb.njit(error_model="numpy", inline="always")
def _category(rng, p):
    """Draw from probabilities."""
    left = uniform(rng)
    chosen = len(p) - 1
    for j in range(len(p)):
        left -= p[j]
        if left < 0.0:
            chosen = j
            break
    return chosen


@kept(error_model="numpy")
def draw_parameters(
    rng: np.ndarray,
    prior: ConfusionPrior,
    items: np.ndarray,
    labels: np.ndarray,
    parameters: tuple[np.ndarray, np.ndarray],
) -> None:
    """Draw prevalence and confusion given the counts of the true categories.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of a chain, advanced in place.
    prior : ConfusionPrior
        Priors.
    items : ndarray of int64, shape (category,)
        Items of each true category.
    labels : ndarray of int64, shape (rater * label, category)
        Labels by true category.
    parameters : tuple of ndarray, shapes (category,) and (rater * label, category)
        Prevalence and p(label | rater, true category), overwritten.
    """
    draw_prevalence(rng, prior, items, parameters[0])
    draw_confusion(rng, prior, labels, parameters[1])

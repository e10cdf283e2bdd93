"""Empirical Bayes for replicates of labels: level and spread of the raters' matrices are learnt from the answers themselves.

Draws of a posterior whose prior is stronger than few answers a rater make replicates that agree too little, so that real
raters seem to share errors. Here the rows of the matrices are Dirichlet(s m_j), with m the pooled matrix and s the strength of
largest marginal likelihood; the truth is inferred by EM from the vote, and each draw takes truth, then matrices given it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from ..raters.joint_answers import drawn

STRENGTHS = 2.0 ** np.arange(8, -1, -1)  # pseudo-answers of a row; of equal ones the largest counts
ITERATIONS = 40  # of EM
EVERY = 8  # iterations, the strength is chosen anew
OWN_WEIGHT = 1.0  # pseudo-answers of a category by which the pooled matrix is shrunk to one accuracy


@dataclass(frozen=True)
class Population:
    """Raters as one population: matrices of mean (category, answer) and strength, and the inferred truth (item, category)."""

    mean: np.ndarray
    strength: float
    weight: np.ndarray


def population_of(
    item: np.ndarray, rater: np.ndarray, label: np.ndarray, gold: np.ndarray, shape: tuple[int, int, int]
) -> Population:
    """Fit the population to answers, sorted by item; `shape` holds the numbers of items, raters and categories."""
    items, raters, n = shape
    given = csr_array((np.ones(len(item)), (item, rater * n + label)), (items, raters * n))
    share = (np.bincount(label, minlength=n) + 1.0) / (len(label) + n)
    votes = csr_array((np.ones(len(item)), (item, label)), (items, n)).toarray() + share
    weight = _known(votes / votes.sum(axis=1, keepdims=True), gold)
    mean, strength = np.eye(n), 8.0
    rng = np.random.default_rng(0)  # a function of the answers
    for iteration in range(ITERATIONS):
        counts = (given.T @ weight).reshape(raters, n, n).swapaxes(1, 2)  # (rater, category, answer)
        mean = pooled(counts.sum(axis=0), share)
        if iteration % EVERY == EVERY - 1:
            truth = drawn(weight, rng)  # expected counts would be less spread than those of any truth
            cell = (rater * n + truth[item]) * n + label
            strength = _strength(np.bincount(cell, minlength=raters * n * n).reshape(raters, n, n), mean)
        table = counts + strength * mean
        table /= table.sum(axis=2, keepdims=True)
        log_p = given @ np.log(table).swapaxes(1, 2).reshape(-1, n)
        log_p += np.log(weight.sum(axis=0) + 1)
        weight = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        weight = _known(weight / weight.sum(axis=1, keepdims=True), gold)
    return Population(mean, strength, weight)


def pooled(counts: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the pooled matrix (category, answer), shrunk to one accuracy whose errors follow the shares of the answers."""
    n = len(share)
    right = (np.trace(counts) + 1) / (counts.sum() + 2)
    errors = np.where(np.eye(n, dtype=bool), 0, share)
    one = right * np.eye(n) + (1 - right) * errors / errors.sum(axis=1, keepdims=True)
    mean = counts + OWN_WEIGHT * n * one
    return mean / mean.sum(axis=1, keepdims=True)


def _known(weight: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return the inferred truth, certain where gold is known."""
    return np.where((gold >= 0)[:, None], np.eye(weight.shape[1])[gold], weight)


def _strength(counts: np.ndarray, mean: np.ndarray) -> float:
    """Return the strength of largest marginal likelihood of Dirichlet-multinomial rows."""
    total = counts.sum(axis=2)
    found = [
        (gammaln(s) - gammaln(s + total)).sum()
        + (gammaln(counts + s * mean) - gammaln(s * mean)).sum()
        + 0.1 * np.log(s)
        for s in STRENGTHS
    ]
    return float(STRENGTHS[int(np.argmax(found))])

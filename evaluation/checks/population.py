"""Empirical Bayes for replicates of labels: level and spread of the raters' matrices are learnt from the answers themselves.

Draws of a posterior whose prior is stronger than few answers a rater make replicates that agree too little, so that real
raters seem to share errors. Here the rows of the matrices are Dirichlet(s m_j), with m the pooled matrix and s the strength of
largest marginal likelihood; the truth is inferred by EM from the vote, and each draw takes truth, then matrices given it.

For single raters, every rater has a skill that the rows of the matrix share: they are Dirichlet(s m_j(d)), with the log odds of m
to be right shifted by d. The law of d, on a grid, and s then have the largest marginal likelihood together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, gammaln, logsumexp

from ..raters.joint_answers import drawn

STRENGTHS = 2.0 ** np.arange(8, -1, -1)  # pseudo-answers of a row; of equal ones the largest counts
ITERATIONS = 40  # of EM
EVERY = 8  # iterations, the strength is chosen anew
OWN_WEIGHT = 1.0  # pseudo-answers of a category by which the pooled matrix is shrunk to one accuracy
SKILLS = np.linspace(-4, 4, 17)  # log odds of a rater to be right, beside those of the pooled matrix
LAW_OF_SKILLS = np.exp(-(SKILLS**2) / 2) / np.exp(-(SKILLS**2) / 2).sum()  # counts as one rater
ROUNDS = 30  # of EM of the law of the skills


@dataclass(frozen=True)
class Population:
    """Raters as one population: their matrices, and the inferred truth (item, category)."""

    mean: np.ndarray  # pooled matrix (category, answer)
    strength: float
    weight: np.ndarray
    skill: np.ndarray  # p(skill of the rater) on the grid (rater, skill)
    strength_by_skill: float

    def matrices(self, counts: np.ndarray, rng: np.random.Generator, *, skills: bool) -> np.ndarray:
        """Draw matrices (rater, category, answer), unnormalised, given counts of the answers of this shape."""
        if not skills:
            return rng.standard_gamma(counts + self.strength * self.mean)
        own = by_skill(self.mean)[drawn(self.skill, rng)]
        return rng.standard_gamma(counts + self.strength_by_skill * own)


def population_of(
    item: np.ndarray, rater: np.ndarray, label: np.ndarray, gold: np.ndarray, shape: tuple[int, int, int]
) -> Population:
    """Fit the population to answers, sorted by item; `shape` holds the numbers of items, raters and categories."""
    items, raters, n = shape
    given = csr_array((np.ones(len(item)), (item, rater * n + label)), (items, raters * n))
    share = (np.bincount(label, minlength=n) + 1.0) / (len(label) + n)
    votes = csr_array((np.ones(len(item)), (item, label)), (items, n)).toarray() + share
    weight = _known(votes / votes.sum(axis=1, keepdims=True), gold)
    mean, strength, whole = np.eye(n), 8.0, np.zeros((raters, n, n), np.int64)
    rng = np.random.default_rng(0)  # a function of the answers
    for iteration in range(ITERATIONS):
        counts = (given.T @ weight).reshape(raters, n, n).swapaxes(1, 2)  # (rater, category, answer)
        mean = pooled(counts.sum(axis=0), share)
        if iteration % EVERY == EVERY - 1:
            truth = drawn(weight, rng)  # expected counts would be less spread than those of any truth
            cell = (rater * n + truth[item]) * n + label
            whole = np.bincount(cell, minlength=raters * n * n).reshape(raters, n, n)
            strength = _strength_and_skills(whole, mean[None])[0]
        table = counts + strength * mean
        table /= table.sum(axis=2, keepdims=True)
        log_p = given @ np.log(table).swapaxes(1, 2).reshape(-1, n)
        log_p += np.log(weight.sum(axis=0) + 1)
        weight = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        weight = _known(weight / weight.sum(axis=1, keepdims=True), gold)
    by_skills, skill = _strength_and_skills(whole, by_skill(mean))
    return Population(mean, strength, weight, skill, by_skills)


def by_skill(mean: np.ndarray) -> np.ndarray:
    """Return the matrices of raters of each skill (skill, category, answer), by the pooled one."""
    right = np.diagonal(mean)
    own = expit(np.log(right / (1 - right)) + SKILLS[:, None])
    errors = (1 - own) / (1 - right)
    return np.where(np.eye(len(mean), dtype=bool), own[..., None], mean * errors[..., None])


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


def _strength_and_skills(counts: np.ndarray, means: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the strength of largest marginal likelihood of Dirichlet-multinomial rows, and the skills of the raters given it.

    Shapes: counts (rater, category, answer), means (skill, category, answer), of one skill or of all; skills (rater, skill).
    """
    rater, category, answer = np.nonzero(counts)
    several, own = counts[rater, category, answer], means[:, category, answer].T
    of_rater = csr_array((np.ones(len(rater)), (rater, np.arange(len(rater)))), (len(counts), len(rater)))
    total, prior = counts.sum(axis=2), LAW_OF_SKILLS if len(means) > 1 else np.ones(1)
    best, found = -np.inf, (STRENGTHS[0], np.empty(0))
    for s in STRENGTHS:
        log_p = of_rater @ (gammaln(several[:, None] + s * own) - gammaln(s * own))
        log_p += (gammaln(s) - gammaln(s + total)).sum(axis=1)[:, None]
        law, skill = prior, log_p
        whole: Any = log_p
        for _ in range(ROUNDS if len(means) > 1 else 1):
            joint = log_p + np.log(law)
            whole = logsumexp(joint, axis=1, keepdims=True)
            skill = np.exp(joint - whole)
            law = (skill.sum(axis=0) + prior) / (len(counts) + 1)
        value = whole.sum() + 0.1 * np.log(s)
        if value > best:
            best, found = value, (float(s), skill)
    return found
